/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/slow_direction.h"

#include <string.h>
#include "check/base/conn_state.h"
#include "check/causes/silence_text.h"

/* A connection setup is slow if the REP comes at least this long after the REQ, ms. */
#define SETUP_MS 1000u
/* Limits for the conclusion that the full transmit queue of a Soft-RoCE sender refused packets, so
 * that the sender retransmitted them at once. REFUSED_MIN: lowest number of go-backs of one packet
 * each that no NAK caused. REFUSED_NS: longest average time in which the sender sent nothing before
 * the go-back, ns. REFUSED_AGAIN_NS: longest average time from the previous transmission of the
 * packet to its retransmission, ns. Longer times show another cause: the network reordered the
 * packets of several go-backs. */
#define REFUSED_MIN      16u
#define REFUSED_NS       UINT64_C(100000)
#define REFUSED_AGAIN_NS UINT64_C(400000)
/* Maximum time between a packet and a copy made by the network or the capture, ns. */
#define DOUBLED_NS UINT64_C(50000)

uint64_t slow_setup_ns(const struct roce_conn_summary *sum)
{
    return sum->facts.cm.rep_ms >= SETUP_MS ? UINT64_C(1000000) * sum->facts.cm.rep_ms : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns a - b, or 0 if b is greater. */
static uint64_t excess(uint64_t a, uint64_t b)
{
    return a - smaller(a, b);
}

struct slow_direction slow_direction_of(const struct roce_conn_summary *sum, unsigned side)
{
    struct slow_direction w = {.mine = &sum->side[side],
                               .its = &sum->side[!side],
                               .facts = &sum->facts,
                               .timeout_code = sum->facts.cm.timeout_code[side],
                               .ns = check_conn_duration_ns(sum)};

    w.naks = slow_go_backs(&w, ROCE_CAUSE_SEQ_NAK);
    w.gone = check_side_missing(w.mine);
    w.before = w.gone + w.mine->missing_repeats;
    w.behind = smaller(excess(w.naks, w.before), excess(w.naks, w.its->naks_unseen));
    if (sum->facts.cm.active_side == side)
        w.setup_ns = slow_setup_ns(sum);
    if (sum->facts.cm.active_side == side && sum->facts.cm.rep_again_ms >= SETUP_MS)
        w.rtu_ns = UINT64_C(1000000) * sum->facts.cm.rep_again_ms;
    if (sum->facts.silence.side == side && silence_is_notable(sum))
        w.silence_ns = sum->facts.silence.sum_ns;
    w.silence_inside = silence_is_inside(sum);
    w.idle_ns = excess(w.mine->idle_ns, w.silence_ns);
    return w;
}

uint64_t slow_go_backs(const struct slow_direction *w, enum roce_cause cause)
{
    return w->mine->retx[cause].go_backs;
}

void slow_add_host(struct strbuf *t, const struct roce_endpoint_summary *end,
                   const struct roce_endpoint_summary *other)
{
    strbuf_add_addr(t, end->addr);
    if (memcmp(other->addr, end->addr, sizeof(end->addr)) == 0)
        strbuf_addf(t, " QP 0x%06x", end->qpn);
}

bool slow_is_overtaken(const struct slow_direction *w)
{
    return w->naks > 0 && w->mine->naks_for_late * 2 >= w->naks && !w->mine->any_order;
}

bool slow_is_damaged(const struct slow_direction *w)
{
    return w->mine->bad_icrc > 0;
}

bool slow_is_lost(const struct slow_direction *w)
{
    return w->naks > 0 && !slow_is_overtaken(w) && w->mine->bad_icrc < w->naks &&
           w->its->psn_naks > w->its->naks_after_rnr;
}

bool slow_lost_behind(const struct slow_direction *w)
{
    return w->before + w->its->naks_unseen == 0;
}

bool slow_is_answer_overtaken(const struct slow_direction *w)
{
    return w->its->late_responses >= 2 && !w->its->any_order &&
           slow_go_backs(w, ROCE_CAUSE_READ_GAP) + slow_go_backs(w, ROCE_CAUSE_IMPLIED_NAK) +
                   slow_go_backs(w, ROCE_CAUSE_TIMEOUT) >
               0;
}

bool slow_is_one_sided(const struct slow_direction *w)
{
    return check_side_alone(w->facts, w->its);
}

bool slow_is_late(const struct slow_direction *w)
{
    return slow_go_backs(w, ROCE_CAUSE_TIMEOUT) > 0;
}

bool slow_is_spurious(const struct slow_direction *w)
{
    return slow_go_backs(w, ROCE_CAUSE_SPURIOUS) > 0;
}

bool slow_is_unready(const struct slow_direction *w)
{
    return w->its->rnr_naks > w->its->rnr_paged;
}

bool slow_is_paged(const struct slow_direction *w)
{
    return w->its->rnr_paged > 0;
}

bool slow_is_between(const struct slow_direction *w, unsigned between)
{
    const uint64_t response = w->mine->response_waits.min, timeout = w->mine->timeout_min_ns;

    return ((between & SLOW_BY_LOST_REQUEST) && path_loses_requests(&w->path)) ||
           ((between & SLOW_BY_LOST_RESPONSE) && path_loses_responses(&w->path)) ||
           ((between & SLOW_BY_DELAY) && ((response && path_delays(&w->path, response)) ||
                                          (timeout && path_delays(&w->path, timeout))));
}

bool slow_is_congested(const struct slow_direction *w)
{
    return w->mine->cnp.before.cnt > 0;
}

bool slow_is_doubled(const struct slow_direction *w)
{
    const struct roce_retx_summary *r = &w->mine->retx[ROCE_CAUSE_UNKNOWN];

    return r->go_backs && r->packets < r->go_backs * 2 &&
           r->stalled_ns < r->go_backs * DOUBLED_NS && !slow_is_refused(w);
}

bool slow_is_refused(const struct slow_direction *w)
{
    const struct roce_retx_summary *r = &w->mine->retx[ROCE_CAUSE_UNKNOWN];

    return w->mine->may_be_rxe && !slow_is_one_sided(w) && r->go_backs >= REFUSED_MIN &&
           r->packets < r->go_backs * 2 && r->waited_ns < r->go_backs * REFUSED_NS &&
           r->stalled_ns < r->go_backs * REFUSED_AGAIN_NS;
}

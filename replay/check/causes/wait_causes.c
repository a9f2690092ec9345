/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/wait_causes.h"

#include <inttypes.h>
#include "check/causes/congestion_text.h"
#include "wire/codes.h"

/* The text explains a wait after an RNR NAK that is more than LONGER times as long as the NAK
 * demands. */
#define LONGER 4u

static bool is_setup_late(const struct slow_direction *w)
{
    return w->setup_ns > 0;
}

static void say_setup_late(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "the REP of ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " came ");
    strbuf_add_duration(t, w->setup_ns);
    strbuf_addf(t, " after the REQ");
    if (w->facts->cm.reqs > 1)
        strbuf_addf(t, ", which was sent %u×", w->facts->cm.reqs);
}

static void look_setup_late(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "find out why the program on ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, w->facts->cm.reqs > 1
                       ? " accepts connections late, or check for lost CM messages"
                       : " accepts connections late");
}

const struct slow_cause slow_setup_late = {is_setup_late, say_setup_late,    look_setup_late,
                                           true,          "roce.cm.message", 0};

static bool is_rtu_late(const struct slow_direction *w)
{
    return w->rtu_ns > 0;
}

static void say_rtu_late(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " still retransmitted its REP ");
    strbuf_add_duration(t, w->rtu_ns);
    strbuf_addf(t, " after the first one, because no RTU arrived: the connection setup waited");
}

static void look_rtu_late(struct strbuf *t, const struct slow_direction *w)
{
    if (w->facts->cm.rtu_lost) {
        strbuf_addf(t, "the RTU was captured before: it was lost from the capture point to ");
        strbuf_add_addr(t, w->its->addr);
        strbuf_addf(t, ", or late");
        return;
    }
    strbuf_addf(t, "the REP or the RTU of ");
    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, " was lost, or the program on ");
    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, " answered late: check for lost CM messages");
}

const struct slow_cause slow_rtu_late = {is_rtu_late, say_rtu_late,      look_rtu_late,
                                         true,        "roce.cm.message", 0};

static bool is_response_late(const struct slow_direction *w)
{
    return w->mine->response_waits.cnt > 0;
}

static void say_response_late(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_spread *waits = &w->mine->response_waits;

    strbuf_addf(t, "%" PRIu64 "× a response came late: the requester waited ", waits->cnt);
    strbuf_add_durations(t, waits->min, waits->max);
    strbuf_addf(t, ", and retransmitted nothing before it");
}

/* Appends a hint where to search for the cause of late responses. */
static void add_slow_host(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "find out why ");
    slow_add_host(t, w->its, w->mine);
    strbuf_addf(t, " or the path is slow: if the path is fast (ping), look on ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " for CPU load (software RNIC), page faults, power saving, or a virtual machine "
                   "that does not run");
}

const struct slow_cause slow_response_late = {
    is_response_late,
    say_response_late,
    add_slow_host,
    false,
    "roce.analysis.ack_rtt >= 0.01 || roce.analysis.response_time >= 0.01",
    SLOW_BY_DELAY};

/* Appends two averages for the RNR NAKs: the wait that the NAK demands, and the wait of the
 * requester. The requester's wait begins with its latest packet, which it may have sent after the
 * NAK. If this wait is less than 90 % of the time from the NAK to the retransmission, appends that
 * time too. */
static void add_waited(struct strbuf *t, const struct slow_direction *w)
{
    const uint64_t cnt = slow_go_backs(w, ROCE_CAUSE_RNR_NAK),
                   waited_ns = w->mine->retx[ROCE_CAUSE_RNR_NAK].waited_ns,
                   since_nak_ns = w->mine->rnr_waited_ns;

    if (cnt == 0)
        return;
    strbuf_addf(t, ": %sthe RNR NAK demanded a wait of at least ", cnt == 1 ? "" : "on average, ");
    strbuf_add_duration(t, w->mine->rnr_advertised_ns / cnt);
    strbuf_addf(t, "; the requester waited ");
    strbuf_add_duration(t, waited_ns / cnt);
    if (since_nak_ns / 10 * 9 > waited_ns) {
        strbuf_addf(t, ", and retransmitted ");
        strbuf_add_duration(t, since_nak_ns / cnt);
        strbuf_addf(t, " after the NAK");
    }
    if (waited_ns / LONGER > w->mine->rnr_advertised_ns) {
        strbuf_addf(t, "; the wait is chosen by the requester and may be longer than demanded");
        if (w->mine->may_be_rxe)
            strbuf_addf(t, ", and timers of Soft-RoCE count jiffies (up to 10 ms)");
    }
}

static void say_unready(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " had no receive buffer %" PRIu64 "× (RNR NAK)",
                w->its->rnr_naks - w->its->rnr_paged);
    add_waited(t, w);
}

static void look_receives(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "on ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, ", post receive buffers earlier, or post more; ");
}

static void look_unready(struct strbuf *t, const struct slow_direction *w)
{
    look_receives(t, w);
    strbuf_addf(t, "each RNR NAK costs at least min_rnr_timer");
}

const struct slow_cause slow_unready = {
    slow_is_unready, say_unready, look_unready, false, "roce.analysis.rnr_nak", 0};

static bool is_without_credit(const struct slow_direction *w)
{
    return w->mine->credit_waits.cnt > 0;
}

static void say_without_credit(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_spread *waits = &w->mine->credit_waits;

    strbuf_addf(
        t, "%" PRIu64 "× the ACKs granted no credit (no receive buffer): the requester waited ",
        waits->cnt);
    strbuf_add_durations(t, waits->min, waits->max);
    strbuf_addf(t, " for an ACK with a credit");
}

static void look_without_credit(struct strbuf *t, const struct slow_direction *w)
{
    look_receives(t, w);
    strbuf_addf(t, "with a shared receive queue (SRQ), requesters do not wait for credits");
}

const struct slow_cause slow_without_credit = {
    is_without_credit,
    say_without_credit,
    look_without_credit,
    false,
    "roce.analysis.zero_credit || roce.analysis.credit_update",
    0};

static void say_paged(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t,
                " sent RNR NAK %" PRIu64 "× for READs, WRITEs or atomics, which need no receive: "
                "its memory is paged on demand (ODP) and had page faults%s",
                w->its->rnr_paged,
                w->its->may_be_rxe ? ", or it is Linux Soft-RoCE and its transmit queue was full"
                                   : "");
    if (!slow_is_unready(w)) /* otherwise say_unready() appends the waits */
        add_waited(t, w);
}

static void look_paged(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "on ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t,
                "%s, prefetch the memory (ibv_advise_mr), or pin it (no on-demand paging); "
                "posting more receives does not help",
                w->its->may_be_rxe ? ", if this host uses Soft-RoCE, raise the rate of the "
                                     "interface or lengthen its queue (tc). Otherwise"
                                   : "");
}

const struct slow_cause slow_paged = {slow_is_paged,           say_paged, look_paged, false,
                                      "roce.analysis.rnr_nak", 0};

static void say_congested(struct strbuf *t, const struct slow_direction *w)
{
    congestion_text_rate(t, w->mine);
}

static void look_congested(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t marked = w->mine->ce_marked;

    strbuf_addf(t, "look for a switch port with a full queue from ");
    if (marked == 0) {
        strbuf_addf(t, "the capture point to ");
        strbuf_add_addr(t, w->its->addr);
        return;
    }
    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, " to the capture point: %" PRIu64 " captured packet%s (congestion experienced)",
                marked, marked == 1 ? " is marked" : "s are marked");
}

const struct slow_cause slow_congested = {slow_is_congested,
                                          say_congested,
                                          look_congested,
                                          false,
                                          "roce.analysis.cnp || roce.analysis.ce",
                                          0};

static void say_spurious(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t cnt = slow_go_backs(w, ROCE_CAUSE_SPURIOUS);
    uint64_t packets = w->mine->retx[ROCE_CAUSE_SPURIOUS].packets;

    strbuf_addf(t,
                "%" PRIu64 "× responses came after the ACK timeout: the requester retransmitted "
                "%" PRIu64 " packet%s without need, and no request was lost",
                cnt, packets, packets == 1 ? "" : "s");
}

static void look_spurious(struct strbuf *t, const struct slow_direction *w)
{
    uint8_t code = 1;

    /* the shortest timeout that is longer than all responses; 31 is the highest code */
    while (code < 31 && roce_ack_timeout_ns(code) <= w->mine->late_response_ns)
        code++;
    strbuf_addf(t, "the ACK timeout (");
    strbuf_add_durations(t, w->mine->timeout_min_ns, w->mine->timeout_max_ns);
    strbuf_addf(t, ") is shorter than the response time (up to ");
    strbuf_add_duration(t, w->mine->late_response_ns);
    strbuf_addf(t, "): set a timeout of at least %u (", code);
    strbuf_add_duration(t, roce_ack_timeout_ns(code));
    strbuf_addf(t,
                ") with ibv_modify_qp (timeout) or rdma_set_option (RDMA_OPTION_ID_ACK_TIMEOUT)"
                "%s",
                is_response_late(w) ? "" : ", or ");
    /* If some responses came late without a retransmission, the hint of slow_response_late already
     * names the host. */
    if (!is_response_late(w))
        add_slow_host(t, w);
}

const struct slow_cause slow_spurious = {
    slow_is_spurious, say_spurious, look_spurious, false, "roce.analysis.spurious_retransmission",
    SLOW_BY_DELAY};

/* Returns whether the requester uses adaptive retransmission: its RNIC chooses the wait before a
 * retransmission and ignores the local ACK timeout. */
static bool is_adaptive(const struct slow_direction *w)
{
    return w->mine->adaptive && !w->mine->may_be_rxe && (slow_is_late(w) || slow_is_spurious(w));
}

static void say_adaptive(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "adaptive retransmission: ");
    if (w->mine->early_timeouts) {
        strbuf_addf(t, "%" PRIu64 "× the ACK timeout was shorter than the ",
                    w->mine->early_timeouts);
        strbuf_add_duration(t, roce_ack_timeout_ns(w->timeout_code));
        strbuf_addf(t, " that CM agreed on");
    } else
        strbuf_addf(t, "the waits for one request increase from retry to retry");
}

static void look_adaptive(struct strbuf *t, const struct slow_direction *w)
{
    (void)w;
    strbuf_addf(t, "NVIDIA NICs use adaptive retransmission by default: a longer ACK timeout of "
                   "the QP then does not change the waits. Field roce_adp_retrans_en of register "
                   "ROCE_ACCL turns adaptive retransmission off");
}

const struct slow_cause slow_adaptive = {
    is_adaptive,
    say_adaptive,
    look_adaptive,
    false,
    "roce.analysis.timeout_retransmission || roce.analysis.spurious_retransmission",
    0};

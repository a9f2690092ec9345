/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/slow_causes.h"

#include <inttypes.h>
#include <string.h>
#include "check/congestion_text.h"
#include "check/conn_state.h"
#include "check/filter_text.h"
#include "check/silence_text.h"
#include "util/strbuf.h"
#include "wire/codes.h"

/* Limits in percent of the packets and of the duration of a connection. A connection below both
 * limits is not reported as slow. */
#define PACKETS_PERCENT 1u
#define TIME_PERCENT    5u

/* A connection setup is slow if the REP comes at least this long after the REQ, ms. */
#define SETUP_MS 1000u

/* A requester that takes this long on average to obey a sequence NAK is a busy software RNIC, or
 * did not receive the NAK, ns. */
#define SLOW_REACTION_NS UINT64_C(1000000)

#define LINE_LEN 1024

/* The requests of one side, and the responses of the other side to them. */
struct direction {
    const struct roce_endpoint_summary *mine, *its;
    const struct roce_conn_facts *facts;
    uint8_t timeout_code; /* agreed local ACK timeout of the requester */
    uint64_t ns;          /* duration of the connection, ns */
    uint64_t naks;        /* number of go-back-N retransmissions after a sequence NAK */
    /* Number of packets that were lost before the capture point; retransmissions are not
     * counted. */
    uint64_t gone;
    uint64_t setup_ns; /* time from the REQ of this side to a late REP, ns; otherwise 0 */
    /* Time for which the peer retransmitted its REP because the RTU of this side was late, ns;
     * otherwise 0. */
    uint64_t rtu_ns;
    uint64_t silence_ns; /* notable silences of the connection before requests of this side, ns */
};

uint64_t slow_causes_setup_ns(const struct roce_conn_summary *sum)
{
    return sum->facts.cm.rep_ms >= SETUP_MS ? UINT64_C(1000000) * sum->facts.cm.rep_ms : 0;
}

static uint64_t go_back_cnt(const struct direction *w, enum roce_cause cause)
{
    return w->mine->retx[cause].go_backs;
}

static uint64_t waited_ns(const struct direction *w, enum slow_cause i);

static struct direction direction_of(const struct roce_conn_summary *sum, unsigned side)
{
    struct direction w = {.mine = &sum->side[side],
                          .its = &sum->side[!side],
                          .facts = &sum->facts,
                          .timeout_code = sum->facts.cm.timeout_code[side],
                          .ns = sum->facts.last_time - sum->facts.first_time};

    w.naks = go_back_cnt(&w, ROCE_CAUSE_SEQ_NAK);
    w.gone = check_side_missing(w.mine);
    if (sum->facts.cm.active_side == side)
        w.setup_ns = slow_causes_setup_ns(sum);
    if (sum->facts.cm.active_side == side && sum->facts.cm.rep_again_ms >= SETUP_MS)
        w.rtu_ns = UINT64_C(1000000) * sum->facts.cm.rep_again_ms;
    if (sum->facts.silence.side == side && silence_is_notable(sum))
        w.silence_ns = sum->facts.silence.sum_ns;
    return w;
}

static uint64_t retransmitted_cnt(const struct roce_endpoint_summary *side)
{
    uint64_t sum = 0;

    for (unsigned cause = 0; cause < ROCE_CAUSE_CNT; cause++)
        sum += side->retx[cause].packets;
    return sum;
}

static void add_addr(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    strbuf_add_addr(t, side->addr);
}

/* Adds the address of the other side, and its QP if both sides have the same address. */
static void add_host(struct strbuf *t, const struct direction *w)
{
    add_addr(t, w->its);
    if (memcmp(w->mine->addr, w->its->addr, sizeof(w->its->addr)) == 0)
        strbuf_addf(t, " QP 0x%06x", w->its->qpn);
}

/* Appends what to look for if the other side responds late. */
static void add_slow_host(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "find out why ");
    add_host(t, w);
    strbuf_addf(t, " or the path is slow: if the path is fast (ping), look on ");
    add_addr(t, w->its);
    strbuf_addf(t, " for CPU load (software RNIC), page faults, power saving, or a virtual machine "
                   "that does not run");
}

/* ---- the possible causes -----------------------------------------------------------------------
 */

/* Returns whether packets were reordered, not lost. True if sequence NAKs for late packets explain
 * at least half of the retransmissions. */
static bool is_overtaken(const struct direction *w)
{
    return w->naks > 0 && w->mine->naks_for_late * 2 >= w->naks && !w->mine->any_order;
}

static void say_overtaken(struct strbuf *t, const struct direction *w)
{
    uint64_t late = w->mine->naks_for_late, naks = w->its->psn_naks;

    strbuf_addf(t, "packets arrived out of order");
    if (w->mine->out_of_order)
        strbuf_addf(t, " %" PRIu64 "×", w->mine->out_of_order);
    else
        strbuf_addf(t, " behind the capture point");
    strbuf_addf(t,
                "; the receiver treats reordering as loss and sent %" PRIu64 " sequence NAK%s, "
                "%" PRIu64 " of them for late packets",
                naks, naks == 1 ? "" : "s", late);
}

static void look_overtaken(struct strbuf *t, const struct direction *w)
{
    (void)w;
    strbuf_addf(t, "check for per-packet load balancing over several links, or for a device that "
                   "reorders packets");
}

static bool is_damaged(const struct direction *w)
{
    return w->mine->bad_icrc > 0;
}

static void say_damaged(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t,
                "packets were damaged before the capture point: %" PRIu64 " with a wrong ICRC, "
                "which the receiver drops",
                w->mine->bad_icrc);
}

static void look_damaged(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "check links and devices from ");
    add_addr(t, w->mine);
    strbuf_addf(t, " to the capture point");
}

/* Returns whether packets were lost: the capture has sequence NAKs, and reordered or damaged
 * packets do not explain all of them. */
static bool is_lost(const struct direction *w)
{
    return w->naks > 0 && !is_overtaken(w) && w->mine->bad_icrc < w->naks;
}

static void say_lost(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "packets were lost: ");
    add_addr(t, w->its);
    strbuf_addf(t, " sent %" PRIu64 " sequence NAK%s; ", w->its->psn_naks,
                w->its->psn_naks == 1 ? "" : "s");
    if (w->gone && w->mine->missing_repeats)
        strbuf_addf(t,
                    "%" PRIu64 " packet%s and %" PRIu64
                    " retransmission%s never reached the capture point",
                    w->gone, w->gone == 1 ? "" : "s", w->mine->missing_repeats,
                    w->mine->missing_repeats == 1 ? "" : "s");
    else if (w->gone || w->mine->missing_repeats)
        strbuf_addf(t, "%" PRIu64 " %s%s never reached the capture point",
                    w->gone + w->mine->missing_repeats, w->gone ? "packet" : "retransmission",
                    w->gone + w->mine->missing_repeats == 1 ? "" : "s");
    else
        strbuf_addf(t, "all lost packets passed the capture point");
}

static void look_lost(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "check for drops (full queues, a priority without PFC, a bad link) ");
    if ((w->gone + w->mine->missing_repeats) * 2 >= w->naks) {
        strbuf_addf(t, "from ");
        add_addr(t, w->mine);
        strbuf_addf(t, " to the capture point");
    } else {
        strbuf_addf(t, "from the capture point to ");
        add_addr(t, w->its);
    }
    if (!w->mine->may_be_rxe && waited_ns(w, SLOW_SEQ_NAK) >= w->naks * SLOW_REACTION_NS) {
        strbuf_addf(t, "\n       ");
        add_addr(t, w->mine);
        strbuf_addf(t, " retransmitted ");
        strbuf_add_duration(t, waited_ns(w, SLOW_SEQ_NAK) / w->naks);
        strbuf_addf(t, " after a sequence NAK on average: it is a busy software RNIC, or the NAKs "
                       "were lost behind the capture point and its timer expired");
    }
}

/* Returns whether READs were retransmitted although all their responses arrived. The responses
 * arrived out of order or too late. */
static bool is_answer_overtaken(const struct direction *w)
{
    return w->its->late_responses >= 2 && !w->its->any_order &&
           go_back_cnt(w, ROCE_CAUSE_READ_GAP) + go_back_cnt(w, ROCE_CAUSE_IMPLIED_NAK) +
                   go_back_cnt(w, ROCE_CAUSE_TIMEOUT) >
               0;
}

static void say_answer_overtaken(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "READ data of ");
    add_addr(t, w->its);
    strbuf_addf(t, " arrived out of order %" PRIu64 "×; a requester treats reordering as loss",
                w->its->late_responses);
}

static bool is_answer_lost(const struct direction *w)
{
    return go_back_cnt(w, ROCE_CAUSE_READ_GAP) + go_back_cnt(w, ROCE_CAUSE_IMPLIED_NAK) > 0 &&
           !is_answer_overtaken(w);
}

static void say_answer_lost(struct strbuf *t, const struct direction *w)
{
    uint64_t cnt = go_back_cnt(w, ROCE_CAUSE_READ_GAP) + go_back_cnt(w, ROCE_CAUSE_IMPLIED_NAK);

    if (w->its->any_order && w->its->missing_responses > w->its->late_responses) {
        strbuf_addf(t, "READ data of ");
        add_addr(t, w->its);
        strbuf_addf(t, " was lost before the capture point; the requester went back %" PRIu64 "×",
                    cnt);
        return;
    }
    if (w->its->response_gaps) {
        strbuf_addf(t, "READ data of ");
        add_addr(t, w->its);
        strbuf_addf(t,
                    " was lost before the capture point: %" PRIu64 " gap%s, %" PRIu64
                    " response%s missing; the requester went back %" PRIu64 "×",
                    w->its->response_gaps, w->its->response_gaps == 1 ? "" : "s",
                    w->its->missing_responses, w->its->missing_responses == 1 ? "" : "s", cnt);
        return;
    }
    strbuf_addf(t, "responses of ");
    add_addr(t, w->its);
    strbuf_addf(t, " to READs or atomics were lost %" PRIu64 "×", cnt);
}

/* If responses to a READ are captured while the requester restarts the READ, they seem to be lost
 * on the other side of the capture point. So if fewer than one in FEW restarts show a loss on that
 * side, these restarts are ignored. */
#define FEW 3u

/* Appends which READ responses the requester lacked, and where to search for their loss.
 * `all` is the number of all retransmissions of READs because of missing responses. */
static void add_missing_response(struct strbuf *t, const struct direction *w,
                                 const struct roce_read_restarts *r, uint64_t all)
{
    uint64_t cnt = r->captured + r->missing;

    if (cnt == 1 && all == 1)
        strbuf_addf(t, "the READ response with PSN %u was lost or late", r->psn);
    else
        strbuf_addf(t, "%" PRIu64 "× a READ response was lost or late, first the one with PSN %u",
                    cnt, r->psn);
    strbuf_addf(t, " (restart in frame %u): ", r->frame);
    if (r->missing == 0)
        strbuf_addf(t, "the capture contains the response%s; ", cnt == 1 ? "" : "s");
    else if (r->captured == 0)
        strbuf_addf(t, "the capture lacks the response%s; ", cnt == 1 ? "" : "s");
    else
        strbuf_addf(t, "the capture contains %" PRIu64 " of these responses; ", r->captured);
    strbuf_addf(t, "check for drops ");
    if (r->missing * FEW <= r->captured) {
        strbuf_addf(t, "from the capture point to ");
        add_addr(t, w->mine);
    } else if (r->captured * FEW <= r->missing) {
        strbuf_addf(t, "from ");
        add_addr(t, w->its);
        strbuf_addf(t, " to the capture point");
    } else {
        strbuf_addf(t, "on both sides of the capture point");
    }
}

static void look_answer_lost(struct strbuf *t, const struct direction *w)
{
    const struct roce_read_restarts *r = &w->mine->read_gap_restarts;

    if (r->captured + r->missing) {
        add_missing_response(
            t, w, r, go_back_cnt(w, ROCE_CAUSE_READ_GAP) + go_back_cnt(w, ROCE_CAUSE_IMPLIED_NAK));
        return;
    }
    strbuf_addf(t, "check for drops from ");
    add_addr(t, w->its);
    strbuf_addf(t, " to ");
    if (w->its->response_gaps)
        strbuf_addf(t, "the capture point");
    else
        add_addr(t, w->mine);
}

static bool is_one_sided(const struct direction *w)
{
    return check_side_alone(w->facts, w->its);
}

static bool is_late(const struct direction *w)
{
    return go_back_cnt(w, ROCE_CAUSE_TIMEOUT) > 0;
}

static void add_timeouts(struct strbuf *t, const struct direction *w)
{
    strbuf_add_durations(t, w->mine->timeout_min_ns, w->mine->timeout_max_ns);
}

static bool is_spurious(const struct direction *w)
{
    return go_back_cnt(w, ROCE_CAUSE_SPURIOUS) > 0;
}

static void say_late(struct strbuf *t, const struct direction *w)
{
    uint64_t packets = w->mine->retx[ROCE_CAUSE_TIMEOUT].packets;

    if (is_one_sided(w))
        strbuf_addf(t, "the requester paused %" PRIu64 "×", go_back_cnt(w, ROCE_CAUSE_TIMEOUT));
    else
        strbuf_addf(t, "the %s expired %" PRIu64 "×",
                    w->mine->adaptive ? "retransmission timer" : "ACK timeout",
                    go_back_cnt(w, ROCE_CAUSE_TIMEOUT));
    if (!is_spurious(w)) { /* otherwise look_spurious() appends the waits, together with those of
                            * spurious timeouts */
        strbuf_addf(t, ", %s ", is_one_sided(w) ? "for" : "after");
        add_timeouts(t, w);
    }
    strbuf_addf(t, "; the requester retransmitted %" PRIu64 " packet%s", packets,
                packets == 1 ? "" : "s");
}

/* Begins a line about `cnt` lost packets. For one packet, the line has the text `one` and the PSN;
 * for several, their number and the text `each`. */
static void add_lost_psn(struct strbuf *t, const char **sep, uint64_t cnt, uint32_t psn,
                         const char *one, const char *each)
{
    if (cnt == 1)
        strbuf_addf(t, "%s%s %u", *sep, one, psn);
    else
        strbuf_addf(t, "%s%" PRIu64 "× %s (first PSN %u)", *sep, cnt, each, psn);
    *sep = "\n       ";
}

/* Appends what the capture shows about the losses before timeouts, one line for each kind. Returns
 * the number of timeouts that these lines explain. */
static uint64_t add_timeout_losses(struct strbuf *t, const struct direction *w, const char **sep)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;

    if (losses->missing) {
        add_lost_psn(t, sep, losses->missing, losses->missing_psn, "the packet with PSN",
                     "a packet");
        strbuf_addf(t, " was lost from ");
        add_addr(t, w->mine);
        strbuf_addf(t, " to the capture point, and no sequence NAK for it reached ");
        add_addr(t, w->mine);
    }
    if (losses->relost) {
        add_lost_psn(t, sep, losses->relost, losses->relost_psn, "the retransmission of PSN",
                     "a retransmission");
        strbuf_addf(t, ", or the response to it, was lost too: a responder sends one sequence NAK "
                       "for a packet, so only the timeout detects this loss");
    }
    if (losses->acked) {
        strbuf_addf(t,
                    "%s%" PRIu64 "× the response was captured before the timeout: it was lost from "
                    "the capture point to ",
                    *sep, losses->acked);
        add_addr(t, w->mine);
        strbuf_addf(t, ", or late");
        *sep = "\n       ";
    }
    if (losses->unanswered) {
        strbuf_addf(t,
                    "%s%" PRIu64
                    "× the request was captured, and no response: one of them was lost "
                    "between the capture point and ",
                    *sep, losses->unanswered);
        add_addr(t, w->its);
        strbuf_addf(t, ", or ");
        add_addr(t, w->its);
        strbuf_addf(t, " was slow");
        *sep = "\n       ";
    }
    if (losses->unfinished) {
        strbuf_addf(t, "%s%" PRIu64 "× the end of a message was missing: it was lost from ", *sep,
                    losses->unfinished);
        add_addr(t, w->mine);
        strbuf_addf(t,
                    " to the capture point, or the requester waited for an ACK within the message");
        *sep = "\n       ";
    }
    return losses->missing + losses->relost + losses->acked + losses->unanswered +
           losses->unfinished;
}

static void look_late(struct strbuf *t, const struct direction *w)
{
    uint64_t cnt = go_back_cnt(w, ROCE_CAUSE_TIMEOUT);
    const struct roce_read_restarts *reads = &w->mine->read_restarts;
    uint64_t known = reads->captured + reads->missing;
    uint64_t unheeded = w->mine->unheeded_naks;
    const char *sep = "";

    if (is_one_sided(w)) {
        strbuf_addf(t, "the capture lacks the responses of ");
        add_addr(t, w->its);
        strbuf_addf(t, ", which show whether the ACK timeout expired or the receiver was not ready "
                       "(RNR NAK): capture both directions");
        return;
    }
    if (known) {
        add_missing_response(t, w, reads, cnt);
        sep = "\n       ";
    }
    if (reads->late) {
        strbuf_addf(t, "%s%" PRIu64 "× READ data was captured out of order: the requester drops it",
                    sep, reads->late);
        sep = "\n       ";
    }
    if (unheeded) {
        strbuf_addf(t,
                    "%s%" PRIu64 "× a sequence NAK was captured before the timeout: "
                    "the NAK was lost from the capture point to ",
                    sep, unheeded);
        add_addr(t, w->mine);
        strbuf_addf(t, ", or ignored");
        sep = "\n       ";
    }
    known += reads->late + unheeded + add_timeout_losses(t, w, &sep);
    if (known < cnt)
        strbuf_addf(
            t,
            "%s%sthe last packets before a pause, or their responses, were lost or late: only the "
            "timeout of the requester detects such a loss",
            sep, *sep ? "otherwise " : "");
}

static bool is_without_credit(const struct direction *w)
{
    return w->mine->credit_waits.cnt > 0;
}

static void say_without_credit(struct strbuf *t, const struct direction *w)
{
    const struct roce_spread *waits = &w->mine->credit_waits;

    strbuf_addf(t,
                "%" PRIu64 "× the ACKs granted no credit (no receive WQE): the requester waited ",
                waits->cnt);
    strbuf_add_durations(t, waits->min, waits->max);
    strbuf_addf(t, " for an ACK with a credit");
}

static void look_without_credit(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "on ");
    add_addr(t, w->its);
    strbuf_addf(t, ", post receives earlier, or post more; with a shared receive queue (SRQ), "
                   "requesters do not wait for credits");
}

static bool is_rtu_late(const struct direction *w)
{
    return w->rtu_ns > 0;
}

static void say_rtu_late(struct strbuf *t, const struct direction *w)
{
    add_addr(t, w->its);
    strbuf_addf(t, " still retransmitted its REP ");
    strbuf_add_duration(t, w->rtu_ns);
    strbuf_addf(t, " after the first one, because no RTU arrived: the connection setup waited");
}

static void look_rtu_late(struct strbuf *t, const struct direction *w)
{
    if (w->facts->cm.rtu_lost) {
        strbuf_addf(t, "the RTU was captured before: it was lost from the capture point to ");
        add_addr(t, w->its);
        strbuf_addf(t, ", or late");
        return;
    }
    strbuf_addf(t, "the REP or the RTU of ");
    add_addr(t, w->mine);
    strbuf_addf(t, " was lost, or the program on ");
    add_addr(t, w->mine);
    strbuf_addf(t, " answered late: check for lost CM messages");
}

static bool is_response_late(const struct direction *w)
{
    return w->mine->response_waits.cnt > 0;
}

static void say_spurious(struct strbuf *t, const struct direction *w)
{
    uint64_t cnt = go_back_cnt(w, ROCE_CAUSE_SPURIOUS);
    uint64_t packets = w->mine->retx[ROCE_CAUSE_SPURIOUS].packets;

    strbuf_addf(t,
                "%" PRIu64 "× responses came after the %s: the requester retransmitted %" PRIu64
                " packet%s without need, and no request was lost",
                cnt, w->mine->adaptive ? "retransmission timer" : "ACK timeout", packets,
                packets == 1 ? "" : "s");
}

static void look_spurious(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "the responses came up to ");
    strbuf_add_duration(t, w->mine->late_response_ns);
    strbuf_addf(t, " after the requests; the requester waited ");
    add_timeouts(t, w);
    strbuf_addf(t, "\n       ");
    if (!is_response_late(w)) { /* otherwise the host is named above */
        add_slow_host(t, w);
        strbuf_addf(t, "; ");
    }
    strbuf_addf(t, "if the path is long, set a longer ACK timeout (ibv_modify_qp, timeout)");
}

static bool is_setup_late(const struct direction *w)
{
    return w->setup_ns > 0;
}

static void say_setup_late(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "the REP of ");
    add_addr(t, w->its);
    strbuf_addf(t, " came ");
    strbuf_add_duration(t, w->setup_ns);
    strbuf_addf(t, " after the REQ");
    if (w->facts->cm.reqs > 1)
        strbuf_addf(t, ", which was sent %u×", w->facts->cm.reqs);
}

static void look_setup_late(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "find out why the program on ");
    add_addr(t, w->its);
    strbuf_addf(t, w->facts->cm.reqs > 1
                       ? " accepts connections late, or check for lost CM messages"
                       : " accepts connections late");
}

static void say_response_late(struct strbuf *t, const struct direction *w)
{
    const struct roce_spread *waits = &w->mine->response_waits;

    strbuf_addf(t, "%" PRIu64 "× a response came late: the requester waited ", waits->cnt);
    strbuf_add_durations(t, waits->min, waits->max);
    strbuf_addf(t, ", and retransmitted nothing before it");
}

/* Returns whether the requester uses adaptive retransmission: it chooses the wait before a
 * retransmission itself, not by the local ACK timeout. */
static bool is_adaptive(const struct direction *w)
{
    return w->mine->adaptive && !w->mine->may_be_rxe && (is_late(w) || is_spurious(w));
}

static void say_adaptive(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "adaptive retransmission: ");
    if (w->mine->early_timeouts) {
        strbuf_addf(t, "%" PRIu64 "× the requester did not wait for the ACK timeout of ",
                    w->mine->early_timeouts);
        strbuf_add_duration(t, roce_ack_timeout_ns(w->timeout_code));
        strbuf_addf(t, " that CM agreed on");
    } else
        strbuf_addf(t, "the waits for one request increase from retry to retry");
}

static void look_adaptive(struct strbuf *t, const struct direction *w)
{
    (void)w;
    strbuf_addf(t, "NVIDIA NICs use adaptive retransmission by default: a longer ACK timeout of "
                   "the QP then does not change the waits. Field roce_adp_retrans_en of register "
                   "ROCE_ACCL turns adaptive retransmission off");
}

static bool is_unready(const struct direction *w)
{
    return w->its->rnr_naks > w->its->rnr_paged;
}

/* Appends the averages for one RNR NAK. The time budget counts the wait after the previous packet.
 * This wait can be shorter than the wait after the NAK, because the requester may send more packets
 * before it obeys the NAK. */
static void add_waited(struct strbuf *t, const struct direction *w)
{
    uint64_t cnt = go_back_cnt(w, ROCE_CAUSE_RNR_NAK);

    if (cnt == 0)
        return;
    strbuf_addf(t, ": %sthe NAK asked for a pause of ", cnt == 1 ? "" : "on average, ");
    strbuf_add_duration(t, w->mine->rnr_advertised_ns / cnt);
    strbuf_addf(t, "; the requester retransmitted ");
    strbuf_add_duration(t, w->mine->rnr_waited_ns / cnt);
    strbuf_addf(t, " after it, and ");
    strbuf_add_duration(t, waited_ns(w, SLOW_RNR_NAK) / cnt);
    strbuf_addf(t, " after its own previous packet");
}

static void say_unready(struct strbuf *t, const struct direction *w)
{
    add_addr(t, w->its);
    strbuf_addf(t, " had no receive WQE %" PRIu64 "× (RNR NAK)",
                w->its->rnr_naks - w->its->rnr_paged);
    add_waited(t, w);
}

static void look_unready(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "on ");
    add_addr(t, w->its);
    strbuf_addf(t,
                ", post receives earlier, or post more; each RNR NAK costs at least min_rnr_timer");
}

/* Returns whether the responder answered requests that need no receive WQE with RNR NAKs. Usually
 * it then pages in memory (ODP). */
static bool is_paged(const struct direction *w)
{
    return w->its->rnr_paged > 0;
}

static void say_paged(struct strbuf *t, const struct direction *w)
{
    add_addr(t, w->its);
    strbuf_addf(t,
                " sent RNR NAK %" PRIu64 "× for READs, WRITEs or atomics, which need no receive: "
                "its memory is paged on demand (ODP) and had page faults%s",
                w->its->rnr_paged,
                w->its->may_be_rxe ? ", or it is Linux Soft-RoCE and its transmit queue was full"
                                   : "");
    if (!is_unready(w)) /* if is_unready() returns true, say_unready() has already appended the
                         * waits */
        add_waited(t, w);
}

static void look_paged(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "on ");
    add_addr(t, w->its);
    strbuf_addf(t,
                "%s, prefetch the memory (ibv_advise_mr), or pin it (no on-demand paging); "
                "posting more receives does not help",
                w->its->may_be_rxe ? ", if this host uses Soft-RoCE, raise the rate of the "
                                     "interface or lengthen its queue (tc). Otherwise"
                                   : "");
}

static bool is_congested(const struct direction *w)
{
    return w->mine->cnp.before.cnt > 0;
}

static void say_congested(struct strbuf *t, const struct direction *w)
{
    congestion_text_rate(t, w->mine);
}

static void look_congested(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "look for a switch port with a full queue from ");
    if (w->mine->ce_marked)
        add_addr(t, w->mine);
    else
        strbuf_addf(t, "the capture point");
    strbuf_addf(t, " to ");
    if (w->mine->ce_marked)
        strbuf_addf(t, "the capture point");
    else
        add_addr(t, w->its);
    if (w->mine->ce_marked)
        strbuf_addf(t, ": %" PRIu64 " captured packet%s (congestion experienced)",
                    w->mine->ce_marked, w->mine->ce_marked == 1 ? " is marked" : "s are marked");
}

/* Returns whether the requester retransmitted for unknown causes only. */
static bool is_unexplained(const struct direction *w)
{
    return go_back_cnt(w, ROCE_CAUSE_UNKNOWN) > 0 && !is_overtaken(w) && !is_damaged(w) &&
           !is_lost(w) && !is_late(w) && !is_spurious(w) && !is_unready(w) && !is_paged(w);
}

static void say_unexplained(struct strbuf *t, const struct direction *w)
{
    uint64_t packets = w->mine->retx[ROCE_CAUSE_UNKNOWN].packets;

    strbuf_addf(t,
                "the requester retransmitted %" PRIu64 " packet%s, and the capture shows no reason",
                packets, packets == 1 ? "" : "s");
}

static void look_unexplained(struct strbuf *t, const struct direction *w)
{
    strbuf_addf(t, "possible cause: the NAKs of ");
    add_addr(t, w->its);
    strbuf_addf(t, " were not captured; compare with a capture at the other end");
}

_Static_assert(
    ROCE_CAUSE_UNKNOWN == 6,
    "the display filter for look_unexplained in causes[] contains the value of ROCE_CAUSE_UNKNOWN");

/* clang-format off */
static const struct {
    bool (*is)(const struct direction *);
    void (*say)(struct strbuf *, const struct direction *);
    void (*look)(struct strbuf *, const struct direction *);
    bool cm;            /* CM messages show the cause; they use QP 1, not the connection's QPs */
    const char *filter; /* Wireshark's display filter for the packets that show the cause */
} causes[] = {
    {is_setup_late,       say_setup_late,       look_setup_late,  true,  "roce.cm.message"},
    {is_rtu_late,         say_rtu_late,         look_rtu_late,    true,  "roce.cm.message"},
    {is_response_late,    say_response_late,    add_slow_host,    false, "roce.analysis.ack_rtt >= 0.01 || roce.analysis.response_time >= 0.01"},
    {is_overtaken,        say_overtaken,        look_overtaken,   false, "roce.analysis.out_of_order || roce.analysis.nak"},
    {is_damaged,          say_damaged,          look_damaged,     false, "roce.icrc.bad"},
    {is_lost,             say_lost,             look_lost,        false, "roce.analysis.psn_gap || roce.analysis.nak"},
    {is_answer_overtaken, say_answer_overtaken, look_overtaken,   false, "roce.analysis.out_of_order || roce.analysis.psn_gap"},
    {is_answer_lost,      say_answer_lost,      look_answer_lost, false, "roce.analysis.psn_gap || roce.analysis.nak_retransmission"},
    {is_unready,          say_unready,          look_unready,     false, "roce.analysis.rnr_nak"},
    {is_without_credit,   say_without_credit,   look_without_credit,     false, "roce.analysis.zero_credit || roce.analysis.credit_update"},
    {is_paged,            say_paged,            look_paged,       false, "roce.analysis.rnr_nak"},
    {is_congested,        say_congested,        look_congested,   false, "roce.analysis.cnp || roce.analysis.ce"},
    {is_late,             say_late,             look_late,        false, "roce.analysis.timeout_retransmission"},
    {is_spurious,         say_spurious,         look_spurious,    false, "roce.analysis.spurious_retransmission"},
    {is_adaptive,         say_adaptive,         look_adaptive,    false, "roce.analysis.timeout_retransmission || roce.analysis.spurious_retransmission"},
    {is_unexplained,      say_unexplained,      look_unexplained, false, "roce.analysis.retransmission && roce.analysis.cause == 6"},
};
/* clang-format on */

/* ---- report of one connection ------------------------------------------------------------------
 */

static bool is_slow(const struct direction *w)
{
    const struct roce_endpoint_summary *s = w->mine;
    uint64_t bad = retransmitted_cnt(s) + s->bad_icrc + s->repeated_responses;
    uint64_t waited = s->rnr_waited_ns + s->retx[ROCE_CAUSE_TIMEOUT].stalled_ns +
                      s->retx[ROCE_CAUSE_SPURIOUS].stalled_ns + s->response_waits.sum +
                      s->credit_waits.sum;

    return (bad && bad * 100 >= s->packets * PACKETS_PERCENT) ||
           (waited && waited * 100 >= w->ns * TIME_PERCENT) ||
           (w->setup_ns && w->setup_ns * 100 >= (w->ns + w->setup_ns) * TIME_PERCENT) ||
           (w->rtu_ns && w->rtu_ns * 100 >= w->ns * TIME_PERCENT) || is_congested(w);
}

bool check_conn_slow(const struct roce_conn_summary *sum)
{
    struct direction a = direction_of(sum, 0), b = direction_of(sum, 1);

    if (sum->facts.svc != ROCE_SVC_RC &&
        /* With other services, the requester does not wait for lost packets. */
        sum->facts.svc != ROCE_SVC_XRC)
        return false;
    return !check_conn_failed(sum) && !check_conn_stuck(sum) && (is_slow(&a) || is_slow(&b));
}

bool check_conn_paused(const struct roce_conn_summary *sum)
{
    return silence_is_notable(sum) && !check_conn_failed(sum) && !check_conn_stuck(sum) &&
           !check_conn_slow(sum);
}

/* Names of the waits, and the causes of the retransmissions that ended them. */
static const struct {
    enum roce_cause cause;
    const char *id, *what, *label;
} waits[SLOW_WAITS] = {
    [SLOW_RESPONSE] = {ROCE_CAUSE_NONE, "response", "slow responses", "slow responses"},
    [SLOW_TIMEOUT] = {ROCE_CAUSE_TIMEOUT, "timeout", "retransmission timeouts",
                      "retransmission timeouts"},
    [SLOW_SPURIOUS] = {ROCE_CAUSE_SPURIOUS, "spurious_timeout", "late responses", "late responses"},
    [SLOW_READ_GAP] = {ROCE_CAUSE_READ_GAP, "read_gap", "READ data", "lost READ data"},
    [SLOW_RNR_NAK] = {ROCE_CAUSE_RNR_NAK, "rnr_nak", "receive WQEs (RNR NAK)",
                      "receiver not ready (RNR NAK)"},
    [SLOW_SEQ_NAK] = {ROCE_CAUSE_SEQ_NAK, "sequence_nak", "sequence NAKs",
                      "lost packets (sequence NAK)"},
    [SLOW_UNKNOWN] = {ROCE_CAUSE_UNKNOWN, "unknown", "a reason that the capture does not show",
                      "unknown reason"},
    [SLOW_CREDIT] = {ROCE_CAUSE_NONE, "credit", "credits of the receiver",
                     "receiver not ready (no credits)"},
    [SLOW_SETUP] = {ROCE_CAUSE_NONE, "setup", "the connection setup", "connection setup"},
    [SLOW_SILENCE] = {ROCE_CAUSE_NONE, "silence", "new requests", "no new requests"},
};

/* Returns the index in `waits` of the words for wait `i` of a side. */
static unsigned wait_words(const struct direction *w, unsigned i)
{
    return i == SLOW_TIMEOUT && is_one_sided(w) ? SLOW_UNKNOWN : i;
}

static uint64_t waited_ns(const struct direction *w, enum slow_cause i)
{
    switch (i) {
    case SLOW_RESPONSE: return w->mine->response_waits.sum;
    case SLOW_CREDIT: return w->mine->credit_waits.sum;
    case SLOW_SETUP: return w->rtu_ns;
    case SLOW_SILENCE: return w->silence_ns;
    case SLOW_READ_GAP:
        return w->mine->retx[ROCE_CAUSE_READ_GAP].waited_ns +
               w->mine->retx[ROCE_CAUSE_IMPLIED_NAK].waited_ns;
    default: return w->mine->retx[waits[i].cause].waited_ns;
    }
}

static uint64_t all_waited_ns(const struct direction *w)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < SLOW_WAITS; i++)
        all += waited_ns(w, i);
    return all;
}

/* Prints how long the requester waited, for each cause. */
static void print_waits(FILE *out, const struct direction *w, const char *arrow)
{
    uint64_t all = all_waited_ns(w);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = ": ";

    if (all * 100 < w->ns || w->ns == 0)
        return;
    strbuf_addf(&t, "     %s ", arrow);
    strbuf_add_percent(&t, all, w->ns);
    strbuf_addf(&t, " of the connection's ");
    strbuf_add_duration(&t, w->ns);
    strbuf_addf(&t, " was spent waiting");
    for (unsigned i = 0; i < SLOW_WAITS; i++) {
        uint64_t ns = waited_ns(w, i);

        if (ns == 0)
            continue;
        strbuf_addf(&t, "%s", sep);
        strbuf_add_duration(&t, ns);
        strbuf_addf(&t, " for %s", waits[wait_words(w, i)].what);
        sep = ", ";
    }
    fprintf(out, "%s\n", buf);
}

/* Appends what caused more than half of the `again` retransmitted packets. */
static void add_main_cause(struct strbuf *t, const struct direction *w, uint64_t again)
{
    static const struct {
        const char *one, *many;
    } names[ROCE_CAUSE_CNT] = {
        [ROCE_CAUSE_SEQ_NAK] = {"a sequence NAK", "sequence NAKs"},
        [ROCE_CAUSE_RNR_NAK] = {"an RNR NAK", "RNR NAKs"},
        [ROCE_CAUSE_TIMEOUT] = {"a timeout", "timeouts"},
        [ROCE_CAUSE_SPURIOUS] = {"a spurious timeout", "spurious timeouts"},
    };

    for (unsigned i = 0; i < ROCE_CAUSE_CNT; i++) {
        const struct roce_retx_summary *r = &w->mine->retx[i];

        if (r->packets * 2 <= again || !names[i].one)
            continue;
        strbuf_addf(t, "%s after ", r->packets == again ? "" : ", most");
        if (i == ROCE_CAUSE_TIMEOUT && is_one_sided(w))
            strbuf_addf(t, r->go_backs == 1 ? "a pause" : "pauses");
        else
            strbuf_addf(t, "%s", r->go_backs == 1 ? names[i].one : names[i].many);
    }
}

/* Prints which percentage of the packets and of the payload the requester retransmitted. */
static void print_retransmitted(FILE *out, const struct direction *w, const char *arrow)
{
    uint64_t again = retransmitted_cnt(w->mine), bytes = 0;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (again == 0)
        return;
    for (unsigned cause = 0; cause < ROCE_CAUSE_CNT; cause++)
        bytes += w->mine->retx[cause].bytes;
    strbuf_addf(&t, "     %s %" PRIu64 " of %" PRIu64 " packets (", arrow, again, w->mine->packets);
    strbuf_add_percent(&t, again, w->mine->packets);
    strbuf_addf(&t, ") %s retransmitted", again == 1 ? "was" : "were");
    add_main_cause(&t, w, again);
    if (bytes) {
        strbuf_addf(&t, ": ");
        strbuf_add_size(&t, (double)bytes);
        strbuf_addf(&t, ", ");
        strbuf_add_percent(&t, bytes, w->mine->payload_sent);
        strbuf_addf(&t, " of the payload");
    }
    fprintf(out, "%s\n", buf);
}

static void print_side(FILE *out, const struct direction *w, const char *arrow, const char *scope)
{
    uint64_t repeated = w->mine->repeated_responses;
    char buf[LINE_LEN];

    print_waits(out, w, arrow);
    print_retransmitted(out, w, arrow);
    if (repeated) {
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_addf(&t, "     %s %" PRIu64 " of %" PRIu64 " responses (", arrow, repeated,
                    w->mine->responses);
        strbuf_add_percent(&t, repeated, w->mine->responses);
        strbuf_addf(&t,
                    ") %s READ data of earlier responses: ", repeated == 1 ? "repeats" : "repeat");
        strbuf_add_size(&t, (double)w->mine->repeated_response_bytes);
        fprintf(out, "%s\n", buf);
        if (scope)
            filter_text_print(out, scope, "roce.analysis.duplicate_response");
    }
    for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        if (!causes[i].is(w))
            continue;
        strbuf_addf(&t, "     %s ", arrow);
        causes[i].say(&t, w);
        strbuf_addf(&t, "\n       ");
        causes[i].look(&t, w);
        fprintf(out, "%s\n", buf);
        if (scope)
            filter_text_print(out, causes[i].cm ? "" : scope, causes[i].filter);
    }
}

void slow_causes_print(FILE *out, const struct roce_conn_summary *sum, const char *scope)
{
    struct direction a = direction_of(sum, 0), b = direction_of(sum, 1);

    print_side(out, &a, "→", scope);
    print_side(out, &b, "←", scope);
    if (silence_is_notable(sum)) {
        char buf[LINE_LEN];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        silence_text(&t, &sum->facts);
        fprintf(out, "     %s\n", buf);
    }
}

/* ---- for readers who do not know RDMA ----------------------------------------------------------
 */

static uint64_t side_waited_ns(const struct roce_conn_summary *sum, unsigned side)
{
    struct direction w = direction_of(sum, side);

    return all_waited_ns(&w);
}

unsigned slow_causes_waits(const struct roce_conn_summary *sum, struct slow_wait wait[SLOW_WAITS],
                           unsigned *side)
{
    struct direction w;
    unsigned cnt = 0;

    *side = side_waited_ns(sum, 1) > side_waited_ns(sum, 0);
    w = direction_of(sum, *side);
    for (unsigned i = 0; i < SLOW_WAITS; i++) {
        uint64_t ns = waited_ns(&w, i);
        unsigned at = cnt;

        if (ns == 0)
            continue;
        for (; at > 0 && wait[at - 1].ns < ns; at--)
            wait[at] = wait[at - 1];
        wait[at] = (struct slow_wait){waits[i].id, waits[wait_words(&w, i)].label, i, ns};
        cnt++;
    }
    return cnt;
}

uint64_t slow_causes_waited_ns(const struct roce_conn_summary *sum)
{
    uint64_t a = side_waited_ns(sum, 0), b = side_waited_ns(sum, 1);

    return a > b ? a : b;
}

static void explain_sequence_naks(struct strbuf *t, const struct direction *w)
{
    if (is_overtaken(w)) {
        strbuf_addf(t, "packets arrived out of order");
    } else if (!is_lost(w)) {
        strbuf_addf(t, "packets were damaged");
    } else if (w->gone) {
        strbuf_addf(t, "%" PRIu64 " packet%s lost between ", w->gone,
                    w->gone == 1 ? " was" : "s were");
        add_addr(t, w->mine);
        strbuf_addf(t, " and the capture point");
    } else {
        strbuf_addf(t, "packets were lost between the capture point and ");
        add_addr(t, w->its);
    }
    strbuf_addf(t, ", and ");
    add_addr(t, w->its);
    strbuf_addf(t, " asked for %s again", is_lost(w) && w->gone == 1 ? "it" : "them");
}

void slow_causes_explain(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side,
                         enum slow_cause cause)
{
    struct direction w = direction_of(sum, side);
    const struct roce_read_restarts *reads = &w.mine->read_restarts;

    switch (cause) {
    case SLOW_RESPONSE:
        add_addr(t, w.its);
        strbuf_addf(t, " responded late, or the path was slow; nothing was lost");
        return;
    case SLOW_CREDIT:
        strbuf_addf(t, "the receiving program on ");
        add_addr(t, w.its);
        strbuf_addf(t, " had no receive buffer ready and granted no credits");
        return;
    case SLOW_SETUP:
        strbuf_addf(t, "a message of the connection setup (CM REP or RTU) was lost or late");
        return;
    case SLOW_SILENCE:
        add_addr(t, w.mine);
        strbuf_addf(t, " sent nothing, or a request of it was lost before the capture point");
        return;
    case SLOW_SEQ_NAK: explain_sequence_naks(t, &w); return;
    case SLOW_RNR_NAK:
        if (is_unready(&w))
            strbuf_addf(t, "the receiving program on ");
        else
            strbuf_addf(t, "the memory of ");
        add_addr(t, w.its);
        strbuf_addf(t, is_unready(&w) ? " had no receive buffer ready, so "
                       : w.its->may_be_rxe
                           ? " had page faults (ODP) or its transmit queue was full, so "
                           : " had page faults (ODP), so ");
        add_addr(t, w.mine);
        strbuf_addf(t, " had to pause");
        return;
    case SLOW_READ_GAP:
        strbuf_addf(t, "data that ");
        add_addr(t, w.mine);
        strbuf_addf(t, " read %s and had to be requested again",
                    is_answer_overtaken(&w) ? "arrived out of order" : "did not arrive");
        return;
    case SLOW_TIMEOUT:
        if (is_one_sided(&w)) {
            add_addr(t, w.mine);
            strbuf_addf(t, " retransmitted after pauses, and the capture lacks the responses of ");
            add_addr(t, w.its);
            strbuf_addf(t, " that show why");
            return;
        }
        strbuf_addf(t, reads->captured + reads->missing ? "data of a READ was lost or late, and "
                       : reads->late ? "data of a READ arrived out of order, and "
                                     : "a packet or its response was lost or late, and ");
        add_addr(t, w.mine);
        strbuf_addf(t, " sent the request again only when its timer expired");
        return;
    case SLOW_SPURIOUS:
        add_addr(t, w.its);
        strbuf_addf(t, " or the path was so slow that the response came only after the timer of ");
        add_addr(t, w.mine);
        strbuf_addf(t, " had expired; no request was lost");
        return;
    default:
        add_addr(t, w.mine);
        strbuf_addf(t, " retransmitted, and the capture does not show why");
        return;
    }
}

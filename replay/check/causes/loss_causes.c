/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/loss_causes.h"

#include <inttypes.h>

/* If the average time from a sequence NAK to the retransmission is at least this (ns), the path
 * alone does not explain it. The requester is a busy software RNIC, or did not receive the NAK. */
#define SLOW_REACTION_NS UINT64_C(1000000)

/* Begins the hint where packets were lost. A part of the path follows. */
static void begin_place(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, w->rnic_dropped
                       ? "rnic-run dropped packets itself (--impair), "
                       : "check for drops (full queues, a priority without PFC, a bad link) ");
}

static void say_overtaken(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t late = w->mine->naks_for_late, naks = w->its->psn_naks;

    strbuf_addf(t, "packets arrived out of order");
    if (w->mine->out_of_order)
        strbuf_addf(t, " %" PRIu64 "×", w->mine->out_of_order);
    else
        strbuf_addf(t, " after the capture point");
    strbuf_addf(t,
                "; the receiver treats reordering as loss and sent %" PRIu64 " sequence NAK%s, "
                "%" PRIu64 " of them for late packets",
                naks, naks == 1 ? "" : "s", late);
}

static void look_overtaken(struct strbuf *t, const struct slow_direction *w)
{
    (void)w;
    strbuf_addf(t, "check for per-packet load balancing over several links, or for a device that "
                   "reorders packets");
}

const struct slow_cause slow_overtaken = {slow_is_overtaken,
                                          say_overtaken,
                                          look_overtaken,
                                          false,
                                          "roce.analysis.out_of_order || roce.analysis.nak",
                                          0};

static void say_damaged(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t,
                "packets were damaged before the capture point: %" PRIu64 " with a wrong ICRC, "
                "which the receiver drops",
                w->mine->bad_icrc);
}

/* Appends a part of the path: the word `from`, the address `a`, the word `to` and the address `b`.
 * NULL as an address stands for the capture point. */
static void add_path(struct strbuf *t, const char *from, const uint8_t *a, const char *to,
                     const uint8_t *b)
{
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *addr = i ? b : a;

        strbuf_addf(t, "%s", i ? to : from);
        if (addr)
            strbuf_add_addr(t, addr);
        else
            strbuf_addf(t, "the capture point");
    }
}

static void look_damaged(struct strbuf *t, const struct slow_direction *w)
{
    add_path(t, "check links and devices from ", w->mine->addr, " to ", NULL);
}

const struct slow_cause slow_damaged = {slow_is_damaged, say_damaged,     look_damaged,
                                        false,           "roce.icrc.bad", SLOW_BY_LOST_REQUEST};

static void say_lost(struct strbuf *t, const struct slow_direction *w)
{
    const uint64_t naks = w->its->psn_naks - w->its->naks_after_rnr;

    strbuf_addf(t, "packets were %s: ", slow_lost_behind(w) ? "lost or late" : "lost");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " sent %" PRIu64 " sequence NAK%s; ", naks, naks == 1 ? "" : "s");
    if (w->gone && w->mine->missing_repeats)
        strbuf_addf(t,
                    "%" PRIu64 " packet%s and %" PRIu64
                    " retransmission%s never reached the capture point",
                    w->gone, w->gone == 1 ? "" : "s", w->mine->missing_repeats,
                    w->mine->missing_repeats == 1 ? "" : "s");
    else if (w->before)
        strbuf_addf(t, "%" PRIu64 " %s%s never reached the capture point", w->before,
                    w->gone ? "packet" : "retransmission", w->before == 1 ? "" : "s");
    else if (w->its->naks_unseen)
        strbuf_addf(t,
                    "for %" PRIu64 " of them, the missing packet was not captured, or was captured "
                    "without its ICRC",
                    w->its->naks_unseen);
    else
        strbuf_addf(t, "all missing packets passed the capture point");
}

static void look_lost(struct strbuf *t, const struct slow_direction *w)
{
    begin_place(t, w);
    if (slow_lost_behind(w))
        add_path(t, w->rnic_dropped ? "from " : "or reordering from ", NULL, " to ", w->its->addr);
    else if (w->before == 0)
        add_path(t, "from ", w->mine->addr, " to ", w->its->addr);
    else if (w->behind * SLOW_FEW > w->before && w->before * SLOW_FEW > w->behind)
        strbuf_addf(t, "on both sides of the capture point");
    else if (w->before > w->behind)
        add_path(t, "from ", w->mine->addr, " to ", NULL);
    else
        add_path(t, "from ", NULL, " to ", w->its->addr);
    if (!w->mine->may_be_rxe &&
        w->mine->retx[ROCE_CAUSE_SEQ_NAK].waited_ns >= w->naks * SLOW_REACTION_NS) {
        strbuf_addf(t, "\n       ");
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " retransmitted ");
        strbuf_add_duration(t, w->mine->retx[ROCE_CAUSE_SEQ_NAK].waited_ns / w->naks);
        strbuf_addf(t,
                    " after %s: its RNIC is slow (a busy software RNIC), or the NAK was lost "
                    "between the capture point and ",
                    w->naks == 1 ? "the sequence NAK" : "a sequence NAK on average");
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, ", which then waited for its ACK timeout");
    }
}

const struct slow_cause slow_lost = {
    slow_is_lost,        say_lost, look_lost, false, "roce.analysis.psn_gap || roce.analysis.nak",
    SLOW_BY_LOST_REQUEST};

static void say_answer_overtaken(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "READ data of ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " arrived out of order %" PRIu64 "×; a requester treats reordering as loss",
                w->its->late_responses);
}

const struct slow_cause slow_answer_overtaken = {
    slow_is_answer_overtaken,
    say_answer_overtaken,
    look_overtaken,
    false,
    "roce.analysis.out_of_order || roce.analysis.psn_gap",
    0};

static bool is_answer_lost(const struct slow_direction *w)
{
    return slow_go_backs(w, ROCE_CAUSE_READ_GAP) + slow_go_backs(w, ROCE_CAUSE_IMPLIED_NAK) > 0 &&
           !slow_is_answer_overtaken(w);
}

static void say_answer_lost(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t cnt = slow_go_backs(w, ROCE_CAUSE_READ_GAP) + slow_go_backs(w, ROCE_CAUSE_IMPLIED_NAK);

    if (w->its->any_order && w->its->missing_responses > w->its->late_responses) {
        strbuf_addf(t, "READ data of ");
        strbuf_add_addr(t, w->its->addr);
        strbuf_addf(t, " was lost before the capture point; the requester went back %" PRIu64 "×",
                    cnt);
        return;
    }
    if (w->its->response_gaps) {
        strbuf_addf(t, "READ data of ");
        strbuf_add_addr(t, w->its->addr);
        strbuf_addf(t,
                    " was lost before the capture point: %" PRIu64 " gap%s, %" PRIu64
                    " response%s missing; the requester went back %" PRIu64 "×",
                    w->its->response_gaps, w->its->response_gaps == 1 ? "" : "s",
                    w->its->missing_responses, w->its->missing_responses == 1 ? "" : "s", cnt);
        return;
    }
    strbuf_addf(t, "responses of ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " to READs or atomics were %s %" PRIu64 "×",
                w->mine->read_gap_restarts.late ? "lost or late" : "lost", cnt);
}

/* Appends how many responses to READs or atomics did not reach the requester, and where to search
 * for the loss. `all` is the number of all retransmissions because of missing responses. `timeout`:
 * a timeout of the requester shows that a READ response is missing, otherwise a gap or an implied
 * NAK. */
static void add_missing_response(struct strbuf *t, const struct slow_direction *w,
                                 const struct roce_read_restarts *r, uint64_t all, bool timeout)
{
    const char *what = timeout ? "READ response" : "response";
    const char *late = timeout ? ", or later than the ACK timeout" : " or late";
    uint64_t cnt = r->captured + r->missing;

    if (cnt == 1 && all == 1)
        strbuf_addf(t, "the %s with PSN %u was lost%s", what, r->psn, late);
    else
        strbuf_addf(t, "%" PRIu64 "× a %s was lost%s, first the one with PSN %u", cnt, what, late,
                    r->psn);
    strbuf_addf(t, " (restart in frame %u): ", r->frame);
    if (r->missing == 0)
        strbuf_addf(t, "the capture contains the response%s; ", cnt == 1 ? "" : "s");
    else if (r->captured == 0)
        strbuf_addf(t, "the capture lacks the response%s; ", cnt == 1 ? "" : "s");
    else
        strbuf_addf(t, "the capture contains %" PRIu64 " of these responses; ", r->captured);
    strbuf_addf(t, w->rnic_dropped              ? "rnic-run dropped packets itself (--impair), "
                   : timeout && r->missing == 0 ? "if it was lost, check for drops "
                                                : "check for drops ");
    if (r->missing * SLOW_FEW <= r->captured)
        add_path(t, "from ", NULL, " to ", w->mine->addr);
    else if (r->captured * SLOW_FEW <= r->missing)
        add_path(t, "from ", w->its->addr, " to ", NULL);
    else
        strbuf_addf(t, "on both sides of the capture point");
}

static void look_answer_lost(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_read_restarts *r = &w->mine->read_gap_restarts;

    if (r->captured + r->missing) {
        add_missing_response(t, w, r,
                             slow_go_backs(w, ROCE_CAUSE_READ_GAP) +
                                 slow_go_backs(w, ROCE_CAUSE_IMPLIED_NAK),
                             false);
        return;
    }
    if (r->late) {
        strbuf_addf(t,
                    "%" PRIu64 "× the response was captured out of order: the requester drops it",
                    r->late);
        return;
    }
    add_path(t,
             w->rnic_dropped ? "rnic-run dropped packets itself (--impair), from "
                             : "check for drops from ",
             w->its->addr, " to ", w->its->response_gaps ? NULL : w->mine->addr);
}

const struct slow_cause slow_answer_lost = {
    is_answer_lost,
    say_answer_lost,
    look_answer_lost,
    false,
    "roce.analysis.psn_gap || roce.analysis.nak_retransmission",
    SLOW_BY_LOST_RESPONSE};

static void add_expired(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "the ACK timeout of ");
    slow_add_host(t, w->mine, w->its);
    strbuf_addf(t, " expired %" PRIu64 "×", slow_go_backs(w, ROCE_CAUSE_TIMEOUT));
}

static void say_late(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t packets = w->mine->retx[ROCE_CAUSE_TIMEOUT].packets;

    if (slow_is_one_sided(w))
        strbuf_addf(t, "the requester paused %" PRIu64 "×", slow_go_backs(w, ROCE_CAUSE_TIMEOUT));
    else
        add_expired(t, w);
    /* For spurious timeouts, look_spurious() appends the waits instead. */
    if (!slow_is_spurious(w)) {
        strbuf_addf(t, ", %s ", slow_is_one_sided(w) ? "for" : "after");
        strbuf_add_durations(t, w->mine->timeout_min_ns, w->mine->timeout_max_ns);
        strbuf_addf(t, slow_is_one_sided(w) ? "" : " of silence");
    }
    strbuf_addf(t, "; the requester retransmitted %" PRIu64 " packet%s", packets,
                packets == 1 ? "" : "s");
}

/* Begins a line about `cnt` lost packets. If `cnt` is 1, the line has the text `one` and the PSN of
 * the packet. Otherwise it has `cnt`, the text `each` and the PSN of the first packet. */
static void add_lost_psn(struct strbuf *t, const char **sep, uint64_t cnt, uint32_t psn,
                         const char *one, const char *each)
{
    if (cnt == 1)
        strbuf_addf(t, "%s%s %u", *sep, one, psn);
    else
        strbuf_addf(t, "%s%" PRIu64 "× %s (first PSN %u)", *sep, cnt, each, psn);
    *sep = "\n       ";
}

/* Appends which losses before ACK timeouts the capture shows, one line for each kind of loss.
 * Returns the number of timeouts that these lines explain. */
static uint64_t add_timeout_losses(struct strbuf *t, const struct slow_direction *w,
                                   const char **sep)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;

    if (losses->missing) {
        add_lost_psn(t, sep, losses->missing, losses->missing_psn, "the packet with PSN",
                     "a packet");
        strbuf_addf(t, " was lost from ");
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " to the capture point, and no sequence NAK for it reached ");
        strbuf_add_addr(t, w->mine->addr);
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
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, ", or arrived there later than the ACK timeout");
        *sep = "\n       ";
    }
    if (losses->unanswered) {
        strbuf_addf(t,
                    "%s%" PRIu64
                    "× the request was captured, and no response before the timeout: one of them "
                    "was lost, or later than the ACK timeout, between the capture point and ",
                    *sep, losses->unanswered);
        strbuf_add_addr(t, w->its->addr);
        *sep = "\n       ";
    }
    if (losses->unfinished) {
        strbuf_addf(t, "%s%" PRIu64 "× the end of a message was missing: it was lost from ", *sep,
                    losses->unfinished);
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " to the capture point, or the requester first waited for an ACK of the "
                       "earlier packets");
        *sep = "\n       ";
    }
    if (losses->unasked) {
        strbuf_addf(t, "%s%" PRIu64 "× no outstanding request of ", *sep, losses->unasked);
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " asked for an acknowledgement (AckReq), so ");
        strbuf_add_addr(t, w->its->addr);
        strbuf_addf(t, " need not respond: check the device and firmware of ");
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, ", unless a request with AckReq was lost before the capture point");
        *sep = "\n       ";
    }
    return losses->missing + losses->relost + losses->acked + losses->unanswered +
           losses->unfinished + losses->unasked;
}

enum timeout_place { BEFORE_CAPTURE = 1, BACK_FROM_CAPTURE = 2, BEHIND_CAPTURE = 4 };

/* Returns whether the capture does not show if a packet was lost before the ACK timeouts, or if it
 * was late. */
static bool is_loss_unsure(const struct slow_direction *w)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;

    return losses->acked + losses->unanswered > 0 &&
           losses->missing + losses->relost + losses->unfinished + w->mine->unheeded_naks == 0;
}

/* Begins the hint with the part of the path in which packets were lost before ACK timeouts. Appends
 * nothing if the capture does not show this part. Also appends nothing if packets were reordered,
 * because a loss is then not the only cause of a timeout. Returns the separator of the next
 * line. */
static const char *add_timeout_place(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;
    const unsigned places = (losses->missing + losses->unfinished ? BEFORE_CAPTURE : 0) |
                            (losses->acked + w->mine->unheeded_naks ? BACK_FROM_CAPTURE : 0) |
                            (losses->unanswered ? BEHIND_CAPTURE : 0);
    const bool unsure = is_loss_unsure(w) && !w->rnic_dropped;

    if (!places || slow_is_overtaken(w))
        return "";
    if (unsure)
        strbuf_addf(t, "if packets were lost, ");
    begin_place(t, w);
    if (places == BEFORE_CAPTURE)
        add_path(t, "from ", w->mine->addr, " to ", NULL);
    else if (places == BACK_FROM_CAPTURE)
        add_path(t, "from ", NULL, " to ", w->mine->addr);
    else
        add_path(t, "between ", places == BEHIND_CAPTURE ? NULL : w->mine->addr, " and ",
                 w->its->addr);
    if (unsure && !w->path.mine)
        strbuf_addf(t, "; to see whether they were lost or late, capture at the other end, too, "
                       "and run rocedrill check A --other-end B");
    return "\n       ";
}

static void look_late(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t cnt = slow_go_backs(w, ROCE_CAUSE_TIMEOUT);
    const struct roce_read_restarts *reads = &w->mine->read_restarts;
    uint64_t known = reads->captured + reads->missing;
    uint64_t unheeded = w->mine->unheeded_naks;
    const char *sep;

    if (slow_is_one_sided(w)) {
        strbuf_addf(t, "the capture lacks the responses of ");
        strbuf_add_addr(t, w->its->addr);
        strbuf_addf(t, ", which show whether the ACK timeout expired or the receiver was not ready "
                       "(RNR NAK): capture both directions");
        return;
    }
    sep = add_timeout_place(t, w);
    if (known) {
        strbuf_addf(t, "%s", sep);
        add_missing_response(t, w, reads, cnt, true);
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
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, ", or ignored");
        sep = "\n       ";
    }
    known += reads->late + unheeded + add_timeout_losses(t, w, &sep);
    if (known < cnt)
        strbuf_addf(
            t,
            "%s%sthe last packets before a pause, or their responses, were lost, or later than the "
            "ACK timeout: only the timeout of the requester detects such a loss",
            sep, *sep ? "otherwise " : "");
}

const struct slow_cause slow_late = {slow_is_late,
                                     say_late,
                                     look_late,
                                     false,
                                     "roce.analysis.timeout_retransmission",
                                     SLOW_BY_LOSS | SLOW_BY_DELAY};

static void say_refused(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_retx_summary *r = &w->mine->retx[ROCE_CAUSE_UNKNOWN];

    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, " sent %" PRIu64 " packets again, each ", r->packets);
    strbuf_add_duration(t, r->stalled_ns / r->go_backs);
    strbuf_addf(t, " after its previous transmission on average: Linux Soft-RoCE does so while the "
                   "transmit queue of its interface is full");
}

static void look_refused(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "on ");
    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, ", raise the rate of the interface or lengthen its queue (tc): the queue drops "
                   "these packets, although they were captured before it");
}

const struct slow_cause slow_refused = {slow_is_refused,
                                        say_refused,
                                        look_refused,
                                        false,
                                        "roce.analysis.retransmission && roce.analysis.cause == 6",
                                        0};

/* Returns whether the requester retransmitted for unknown reasons, and none of the causes below
 * applies. */
static bool is_unexplained(const struct slow_direction *w)
{
    return slow_go_backs(w, ROCE_CAUSE_UNKNOWN) > 0 && !slow_is_overtaken(w) &&
           !slow_is_damaged(w) && !slow_is_lost(w) && !slow_is_late(w) && !slow_is_spurious(w) &&
           !slow_is_unready(w) && !slow_is_paged(w) && !slow_is_refused(w);
}

static void say_unexplained(struct strbuf *t, const struct slow_direction *w)
{
    uint64_t packets = w->mine->retx[ROCE_CAUSE_UNKNOWN].packets;

    if (slow_is_doubled(w)) {
        strbuf_addf(t, "%" PRIu64 " packet%s captured again, on average ", packets,
                    packets == 1 ? " was" : "s were");
        strbuf_add_duration(t, w->mine->retx[ROCE_CAUSE_UNKNOWN].stalled_ns /
                                   slow_go_backs(w, ROCE_CAUSE_UNKNOWN));
        strbuf_addf(t, " later, and the capture shows no reason for a retransmission");
        return;
    }
    strbuf_addf(t,
                "the requester retransmitted %" PRIu64 " packet%s, and the capture shows no reason",
                packets, packets == 1 ? "" : "s");
}

static void look_unexplained(struct strbuf *t, const struct slow_direction *w)
{
    strbuf_addf(t, "possible causes: %sresponses of ",
                slow_is_doubled(w) ? "the network or the capture duplicated the packets, or " : "");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " reached ");
    strbuf_add_addr(t, w->mine->addr);
    strbuf_addf(t, " late or never, or its NAKs were not captured; compare with a capture at the "
                   "other end");
}

_Static_assert(ROCE_CAUSE_UNKNOWN == 6,
               "the display filter of slow_unexplained contains the value of ROCE_CAUSE_UNKNOWN");

const struct slow_cause slow_unexplained = {
    is_unexplained,
    say_unexplained,
    look_unexplained,
    false,
    "roce.analysis.retransmission && roce.analysis.cause == 6",
    SLOW_BY_LOSS};

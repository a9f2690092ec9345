/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/time_budget.h"

#include <inttypes.h>

#define LINE_LEN 1024

/* For each wait: its id in JSON, its texts, and the cause of the retransmission that ended the
 * wait. */
static const struct {
    enum roce_cause cause;
    const char *id, *what, *label;
} waits[TIME_PARTS] = {
    [WAIT_RESPONSE] = {ROCE_CAUSE_NONE, "response", "slow responses", "slow responses"},
    [WAIT_TIMEOUT] = {ROCE_CAUSE_TIMEOUT, "timeout", "ACK timeouts", "ACK timeouts"},
    [WAIT_SPURIOUS] = {ROCE_CAUSE_SPURIOUS, "spurious_timeout", "late responses", "late responses"},
    [WAIT_READ_GAP] = {ROCE_CAUSE_READ_GAP, "read_gap", "READ data", "lost READ data"},
    [WAIT_RNR_NAK] = {ROCE_CAUSE_RNR_NAK, "rnr_nak", "RNR NAKs", "receiver not ready (RNR NAK)"},
    [WAIT_SEQ_NAK] = {ROCE_CAUSE_SEQ_NAK, "sequence_nak", "sequence NAKs",
                      "lost packets (sequence NAK)"},
    [WAIT_UNKNOWN] = {ROCE_CAUSE_UNKNOWN, "unknown", "a reason that the capture does not show",
                      "unknown reason"},
    [WAIT_CREDIT] = {ROCE_CAUSE_NONE, "credit", "credits of the receiver",
                     "no receive buffer (no credits)"},
    [WAIT_SETUP] = {ROCE_CAUSE_NONE, "setup", "the connection setup", "connection setup"},
    [WAIT_SILENCE] = {ROCE_CAUSE_NONE, "silence", "new requests of the program", "no new requests"},
    [TIME_IDLE] = {ROCE_CAUSE_NONE, "idle", "",
                   "idle (the program had nothing to send: not counted as waiting)"},
    [TIME_SENDING] = {ROCE_CAUSE_NONE, "sending", "", "sending, or responses under way"},
};

enum wait_cause time_budget_words(const struct slow_direction *w, enum wait_cause cause)
{
    if ((cause == WAIT_TIMEOUT && slow_is_one_sided(w)) ||
        (cause == WAIT_SILENCE && w->silence_inside))
        return WAIT_UNKNOWN;
    return cause;
}

const char *time_budget_what(enum wait_cause cause)
{
    return waits[cause].what;
}

uint64_t time_budget_ns(const struct slow_direction *w, enum wait_cause cause)
{
    switch (cause) {
    case WAIT_RESPONSE: return w->mine->response_waits.sum;
    case WAIT_CREDIT: return w->mine->credit_waits.sum;
    case WAIT_SETUP: return w->rtu_ns;
    case WAIT_SILENCE: return w->silence_ns;
    case WAIT_READ_GAP:
        return w->mine->retx[ROCE_CAUSE_READ_GAP].waited_ns +
               w->mine->retx[ROCE_CAUSE_IMPLIED_NAK].waited_ns;
    default: return w->mine->retx[waits[cause].cause].waited_ns;
    }
}

static uint64_t all_waited_ns(const struct slow_direction *w)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < WAIT_CAUSES; i++)
        all += time_budget_ns(w, i);
    return all;
}

/* Stores the waits of a direction, the longest first, and returns their number. */
static unsigned list_waits(const struct slow_direction *w, struct wait_part wait[WAIT_CAUSES])
{
    unsigned cnt = 0;

    for (unsigned i = 0; i < WAIT_CAUSES; i++) {
        uint64_t ns = time_budget_ns(w, i);
        unsigned at = cnt;

        if (ns == 0)
            continue;
        for (; at > 0 && wait[at - 1].ns < ns; at--)
            wait[at] = wait[at - 1];
        wait[at] = (struct wait_part){waits[i].id, waits[time_budget_words(w, i)].label, i, ns, 0};
        cnt++;
    }
    return cnt;
}

/* Returns the idle time of the requester, ns, but at most the connection's time minus its waits. */
static uint64_t idle_ns(const struct slow_direction *w)
{
    const uint64_t waited = all_waited_ns(w), rest = w->ns > waited ? w->ns - waited : 0;

    return w->idle_ns < rest ? w->idle_ns : rest;
}

void time_budget_print(FILE *out, const struct slow_direction *w, const char *arrow)
{
    struct wait_part wait[WAIT_CAUSES];
    unsigned cnt = list_waits(w, wait);
    uint64_t all = all_waited_ns(w), idle = idle_ns(w);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (all * 100 < w->ns || w->ns == 0)
        return;
    strbuf_addf(&t, "     %s ", arrow);
    strbuf_add_percent(&t, all, w->ns);
    strbuf_addf(&t, " of the connection's ");
    strbuf_add_duration(&t, w->ns);
    strbuf_addf(&t, " was spent waiting");
    for (unsigned i = 0; i < cnt; i++) {
        strbuf_addf(&t, "%s", i ? ", " : ": ");
        strbuf_add_duration(&t, wait[i].ns);
        strbuf_addf(&t, " for %s",
                    wait[i].cause == WAIT_UNKNOWN && slow_is_refused(w)
                        ? "a full transmit queue"
                        : waits[time_budget_words(w, wait[i].cause)].what);
    }
    if (idle * 100 >= w->ns) {
        strbuf_addf(&t, "; ");
        strbuf_add_duration(&t, idle);
        strbuf_addf(&t, " idle (nothing to send)");
    }
    fprintf(out, "%s\n", buf);
}

static uint64_t side_waited_ns(const struct roce_conn_summary *sum, unsigned side)
{
    struct slow_direction w = slow_direction_of(sum, side);

    return all_waited_ns(&w);
}

unsigned time_budget_waits(const struct roce_conn_summary *sum, struct wait_part wait[WAIT_CAUSES],
                           unsigned *side)
{
    struct slow_direction w;

    *side = side_waited_ns(sum, 1) > side_waited_ns(sum, 0);
    w = slow_direction_of(sum, *side);
    return list_waits(&w, wait);
}

/* Sets the shares of the parts, which together last `all` ns. The parts with the largest remainders
 * are rounded up. */
static void set_shares(struct wait_part part[], unsigned cnt, uint64_t all)
{
    double remainder[TIME_PARTS];
    unsigned left = 1000;

    for (unsigned i = 0; i < cnt; i++) {
        const double share = 1000 * (double)part[i].ns / (double)all;

        part[i].permille = (unsigned)share;
        remainder[i] = share - part[i].permille;
        left -= part[i].permille;
    }
    for (; left > 0; left--) {
        unsigned most = 0;

        for (unsigned i = 1; i < cnt; i++)
            most = remainder[i] > remainder[most] ? i : most;
        part[most].permille++;
        remainder[most] = -1;
    }
}

unsigned time_budget_parts(const struct roce_conn_summary *sum, struct wait_part part[TIME_PARTS])
{
    unsigned side, cnt = time_budget_waits(sum, part, &side);
    const struct slow_direction w = slow_direction_of(sum, side);
    const uint64_t waited = all_waited_ns(&w), idle = idle_ns(&w);

    if (w.ns == 0 || waited == 0 || waited * 100 < w.ns)
        return 0;
    if (idle)
        part[cnt++] =
            (struct wait_part){waits[TIME_IDLE].id, waits[TIME_IDLE].label, TIME_IDLE, idle, 0};
    if (waited + idle < w.ns)
        part[cnt++] = (struct wait_part){waits[TIME_SENDING].id, waits[TIME_SENDING].label,
                                         TIME_SENDING, w.ns - waited - idle, 0};
    set_shares(part, cnt, waited > w.ns ? waited : w.ns);
    return cnt;
}

uint64_t time_budget_waited_ns(const struct roce_conn_summary *sum)
{
    uint64_t a = side_waited_ns(sum, 0), b = side_waited_ns(sum, 1);

    return a > b ? a : b;
}

/* Returns " between the two capture points" if the second capture shows losses there that explain a
 * wait, otherwise "". `between`: as in slow_is_between(). */
static const char *place_of(const struct slow_direction *w, unsigned between)
{
    return slow_is_between(w, between) ? " between the two capture points" : "";
}

static void explain_sequence_naks(struct strbuf *t, const struct slow_direction *w)
{
    if (slow_is_overtaken(w)) {
        strbuf_addf(t, "packets arrived out of order");
    } else if (!slow_is_lost(w)) {
        strbuf_addf(t, "packets were damaged");
    } else if (slow_is_between(w, SLOW_BY_LOST_REQUEST)) {
        strbuf_addf(t, "packets were lost between the two capture points");
    } else if (w->gone) {
        strbuf_addf(t, "%" PRIu64 " packet%s lost between ", w->gone,
                    w->gone == 1 ? " was" : "s were");
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " and the capture point");
    } else if (slow_lost_behind(w)) {
        strbuf_addf(t, "packets were lost or late between the capture point and ");
        strbuf_add_addr(t, w->its->addr);
    } else {
        strbuf_addf(t, "packets were lost");
    }
    strbuf_addf(t, ", and ");
    strbuf_add_addr(t, w->its->addr);
    strbuf_addf(t, " asked for the missing packet%s again",
                slow_is_lost(w) && w->gone == 1 ? "" : "s");
}

/* Appends the part of the path in which a packet was lost. `before`: from the endpoint `addr` to
 * the capture point; otherwise from the capture point to `addr`. */
static void add_place(struct strbuf *t, bool before, const uint8_t *addr)
{
    strbuf_addf(t, before ? " between " : " between the capture point and ");
    strbuf_add_addr(t, addr);
    strbuf_addf(t, before ? " and the capture point" : "");
}

/* Appends which packets were lost before the ACK timeouts. If all losses are in the same part of
 * the path, also appends this part. */
static void explain_losses(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_timeout_losses *losses = &w->mine->timeout_losses;
    const uint64_t cnt = slow_go_backs(w, ROCE_CAUSE_TIMEOUT);
    const char *place = place_of(w, SLOW_BY_LOSS);

    if (*place) {
        strbuf_addf(t, "a packet or its response was lost or late%s", place);
    } else if (losses->acked == cnt) {
        strbuf_addf(t, "a response was lost, or later than the ACK timeout,");
        add_place(t, false, w->mine->addr);
    } else if (losses->unanswered == cnt) {
        strbuf_addf(t, "a packet or its response was lost, or later than the ACK timeout,");
        add_place(t, false, w->its->addr);
    } else if (losses->unasked == cnt) {
        strbuf_add_addr(t, w->mine->addr);
        strbuf_addf(t, " did not ask for an acknowledgement (AckReq)");
    } else if (losses->missing == cnt || losses->unfinished == cnt) {
        strbuf_addf(t, "a packet was %slost", losses->missing == cnt ? "" : "probably ");
        add_place(t, true, w->mine->addr);
    } else {
        strbuf_addf(t, "a packet or its response was lost, or later than the ACK timeout");
    }
}

/* Appends what led to ACK timeouts: losses, or data of READs that came late or out of order. */
static void explain_timeouts(struct strbuf *t, const struct slow_direction *w)
{
    const struct roce_read_restarts *reads = &w->mine->read_restarts;
    const char *place = place_of(w, SLOW_BY_LOST_RESPONSE);

    if (reads->captured + reads->missing) {
        strbuf_addf(t, "data of a READ was lost%s%s",
                    *place || reads->missing ? " or late" : ", or later than the ACK timeout,",
                    place);
        if (!*place && (!reads->captured || !reads->missing))
            add_place(t, reads->missing > 0, reads->missing ? w->its->addr : w->mine->addr);
    } else if (reads->late) {
        strbuf_addf(t, "data of a READ arrived out of order");
    } else {
        explain_losses(t, w);
    }
    strbuf_addf(t, ", and ");
}

void time_budget_explain(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side,
                         enum wait_cause cause, const struct two_points *points)
{
    struct slow_direction w = slow_direction_of(sum, side);

    w.path = path_of(points, sum, side);

    switch (cause) {
    case WAIT_RESPONSE:
        if (slow_is_between(&w, SLOW_BY_DELAY)) {
            strbuf_addf(t, "the path between the two capture points was slow; nothing was lost");
            return;
        }
        strbuf_add_addr(t, w.its->addr);
        strbuf_addf(t, " responded late, or the path was slow; nothing was lost");
        return;
    case WAIT_CREDIT:
        strbuf_addf(t, "the receiving program on ");
        strbuf_add_addr(t, w.its->addr);
        strbuf_addf(t, " had no receive buffer ready and granted no credits");
        return;
    case WAIT_SETUP:
        strbuf_addf(t, "a message of the connection setup (CM REP or RTU) was lost or late");
        return;
    case WAIT_SILENCE:
        strbuf_add_addr(t, w.mine->addr);
        strbuf_addf(t, " sent nothing, or a request of it was lost before the capture point");
        return;
    case WAIT_SEQ_NAK: explain_sequence_naks(t, &w); return;
    case WAIT_RNR_NAK:
        if (slow_is_unready(&w))
            strbuf_addf(t, "the receiving program on ");
        else
            strbuf_addf(t, "the memory of ");
        strbuf_add_addr(t, w.its->addr);
        strbuf_addf(t, slow_is_unready(&w) ? " had no receive buffer ready, so "
                       : w.its->may_be_rxe
                           ? " had page faults (ODP) or its transmit queue was full, so "
                           : " had page faults (ODP), so ");
        strbuf_add_addr(t, w.mine->addr);
        strbuf_addf(t, " had to pause");
        return;
    case WAIT_READ_GAP:
        strbuf_addf(t, "data that ");
        strbuf_add_addr(t, w.mine->addr);
        if (slow_is_answer_overtaken(&w))
            strbuf_addf(t, " read arrived out of order and had to be requested again");
        else
            strbuf_addf(t, " read %s%s and had to be requested again",
                        slow_is_between(&w, SLOW_BY_LOST_RESPONSE) ? "was lost" : "did not arrive",
                        place_of(&w, SLOW_BY_LOST_RESPONSE));
        return;
    case WAIT_TIMEOUT:
        if (slow_is_one_sided(&w)) {
            strbuf_add_addr(t, w.mine->addr);
            strbuf_addf(t, " retransmitted after pauses, and the capture lacks the responses of ");
            strbuf_add_addr(t, w.its->addr);
            strbuf_addf(t, " that show why");
            return;
        }
        explain_timeouts(t, &w);
        strbuf_add_addr(t, w.mine->addr);
        strbuf_addf(t, " sent the request again only when its ACK timeout expired");
        return;
    case WAIT_SPURIOUS:
        if (slow_is_between(&w, SLOW_BY_DELAY))
            strbuf_addf(t, "the path between the two capture points was slow, and ");
        strbuf_addf(t, "the ACK timeout of ");
        strbuf_add_addr(t, w.mine->addr);
        strbuf_addf(t, " (");
        strbuf_add_durations(t, w.mine->timeout_min_ns, w.mine->timeout_max_ns);
        strbuf_addf(t, ") is shorter than the response time (up to ");
        strbuf_add_duration(t, w.mine->late_response_ns);
        strbuf_addf(t, "): the retransmissions were unnecessary, and no request was lost");
        return;
    default:
        strbuf_add_addr(t, w.mine->addr);
        strbuf_addf(t, slow_is_refused(&w)
                           ? " retransmitted, because its transmit queue was full (Soft-RoCE)"
                       : slow_is_doubled(&w)
                           ? " retransmitted, or packets were duplicated: the capture does not "
                             "show which"
                           : " retransmitted, and the capture does not show why");
        return;
    }
}

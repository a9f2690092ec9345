/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/headline.h"

#include <inttypes.h>
#include "check/base/conn_state.h"
#include "check/causes/congestion_text.h"
#include "check/causes/idle_text.h"
#include "check/causes/lockstep_text.h"
#include "check/causes/silence_text.h"
#include "check/causes/slow_causes.h"
#include "check/causes/time_budget.h"
#include "wire/codes.h"

/* ---- state of a connection ---------------------------------------------------------------------
 */

enum headline_state headline_state(const struct roce_conn_summary *sum)
{
    return check_conn_failed(sum)                               ? HEADLINE_FAILED
           : check_conn_errors(sum)                             ? HEADLINE_VIOLATED
           : check_conn_stuck(sum)                              ? HEADLINE_STUCK
           : check_conn_lossy(sum)                              ? HEADLINE_LOSSY
           : check_conn_slow(sum)                               ? HEADLINE_SLOW
           : check_conn_marked(sum) || check_conn_notified(sum) ? HEADLINE_MARKED
           : check_conn_paused(sum)                             ? HEADLINE_PAUSED
                                                                : HEADLINE_OK;
}

const char *headline_state_name(enum headline_state state)
{
    static const char *const names[] = {"no problem", "paused", "congested",     "slow",
                                        "data lost",  "stuck",  "breaks a rule", "failed"};

    return names[state];
}

/* ---- adding numbers ----------------------------------------------------------------------------
 */

/* Appends a number and its noun. The noun has an "s" unless the number is 1. */
static void add_count(struct strbuf *t, uint64_t cnt, const char *noun)
{
    strbuf_addf(t, "%" PRIu64 " %s%s", cnt, noun, cnt == 1 ? "" : "s");
}

static uint64_t repeated_cnt(const struct roce_conn_summary *sum)
{
    uint64_t cnt = 0;

    for (unsigned i = 0; i < 2; i++)
        cnt += check_side_retransmitted(&sum->side[i]).packets + sum->side[i].repeated_responses;
    return cnt;
}

/* ---- headline of one connection ----------------------------------------------------------------
 */

static const char *end_text(const struct roce_conn_facts *facts)
{
    switch (facts->end) {
    case ROCE_END_REJECTED: return "one side refused to set up the connection";
    case ROCE_END_RETRY_EXHAUSTED:
        return check_conn_no_retry_left(facts)
                   ? "a packet was lost, and the sender had no retry left"
                   : "no answer came although the sender retransmitted, and the sender gave up";
    case ROCE_END_UNANSWERED:
        return facts->end_on_nak
                   ? "a packet was lost each time that the sender transmitted it"
                   : "the sender retransmitted, and no answer came until the capture ended";
    case ROCE_END_GONE:
        return "the program of one side was killed or crashed, and the device of the other side "
               "sent the DREQ instead";
    default: return "a request makes no progress";
    }
}

/* Appends which side refused a request of its peer, and with what: a fatal NAK or RNR NAKs. */
static void add_refusal(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;
    char buf[96];

    strbuf_add_addr(t, sum->side[!(facts->end_side & 1)].addr);
    if (facts->end == ROCE_END_NAK)
        strbuf_addf(t, " refused a request of ");
    else
        strbuf_addf(t, facts->end_paged ? " delayed a request (RNR NAK), and "
                                        : " had no receive buffer ready (RNR NAK), and ");
    strbuf_add_addr(t, sum->side[facts->end_side & 1].addr);
    if (facts->end == ROCE_END_NAK)
        strbuf_addf(t, " for good (%s)", roce_syndrome_text(facts->end_syndrome, buf, sizeof(buf)));
    else
        strbuf_addf(t, facts->end == ROCE_END_RNR_EXHAUSTED ? " gave up" : " waits");
}

/* Appends why a connection failed or is stuck. */
static void add_end_text(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;
    bool silent = facts->end == ROCE_END_UNANSWERED || facts->end == ROCE_END_RETRY_EXHAUSTED;

    if (check_conn_not_retransmitted(facts)) {
        strbuf_addf(t, "a request got no answer in the last ");
        strbuf_add_duration(t, sum->silence.request_ns);
        strbuf_addf(t, " of the capture, and the sender did not retransmit it");
        return;
    }
    if (facts->end == ROCE_END_NAK || facts->end == ROCE_END_RNR_EXHAUSTED ||
        facts->end == ROCE_END_RNR_WAITING) {
        add_refusal(t, sum);
        return;
    }
    if (!silent || sum->silence.frame == 0 || facts->end_damaged) {
        strbuf_addf(t, "%s", end_text(facts));
        return;
    }
    strbuf_add_addr(t, sum->side[!(facts->end_side & 1)].addr);
    strbuf_addf(t, " sent nothing after frame %u, ", sum->silence.frame);
    if (sum->silence.ns) {
        strbuf_addf(t, "for ");
        strbuf_add_duration(t, sum->silence.ns);
        strbuf_addf(t, ", ");
    }
    strbuf_addf(t, "although ");
    strbuf_add_addr(t, sum->side[facts->end_side & 1].addr);
    strbuf_addf(t, facts->end == ROCE_END_UNANSWERED ? " retransmitted"
                                                     : " retransmitted until it gave up");
}

/* Appends the number of RNR NAKs that `side` sent. */
static void add_unready(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    strbuf_add_addr(t, side->addr);
    strbuf_addf(t, " had no receive buffer ready ");
    add_count(t, side->rnr_naks, "time");
    strbuf_addf(t, " (RNR NAK)");
}

/* Number of retransmitted requests of one side that have the same cause. */
struct retx_cause {
    uint64_t packets;
    unsigned side;
    enum wait_cause wait;
};

/* Stores the causes of retransmitted requests, the most frequent first, and returns their number.
 * Requests that were retransmitted for an unknown reason count as one cause of WAIT_UNKNOWN. */
static unsigned list_retx_causes(const struct roce_conn_summary *sum,
                                 struct retx_cause list[2 * ROCE_CAUSE_CNT])
{
    static const enum wait_cause waits[ROCE_CAUSE_CNT] = {
        [ROCE_CAUSE_NONE] = WAIT_UNKNOWN,         [ROCE_CAUSE_SEQ_NAK] = WAIT_SEQ_NAK,
        [ROCE_CAUSE_RNR_NAK] = WAIT_RNR_NAK,      [ROCE_CAUSE_TIMEOUT] = WAIT_TIMEOUT,
        [ROCE_CAUSE_IMPLIED_NAK] = WAIT_READ_GAP, [ROCE_CAUSE_READ_GAP] = WAIT_READ_GAP,
        [ROCE_CAUSE_UNKNOWN] = WAIT_UNKNOWN,      [ROCE_CAUSE_SPURIOUS] = WAIT_SPURIOUS};
    unsigned cnt = 0;

    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < ROCE_CAUSE_CNT; i++) {
            const uint64_t packets = sum->side[side].retx[i].packets;
            unsigned at = cnt;

            if (packets == 0)
                continue;
            for (; at > 0 && list[at - 1].packets < packets; at--)
                list[at] = list[at - 1];
            list[at] = (struct retx_cause){packets, side, waits[i]};
            cnt++;
        }
    return cnt;
}

/* Returns whether the transmit queue of `side` refused requests, so that it sent them again. */
static bool is_refused(const struct roce_conn_summary *sum, unsigned side)
{
    const struct slow_direction w = slow_direction_of(sum, side);

    return slow_is_refused(&w);
}

/* Appends why requests were retransmitted: the cause of at least half of them, or the two most
 * frequent causes. */
static void add_retransmission_causes(struct strbuf *t, const struct roce_conn_summary *sum,
                                      const struct two_points *points)
{
    const uint64_t all = check_side_retransmitted(&sum->side[0]).packets +
                         check_side_retransmitted(&sum->side[1]).packets;
    struct retx_cause list[2 * ROCE_CAUSE_CNT];
    const unsigned cnt = list_retx_causes(sum, list);

    for (unsigned i = 0; i < cnt && i < 2; i++) {
        strbuf_addf(t, "%s", i == 0 ? ", " : "; ");
        if (list[0].packets * 2 < all)
            strbuf_addf(t, "%" PRIu64 " ", list[i].packets);
        else if (list[0].packets < all)
            strbuf_addf(t, "mostly ");
        if (list[i].wait == WAIT_UNKNOWN && !is_refused(sum, list[i].side)) {
            strbuf_addf(t, "for a reason that the capture does not show");
        } else {
            strbuf_addf(t, "because ");
            time_budget_explain(t, sum, list[i].side, list[i].wait, points);
        }
        if (list[0].packets * 2 >= all)
            return;
    }
}

/* Appends the causes of a slow connection. */
static void add_slow(struct strbuf *t, const struct roce_conn_summary *sum,
                     const struct two_points *points)
{
    struct wait_part wait[WAIT_CAUSES];
    unsigned side, cnt = time_budget_waits(sum, wait, &side);
    uint64_t ns = check_conn_duration_ns(sum), waited = 0;
    uint64_t damaged = sum->side[0].bad_icrc + sum->side[1].bad_icrc;
    const struct roce_cnp_summary *a = &sum->side[0].cnp, *b = &sum->side[1].cnp,
                                  *cnp = b->before.cnt > a->before.cnt ? b : a;

    for (unsigned i = 0; i < cnt; i++)
        waited += wait[i].ns;
    if (slow_setup_ns(sum) > waited) {
        strbuf_add_addr(t, sum->side[!sum->facts.cm.active_side].addr);
        strbuf_addf(t, " accepted it only ");
        strbuf_add_duration(t, slow_setup_ns(sum));
        strbuf_addf(t, " after ");
        strbuf_add_addr(t, sum->side[sum->facts.cm.active_side].addr);
        strbuf_addf(t, " asked for it");
    } else if (ns && waited * 100 >= ns) {
        strbuf_addf(t, "it spent ");
        strbuf_add_percent(t, waited, ns);
        strbuf_addf(t, " of its ");
        strbuf_add_duration(t, ns);
        strbuf_addf(t, " waiting, %sbecause ", cnt > 1 ? "mostly " : "");
        time_budget_explain(t, sum, side, wait[0].cause, points);
    } else if (repeated_cnt(sum)) {
        add_count(t, repeated_cnt(sum), "packet");
        strbuf_addf(t, " of %" PRIu64 " %s retransmitted",
                    sum->side[0].packets + sum->side[1].packets,
                    repeated_cnt(sum) == 1 ? "was" : "were");
        add_retransmission_causes(t, sum, points);
    } else if (cnp->before.cnt) {
        strbuf_addf(t, "the network was congested and asked the sender to slow down (");
        congestion_text_drop(t, cnp);
        strbuf_addf(t, ")");
    } else if (damaged) {
        add_count(t, damaged, "packet");
        strbuf_addf(t, " arrived damaged");
    } else if (!sum->facts.paired && (sum->side[0].rnr_naks || sum->side[1].rnr_naks)) {
        add_unready(t, &sum->side[sum->side[0].rnr_naks == 0]);
    } else {
        strbuf_addf(t, "packets were lost or late");
    }
}

/* Appends the numbers of ECN CE marks and CNPs, for a connection with a rate that did not fall
 * after CNPs. */
static void add_notified(struct strbuf *t, const struct roce_conn_summary *sum)
{
    uint64_t marked = 0, cnps = 0, measured = 0;

    for (unsigned i = 0; i < 2; i++)
        if (check_side_notified(sum, i)) {
            marked += sum->side[i].ce_marked;
            cnps += sum->side[!i].cnps;
            measured += sum->side[i].cnp.measured;
        }
    strbuf_addf(t, "met congestion: ");
    if (marked) {
        add_count(t, marked, "packet");
        strbuf_addf(t, " %s marked (ECN), and ", marked == 1 ? "was" : "were");
    }
    strbuf_addf(t, "the receiver asked the sender ");
    add_count(t, cnps, "time");
    strbuf_addf(t, " to slow down (CNP); %s",
                measured ? "the rate of the sender did not fall"
                         : "the rate of the sender could not be measured");
}

/* Appends the numbers of packets with an ECN CE mark for which the receiver sent no CNP. */
static void add_marked(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const char *sep = "met congestion: ";

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *side = &sum->side[i];

        if (!check_side_marked(sum, i))
            continue;
        strbuf_addf(t, "%s", sep);
        add_count(t, side->ce_unanswered, "packet");
        strbuf_addf(t, " of ");
        strbuf_add_addr(t, side->addr);
        strbuf_addf(t, " %s marked (ECN CE), but ", side->ce_unanswered == 1 ? "was" : "were");
        strbuf_add_addr(t, sum->side[!i].addr);
        strbuf_addf(t, " never asked it to slow down (no CNP)");
        sep = "; ";
    }
}

void headline_conn(struct strbuf *t, const struct roce_conn_summary *sum,
                   const struct two_points *points)
{
    uint64_t violations = check_conn_errors(sum);

    strbuf_addf(t, "Connection #%u ", sum->facts.conn_index);
    if (check_conn_failed(sum)) {
        strbuf_addf(t, "failed: ");
        add_end_text(t, sum);
    } else if (check_conn_stuck(sum)) {
        strbuf_addf(t, "is stuck: ");
        add_end_text(t, sum);
    } else if (check_conn_lossy(sum)) {
        strbuf_addf(t, check_side_loses_more(sum, 0) || check_side_loses_more(sum, 1)
                           ? "lost at least "
                           : "lost ");
        add_count(t, sum->side[0].lost_messages + sum->side[1].lost_messages, "message");
        strbuf_addf(t, " for good: its service (%s) never retransmits",
                    roce_svc_name(sum->facts.svc));
    } else if (check_conn_slow(sum)) {
        strbuf_addf(t, "was slow: ");
        add_slow(t, sum, points);
    } else if (check_conn_marked(sum)) {
        add_marked(t, sum);
    } else if (check_conn_notified(sum)) {
        add_notified(t, sum);
    } else if (check_conn_paused(sum)) {
        strbuf_addf(t, "paused: ");
        silence_text(t, sum);
    } else if (violations) {
        strbuf_addf(t, "worked, but ");
        add_count(t, violations, "packet");
        strbuf_addf(t, " broke a rule of the protocol");
        violations = 0;
    } else {
        strbuf_addf(t, "had no problem: ");
        strbuf_add_size(
            t, (double)(check_side_goodput(&sum->side[0]) + check_side_goodput(&sum->side[1])));
        strbuf_addf(t, " in ");
        strbuf_add_duration(t, check_conn_duration_ns(sum));
        for (unsigned i = 0; i < 2; i++)
            if (lockstep_ns(sum, i)) {
                strbuf_addf(t, "; ");
                lockstep_text(t, sum, i);
            }
        if (idle_is_notable(sum)) {
            strbuf_addf(t, "; ");
            idle_text(t, sum);
        }
    }
    strbuf_addf(t, ".");
    if (violations) {
        strbuf_addf(t, " Also, ");
        add_count(t, violations, "packet");
        strbuf_addf(t, " broke a rule of the protocol.");
    }
}

/* ---- headline of the capture -------------------------------------------------------------------
 */

bool headline_capture(struct strbuf *t, const struct check_report *r)
{
    uint32_t unanswered = unanswered_cm_cnt(&r->unanswered_cm);

    if (r->error) {
        strbuf_addf(t, "%s: %s",
                    r->broke_off ? "The capture could not be read to its end" : "Nothing to check",
                    r->error);
    } else if (r->troubled) {
        headline_conn(t, &r->worst, r->points);
        if (r->troubled > 1) {
            strbuf_addf(t, " ");
            add_count(t, r->troubled - 1, "more connection");
            strbuf_addf(t, " %s a problem", r->troubled == 2 ? "has" : "have");
            common_wait_text(t, "; ", &r->common_wait, r->slow);
            strbuf_addf(t, ".");
        }
    } else if (r->rejection_cnt) {
        add_count(t, r->rejection_cnt, "connection");
        strbuf_addf(t, " %s refused by the peer during the setup.",
                    r->rejection_cnt == 1 ? "was" : "were");
    } else if (unanswered) {
        add_count(t, unanswered, "request");
        strbuf_addf(t, " to set up a connection got no answer.");
    } else if (r->totals.errors_unknown) {
        add_count(t, r->totals.errors_unknown, "packet");
        strbuf_addf(t, " broke a rule of the protocol.");
    } else if (r->ended == 0) {
        strbuf_addf(t, "No connection found: ");
        add_count(t, r->totals.packets, "packet");
        strbuf_addf(t, ".");
        return false;
    } else {
        strbuf_addf(t, "No problem found: ");
        add_count(t, r->ended, "connection");
        strbuf_addf(t, ", ");
        add_count(t, r->totals.packets, "packet");
        strbuf_addf(t, ", none failed, stuck or slow");
        if (r->unanswered) {
            strbuf_addf(t, "; no responses captured for ");
            add_count(t, r->unanswered, "connection");
        }
        strbuf_addf(t, ".");
        return false;
    }
    return true;
}

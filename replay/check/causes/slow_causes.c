/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/slow_causes.h"

#include <inttypes.h>
#include "check/base/conn_state.h"
#include "check/base/filter_text.h"
#include "check/causes/loss_causes.h"
#include "check/causes/silence_text.h"
#include "check/causes/time_budget.h"
#include "check/causes/wait_causes.h"

/* Limits in percent of the packets (first limit) and of the duration (second limit) of a
 * connection. A connection is slow if its retransmitted or damaged packets reach the first limit,
 * if its waits reach the second limit, or if its rate fell after CNPs. If the capture has only
 * responses, the connection is slow if the RNR NAKs reach the first limit. */
#define PACKETS_PERCENT 1u
#define TIME_PERCENT    5u

#define LINE_LEN 1024

/* Possible causes, each with the kind of wait that it leads to. WAIT_CAUSES marks a cause that
 * leads to several kinds of wait. For example, reordering leads to sequence NAKs and to ACK
 * timeouts. */
static const struct {
    const struct slow_cause *cause;
    enum wait_cause wait;
} causes[] = {
    {&slow_setup_late, WAIT_SETUP},
    {&slow_rtu_late, WAIT_SETUP},
    {&slow_overtaken, WAIT_CAUSES},
    {&slow_damaged, WAIT_CAUSES},
    {&slow_answer_overtaken, WAIT_CAUSES},
    {&slow_congested, WAIT_CAUSES},
    {&slow_response_late, WAIT_RESPONSE},
    {&slow_lost, WAIT_SEQ_NAK},
    {&slow_answer_lost, WAIT_READ_GAP},
    {&slow_unready, WAIT_RNR_NAK},
    {&slow_without_credit, WAIT_CREDIT},
    {&slow_paged, WAIT_RNR_NAK},
    {&slow_late, WAIT_TIMEOUT},
    {&slow_spurious, WAIT_SPURIOUS},
    {&slow_adaptive, WAIT_TIMEOUT},
    {&slow_refused, WAIT_UNKNOWN},
    {&slow_unexplained, WAIT_UNKNOWN},
};

#define CAUSES (sizeof(causes) / sizeof(causes[0]))

/* Returns whether only the responses were captured, and at least PACKETS_PERCENT of them are RNR
 * NAKs. The requester waited after each RNR NAK, but without its requests the capture does not show
 * how long. */
static bool is_refused(const struct slow_direction *w)
{
    return !w->facts->paired && w->mine->packets == 0 && w->its->rnr_naks &&
           w->its->rnr_naks * 100 >= w->its->packets * PACKETS_PERCENT;
}

/* Returns the number of READ responses of this side that repeat earlier data because the requester
 * retransmitted a READ. Returns 0 if the capture shows that the requester retransmitted nothing:
 * the network or the capture then duplicated the responses or a request. */
static uint64_t repeated_responses(const struct slow_direction *w)
{
    const bool asked = !w->facts->paired || w->its->packets == 0 || w->its->missing_repeats ||
                       check_side_retransmitted(w->its).packets;

    return asked ? w->mine->repeated_responses : 0;
}

static bool is_slow(const struct slow_direction *w)
{
    const struct roce_endpoint_summary *s = w->mine;
    uint64_t bad = check_side_retransmitted(s).packets + s->bad_icrc + repeated_responses(w);
    uint64_t waited = s->rnr_waited_ns + s->retx[ROCE_CAUSE_TIMEOUT].stalled_ns +
                      s->retx[ROCE_CAUSE_SPURIOUS].stalled_ns + s->response_waits.sum +
                      s->credit_waits.sum;

    return (bad && bad * 100 >= s->packets * PACKETS_PERCENT) ||
           (waited && waited * 100 >= w->ns * TIME_PERCENT) ||
           (w->setup_ns && w->setup_ns * 100 >= (w->ns + w->setup_ns) * TIME_PERCENT) ||
           (w->rtu_ns && w->rtu_ns * 100 >= w->ns * TIME_PERCENT) || slow_is_congested(w) ||
           is_refused(w);
}

bool check_conn_slow(const struct roce_conn_summary *sum)
{
    struct slow_direction a = slow_direction_of(sum, 0), b = slow_direction_of(sum, 1);

    if (sum->facts.svc != ROCE_SVC_RC &&
        /* Only RC and XRC requesters wait for lost packets. */
        sum->facts.svc != ROCE_SVC_XRC)
        return false;
    return !check_conn_failed(sum) && !check_conn_stuck(sum) && (is_slow(&a) || is_slow(&b));
}

bool check_conn_paused(const struct roce_conn_summary *sum)
{
    return silence_is_notable(sum) && !check_conn_failed(sum) && !check_conn_stuck(sum) &&
           !check_conn_slow(sum);
}

/* Appends the main reason of the retransmissions: the reason of more than half of the `again`
 * retransmitted packets. Appends nothing if there is no such reason. */
static void add_main_cause(struct strbuf *t, const struct slow_direction *w, uint64_t again)
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
        if (i == ROCE_CAUSE_TIMEOUT && slow_is_one_sided(w))
            strbuf_addf(t, r->go_backs == 1 ? "a pause" : "pauses");
        else
            strbuf_addf(t, "%s", r->go_backs == 1 ? names[i].one : names[i].many);
    }
}

/* Appends how many retransmitted packets had the PSN of a sequence NAK, and how many others
 * followed because of go-back-N. Appends nothing if the requester also retransmitted for other
 * reasons, or if the capture lacks retransmissions. */
static void add_followers(struct strbuf *t, const struct slow_direction *w, uint64_t again)
{
    const struct roce_retx_summary *r = &w->mine->retx[ROCE_CAUSE_SEQ_NAK];

    if (r->packets != again || r->go_backs == again || w->mine->missing_repeats)
        return;
    strbuf_addf(t, ", %" PRIu64 " that the NAK%s and %" PRIu64 " because of go-back-N", r->go_backs,
                r->go_backs == 1 ? " names" : "s name", again - r->go_backs);
}

/* Prints which percentage of the packets and of the payload the requester retransmitted. */
static void print_retransmitted(FILE *out, const struct slow_direction *w, const char *arrow)
{
    const struct roce_retx_summary all = check_side_retransmitted(w->mine);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (all.packets == 0)
        return;
    strbuf_addf(&t, "     %s %" PRIu64 " of %" PRIu64 " packets (", arrow, all.packets,
                w->mine->packets);
    strbuf_add_percent(&t, all.packets, w->mine->packets);
    strbuf_addf(&t, ") %s retransmitted", all.packets == 1 ? "was" : "were");
    add_main_cause(&t, w, all.packets);
    add_followers(&t, w, all.packets);
    if (all.bytes) {
        strbuf_addf(&t, ": ");
        strbuf_add_size(&t, (double)all.bytes);
        strbuf_addf(&t, ", ");
        strbuf_add_percent(&t, all.bytes, w->mine->payload_sent);
        strbuf_addf(&t, " of the payload");
    }
    fprintf(out, "%s\n", buf);
}

/* Stores the indexes of the causes that apply, in the order in which the report prints them. Slow
 * connection setups are first, then causes of several kinds of wait, then all other causes, the
 * longest wait first. Returns the number of causes. */
static unsigned list_causes(const struct slow_direction *w, unsigned list[CAUSES])
{
    uint64_t waited[CAUSES];
    unsigned cnt = 0;

    for (unsigned i = 0; i < CAUSES; i++) {
        bool first = causes[i].wait == WAIT_SETUP || causes[i].wait == WAIT_CAUSES;
        uint64_t ns = first ? UINT64_MAX : time_budget_ns(w, causes[i].wait);
        unsigned at = cnt;

        if (!causes[i].cause->is(w))
            continue;
        for (; at > 0 && waited[at - 1] < ns; at--) {
            waited[at] = waited[at - 1];
            list[at] = list[at - 1];
        }
        waited[at] = ns;
        list[at] = i;
        cnt++;
    }
    return cnt;
}

/* Prints the requests of one side: waits, retransmissions and causes. Returns whether losses or
 * delays between two capture points may explain one of the causes. */
static bool print_side(FILE *out, const struct slow_direction *w, const char *arrow,
                       const char *scope)
{
    uint64_t repeated = repeated_responses(w);
    unsigned list[CAUSES], cnt = list_causes(w, list);
    bool between = false;
    char buf[LINE_LEN];

    time_budget_print(out, w, arrow);
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
    for (unsigned i = 0; i < cnt; i++) {
        const struct slow_cause *cause = causes[list[i]].cause;
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        between |= cause->between != 0;
        strbuf_addf(&t, "     %s ", arrow);
        cause->say(&t, w);
        /* look() appends a hint that uses only the first capture. Omit it if the second capture
         * explains the cause. */
        if (!slow_is_between(w, cause->between)) {
            strbuf_addf(&t, "\n       ");
            cause->look(&t, w);
        }
        fprintf(out, "%s\n", buf);
        if (scope)
            filter_text_print(out, cause->cm ? "" : scope, cause->filter);
    }
    return between;
}

void slow_causes_print(FILE *out, const struct roce_conn_summary *sum, const char *scope,
                       const struct two_points *points, bool rnic_dropped)
{
    struct slow_direction a = slow_direction_of(sum, 0), b = slow_direction_of(sum, 1);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    bool between;

    a.path = path_of(points, sum, 0);
    b.path = path_of(points, sum, 1);
    a.rnic_dropped = b.rnic_dropped = rnic_dropped;
    between = print_side(out, &a, "→", scope);
    between |= print_side(out, &b, "←", scope);
    if (between && a.path.mine) {
        path_text(&t, &a.path,
                  slow_is_between(&a, SLOW_BY_DELAY) || slow_is_between(&b, SLOW_BY_DELAY));
        fprintf(out, "     %s\n", buf);
    }
    if (silence_is_notable(sum)) {
        t = strbuf_of(buf, sizeof(buf));
        silence_text(&t, sum);
        fprintf(out, "     %s\n", buf);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* A connection in the text report: its operations, its retransmissions, and its anomalies. */
#include "check/check_text.h"

#include <inttypes.h>
#include <string.h>
#include "check/base/conn_state.h"
#include "check/causes/congestion_text.h"
#include "check/causes/idle_text.h"
#include "check/causes/lockstep_text.h"
#include "check/causes/slow_causes.h"
#include "check/headline.h"
#include "util/strbuf.h"

#define LINE_LEN 1024

const char *check_text_arrow(unsigned side)
{
    return side & 1 ? "←" : "→";
}

void check_text_list(struct strbuf *t, const char **sep, uint64_t cnt, const char *one,
                     const char *many)
{
    if (cnt == 0)
        return;
    strbuf_addf(t, "%s%" PRIu64 " %s", *sep, cnt, cnt == 1 ? one : many);
    *sep = ", ";
}

void check_text_findings(struct strbuf *t, const uint64_t cnt[ROCE_SEV_CNT],
                         const uint64_t known[ROCE_SEV_CNT])
{
    static const struct {
        enum roce_severity severity;
        const char *one, *many;
    } words[] = {{ROCE_SEV_ERROR, "error", "errors"},
                 {ROCE_SEV_WARN, "warning", "warnings"},
                 {ROCE_SEV_NOTE, "note", "notes"}};
    const char *sep = "";
    uint64_t all_known = 0;

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const enum roce_severity s = words[i].severity;

        check_text_list(t, &sep, cnt[s] - known[s], words[i].one, words[i].many);
        all_known += known[s];
    }
    check_text_list(t, &sep, all_known, "known deviation", "known deviations");
    if (!*sep)
        strbuf_addf(t, "no findings");
}

static void put_line(FILE *out, unsigned side, const char *what, const char *text)
{
    fprintf(out, "     %s %s%s\n", check_text_arrow(side), what, text);
}

/* Appends the number of completed operations and their latency, as " (9 completed; median 3 µs, p99
 * 5 µs, max 5 µs)". For a single operation, appends " in 3 µs". `known`: the capture shows every
 * completion, so a count of 0 is also printed. */
static void add_completed(struct strbuf *t, const struct roce_oper_summary *op,
                          const struct check_latency *latency, bool known)
{
    const char *sep = " (";

    if (op->completed != op->messages && (known || op->completed)) {
        strbuf_addf(t, "%s%" PRIu64 " completed", sep, op->completed);
        sep = "; ";
    }
    if (latency->cnt > 1) {
        strbuf_addf(t, "%smedian ", sep);
        strbuf_add_duration(t, latency->p50_ns);
        strbuf_addf(t, ", p99 ");
        strbuf_add_duration(t, latency->p99_ns);
        strbuf_addf(t, ", max ");
        strbuf_add_duration(t, latency->max_ns);
        sep = "; ";
    }
    if (*sep == ';')
        strbuf_addf(t, ")");
    if (latency->cnt == 1) {
        strbuf_addf(t, " in ");
        strbuf_add_duration(t, latency->p50_ns);
    }
}

/* Returns whether the check matched responses with their requests. The check matches them while it
 * reads the capture. If the two directions of a connection are paired only at the end
 * (ROCE_PAIRED_ALONE), they are not matched. */
static bool are_matched(const struct roce_conn_summary *sum)
{
    return sum->facts.paired && sum->facts.pairing != ROCE_PAIRED_ALONE;
}

/* Returns whether the check detects every completion of operations of this kind that the capture
 * shows. */
static bool would_show(const struct check_conn *c, enum roce_oper oper)
{
    /* The snaplen may cut off the length field of a READ request. */
    bool cut = oper == ROCE_OPER_READ && c->sum.facts.truncated;

    return c->sum.facts.svc == ROCE_SVC_RC && are_matched(&c->sum) && !cut;
}

/* Prints the operations that side `i` requested. `end` is the time of the last frame of the
 * capture, ns. */
static void print_operations(FILE *out, const struct check_conn *c, uint64_t end, unsigned i)
{
    const struct roce_endpoint_summary *s = &c->sum.side[i];
    bool answered = c->sum.facts.svc != ROCE_SVC_RC || are_matched(&c->sum);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    uint64_t bytes = check_side_goodput(s), ns = check_conn_duration_ns(&c->sum);
    const char *sep = "";

    for (unsigned o = 0; o < ROCE_OPER_CNT; o++) {
        const struct roce_oper_summary *op = &s->oper[o];

        if (op->messages == 0 && op->completed == 0)
            continue;
        strbuf_addf(&t, "%s%" PRIu64 " %s", sep, op->messages, roce_oper_name((enum roce_oper)o));
        add_completed(&t, op, &c->latency[i][o], would_show(c, (enum roce_oper)o));
        sep = ", ";
    }
    if (*sep == '\0')
        return;
    strbuf_addf(&t, "; ");
    if (answered || bytes)
        strbuf_add_size(&t, (double)bytes);
    else
        strbuf_addf(&t, c->sum.facts.paired      ? "too few responses to pair the two directions"
                        : c->sum.facts.ambiguous ? "the captured responses fit several connections"
                                                 : "no responses captured");
    if (!answered && !bytes && !c->sum.facts.paired && !c->sum.facts.ambiguous &&
        end > c->sum.facts.first_time) {
        strbuf_addf(&t, " in the ");
        strbuf_add_duration(&t, end - c->sum.facts.first_time);
        strbuf_addf(&t, " until the capture ended");
    }
    if (bytes && ns) {
        strbuf_addf(&t, ", ");
        strbuf_add_rate(&t, (double)bytes * 1e9 / (double)ns);
    }
    put_line(out, i, "", buf);
}

static void print_repeats(FILE *out, const struct roce_endpoint_summary *s, unsigned i, bool alone)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    for (unsigned cause = 0; cause < ROCE_CAUSE_CNT; cause++) {
        const struct roce_retx_summary *retx = &s->retx[cause];

        if (retx->go_backs == 0 && retx->packets == 0)
            continue;
        strbuf_addf(&t, "%s%s %" PRIu64 "×, %" PRIu64 " packet%s", sep,
                    cause == ROCE_CAUSE_TIMEOUT && alone ? "after a pause"
                                                         : roce_cause_name((enum roce_cause)cause),
                    retx->go_backs, retx->packets, retx->packets == 1 ? "" : "s");
        if (retx->stalled_ns && retx->go_backs) {
            strbuf_addf(&t, ", ");
            strbuf_add_duration(&t, retx->stalled_ns / retx->go_backs);
            strbuf_addf(&t, " after the previous transmission%s",
                        retx->go_backs > 1 ? " on average" : "");
        }
        sep = "; ";
    }
    if (*sep)
        put_line(out, i, "retransmissions: ", buf);
}

static void print_odds(FILE *out, const struct roce_conn_summary *sum, unsigned i)
{
    const struct roce_endpoint_summary *s = &sum->side[i];
    bool alone = check_side_alone(&sum->facts, &sum->side[!i]), slow = check_conn_slow(sum);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    check_text_list(&t, &sep, s->psn_naks, "sequence NAK", "sequence NAKs");
    check_text_list(&t, &sep, s->rnr_naks, "RNR NAK", "RNR NAKs");
    check_text_list(&t, &sep, s->fatal_naks, "fatal NAK", "fatal NAKs");
    check_text_list(&t, &sep, s->duplicates, "duplicate", "duplicates");
    check_text_list(&t, &sep, s->copies, "copy", "copies");
    check_text_list(&t, &sep, s->out_of_order, "out of order", "out of order");
    check_text_list(&t, &sep, s->late_responses, "response out of order", "responses out of order");
    check_text_list(&t, &sep, check_side_missing(s), "packet missing", "packets missing");
    check_text_list(&t, &sep, s->missing_repeats, "retransmission missing",
                    "retransmissions missing");
    check_text_list(&t, &sep, s->unseen_packets, "acknowledged but not captured",
                    "acknowledged but not captured");
    check_text_list(&t, &sep, s->bad_icrc, "wrong ICRC", "wrong ICRCs");
    check_text_list(&t, &sep, s->malformed, "malformed", "malformed");
    check_text_list(&t, &sep, s->ce_marked, "CE mark", "CE marks");
    check_text_list(&t, &sep, s->cnps, "CNP", "CNPs");
    congestion_text_cnps(&t, s);
    if (s->rnr_waited_ns && !slow) { /* otherwise slow_causes_print() prints this wait */
        strbuf_addf(&t, "%sRNR pauses ", sep);
        strbuf_add_duration(&t, s->rnr_waited_ns);
        strbuf_addf(&t, " (asked for: ");
        strbuf_add_duration(&t, s->rnr_advertised_ns);
        strbuf_addf(&t, ")");
        sep = ", ";
    }
    if (s->timeout_max_ns) {
        strbuf_addf(&t, "%s%s ", sep, alone ? "pauses of" : "ACK timeout after");
        strbuf_add_durations(&t, s->timeout_min_ns, s->timeout_max_ns);
    }
    if (t.len)
        put_line(out, i, "", buf);
}

/* Prints that the receiver of the packets of side `i` accepts packets in any order, and how many
 * requests and READs show this. */
static void print_order(FILE *out, const struct roce_endpoint_summary *s,
                        const struct roce_endpoint_summary *peer, unsigned i)
{
    bool requests = s->accepted_early > 0, reads = s->accepted_reads > 0;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (s->any_order && (requests || reads)) {
        strbuf_add_addr(&t, peer->addr);
        strbuf_addf(&t, " accepts packets in any order, or the capture point reorders: ");
        if (requests)
            strbuf_addf(&t, "%" PRIu64 " request%s overtook others", s->accepted_early,
                        s->accepted_early == 1 ? "" : "s");
        if (reads)
            strbuf_addf(&t, "%s%" PRIu64 " READ%s had out-of-order responses", requests ? ", " : "",
                        s->accepted_reads, s->accepted_reads == 1 ? "" : "s");
        strbuf_addf(&t, ", without a retransmission");
    }
    if (s->udp_sports > 1)
        strbuf_addf(&t, "%ssent from %s%u UDP source ports", t.len ? "; " : "",
                    s->udp_sports == 4 ? "at least " : "", s->udp_sports);
    if (t.len)
        put_line(out, i, "", buf);
}

static void print_congestion(FILE *out, const struct roce_endpoint_summary *s, unsigned i)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    congestion_text_rate(&t, s);
    if (t.len)
        put_line(out, i, "", buf);
}

static void print_regions(FILE *out, const struct check_conn *c, unsigned i)
{
    const struct roce_endpoint_summary *s = &c->sum.side[i];

    for (unsigned k = 0; k < s->region_cnt; k++) {
        const struct roce_region *region = &c->region[i][k];

        fprintf(out,
                "     %s rkey 0x%08x, 0x%" PRIx64 "..0x%" PRIx64 ": %" PRIu64 " request%s, %" PRIu64
                " bytes written, %" PRIu64 " read\n",
                check_text_arrow(i), region->rkey, region->va_min, region->va_end, region->requests,
                region->requests == 1 ? "" : "s", region->bytes_written, region->bytes_read);
    }
    if (s->region_more)
        fprintf(out, "     %s and %u more key%s\n", check_text_arrow(i), s->region_more,
                s->region_more == 1 ? "" : "s");
}

/* Prints how often the DREQ was transmitted, if more than once. */
static void print_disconnect(FILE *out, const struct roce_conn_facts *facts)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (facts->cm.dreqs < 2)
        return;
    strbuf_addf(&t, "sent the DREQ (disconnect request) %u× from frame %u on, ", facts->cm.dreqs,
                facts->cm.dreq_frame);
    strbuf_addf(&t, facts->cm.dreq_answered ? "answered only after " : "without an answer for ");
    strbuf_add_duration(&t, facts->cm.dreq_ms * UINT64_C(1000000));
    put_line(out, facts->cm.dreq_side & 1, "", buf);
}

void check_text_conn(FILE *out, const struct check_conn *c, uint64_t end, bool verbose)
{
    const struct roce_conn_summary *sum = &c->sum;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, "  #%u ", sum->facts.conn_index);
    check_conn_title(&t, sum);
    if (roce_pairing_is_guess(sum->facts.pairing))
        strbuf_addf(&t, " (paired by %s: a guess)", roce_pairing_name(sum->facts.pairing));
    if (sum->facts.vid)
        strbuf_addf(&t, ", VLAN %u", sum->facts.vid);
    if (sum->facts.overlay)
        strbuf_addf(&t, ", VNI %u", sum->facts.overlay & ~ROCE_OVERLAY_VNI);
    if (sum->facts.mtu)
        strbuf_addf(&t, ", MTU %s%u", sum->facts.mtu_sure ? "" : "≥ ", sum->facts.mtu);
    strbuf_addf(&t, ", frames %u..%u, ", sum->facts.first_frame, sum->facts.last_frame);
    strbuf_add_duration(&t, check_conn_duration_ns(sum));
    strbuf_addf(&t, ": %s", check_verdict_name(check_conn_verdict(sum)));
    if (sum->facts.end != ROCE_END_OPEN)
        strbuf_addf(&t, "%s%s", check_conn_failed(sum) ? ", failed: " : ", ",
                    sum->facts.end == ROCE_END_RETRY_EXHAUSTED && sum->facts.end_syndrome
                        ? "received a response with a reserved syndrome"
                        : roce_end_name(sum->facts.end));
    if (check_conn_slow(sum))
        strbuf_addf(&t, ", slow");
    if (check_conn_paused(sum))
        strbuf_addf(&t, ", paused");
    strbuf_addf(&t, "; ");
    check_text_findings(&t, sum->facts.findings,
                        (const uint64_t[ROCE_SEV_CNT]){
                            [ROCE_SEV_WARN] = sum->facts.known_warnings,
                            [ROCE_SEV_ERROR] = sum->facts.known_errors,
                        });
    fprintf(out, "%s\n", buf);
    for (unsigned i = 0; i < 2; i++) {
        print_operations(out, c, end, i);
        print_repeats(out, &sum->side[i], i, check_side_alone(&sum->facts, &sum->side[!i]));
        print_odds(out, sum, i);
        print_order(out, &sum->side[i], &sum->side[!i], i);
        print_congestion(out, &sum->side[i], i);
        if (lockstep_ns(sum, i)) {
            t = strbuf_of(buf, sizeof(buf));
            lockstep_text(&t, sum, i);
            put_line(out, i, "", buf);
        }
        if (verbose)
            print_regions(out, c, i);
    }
    if (headline_state(sum) == HEADLINE_OK && idle_is_notable(sum)) {
        t = strbuf_of(buf, sizeof(buf));
        idle_text(&t, sum);
        fprintf(out, "     %s\n", buf);
    }
    print_disconnect(out, &sum->facts);
}

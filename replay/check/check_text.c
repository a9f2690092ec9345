/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Text report of a check: the reason of each failure, then the connections, then the findings. */
#include "check/check_text.h"

#include <inttypes.h>
#include <string.h>
#include "capture/narrow.h"
#include "check/base/conn_state.h"
#include "check/base/filter_text.h"
#include "check/causes/path_text.h"
#include "check/causes/slow_causes.h"
#include "check/headline.h"
#include "pcapng/pcapng.h"
#include "util/strbuf.h"
#include "wire/codes.h"
#include "wire/gid.h"

#define LINE_LEN 1024

/* Limits of the summary. With -v the report has no limits. */
#define SUMMARY_REASONS  2u  /* number of connections listed for each kind: failed, stuck, slow */
#define SUMMARY_CONNS    4u  /* number of connections listed */
#define SUMMARY_FINDINGS 12u /* number of groups of findings listed */

struct page {
    FILE *out;
    const struct check_report *r;
    bool verbose;
    uint32_t findings_left; /* number of finding groups that may still be printed */
};

static uint32_t limit_of(const struct page *page, uint32_t summary)
{
    return page->verbose ? UINT32_MAX : summary;
}

/* ---- head of the report ------------------------------------------------------------------------
 */

static void add_tunnel_list(struct strbuf *t, const struct check_report *r, bool open,
                            const char *before)
{
    const char *sep = before;
    bool any = false;

    for (unsigned i = ROCE_TUNNEL_NONE + 1; i < ROCE_TUNNEL_CNT; i++) {
        const struct roce_tunnel_info *info = roce_tunnel_info(i);

        if (!r->counts.tunnel[i] || info->open != open)
            continue;
        strbuf_addf(t, "%s%" PRIu64 " %s", sep, r->counts.tunnel[i], info->name);
        sep = ", ";
        any = true;
    }
    if (any)
        strbuf_addf(t, "\n");
}

static void add_tunnels(struct strbuf *t, const struct check_report *r)
{
    add_tunnel_list(t, r, true, "  inside tunnels: ");
    add_tunnel_list(t, r, false, "  frames in tunnels that check cannot decode: ");
}

/* Returns the number of packets that were dropped because of their ICRC and belong to no known
 * connection. */
static uint64_t damaged_alone(const struct check_report *r)
{
    uint64_t sum = 0;
    uint32_t cnt;
    const struct finding_group *g = finding_groups_of(&r->groups, ROCE_NO_CONN, &cnt);

    for (uint32_t i = 0; i < cnt; i++)
        sum += g[i].first.rule == ROCE_RULE_ICRC_BAD ? g[i].cnt : 0;
    return sum;
}

/* Returns whether the recording says that rnic-run dropped packets because of --impair. */
static bool is_dropped(const struct check_report *r)
{
    return strncmp(r->impaired, PCAPNG_RNIC_DROPPED, sizeof(PCAPNG_RNIC_DROPPED) - 1) == 0;
}

static void print_head(FILE *out, const struct check_report *r)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const struct roce_flow_totals *sum = &r->totals;
    const char *sep = ", ";

    put_escaped(out, r->name);
    strbuf_addf(&t, ": %u frame%s, %" PRIu64 " RoCE packet%s", r->frames, r->frames == 1 ? "" : "s",
                sum->packets, sum->packets == 1 ? "" : "s");
    check_text_list(&t, &sep, r->counts.foreign, "of another protocol", "of other protocols");
    check_text_list(&t, &sep, r->counts.unreadable, "unreadable", "unreadable");
    if (r->counts.last_time > r->counts.first_time) {
        strbuf_addf(&t, ", captured in ");
        strbuf_add_duration(&t, r->counts.last_time - r->counts.first_time);
    }
    strbuf_addf(&t, ", %" PRIu64 " connection%s\n", r->ended, r->ended == 1 ? "" : "s");
    add_tunnels(&t, r);
    if (r->counts.cut)
        strbuf_addf(&t,
                    "  truncated by the snaplen: %" PRIu64
                    " frames; the missing bytes are not checked\n",
                    r->counts.cut);
    if (r->counts.zero_checksums)
        strbuf_addf(&t,
                    "  IPv4 header checksum 0: %" PRIu64
                    " packet%s; check accepts this, because simulators, FPGAs and hosts with "
                    "checksum offload do not compute the checksum\n",
                    r->counts.zero_checksums, r->counts.zero_checksums == 1 ? "" : "s");
    if (r->counts.pauses)
        strbuf_addf(&t,
                    "  flow control: %" PRIu64 " PFC or PAUSE frame%s stopped a sender: no packet "
                    "is lost, but all traffic of that priority waits\n",
                    r->counts.pauses, r->counts.pauses == 1 ? "" : "s");
    if (sum->dc)
        strbuf_addf(&t,
                    "  not judged: %" PRIu64 " packet%s of NVIDIA's dynamically connected "
                    "(DC) transport, which has no public specification\n",
                    sum->dc, sum->dc == 1 ? "" : "s");
    if (r->unseen * 100 >= sum->packets && r->unseen)
        strbuf_addf(&t,
                    "  not captured: %" PRIu64
                    " acknowledged request packet%s; the capture, not the network, lost %s\n",
                    r->unseen, r->unseen == 1 ? "" : "s", r->unseen == 1 ? "it" : "them");
    if (r->behind_responses * 100 >= sum->packets && r->behind_responses) {
        strbuf_addf(&t,
                    "  capture points with different clocks: %" PRIu64
                    " request packet%s captured up to ",
                    r->behind_responses, r->behind_responses == 1 ? " was" : "s were");
        strbuf_add_duration(&t, r->behind_ns);
        strbuf_addf(&t, " after the response; the order and the times of the frames of the two "
                        "hosts are not reliable\n");
    }
    if (r->copies * 100 >= sum->packets && r->copies)
        strbuf_addf(&t,
                    "  captured twice: %" PRIu64
                    " packet%s; two ports may be mirrored, or the network duplicated %s\n",
                    r->copies, r->copies == 1 ? "" : "s",
                    r->copies == 1 ? "the packet" : "the packets");
    if (sum->rules[ROCE_RULE_ICRC_NEVER_GOOD])
        strbuf_addf(&t,
                    "  no correct ICRC from %" PRIu64
                    " host%s: either a device on the path (NAT, firewall) changed the packets, and "
                    "receivers drop them, or the packets were captured before the sender computed "
                    "the ICRC\n",
                    sum->rules[ROCE_RULE_ICRC_NEVER_GOOD],
                    sum->rules[ROCE_RULE_ICRC_NEVER_GOOD] == 1 ? "" : "s");
    else if (r->ended == 0 && damaged_alone(r))
        strbuf_addf(&t,
                    "  wrong ICRC: %" PRIu64
                    " packet%s; the capture contains no other packets of a connection. A receiver "
                    "drops packets with a wrong ICRC, and the requester gets IBV_WC_RETRY_EXC_ERR "
                    "(12). The packets were damaged or changed on the path, or captured before the "
                    "sender computed the ICRC\n",
                    damaged_alone(r), damaged_alone(r) == 1 ? "" : "s");
    if (r->no_icrc)
        strbuf_addf(&t, "  the ICRC was not checked\n");
    if (sum->evicted || sum->forgotten || sum->overflown || sum->untracked)
        strbuf_addf(&t,
                    "  limit reached: %" PRIu64 " connections were closed early, %" PRIu64
                    " idle connections lost their history, %" PRIu64
                    " request packets were removed from memory early, %" PRIu64
                    " packets were not tracked\n",
                    sum->evicted, sum->forgotten, sum->overflown, sum->untracked);
    if (r->conns_not_listed || r->findings_not_listed)
        strbuf_addf(&t,
                    "  size limit of --json reached: %" PRIu64 " connections and %" PRIu64
                    " findings are not listed (-v lists all)\n",
                    r->conns_not_listed, r->findings_not_listed);
    fputs(buf, out);
    if (!r->impaired[0])
        return;
    fputs("  impaired: ", out);
    put_escaped(out, r->impaired);
    fputs(is_dropped(r) ? "; the network did not lose them\n" : "\n", out);
}

/* Wireshark's display filter for the packets of one connection. */
struct scope {
    char text[160];
};

/* Returns the display filter for a connection. If the whole capture was checked or --connection was
 * given, the filter contains the connection number of the plugin. Otherwise this number may differ
 * from the number in the report. If the user selected frames or a host, the filter contains the
 * range of the connection's frames, and the host. */
static struct scope scope_of(const struct page *page, const struct roce_conn_facts *facts)
{
    const struct narrow *narrow = page->r->narrow;
    bool numbered = !narrow || !narrow->any || narrow->has_connection;
    bool cut = narrow && narrow->any &&
               (!numbered || narrow->first || narrow->from || narrow->to != UINT64_MAX);
    struct scope scope;
    struct strbuf t = strbuf_of(scope.text, sizeof(scope.text));

    if (numbered)
        strbuf_addf(&t, "roce.stream == %u",
                    narrow && narrow->any ? narrow->connection : facts->conn_index);
    if (cut)
        strbuf_addf(&t, "%sframe.number in {%u..%u}", numbered ? " && " : "", facts->first_frame,
                    facts->last_frame);
    if (!numbered && narrow->has_host) {
        strbuf_addf(&t, " && %s == ", roce_gid_is_ip4(narrow->host) ? "ip.addr" : "ipv6.addr");
        strbuf_add_addr(&t, narrow->host);
    }
    return scope;
}

/* Prints whether the last request of the QP that failed or still waits passed both capture points.
 * Prints nothing without a second capture. */
static void print_path(struct page *page, const struct roce_conn_summary *sum)
{
    const struct path path = path_of(page->r->points, sum, sum->facts.end_side & 1u);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (!path.mine)
        return;
    path_last_text(&t, &path, sum->facts.end_frame);
    fprintf(page->out, "     %s\n", buf);
}

/* ---- reasons of failed QPs ---------------------------------------------------------------------
 */

/* If both ends have the same address, prints which program each end is. */
static void print_programs(struct page *page, const struct check_conn *conn)
{
    if (!conn->program[0][0] || !conn->program[1][0])
        return;
    fputs("     one address: → are packets of ", page->out);
    put_escaped(page->out, conn->program[0]);
    fputs(", ← are packets of ", page->out);
    put_escaped(page->out, conn->program[1]);
    fputs(page->r->impaired[0] ? "; rnic-run --impair was active (see above)\n" : "\n", page->out);
}

static void print_story(struct page *page, const struct check_conn *conn)
{
    const struct check_report *r = page->r;
    const struct roce_conn_summary *sum = &conn->sum;
    FILE *out = page->out;
    struct history_event events[HISTORY_EVENTS];
    unsigned cnt = r->history ? event_history_of(r->history, sum->facts.conn_index, events) : 0;
    /* true: the QPs were used so long after the failure that no event of the failure is kept */
    bool old = cnt && sum->facts.end_frame && sum->facts.end_frame < events[0].first_frame;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    cnt = old ? 0 : cnt;
    strbuf_addf(&t, "  #%u ", sum->facts.conn_index);
    check_conn_title(&t, sum);
    fprintf(out, "%s:\n", buf);
    print_programs(page, conn);
    t = strbuf_of(buf, sizeof(buf));
    check_conn_reason(&t, sum);
    /* Prints each part of the reason on a separate line. Parts are separated by "; ". */
    for (char *part = buf, *next; part; part = next) {
        next = strstr(part, "; ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        fprintf(out, "     %s\n", part);
    }
    for (unsigned i = 0; i < cnt; i++) {
        const struct history_event *e = &events[i];

        t = strbuf_of(buf, sizeof(buf));
        strbuf_addf(&t, "%s ", check_text_arrow(e->side));
        history_event_text(&t, e);
        fprintf(out, "     frame %-6u %12.6f s  %s\n", e->first_frame,
                e->time > r->counts.first_time ? (double)(e->time - r->counts.first_time) / 1e9
                                               : 0.0,
                buf);
    }
    t = strbuf_of(buf, sizeof(buf));
    check_conn_hint(
        &t, sum, event_history_request(events, cnt, sum->facts.end_side & 1u, sum->facts.end_psn),
        r->points != NULL);
    if (t.len)
        fprintf(out, "     %s\n", buf);
    if (r->totals.rules[ROCE_RULE_ICRC_NEVER_GOOD] &&
        (sum->facts.end == ROCE_END_UNANSWERED || sum->facts.end == ROCE_END_RETRY_EXHAUSTED))
        fprintf(out, "     another possible cause: the ICRCs are wrong on the wire, as in this "
                     "capture, and the peer drops every packet\n");
    print_path(page, sum);
    if (cnt || old) {
        const struct scope scope = scope_of(page, &sum->facts);

        t = strbuf_of(buf, sizeof(buf));
        if (old)
            strbuf_addf(&t, "frame.number <= %u && roce.bth.psn == %u", sum->facts.end_frame,
                        sum->facts.end_psn);
        else
            strbuf_addf(&t, "frame.number in {%u..%u}", events[0].first_frame,
                        events[cnt - 1].last_frame);
        filter_text_print(out, scope.text, buf);
    }
}

static void print_rejections(struct page *page)
{
    const struct check_report *r = page->r;
    const uint32_t max = limit_of(page, SUMMARY_REASONS);
    uint64_t shown = 0;

    for (; shown < r->rejection_cnt && shown < CHECK_REJECTIONS && shown < max; shown++) {
        const struct check_rejection *rej = &r->rejection[shown];
        char buf[LINE_LEN], name_buf[96];
        struct strbuf t = strbuf_of(buf, sizeof(buf));
        const char *name =
            roce_vals_name(ROCE_VALS_CM_REJ_REASON, rej->reason, name_buf, sizeof(name_buf));
        bool deaf =
            rej->reason == ROCE_CM_REJ_INVALID_SERVICE_ID && roce_cm_sid_is_ip(rej->service);

        if (rej->active) {
            strbuf_add_addr(&t, rej->from);
            strbuf_addf(&t, " %s its connection to ",
                        rej->of_rep ? "rejected the REP for" : "gave up the setup of");
        } else if (deaf) {
            strbuf_addf(&t, "no program listens on port %u of ", (unsigned)(rej->service & 0xFFFF));
            strbuf_add_addr(&t, rej->from);
            strbuf_addf(&t, ": this host rejected a connection of ");
        } else {
            strbuf_add_addr(&t, rej->from);
            strbuf_addf(&t, " rejected a connection of ");
        }
        strbuf_add_addr(&t, rej->to);
        strbuf_addf(&t, " (CM REJ, reason %u%s%s)", rej->reason, name ? ", " : "",
                    name ? name : "");
        fprintf(page->out, "  %s in frame %u\n", buf, rej->frame);
        t = strbuf_of(buf, sizeof(buf));
        strbuf_addf(&t, "roce.cm.rej.reason == %u", rej->reason);
        filter_text_print(page->out, "", buf);
    }
    if (r->rejection_cnt > shown)
        fprintf(page->out, "  ... and %" PRIu64 " more rejections\n", r->rejection_cnt - shown);
}

static void print_all_unanswered(struct page *page, uint32_t cnt)
{
    const struct check_report *r = page->r;
    const uint32_t max = limit_of(page, SUMMARY_REASONS);
    uint32_t shown = 0;

    for (unsigned i = 0; i < UNANSWERED_CM_MAX && shown < max; i++)
        if (unanswered_cm_is_repeated(&r->unanswered_cm.one[i])) {
            unanswered_cm_print(page->out, &r->unanswered_cm.one[i], r->counts.first_time);
            shown++;
        }
    if (cnt > shown)
        fprintf(page->out, "  ... and %u more CM messages without an answer%s\n", cnt - shown,
                page->verbose ? "" : " (-v)");
}

static void print_slow(struct page *page, const struct check_conn *conn)
{
    const struct roce_conn_summary *sum = &conn->sum;
    const struct scope scope = scope_of(page, &sum->facts);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    check_conn_title(&t, sum);
    fprintf(page->out, "  #%u %s:\n", sum->facts.conn_index, buf);
    print_programs(page, conn);
    slow_causes_print(page->out, sum, scope.text, page->r->points, is_dropped(page->r));
}

/* Calls `print` for the connections for which `kind` returns true, up to a limit. `cnt` is the
 * number of connections for which it returns true, including those that the report does not
 * list. */
static void print_stories(struct page *page, bool (*kind)(const struct roce_conn_summary *),
                          void (*print)(struct page *, const struct check_conn *), uint64_t cnt)
{
    const struct check_report *r = page->r;
    const uint32_t max = limit_of(page, SUMMARY_REASONS);
    uint64_t shown = 0;

    for (uint32_t i = 0; i < r->conn_cnt && shown < max; i++)
        if (kind(&r->conn[i].sum)) {
            if (r->conn[i].sum.facts.end != ROCE_END_REJECTED) /* print_rejections() prints
                                                                * rejected connections */
                print(page, &r->conn[i]);
            shown++;
        }
    if (cnt > shown)
        fprintf(page->out, "  ... and %" PRIu64 " more connection%s%s\n", cnt - shown,
                cnt - shown == 1 ? "" : "s", page->verbose ? "" : " (-v)");
}

/* Prints how many messages each side of a UC connection lost. UC does not retransmit, so these
 * messages are never delivered. */
static void print_lost(struct page *page, const struct check_conn *conn)
{
    const struct roce_conn_summary *sum = &conn->sum;
    const struct scope scope = scope_of(page, &sum->facts);

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *s = &sum->side[i];
        const uint64_t packets = check_side_missing(s);
        uint64_t whole = 0;
        char buf[LINE_LEN];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        if (s->lost_messages == 0)
            continue;
        for (unsigned o = 0; o < ROCE_OPER_CNT; o++)
            whole += s->oper[o].completed;
        check_conn_title(&t, sum);
        fprintf(page->out, "  #%u %s:\n     %s %s%" PRIu64 " of %" PRIu64 " messages %s lost (",
                sum->facts.conn_index, buf, check_text_arrow(i),
                check_side_loses_more(sum, i) ? "at least " : "", s->lost_messages,
                whole + s->lost_messages, s->lost_messages == 1 ? "was" : "were");
        if (packets)
            fprintf(page->out, "%" PRIu64 " packet%s): UC does not retransmit\n", packets,
                    packets == 1 ? "" : "s");
        else
            fprintf(page->out, "packets out of order): a UC receiver drops a message whose packets "
                               "are out of order\n");
        if (check_side_loses_more(sum, i)) /* known deviation D10 of Linux rxe */
            fprintf(page->out, "       the receiver may be Linux Soft-RoCE: if the last packet of "
                               "a message is lost, it also loses the next SEND, or every later "
                               "WRITE\n");
        filter_text_print(page->out, scope.text, "roce.analysis.psn_gap");
    }
}

/* Prints each side that sent packets with ECN CE marks but received no CNP from its peer. */
static void print_marked(struct page *page, const struct check_conn *conn)
{
    const struct roce_conn_summary *sum = &conn->sum;
    const struct scope scope = scope_of(page, &sum->facts);

    for (unsigned i = 0; i < 2; i++) {
        char buf[LINE_LEN];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        if (!check_side_marked(sum, i))
            continue;
        check_conn_title(&t, sum);
        fprintf(page->out, "  #%u %s:\n     %s %" PRIu64 " packet%s marked (ECN CE), but ",
                sum->facts.conn_index, buf, check_text_arrow(i), sum->side[i].ce_unanswered,
                sum->side[i].ce_unanswered == 1 ? " was" : "s were");
        t = strbuf_of(buf, sizeof(buf));
        strbuf_add_addr(&t, sum->side[!i].addr);
        fprintf(page->out,
                "%s sent no CNP: the sender does not slow down\n"
                "       check that ECN congestion control (DCQCN) is enabled on both NICs\n",
                buf);
        filter_text_print(page->out, scope.text, "roce.analysis.ce");
    }
}

/* Prints each side that received CNPs, if no measured rate of this side fell after them. */
static void print_notified(struct page *page, const struct check_conn *conn)
{
    const struct roce_conn_summary *sum = &conn->sum;
    const struct scope scope = scope_of(page, &sum->facts);

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *s = &sum->side[i];
        char buf[LINE_LEN];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        if (!check_side_notified(sum, i))
            continue;
        check_conn_title(&t, sum);
        fprintf(page->out, "  #%u %s:\n     %s ", sum->facts.conn_index, buf, check_text_arrow(i));
        if (s->ce_marked)
            fprintf(page->out, "%" PRIu64 " packet%s marked (ECN CE), and ", s->ce_marked,
                    s->ce_marked == 1 ? " was" : "s were");
        fprintf(page->out, "%" PRIu64 " CNP%s the sender to slow down: %s\n", sum->side[!i].cnps,
                sum->side[!i].cnps == 1 ? " asked" : "s asked",
                s->cnp.measured ? "its rate did not fall" : "its rate could not be measured");
        filter_text_print(page->out, scope.text, "roce.analysis.cnp || roce.analysis.ce");
    }
}

/* Prints the headline of a capture without problems. */
static void print_no_problem(const struct page *page)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (!headline_capture(&t, page->r))
        fprintf(page->out, "%s\n", buf);
}

/* Prints the heading of the slow connections with their order, and the wait that most of them have
 * in common. */
static void print_slow_head(const struct page *page)
{
    const struct check_report *r = page->r;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    fprintf(page->out, "slow connections%s:\n",
            r->slow == 1  ? ""
            : r->violated ? " (rule violations first, then the longest wait)"
                          : " (the longest wait first)");
    common_wait_text(&t, "  ", &r->common_wait, r->slow);
    if (t.len)
        fprintf(page->out, "%s\n", buf);
}

static void print_failures(struct page *page)
{
    const struct check_report *r = page->r;
    uint32_t unanswered = unanswered_cm_cnt(&r->unanswered_cm);

    if (r->failed + r->rejection_cnt) {
        fprintf(page->out, "failures:\n");
        print_rejections(page);
        print_stories(page, check_conn_failed, print_story, r->failed);
    }
    if (r->stuck + unanswered) {
        fprintf(page->out, "stuck connections:\n");
        print_all_unanswered(page, unanswered);
        print_stories(page, check_conn_stuck, print_story, r->stuck);
    }
    if (r->slow) {
        print_slow_head(page);
        print_stories(page, check_conn_slow, print_slow, r->slow);
    }
    if (r->lossy) {
        fprintf(page->out, "lost messages:\n");
        print_stories(page, check_conn_lossy, print_lost, r->lossy);
    }
    if (r->marked) {
        fprintf(page->out, "congestion without notification:\n");
        print_stories(page, check_conn_marked, print_marked, r->marked);
    }
    if (r->notified) {
        fprintf(page->out, "congestion:\n");
        print_stories(page, check_conn_notified, print_notified, r->notified);
    }
    if (r->paused) {
        fprintf(page->out, "paused connections:\n");
        print_stories(page, check_conn_paused, print_slow, r->paused);
    }
}

/* ---- list of connections -----------------------------------------------------------------------
 */

/* Returns whether some connection numbers are unused. If two directions with different numbers are
 * one connection, it has the number of the direction that was captured first. The other number is
 * then unused. */
static bool numbers_are_missing(const struct check_report *r)
{
    for (uint32_t i = 0; i < r->conn_cnt; i++)
        if (r->conn[i].sum.facts.conn_index >= r->ended)
            return !r->narrow || !r->narrow->any;
    return false;
}

static void print_conns(struct page *page)
{
    const struct check_report *r = page->r;
    const uint32_t max = limit_of(page, SUMMARY_CONNS);
    uint32_t shown = 0;

    if (r->conn_cnt == 0)
        return;
    fprintf(page->out, "connections%s:\n",
            numbers_are_missing(r)
                ? " (a missing number is the other direction of a listed connection)"
                : "");
    for (; shown < r->conn_cnt && shown < max; shown++)
        check_text_conn(page->out, &r->conn[shown], r->counts.last_time, page->verbose);
    if (r->ended > shown)
        fprintf(page->out, "  ... and %" PRIu64 " more%s\n", r->ended - shown,
                page->verbose ? " (--json lists all)" : " (-v)");
}

/* ---- list of findings --------------------------------------------------------------------------
 */

static void print_finding_line(FILE *out, const struct roce_finding *f)
{
    char buf[LINE_LEN];

    fprintf(out, "     frame %-6u %-5s %-12s %s %s\n", f->frame, roce_severity_name(f->severity),
            roce_rule_info(f->rule)->id,
            f->conn_index == ROCE_NO_CONN ? " " : check_text_arrow(f->side),
            roce_finding_text(f, buf, sizeof(buf)));
}

static void print_group(FILE *out, const struct finding_group *g)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    uint32_t shown = g->cnt < FINDING_GROUP_FRAMES ? (uint32_t)g->cnt : FINDING_GROUP_FRAMES;

    if (g->conns)
        strbuf_addf(&t, "in %u connections; first frames:", g->conns);
    else
        strbuf_addf(&t, "%" PRIu64 "×, frames", g->cnt);
    for (uint32_t i = 0; i < shown; i++)
        strbuf_addf(&t, "%s%u", i ? ", " : " ", g->frame[i]);
    if (shown < g->cnt)
        strbuf_addf(&t, ", ...");
    print_finding_line(out, &g->first);
    if (g->cnt > 1)
        fprintf(out, "     %14s%s\n", "", buf);
}

/* Prints all findings of a group, one by one. */
static void print_each(FILE *out, const struct finding_groups *groups,
                       const struct finding_group *g)
{
    for (uint32_t k = g->kept; k; k = groups->kept[k - 1].next) {
        struct roce_finding f = groups->kept[k - 1].finding;

        f.side = g->first.side;
        print_finding_line(out, &f);
    }
}

static void print_whose(FILE *out, const struct finding_group *g)
{
    if (g->conns)
        fprintf(out, "  in many connections:\n");
    else if (g->first.conn_index == ROCE_NO_CONN)
        fprintf(out, "  without a connection:\n");
    else
        fprintf(out, "  #%u:\n", g->first.conn_index);
}

/* Prints the findings of one connection, and returns the number of groups printed. */
static uint32_t print_findings_of(struct page *page, uint32_t stream)
{
    uint32_t cnt, shown = 0;
    const struct finding_group *g = finding_groups_of(&page->r->groups, stream, &cnt);

    for (uint32_t i = 0; i < cnt && page->findings_left > 0; i++) {
        if (g[i].first.known && !page->verbose)
            continue; /* print_known() counts known deviations */
        page->findings_left--;
        if (shown++ == 0 || g[i].conns || (i > 0 && g[i - 1].conns))
            print_whose(page->out, &g[i]);
        if (page->verbose)
            print_each(page->out, &page->r->groups, &g[i]);
        else
            print_group(page->out, &g[i]);
    }
    return shown;
}

/* Prints one line about the known deviations, which the summary does not list as findings: the
 * peer, how the check recognised its implementation, and the count of each deviation. */
static void print_known(const struct page *page)
{
    const struct check_report *r = page->r;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    if (check_report_known(r) == 0)
        return;
    for (unsigned k = 0; k < ROCE_DEVIATION_CNT; k++) {
        uint64_t cnt = 0;

        for (uint32_t i = 0; i < r->groups.group_cnt; i++)
            if (r->groups.group[i].first.known &&
                strcmp(r->groups.group[i].first.known, roce_deviations[k].id) == 0)
                cnt += r->groups.group[i].cnt;
        if (cnt == 0)
            continue;
        strbuf_addf(&t, "%s%s %" PRIu64 "× (%s)", sep, roce_deviations[k].id, cnt,
                    roce_deviations[k].text);
        sep = ", ";
    }
    fprintf(page->out, "known deviations of %s: %s%s\n", check_report_peer(r), buf,
            r->profile == ROCE_PROFILE_AUTO
                ? "; recognised by MigReq 0 and UDP source ports derived from QP numbers. To count "
                  "the deviations as violations, use --quirks none"
                : "");
}

/* Returns the number of finding groups that the report may list. Without -v, groups of known
 * deviations are not counted. */
static uint32_t listed_cnt(const struct page *page)
{
    const struct finding_groups *groups = &page->r->groups;
    uint32_t cnt = 0;

    for (uint32_t i = 0; i < groups->group_cnt; i++)
        cnt += page->verbose || !groups->group[i].first.known;
    return cnt;
}

static void print_findings(struct page *page)
{
    const struct check_report *r = page->r;
    const uint32_t cnt = listed_cnt(page);
    uint32_t shown = 0;

    if (cnt == 0 && r->groups.not_kept == 0)
        return;
    fprintf(page->out, "findings:\n");
    page->findings_left = limit_of(page, SUMMARY_FINDINGS);
    for (uint32_t i = 0; i < r->conn_cnt; i++)
        shown += print_findings_of(page, r->conn[i].sum.facts.conn_index);
    shown += print_findings_of(page, ROCE_NO_CONN);
    if (cnt > shown)
        fprintf(
            page->out, "  ... and %u more group%s%s\n", cnt - shown, cnt - shown == 1 ? "" : "s",
            page->verbose ? " of findings of connections not shown (--json lists all)" : " (-v)");
    if (r->groups.not_kept)
        fprintf(page->out,
                "  ... and %" PRIu64 " findings that are only counted (--json -v lists all)\n",
                r->groups.not_kept);
}

/* ---- end of the report -------------------------------------------------------------------------
 */

static void add_trouble(struct strbuf *t, const char **sep, uint64_t cnt, const char *one,
                        const char *many)
{
    if (cnt == 0)
        return;
    strbuf_addf(t, "%s%" PRIu64 " connection%s %s", *sep, cnt, cnt == 1 ? "" : "s",
                cnt == 1 ? one : many);
    *sep = "; ";
}

/* Prints the verdict on the rules, and then the problems of connections that violate no rule. */
static void print_verdict(FILE *out, const struct check_report *r)
{
    const enum check_verdict verdict = check_report_verdict(r);
    const uint64_t *cnt = r->totals.findings;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = verdict == CHECK_HOLDS ? ", but " : "; ";

    if (verdict == CHECK_HOLDS && cnt[ROCE_SEV_ERROR] + cnt[ROCE_SEV_WARN] + cnt[ROCE_SEV_NOTE])
        strbuf_addf(&t, cnt[ROCE_SEV_ERROR] ? "no rule violated except by known deviations; "
                                            : "no rule violated; ");
    check_text_findings(&t, cnt, r->totals.known);
    if (check_report_known(r))
        strbuf_addf(&t, " of %s", check_report_peer(r) ? check_report_peer(r) : "Linux rxe");
    strbuf_addf(&t, ")");
    add_trouble(&t, &sep, r->failed, "failed", "failed");
    add_trouble(&t, &sep, r->stuck, "got stuck", "got stuck");
    add_trouble(&t, &sep, r->slow, "was slowed", "were slowed");
    add_trouble(&t, &sep, r->lossy, "lost messages", "lost messages");
    add_trouble(&t, &sep, r->marked, "had CE marks without a CNP", "had CE marks without a CNP");
    add_trouble(&t, &sep, r->notified, "was asked to slow down", "were asked to slow down");
    add_trouble(&t, &sep, r->paused, "paused", "paused");
    fprintf(out, "verdict: %s%s (%s\n", check_verdict_name(verdict),
            r->broke_off ? " in the part of the capture that could be read" : "", buf);
}

void check_text(FILE *out, const struct check_report *r, bool verbose)
{
    struct page page = {.out = out, .r = r, .verbose = verbose};

    print_head(out, r);
    print_no_problem(&page);
    print_failures(&page);
    print_conns(&page);
    print_findings(&page);
    if (!verbose)
        print_known(&page);
    /* If the capture has no packet to judge, the error message says why. */
    if (!r->error || r->totals.packets)
        print_verdict(out, r);
}

void check_text_sum(FILE *out, const size_t cnt[EXIT_UNUSABLE + 1], size_t captures)
{
    static const char *const words[] = {"passed", "failed", "unusable"};
    const char *sep = "";

    fprintf(out, "\n%zu captures:", captures);
    for (int i = EXIT_HOLDS; i <= EXIT_UNUSABLE; i++)
        if (cnt[i]) {
            fprintf(out, "%s %zu %s", sep, cnt[i], words[i]);
            sep = ",";
        }
    fprintf(out, "\n");
}

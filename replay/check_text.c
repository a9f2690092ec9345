/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The report for people: why something failed, then the connections, then the findings. */
#include "check_text.h"

#include <inttypes.h>
#include <string.h>
#include "check_slow.h"
#include "wire/codes.h"

/* What fits on a screen together with the head and the verdict. */
#define STORIES_MAX  2u
#define CONNS_MAX    4u
#define FINDINGS_MAX 12u
#define LINE_LEN     1024

/* ---- the head ----------------------------------------------------------------------------------
 */

static void add_tunnel_list(struct text *t, const struct check_report *r, bool open,
                            const char *before)
{
    const char *sep = before;
    bool any = false;

    for (unsigned i = ROCE_TUNNEL_NONE + 1; i < ROCE_TUNNEL_CNT; i++) {
        const struct roce_tunnel_info *info = roce_tunnel_info(i);

        if (!r->tunnel[i] || info->open != open)
            continue;
        text_add(t, "%s%" PRIu64 " %s", sep, r->tunnel[i], info->name);
        sep = ", ";
        any = true;
    }
    if (any)
        text_add(t, "\n");
}

static void add_tunnels(struct text *t, const struct check_report *r)
{
    add_tunnel_list(t, r, true, "  inside of tunnels: ");
    add_tunnel_list(t, r, false, "  frames of tunnels that were not looked into: ");
}

static void print_head(FILE *out, const struct check_report *r)
{
    char buf[LINE_LEN];
    struct text t = text_of(buf, sizeof(buf));
    const struct roce_flow_totals *sum = &r->totals;
    const char *sep = ", ";

    text_put(out, r->name);
    text_add(&t, ": %u frames, %" PRIu64 " RoCE packets", r->frames, sum->packets);
    check_text_list(&t, &sep, r->foreign, "of another protocol", "of other protocols");
    check_text_list(&t, &sep, r->unreadable, "unreadable", "unreadable");
    if (r->last_time > r->first_time) {
        text_add(&t, ", ");
        text_add_time(&t, r->last_time - r->first_time);
    }
    text_add(&t, ", %" PRIu64 " connection%s\n", r->ended, r->ended == 1 ? "" : "s");
    add_tunnels(&t, r);
    if (r->cut)
        text_add(&t, "  captured in part: %" PRIu64 " frames; what was cut off is not judged\n",
                 r->cut);
    if (r->pauses)
        text_add(&t,
                 "  flow control: %" PRIu64 " frame%s (PFC, PAUSE) stopped a sender: nothing is "
                 "lost, and all of that priority waits\n",
                 r->pauses, r->pauses == 1 ? "" : "s");
    if (sum->dc)
        text_add(&t,
                 "  not judged: %" PRIu64 " packets of NVIDIA's dynamically connected transport, "
                 "which stands in no specification\n",
                 sum->dc);
    if (r->unseen * 100 >= sum->packets && r->unseen)
        text_add(&t,
                 "  not captured: %" PRIu64 " request packets that were answered; the capture "
                 "lost them, not the network\n",
                 r->unseen);
    if (r->copies * 100 >= sum->packets && r->copies)
        text_add(&t,
                 "  captured twice: %" PRIu64 " packets, by a mirror of two ports perhaps, or "
                 "doubled by the network\n",
                 r->copies);
    if (sum->rules[ROCE_RULE_ICRC_NEVER_GOOD])
        text_add(&t,
                 "  never a right ICRC from %" PRIu64
                 " host%s: a device changed what it covers (NAT, a firewall), then every receiver "
                 "drops the packets; or the capture was made before the ICRC was\n",
                 sum->rules[ROCE_RULE_ICRC_NEVER_GOOD],
                 sum->rules[ROCE_RULE_ICRC_NEVER_GOOD] == 1 ? "" : "s");
    if (r->no_icrc)
        text_add(&t, "  the ICRC was not checked\n");
    if (sum->evicted || sum->forgotten || sum->overflown || sum->untracked)
        text_add(&t,
                 "  too much for the memory limit: %" PRIu64
                 " connections were closed early, %" PRIu64 " idle ones forgot their past, %" PRIu64
                 " request packets were forgotten early, %" PRIu64 " packets not followed\n",
                 sum->evicted, sum->forgotten, sum->overflown, sum->untracked);
    fputs(buf, out);
}

/* ---- why did my QP fail ------------------------------------------------------------------------
 */

static void print_story(FILE *out, const struct check_report *r,
                        const struct roce_conn_summary *sum)
{
    struct story_event events[STORY_EVENTS];
    unsigned cnt = r->story ? story_of(r->story, sum->stream, events) : 0;
    char buf[LINE_LEN];
    struct text t = text_of(buf, sizeof(buf));

    text_add(&t, "  #%u ", sum->stream);
    check_conn_title(&t, sum);
    fprintf(out, "%s:\n", buf);
    t = text_of(buf, sizeof(buf));
    check_conn_reason(&t, sum);
    /* What happened, and what follows from it. */
    for (char *part = buf, *next; part; part = next) {
        next = strstr(part, "; ");
        if (next) {
            *next = '\0';
            next += 2;
        }
        fprintf(out, "     %s\n", part);
    }
    for (unsigned i = 0; i < cnt; i++) {
        const struct story_event *e = &events[i];

        t = text_of(buf, sizeof(buf));
        text_add(&t, "%s ", check_text_arrow(e->side));
        story_text(&t, e);
        fprintf(out, "     frame %-6u %12.6f s  %s\n", e->first_frame,
                e->time > r->first_time ? (double)(e->time - r->first_time) / 1e9 : 0.0, buf);
    }
    t = text_of(buf, sizeof(buf));
    check_conn_hint(&t, sum, story_request(events, cnt, sum->end_side & 1u, sum->end_psn));
    if (t.len)
        fprintf(out, "     %s\n", buf);
}

static void print_rejections(FILE *out, const struct check_report *r, bool verbose)
{
    uint64_t max = verbose ? CHECK_REJECTIONS : STORIES_MAX;
    uint64_t shown = r->rejection_cnt < max ? r->rejection_cnt : max;

    for (uint64_t i = 0; i < shown; i++) {
        const struct check_rejection *rej = &r->rejection[i];
        char buf[LINE_LEN], name_buf[96];
        struct text t = text_of(buf, sizeof(buf));
        const char *name =
            roce_vals_name(ROCE_VALS_CM_REJ_REASON, rej->reason, name_buf, sizeof(name_buf));

        text_add_addr(&t, rej->from);
        text_add(&t, " rejected a connection of ");
        text_add_addr(&t, rej->to);
        text_add(&t, ": reason %u%s%s%s", rej->reason, name ? " (" : "", name ? name : "",
                 name ? ")" : "");
        fprintf(out, "  %s in frame %u\n", buf, rej->frame);
    }
    if (shown < r->rejection_cnt)
        fprintf(out, "  ... and %" PRIu64 " more rejections\n", r->rejection_cnt - shown);
}

static void print_all_asked(FILE *out, const struct check_report *r, uint32_t cnt, bool verbose)
{
    uint32_t shown = 0;

    for (unsigned i = 0; i < CHECK_ASKED && (verbose || shown < STORIES_MAX); i++)
        if (check_asked_in_vain(&r->asked.one[i])) {
            check_asked_print(out, &r->asked.one[i], r->first_time);
            shown++;
        }
    if (shown < cnt)
        fprintf(out, "  ... and %u more that nobody answered%s\n", cnt - shown,
                verbose ? "" : " (-v)");
}

static void print_slow(FILE *out, const struct check_report *r, const struct roce_conn_summary *sum)
{
    char buf[LINE_LEN];
    struct text t = text_of(buf, sizeof(buf));

    (void)r;
    check_conn_title(&t, sum);
    fprintf(out, "  #%u %s:\n", sum->stream, buf);
    check_slow_print(out, sum);
}

/* The stories of the connections of one kind, of which there are `cnt`. */
static void print_stories(FILE *out, const struct check_report *r, bool verbose,
                          bool (*kind)(const struct roce_conn_summary *),
                          void (*print)(FILE *, const struct check_report *,
                                        const struct roce_conn_summary *),
                          uint64_t cnt, const char *what)
{
    uint64_t shown = 0;

    for (uint32_t i = 0; i < r->conn_cnt && (verbose || shown < STORIES_MAX); i++)
        if (kind(&r->conn[i].sum)) {
            if (r->conn[i].sum.end != ROCE_END_REJECTED) /* that was told */
                print(out, r, &r->conn[i].sum);
            shown++;
        }
    if (shown < cnt)
        fprintf(out, "  ... and %" PRIu64 " more connections that %s%s\n", cnt - shown, what,
                verbose ? "" : " (-v)");
}

static void print_failures(FILE *out, const struct check_report *r, bool verbose)
{
    uint32_t asked = check_asked_cnt(&r->asked);

    if (r->failed > 0 || r->rejection_cnt > 0) {
        fprintf(out, "why it failed:\n");
        print_rejections(out, r, verbose);
        print_stories(out, r, verbose, check_conn_failed, print_story, r->failed, "failed");
    }
    if (r->stuck > 0 || asked > 0) {
        fprintf(out, "what got stuck:\n");
        print_all_asked(out, r, asked, verbose);
        print_stories(out, r, verbose, check_conn_stuck, print_story, r->stuck, "got stuck");
    }
    if (r->slow > 0) {
        fprintf(out, "what slowed it:\n");
        print_stories(out, r, verbose, check_slow, print_slow, r->slow, "were slowed");
    }
}

/* ---- connections -------------------------------------------------------------------------------
 */

static void print_conns(FILE *out, const struct check_report *r, bool verbose)
{
    uint32_t shown = 0;

    if (r->conn_cnt == 0)
        return;
    fprintf(out, "connections:\n");
    for (; shown < r->conn_cnt && (verbose || shown < CONNS_MAX); shown++)
        check_text_conn(out, &r->conn[shown], true, verbose);
    if (shown < r->ended)
        fprintf(out, "  ... and %" PRIu64 " more%s\n", r->ended - shown,
                verbose ? " (--json has all)" : " (-v)");
}

/* ---- findings ----------------------------------------------------------------------------------
 */

static void print_finding_line(FILE *out, const struct roce_finding *f)
{
    char buf[LINE_LEN];

    fprintf(out, "     frame %-6u %-5s %-12s %s %s\n", f->frame, roce_severity_name(f->severity),
            roce_rule_info(f->rule)->id,
            f->stream == ROCE_NO_STREAM ? " " : check_text_arrow(f->side),
            roce_finding_text(f, buf, sizeof(buf)));
}

static void print_group(FILE *out, const struct check_group *g)
{
    char buf[LINE_LEN];
    struct text t = text_of(buf, sizeof(buf));
    uint32_t shown = g->cnt < CHECK_GROUP_FRAMES ? (uint32_t)g->cnt : CHECK_GROUP_FRAMES;

    text_add(&t, "%" PRIu64 "×, frames", g->cnt);
    for (uint32_t i = 0; i < shown; i++)
        text_add(&t, "%s%u", i ? ", " : " ", g->frame[i]);
    if (shown < g->cnt)
        text_add(&t, ", ...");
    print_finding_line(out, &g->first);
    if (g->cnt > 1)
        fprintf(out, "     %14s%s\n", "", buf);
}

/* The findings of one connection; how many groups were printed. */
static uint32_t print_findings_of(FILE *out, const struct check_report *r, uint32_t stream,
                                  bool verbose, uint32_t max)
{
    uint32_t cnt, shown = 0;
    const struct check_group *g = check_tally_of(&r->tally, stream, &cnt);

    if (cnt == 0 || max == 0)
        return 0;
    if (stream == ROCE_NO_STREAM)
        fprintf(out, "  without a connection:\n");
    else
        fprintf(out, "  #%u:\n", stream);
    for (; shown < cnt && shown < max; shown++) {
        if (!verbose) {
            print_group(out, &g[shown]);
            continue;
        }
        for (uint32_t k = g[shown].kept; k; k = r->tally.kept[k - 1].next) {
            struct roce_finding f = r->tally.kept[k - 1].finding;

            f.side = g[shown].first.side;
            print_finding_line(out, &f);
        }
    }
    return shown;
}

static void print_findings(FILE *out, const struct check_report *r, bool verbose)
{
    uint32_t left = verbose ? UINT32_MAX : FINDINGS_MAX, shown = 0;

    if (r->tally.group_cnt == 0)
        return;
    fprintf(out, "findings:\n");
    for (uint32_t i = 0; i < r->conn_cnt && left > 0; i++) {
        uint32_t one = print_findings_of(out, r, r->conn[i].sum.stream, verbose, left);

        shown += one;
        left -= one;
    }
    shown += print_findings_of(out, r, ROCE_NO_STREAM, verbose, left);
    if (shown < r->tally.group_cnt)
        fprintf(out, "  ... and %u more kinds%s\n", r->tally.group_cnt - shown,
                verbose ? " of connections not shown (--json has all)" : " (-v)");
    if (r->tally.not_kept)
        fprintf(out, "  ... and %" PRIu64 " findings that are only counted (--json has all)\n",
                r->tally.not_kept);
}

void check_text(FILE *out, const struct check_report *r, bool verbose)
{
    char buf[LINE_LEN];
    struct text t = text_of(buf, sizeof(buf));

    print_head(out, r);
    print_failures(out, r, verbose);
    print_conns(out, r, verbose);
    print_findings(out, r, verbose);
    check_text_severities(&t, r->totals.findings);
    if (r->totals.known)
        text_add(&t, ", %" PRIu64 " of them known of %s", r->totals.known,
                 roce_profile_name(r->profile));
    fprintf(out, "verdict: %s%s (%s", check_verdict_name(check_report_verdict(r)),
            r->broke_off ? " as far as the capture could be read" : "", buf);
    if (r->failed)
        fprintf(out, "; %" PRIu64 " connection%s failed", r->failed, r->failed == 1 ? "" : "s");
    if (r->stuck)
        fprintf(out, "; %" PRIu64 " connection%s got stuck", r->stuck, r->stuck == 1 ? "" : "s");
    if (r->slow)
        fprintf(out, "; %" PRIu64 " connection%s", r->slow,
                r->slow == 1 ? " was slowed" : "s were slowed");
    fprintf(out, ")\n");
}

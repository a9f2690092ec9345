/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report_requester.h"
#include "engine/diff_rule.h"

#include <inttypes.h>
#include <string.h>
#include "engine/reasons/peer_quirks.h"
#include "report/report_taken.h"
#include "util/strbuf.h"

void report_count(struct strbuf *t, const char **sep, uint64_t cnt, const char *what)
{
    if (cnt == 0)
        return;
    strbuf_addf(t, "%s%" PRIu64 " %.*s", *sep, cnt, (int)strcspn(what, "*"), what);
    if (strchr(what, '*'))
        strbuf_addf(t, "%s%s", cnt == 1 ? "" : "s", strchr(what, '*') + 1);
    *sep = ", ";
}

static void print_posted(FILE *out, const struct requester_run *a, const struct request_result *res)
{
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    strbuf_addf(&t, "%zu work request%s; %zu packets sent, ", a->wrs.cnt,
                a->wrs.cnt == 1 ? "" : "s", a->tx_cnt);
    strbuf_addf(&t, "%u go-back-N restart%s; ", res->go_backs, res->go_backs == 1 ? "" : "s");
    if (a->completions_unseen)
        strbuf_addf(&t, "completions are not visible");
    else
        strbuf_addf(&t, "%u completed", res->completed);
    if (res->failed)
        strbuf_addf(&t, ", %u of them with an error", res->failed);
    fprintf(out, "  posted    %s\n", buf);
    t = strbuf_of(buf, sizeof(buf));
    report_count(&t, &sep, res->ackreq, "AckReq bit*");
    report_count(&t, &sep, a->other_payload, "payload* with different bytes");
    report_count(&t, &sep, res->more, "request* that only our RNIC retransmitted");
    report_count(&t, &sep, res->fewer, "request* that only the recorded requester retransmitted");
    report_count(&t, &sep, res->not_captured, "request* of our RNIC after the last captured one");
    report_count(&t, &sep, res->wire_duplicates, "request* duplicated by the network");
    report_count(&t, &sep, res->rewritten,
                 "retransmission* with bytes that the program had changed");
    report_count(&t, &sep, res->damaged, "request* damaged by the network");
    report_count(&t, &sep, res->lost, "response* lost after the capture point");
    report_count(&t, &sep, a->missing_cnt,
                 "response* that the requester received but the capture lacks");
    report_count(&t, &sep, res->after_gap, "request* after a request that was not captured");
    if (t.len)
        fprintf(out, "  ignored   %s\n", buf);
}

void report_diff(FILE *out, const struct trace *trace, const struct diff *d, const char *rule,
                 const char *end)
{
    char text[DIFF_TEXT_MAX];

    diff_text(text, d->field, d->recorded, d->replayed);
    if (d->known) {
        fprintf(out, "  known deviation %s of %s (%s; %s): frame %u: %s\n", d->known->deviation->id,
                peer_quirk_peer(d->known), d->known->deviation->text, d->known->deviation->rules,
                trace->pkt[d->pkt].frame, text);
        return;
    }
    fputs("  difference ", out);
    put_escaped(out, trace->name);
    fprintf(out, ": frame %u: %s; %s%s%s%s%s\n", trace->pkt[d->pkt].frame, text, d->reason, end,
            rule ? " [" : "", rule ? rule : "", rule ? "]" : "");
}

void report_requester_diffs(FILE *out, const struct request_comparison *v, uint32_t idx, bool known)
{
    const struct trace *trace = v->requester->run[idx].dir->setup.trace;

    for (size_t i = 0; i < v->diff_cnt; i++) {
        const struct diff *d = &v->diff[i];

        if (d->dir == idx && (d->known != NULL) == known)
            report_diff(out, trace, d, diff_rule(trace, d), "");
    }
    if (known)
        return;
    if (v->result[idx].diff_frames > DIFFS_MAX)
        fprintf(out, "  ... and %u more frames that differ\n",
                v->result[idx].diff_frames - DIFFS_MAX);
    if (v->result[idx].not_compared)
        fprintf(out,
                "  not compared: %u requests that the recorded QP sent after our QP entered the "
                "error state\n",
                v->result[idx].not_compared);
}

void report_requester_text(FILE *out, const struct request_comparison *v, uint32_t idx)
{
    const struct request_result *res = &v->result[idx];
    const struct requester_run *a = &v->requester->run[idx];

    if (res->verdict == VERDICT_SKIPPED) {
        fprintf(out, "  requester SKIPPED: %s\n", res->skip);
        return;
    }
    print_posted(out, a, res);
    report_requester_diffs(out, v, idx, true);
    fprintf(out, "  requester %s: %u requests compared", verdict_name(res->verdict), res->compared);
    if (res->diff_frames)
        fprintf(out, ", %u frame%s differ%s", res->diff_frames, res->diff_frames == 1 ? "" : "s",
                res->diff_frames == 1 ? "s" : "");
    if (res->known_frames)
        fprintf(out, ", %u known deviation%s", res->known_frames,
                res->known_frames == 1 ? "" : "s");
    if (res->inconclusive)
        fprintf(out, ", %u inconclusive: a READ request was not captured", res->inconclusive);
    fputc('\n', out);
}

json_t *report_requester_json(const struct request_comparison *v, uint32_t idx)
{
    const struct request_result *res = &v->result[idx];
    const struct requester_run *a = &v->requester->run[idx];
    json_t *side;

    if (res->verdict == VERDICT_SKIPPED)
        return json_pack("{s:s, s:s}", "verdict", verdict_name(res->verdict), "reason", res->skip);
    side = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:{s:i, s:i, s:i, s:i, "
                     "s:i, s:i, s:i, s:i, s:i}}",
                     "verdict", verdict_name(res->verdict), "work_requests", (int)a->wrs.cnt,
                     "packets", (int)a->tx_cnt, "compared", (int)res->compared, "go_back_restarts",
                     (int)res->go_backs, "completed", (int)res->completed, "completed_with_error",
                     (int)res->failed, "differing_requests", (int)res->diff_frames,
                     "known_deviations", (int)res->known_frames, "inconclusive",
                     (int)res->inconclusive, "ignored", "other_ackreq", (int)res->ackreq,
                     "only_ours", (int)res->more, "only_recorded", (int)res->fewer, "not_captured",
                     (int)res->not_captured, "network_duplicates", (int)res->wire_duplicates,
                     "damaged", (int)res->damaged, "responses_lost", (int)res->lost, "after_gap",
                     (int)res->after_gap, "rewritten_buffers", (int)res->rewritten);
    report_taken_requester_json(side, a);
    return side;
}

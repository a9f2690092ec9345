/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/peer_quirks.h"
#include "engine/diff_rule.h"
#include "report/ladder.h"
#include "report/report_exchange.h"
#include "report/report_requester.h"
#include "report/report_stream.h"
#include "wire/codes.h"

/* Skipped flows listed; a scan of random QPs would otherwise fill the screen. */
#define SKIPS_MAX 32u

static void add_verdict(enum verdict *verdict, enum verdict one)
{
    if (one == VERDICT_FAIL || *verdict == VERDICT_SKIPPED)
        *verdict = one;
}

enum verdict report_run_verdict(const struct replay *r, uint32_t idx)
{
    enum verdict verdict = VERDICT_SKIPPED;

    if (r->comparison.result)
        add_verdict(&verdict, r->comparison.result[idx].verdict);
    if (r->verification.result)
        add_verdict(&verdict, r->verification.result[idx].verdict);
    return verdict;
}

/* Management datagrams that come in beside data: that they hold says nothing about the data. */
static bool is_aside(const struct replay *r, const struct stream *s)
{
    if (s->qpn != ROCE_QP_GSI || s->verdict == VERDICT_FAIL)
        return false;
    for (size_t i = 0; i < r->streams.cnt; i++)
        if (r->streams.stream[i].qpn != ROCE_QP_GSI)
            return true;
    return r->drive.run_cnt > 0 || r->conns.skip_cnt > 0;
}

/* What fails weighs more than what passes, and that more than what is skipped. */
enum verdict report_verdict(const struct replay *r)
{
    enum verdict verdict = VERDICT_SKIPPED;
    bool data = r->drive.run_cnt || r->streams.cnt || r->conns.skip_cnt;

    for (uint32_t i = 0; i < r->drive.run_cnt; i++)
        add_verdict(&verdict, report_run_verdict(r, i));
    for (size_t i = 0; i < r->streams.cnt; i++)
        if (!is_aside(r, &r->streams.stream[i]))
            add_verdict(&verdict, r->streams.stream[i].verdict);
    /* That an exchange holds says as little about the data, where there is any. */
    for (size_t i = 0; i < r->exchanges.cnt; i++)
        if (!data || report_exchange_verdict(&r->exchanges.exchange[i]) == VERDICT_FAIL)
            add_verdict(&verdict, report_exchange_verdict(&r->exchanges.exchange[i]));
    return verdict;
}

const char *report_skip_reason(const struct replay *r)
{
    const struct trace *trace = &r->trace;

    for (size_t i = 0; i < r->drive.run_cnt; i++) {
        if (r->comparison.result && r->comparison.result[i].skip)
            return r->comparison.result[i].skip;
        if (r->verification.result && r->verification.result[i].skip)
            return r->verification.result[i].skip;
    }
    for (size_t i = 0; i < r->streams.cnt; i++)
        if (r->streams.stream[i].skip)
            return r->streams.stream[i].skip;
    /* Data says more about a capture than the connection management around it. */
    for (size_t i = 0; i < r->conns.skip_cnt; i++)
        if (trace->flow[r->conns.skip[i].flow].dest_qp != ROCE_QP_GSI)
            return r->conns.skip[i].reason;
    return r->conns.skip_cnt ? r->conns.skip[0].reason : "no RoCE packet in it";
}

static void add_ends(struct strbuf *t, const struct setup *s)
{
    const struct trace_flow *req = &s->trace->flow[s->side->req_flow];

    strbuf_addf(t, "requester ");
    strbuf_add_addr(t, req->src);
    strbuf_addf(t, " QP 0x%06x → responder ", s->peer_qpn);
    strbuf_add_addr(t, req->dst);
    strbuf_addf(t, " QP 0x%06x", s->qpn);
}

/* ---- differences -------------------------------------------------------------------------------
 */

/* What follows the name of its capture. */
static void add_diff(struct strbuf *t, const struct comparison *cmp, const struct diff *d)
{
    const struct trace *trace = cmp->drive->trace;

    strbuf_addf(t, ": frame %u: %s: expected %s, actual %s", trace->pkt[d->pkt].frame, d->field,
                d->expected, d->actual);
    if (d->request != STEP_NONE) {
        const struct trace_packet *p = &trace->pkt[d->request];

        strbuf_addf(t, "; answers frame %u (%s PSN %u)", p->frame, packet_text_opcode(p->opcode),
                    p->psn);
    }
    strbuf_addf(t, "; %s", d->reason);
    if (!d->known && diff_rule(trace, d))
        strbuf_addf(t, " [%s]", diff_rule(trace, d));
}

static void print_diffs(FILE *out, const struct comparison *cmp, uint32_t run)
{
    char buf[1024];

    for (size_t i = 0; i < cmp->diff_cnt; i++) {
        const struct diff *d = &cmp->diff[i];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        if (d->run != run)
            continue;
        add_diff(&t, cmp, d);
        if (d->known)
            fprintf(out, "  known deviation %s of %s (%s; %s): ", d->known->id, d->known->peer,
                    d->known->text, d->known->rules);
        else
            fputs("  difference ", out);
        put_escaped(out, cmp->drive->trace->name);
        fprintf(out, "%s\n", buf);
    }
    if (cmp->result[run].diff_frames > DIFFS_MAX)
        fprintf(out, "  ... and %u more answers that differ\n",
                cmp->result[run].diff_frames - DIFFS_MAX);
    if (cmp->result[run].not_compared)
        fprintf(out,
                "  not compared: %u answers after our QP went to error and the recorded one did "
                "not\n",
                cmp->result[run].not_compared);
}

/* ---- one side ----------------------------------------------------------------------------------
 */

static void print_requests(FILE *out, const struct setup *s)
{
    static const struct {
        enum roce_kind kind;
        const char *name;
    } kinds[] = {{ROCE_KIND_SEND, "SEND"},           {ROCE_KIND_WRITE, "WRITE"},
                 {ROCE_KIND_READ, "READ"},           {ROCE_KIND_CMP_SWAP, "CMP_SWAP"},
                 {ROCE_KIND_FETCH_ADD, "FETCH_ADD"}, {ROCE_KIND_ATOMIC_WRITE, "ATOMIC WRITE"},
                 {ROCE_KIND_FLUSH, "FLUSH"}};
    const struct entry *last = s->entry_cnt ? &s->entry[s->entry_cnt - 1] : NULL;
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        report_count(&t, &sep, s->ops[kinds[i].kind], kinds[i].name);
    if (s->messages == 0)
        strbuf_addf(&t, "no message served");
    fprintf(out, "  requests  %u packets: %s; %" PRIu64 " bytes in, %" PRIu64 " bytes read; PSN %u",
            s->requests, buf, s->bytes_in, s->bytes_out, roce_psn_add(s->psn, (int32_t)s->first).v);
    if (last)
        fprintf(out, "..%u", roce_psn_add(s->psn, (int32_t)(last->rel + last->cnt - 1)).v);
    fprintf(out, "; %u sent again\n", s->retransmitted);
}

static void print_derived(FILE *out, const struct comparison *cmp, const struct run *run,
                          const struct report_options *options)
{
    static const struct {
        unsigned right;
        const char *name;
    } rights[] = {{RNIC_ACCESS_REMOTE_WRITE, "write"},
                  {RNIC_ACCESS_REMOTE_READ, "read"},
                  {RNIC_ACCESS_REMOTE_ATOMIC, "atomic"},
                  {RNIC_ACCESS_FLUSH_GLOBAL, "flush"},
                  {RNIC_ACCESS_FLUSH_PERSISTENT, "persistent-flush"}};
    const struct setup *s = &run->setup;
    const struct memory *memory = &cmp->drive->device[run->device].memory;
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = " ";

    strbuf_addf(&t, "path MTU %u%s, first PSN %u, MSN %u%s, P_Key 0x%04x, QP allows", s->mtu,
                s->mtu_known ? "" : " (fits)", roce_psn_add(s->psn, (int32_t)s->first).v, s->msn,
                s->msn && s->msn_votes < 2 ? " (one answer says so)" : "", s->pkey);
    for (unsigned i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
        if (s->access & rights[i].right) {
            strbuf_addf(&t, "%s%s", sep, rights[i].name);
            sep = "+";
        }
    if (!s->access)
        strbuf_addf(&t, " nothing but SEND");
    strbuf_addf(&t, "; %u receive WQEs", run->recv_posted);
    if (s->rnr_naks)
        strbuf_addf(&t, ", RNR timer %.2f ms", (double)roce_rnr_ns(s->rnr_code) / 1e6);
    fprintf(out, "  derived   %s\n", buf);
    if (memory->keys.cnt == 0)
        return;
    fprintf(out,
            "            memory: %u key%s; %" PRIu64 " bytes of initial image, %" PRIu64
            " stored by the responder's program, %" PRIu64 " read back as written\n",
            memory->keys.cnt, memory->keys.cnt == 1 ? "" : "s", memory->initial,
            memory->host_stores, memory->obligations);
    for (uint32_t i = 0; options->verbose && i < memory->keys.cnt; i++) {
        const struct memory_region *r = &memory->region[i];

        fprintf(out, "            rkey 0x%08x: 0x%" PRIx64 " + %" PRIu64 " bytes:%s%s%s%s%s\n",
                r->rkey, r->low, r->span, r->access & RNIC_ACCESS_REMOTE_WRITE ? " write" : "",
                r->access & RNIC_ACCESS_REMOTE_READ ? " read" : "",
                r->access & RNIC_ACCESS_REMOTE_ATOMIC ? " atomic" : "",
                r->access & (RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_FLUSH_PERSISTENT) ? " flush"
                                                                                      : "",
                r->invalidate ? " invalidated" : "");
    }
}

static void print_free(FILE *out, const struct setup *s, const struct result *res)
{
    char buf[640];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    report_count(&t, &sep, res->acks_more, "ACKs only ours has");
    report_count(&t, &sep, res->acks_fewer, "ACKs covered by others of ours");
    report_count(&t, &sep, res->credits, "credit codes");
    report_count(&t, &sep, res->read_msn, "READ First MSNs");
    report_count(&t, &sep, res->unseen, "answers of ours the capture lacks");
    report_count(&t, &sep, res->early, "answers to requests before the capture");
    report_count(&t, &sep, res->unasked, "answers to requests the capture lacks");
    report_count(&t, &sep, res->repeated, "answers the wire repeated");
    report_count(&t, &sep, res->damaged, "answers damaged on the wire");
    if (t.len)
        fprintf(out, "  free      %s\n", buf);
    t = strbuf_of(buf, sizeof(buf));
    sep = "";
    report_count(&t, &sep, s->cut, "payloads cut by the snap length: data not compared");
    report_count(&t, &sep, s->ahead_cnt, "requests executed before the capture has a copy of them");
    if (t.len)
        fprintf(out, "  weaker    %s\n", buf);
    if (res->inconclusive)
        fprintf(out,
                "  in doubt  frames %u..%u: %u answer%s differ%s, but the capture %s: "
                "inconclusive\n",
                setup_packet(s, res->doubt_from)->frame, setup_packet(s, res->doubt_to)->frame,
                res->inconclusive, res->inconclusive == 1 ? "" : "s",
                res->inconclusive == 1 ? "s" : "", res->doubt);
}

/* Where this side goes on after a gap, and what is missing before it. */
static void print_resumed(FILE *out, const struct setup *s)
{
    if (s->side->resumed)
        fprintf(
            out,
            "  resumes   after frame %u: the capture lacks a request that was executed, PSN %u\n",
            s->side->lacks_after, s->side->lacks);
}

static void print_responder(FILE *out, const struct comparison *cmp, uint32_t idx,
                            const struct report_options *options)
{
    const struct run *run = &cmp->drive->run[idx];
    const struct setup *s = &run->setup;
    const struct result *res = &cmp->result[idx];

    if (res->verdict == VERDICT_SKIPPED) {
        fprintf(out, "  responder SKIPPED: %s\n", res->skip);
        return;
    }
    print_derived(out, cmp, run, options);
    print_free(out, s, res);
    print_diffs(out, cmp, idx);
    fprintf(out, "  responder %s: %u answers compared", verdict_name(res->verdict), res->compared);
    if (res->diff_frames)
        fprintf(out, ", %u differ", res->diff_frames);
    if (res->known_frames)
        fprintf(out, ", %u known deviation%s", res->known_frames,
                res->known_frames == 1 ? "" : "s");
    if (res->inconclusive)
        fprintf(out, ", %u inconclusive", res->inconclusive);
    fputc('\n', out);
}

static struct ladder ladder_of(const struct replay *r, uint32_t idx)
{
    const struct comparison *cmp = &r->comparison;
    const struct verification *v = &r->verification;
    struct ladder ladder = {.setup = &r->drive.run[idx].setup, .run = idx};

    if (cmp->result)
        ladder.view[0] = (struct ladder_view){cmp->result[idx].mark, cmp->diff, cmp->diff_cnt};
    if (v->result)
        ladder.view[1] = (struct ladder_view){v->result[idx].mark, v->diff, v->diff_cnt};
    return ladder;
}

static void print_around(FILE *out, const struct ladder *ladder, uint32_t step)
{
    ladder_print(out, ladder, step > LADDER_AROUND ? step - LADDER_AROUND : 0,
                 step + LADDER_AROUND);
}

/* The conversation: all of it if asked for, else around the first difference of each end. */
static void print_ladder(FILE *out, const struct replay *r, uint32_t idx,
                         const struct report_options *options)
{
    const struct ladder ladder = ladder_of(r, idx);
    uint32_t a = r->comparison.result ? r->comparison.result[idx].first_diff : STEP_NONE;
    uint32_t b = r->verification.result ? r->verification.result[idx].first_diff : STEP_NONE;

    if (options->ladder) {
        ladder_print(out, &ladder, 0, UINT32_MAX);
        return;
    }
    if (a != STEP_NONE)
        print_around(out, &ladder, a);
    if (b != STEP_NONE && (a == STEP_NONE || b + LADDER_AROUND < a || b >= a + LADDER_AROUND))
        print_around(out, &ladder, b);
}

static void print_connection(FILE *out, const struct replay *r, uint32_t idx,
                             const struct report_options *options)
{
    const struct setup *s = &r->drive.run[idx].setup;
    const struct trace_flow *req = &s->trace->flow[s->side->req_flow];
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    add_ends(&t, s);
    fprintf(out, "connection %u: %s\n", idx + 1, buf);
    fprintf(out, "  seen      %s, %s, frames %u..%u%s\n",
            setup_svc(s) == ROCE_SVC_XRC ? "XRC" : "RC", packet_text_encap(req->encap),
            setup_packet(s, 0)->frame, setup_packet(s, (uint32_t)s->step_cnt - 1)->frame,
            s->side->cm.present ? ", set up by the connection manager" : "");
    print_resumed(out, s);
    if (report_run_verdict(r, idx) != VERDICT_SKIPPED)
        print_requests(out, s);
    if (r->comparison.result)
        print_responder(out, &r->comparison, idx, options);
    if (r->verification.result)
        report_requester_text(out, &r->verification, idx);
    if (report_run_verdict(r, idx) != VERDICT_SKIPPED)
        print_ladder(out, r, idx, options);
}

static void print_skips(FILE *out, const struct replay *r)
{
    for (size_t i = 0; i < r->conns.skip_cnt && i < SKIPS_MAX; i++) {
        const struct conn_skip *skip = &r->conns.skip[i];
        const struct trace_flow *flow = &r->trace.flow[skip->flow];
        char buf[160];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_add_addr(&t, flow->src);
        strbuf_addf(&t, " → ");
        strbuf_add_addr(&t, flow->dst);
        strbuf_addf(&t, " QP 0x%06x", flow->dest_qp);
        fprintf(out, "skipped: %s: %zu packet%s from frame %u: %s\n", buf, skip->packets,
                skip->packets == 1 ? "" : "s", skip->frame, skip->reason);
    }
    if (r->conns.skip_cnt > SKIPS_MAX)
        fprintf(out, "skipped: %zu more flows\n", r->conns.skip_cnt - SKIPS_MAX);
}

/* Frames whose ICRC is wrong in a way known of the peer. */
static uint32_t print_seals(FILE *out, const struct trace *trace)
{
    const struct trace_packet *first = NULL;
    uint32_t cnt = 0;

    for (size_t i = 0; i < trace->cnt; i++) {
        if (!trace->pkt[i].seal)
            continue;
        first = cnt++ ? first : &trace->pkt[i];
    }
    if (cnt)
        fprintf(out,
                "known deviation %s of %s (%s; %s): %u frame%s, the first is %u: taken as good\n",
                first->seal->id, first->seal->peer, first->seal->text, first->seal->rules, cnt,
                cnt == 1 ? "" : "s", first->frame);
    return cnt;
}

static void print_counts(FILE *out, const uint32_t cnt[3], const char *what)
{
    fprintf(out, "%u %s%s held, %u differed, %u skipped", cnt[VERDICT_PASS], what,
            cnt[VERDICT_PASS] == 1 ? "" : "s", cnt[VERDICT_FAIL], cnt[VERDICT_SKIPPED]);
}

void report_text(FILE *out, const struct replay *r, const struct report_options *options)
{
    const struct comparison *cmp = &r->comparison;
    uint32_t cnt[3] = {0}, stream_cnt[3] = {0}, exchange_cnt[3] = {0}, known = 0, inconclusive = 0;
    bool unseen = false;

    put_escaped(out, r->trace.name);
    fprintf(out, ": %u frames, %zu RoCE packets", r->trace.frames, r->trace.cnt);
    if (r->trace.malformed)
        fprintf(out, ", %u too short or malformed to be read", r->trace.malformed);
    if (r->trace.resealed)
        fprintf(out,
                ", %u with an ICRC that does not fit: none does, so the capture changed what it "
                "covers, and they count as right",
                r->trace.resealed);
    fputc('\n', out);
    for (uint32_t i = 0; i < r->drive.run_cnt; i++) {
        print_connection(out, r, i, options);
        cnt[report_run_verdict(r, i)]++;
        known += cmp->result ? cmp->result[i].known_frames : 0;
        known += r->verification.result ? r->verification.result[i].known_frames : 0;
        inconclusive += cmp->result ? cmp->result[i].inconclusive : 0;
    }
    for (uint32_t i = 0; i < r->streams.cnt; i++) {
        report_stream_text(out, &r->streams, i,
                           is_aside(r, &r->streams.stream[i]) && !options->verbose);
        unseen |= r->streams.stream[i].role == STREAM_RECEIVER &&
                  r->streams.stream[i].verdict == VERDICT_PASS &&
                  !is_aside(r, &r->streams.stream[i]);
        stream_cnt[r->streams.stream[i].verdict]++;
        known += r->streams.stream[i].known_frames;
    }
    for (uint32_t i = 0; i < r->exchanges.cnt; i++) {
        report_exchange_text(out, &r->exchanges, i);
        exchange_cnt[report_exchange_verdict(&r->exchanges.exchange[i])]++;
    }
    if (unseen)
        fputs("not seen: what the recorded receivers made of UC and UD packets, which have no "
              "answers; "
              "ours is judged by the rules\n",
              out);
    print_skips(out, r);
    known += print_seals(out, &r->trace);
    fprintf(out, "verdict: %s (", verdict_name(report_verdict(r)));
    if (r->drive.run_cnt || !r->streams.cnt)
        print_counts(out, cnt, "connection");
    if (r->drive.run_cnt && r->streams.cnt)
        fputs("; ", out);
    if (r->streams.cnt)
        print_counts(out, stream_cnt, "stream");
    if (r->exchanges.cnt) {
        fputs("; ", out);
        print_counts(out, exchange_cnt, "exchange");
    }
    fputc(')', out);
    if (known)
        fprintf(out, "; %u known deviation%s of %s", known, known == 1 ? "" : "s", r->peer);
    if (inconclusive)
        fprintf(out, "; %u answer%s inconclusive for what the capture lacks", inconclusive,
                inconclusive == 1 ? "" : "s");
    fputc('\n', out);
}

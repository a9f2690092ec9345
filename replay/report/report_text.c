/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/diff_rule.h"
#include "engine/reasons/peer_quirks.h"
#include "report/ladder.h"
#include "report/report_exchange.h"
#include "report/report_requester.h"
#include "report/report_stream.h"
#include "report/report_taken.h"
#include "report/verdict.h"
#include "util/strbuf.h"
#include "wire/codes.h"

/* Limit of the skipped flows that are listed. Here a flow is the packets from one host to one QP of
 * another host. Without the limit, a scan of random QPNs would fill the screen. */
#define SKIPS_MAX 32u

void report_direction_ends(struct strbuf *t, const struct inferred_setup *s)
{
    const struct trace_flow *req = &s->trace->flow[s->recorded->req_flow];

    strbuf_addf(t, "requester ");
    strbuf_add_addr(t, req->src);
    strbuf_addf(t, " QP 0x%06x → responder ", s->peer_qpn);
    strbuf_add_addr(t, req->dst);
    strbuf_addf(t, " QP 0x%06x", s->qpn);
}

/* ---- printing differences ----------------------------------------------------------------------
 */

/* Appends the part of a difference after the name of the capture: ": frame N: FIELD: ...". */
static void add_diff(struct strbuf *t, const struct response_comparison *all, const struct diff *d)
{
    const struct trace *trace = all->session->trace;
    char text[DIFF_TEXT_MAX];

    strbuf_addf(t, ": frame %u: %s", trace->pkt[d->pkt].frame,
                diff_text(text, d->field, d->recorded, d->replayed));
    if (d->request != EVENT_NONE) {
        const struct trace_packet *p = &trace->pkt[d->request];

        strbuf_addf(t, "; response to frame %u (%s PSN %u)", p->frame,
                    packet_text_opcode(p->opcode), p->psn);
    }
    strbuf_addf(t, "; %s", d->reason);
    if (!d->known && diff_rule(trace, d))
        strbuf_addf(t, " [%s]", diff_rule(trace, d));
}

static void print_diff(FILE *out, const struct response_comparison *all, const struct diff *d)
{
    char buf[1024];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    add_diff(&t, all, d);
    if (d->known)
        fprintf(out, "  known deviation %s of %s (%s; %s): ", d->known->deviation->id,
                peer_quirk_peer(d->known), d->known->deviation->text, d->known->deviation->rules);
    else
        fputs("  difference ", out);
    put_escaped(out, all->session->trace->name);
    fprintf(out, "%s\n", buf);
}

static bool is_contradiction(const struct diff *d)
{
    return strcmp(d->reason, DIFF_CONTRADICTION) == 0;
}

/* A response contradicts another one if their PSNs or MSNs cannot both be right. One wrong response
 * can cause many such contradictions in direction `dir`. Returns the first one, or NULL if there is
 * none. */
static const struct diff *first_contradiction(const struct response_comparison *all, uint32_t dir)
{
    for (size_t i = 0; i < all->diff_cnt; i++)
        if (all->diff[i].dir == dir && !all->diff[i].known && is_contradiction(&all->diff[i]))
            return &all->diff[i];
    return NULL;
}

/* Number of frames that print_contradictions() lists. */
#define CONTRADICTIONS_MAX 8u

/* Prints the frames of the `cnt` responses in direction `dir` that contradict another one and may
 * be caused by `cause`, which was printed before. */
static void print_contradictions(FILE *out, const struct response_comparison *all, uint32_t dir,
                                 const struct diff *cause, size_t cnt)
{
    size_t shown = 0;

    fprintf(out, "  ... and %zu more response%s, frame%s", cnt, cnt == 1 ? "" : "s",
            cnt == 1 ? "" : "s");
    for (size_t i = 0; i < all->diff_cnt && shown < CONTRADICTIONS_MAX; i++) {
        const struct diff *d = &all->diff[i];

        if (d->dir == dir && !d->known && d != cause && is_contradiction(d))
            fprintf(out, "%s %u", shown++ ? "," : "", all->session->trace->pkt[d->pkt].frame);
    }
    fprintf(out,
            "%s: the PSNs and MSNs of these responses and of frame %u cannot all be correct, and "
            "one wrong response can cause all of these differences (-v lists them)\n",
            shown < cnt ? ", ..." : "", all->session->trace->pkt[cause->pkt].frame);
}

/* Prints differences of our responder in direction `dir`. If `known` is true, prints the known
 * deviations of the peer, otherwise all other differences. Without `verbose`, only prints the
 * frames of the contradictions after the first one. */
static void print_diffs(FILE *out, const struct response_comparison *all, uint32_t dir, bool known,
                        bool verbose)
{
    const struct diff *cause = verbose ? NULL : first_contradiction(all, dir);
    size_t contradictions = 0;

    for (size_t i = 0; i < all->diff_cnt; i++) {
        const struct diff *d = &all->diff[i];

        if (d->dir != dir || (d->known != NULL) != known)
            continue;
        if (cause && d != cause && is_contradiction(d))
            contradictions++;
        else
            print_diff(out, all, d);
    }
    if (contradictions)
        print_contradictions(out, all, dir, cause, contradictions);
    if (known)
        return;
    if (all->result[dir].diff_frames > DIFFS_MAX)
        fprintf(out, "  ... and %u more responses that differ\n",
                all->result[dir].diff_frames - DIFFS_MAX);
    if (all->result[dir].not_compared)
        fprintf(out,
                "  not compared: %u responses that the recorded QP sent after our QP entered "
                "the error state\n",
                all->result[dir].not_compared);
}

/* ---- printing the result of one side -----------------------------------------------------------
 */

static void print_requests(FILE *out, const struct inferred_setup *s)
{
    static const struct {
        enum roce_kind kind;
        const char *name;
    } kinds[] = {{ROCE_KIND_SEND, "SEND"},           {ROCE_KIND_WRITE, "WRITE"},
                 {ROCE_KIND_READ, "READ"},           {ROCE_KIND_CMP_SWAP, "CMP_SWAP"},
                 {ROCE_KIND_FETCH_ADD, "FETCH_ADD"}, {ROCE_KIND_ATOMIC_WRITE, "ATOMIC WRITE"},
                 {ROCE_KIND_FLUSH, "FLUSH"}};
    const struct request_pkt *last = s->req_cnt ? &s->req[s->req_cnt - 1] : NULL;
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        report_count(&t, &sep, s->ops[kinds[i].kind], kinds[i].name);
    if (s->messages == 0)
        strbuf_addf(&t, "no message executed");
    fprintf(out,
            "  requests  %u packet%s: %s; %" PRIu64 " bytes received, %" PRIu64
            " bytes read; PSN %u",
            s->requests, s->requests == 1 ? "" : "s", buf, s->bytes_in, s->bytes_out,
            roce_psn_add(s->psn, (int32_t)s->first).v);
    if (last)
        fprintf(out, "..%u", roce_psn_add(s->psn, (int32_t)(last->rel + last->cnt - 1)).v);
    fprintf(out, "; %u retransmitted\n", s->retransmitted);
}

static void print_derived(FILE *out, const struct response_comparison *all,
                          const struct rc_direction *dir, const struct report_options *options)
{
    static const struct {
        unsigned right;
        const char *name;
    } rights[] = {{RNIC_ACCESS_REMOTE_WRITE, "write"},
                  {RNIC_ACCESS_REMOTE_READ, "read"},
                  {RNIC_ACCESS_REMOTE_ATOMIC, "atomic"},
                  {RNIC_ACCESS_FLUSH_GLOBAL, "flush"},
                  {RNIC_ACCESS_FLUSH_PERSISTENT, "persistent-flush"}};
    const struct inferred_setup *s = &dir->setup;
    const struct shadow_memory *memory = &all->session->host[dir->host].memory;
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = " ";

    strbuf_addf(&t, "path MTU %u%s, first PSN %u, MSN %u%s, P_Key 0x%04x, the QP allows", s->mtu,
                s->mtu_known ? "" : " (not proven)", roce_psn_add(s->psn, (int32_t)s->first).v,
                s->msn, s->msn && s->msn_votes < 2 ? " (from one response)" : "", s->pkey);
    for (unsigned i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
        if (s->access & rights[i].right) {
            strbuf_addf(&t, "%s%s", sep, rights[i].name);
            sep = "+";
        }
    if (!s->access)
        strbuf_addf(&t, " only SEND");
    strbuf_addf(&t, "; %u receive WQEs posted", dir->recv_posted);
    if (s->rnr_naks)
        strbuf_addf(&t, ", RNR timer %.2f ms", (double)roce_rnr_ns(s->rnr_code) / 1e6);
    fprintf(out, "  inferred  %s\n", buf);
    if (memory->keys.cnt == 0)
        return;
    fprintf(out,
            "            memory: %u key%s; %" PRIu64 " bytes inferred as initial contents, %" PRIu64
            " written by the responder's program, %" PRIu64 " read back as written\n",
            memory->keys.cnt, memory->keys.cnt == 1 ? "" : "s", memory->initial,
            memory->host_stores, memory->obligations);
    for (uint32_t i = 0; options->verbose && i < memory->keys.cnt; i++) {
        const struct shadow_region *r = &memory->region[i];

        fprintf(out, "            rkey 0x%08x: 0x%" PRIx64 " + %" PRIu64 " bytes:%s%s%s%s%s\n",
                r->rkey, r->low, r->span, r->access & RNIC_ACCESS_REMOTE_WRITE ? " write" : "",
                r->access & RNIC_ACCESS_REMOTE_READ ? " read" : "",
                r->access & RNIC_ACCESS_REMOTE_ATOMIC ? " atomic" : "",
                r->access & (RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_FLUSH_PERSISTENT) ? " flush"
                                                                                      : "",
                r->invalidate ? " invalidated" : "");
    }
}

static void print_free(FILE *out, const struct inferred_setup *s, const struct response_result *res)
{
    char buf[640];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    report_count(&t, &sep, res->acks_more, "ACK* that only our RNIC sends");
    report_count(&t, &sep, res->acks_fewer, "ACK* that a later ACK of our RNIC covers");
    report_count(&t, &sep, res->credits, "credit code*");
    report_count(&t, &sep, res->read_msn, "MSN* in READ Response First");
    report_count(&t, &sep, res->later_msn, "MSN* counting later requests too");
    report_count(&t, &sep, res->copies_msn, "MSN* that another copy of the request explains");
    report_count(&t, &sep, res->not_captured, "response* of our RNIC that the capture lacks");
    report_count(&t, &sep, res->before_first, "response* to requests before the capture");
    report_count(&t, &sep, res->unsolicited, "response* to requests that were not captured");
    report_count(&t, &sep, res->wire_duplicates, "response* duplicated by the network");
    report_count(&t, &sep, res->damaged, "response* damaged by the network");
    if (t.len)
        fprintf(out, "  ignored   %s\n", buf);
    t = strbuf_of(buf, sizeof(buf));
    sep = "";
    report_count(&t, &sep, s->cut, "payload* truncated by the snaplen: data not compared");
    report_count(&t, &sep, s->executed_unseen_cnt,
                 "request* that the responder executed when an earlier copy arrived, which was not "
                 "captured");
    if (t.len)
        fprintf(out, "  limited   %s\n", buf);
    if (res->inconclusive)
        fprintf(
            out,
            "  uncertain frames %u..%u: %u response%s differ%s, but the capture %s: inconclusive\n",
            event_packet(s, res->inconclusive_from)->frame,
            event_packet(s, res->inconclusive_to)->frame, res->inconclusive,
            res->inconclusive == 1 ? "" : "s", res->inconclusive == 1 ? "s" : "",
            res->why_inconclusive);
}

/* If the capture has a gap before this part of a direction (split_at_gap.h), prints where the part
 * resumes and the PSN that is missing. */
static void print_resumed(FILE *out, const struct inferred_setup *s)
{
    if (s->recorded->after_gap)
        fprintf(
            out,
            "  resumes   after frame %u, with the next message: the capture lacks the request with "
            "PSN %u, which the responder executed\n",
            s->recorded->gap_after_frame, s->recorded->gap_psn);
}

static void print_responder(FILE *out, const struct response_comparison *all, uint32_t idx,
                            const struct report_options *options)
{
    const struct rc_direction *dir = &all->session->dir[idx];
    const struct inferred_setup *s = &dir->setup;
    const struct response_result *res = &all->result[idx];

    if (res->verdict == VERDICT_SKIPPED) {
        fprintf(out, "  responder SKIPPED: %s\n", res->skip);
        return;
    }
    print_derived(out, all, dir, options);
    report_taken_text(out, s);
    print_free(out, s, res);
    print_diffs(out, all, idx, true, options->verbose);
    fprintf(out, "  responder %s: %u responses compared", verdict_name(res->verdict),
            res->compared);
    if (res->diff_frames)
        fprintf(out, ", %u differ", res->diff_frames);
    if (res->known_frames)
        fprintf(out, ", %u known deviation%s", res->known_frames,
                res->known_frames == 1 ? "" : "s");
    if (res->inconclusive)
        fprintf(out, ", %u inconclusive", res->inconclusive);
    fputc('\n', out);
}

/* Prints a ladder diagram of all packets of direction `idx` if the user chose so. Otherwise prints
 * the packets around the first difference of our responder and of our requester. */
static void print_ladder(FILE *out, const struct replay *r, uint32_t idx,
                         const struct report_options *options)
{
    struct ladder ladder;
    struct ladder_part part[2];
    unsigned cnt = ladder_select(&ladder, part, r, idx, options->ladder);

    for (unsigned i = 0; i < cnt; i++)
        ladder_print(out, &ladder, &part[i]);
}

static void print_direction(FILE *out, const struct replay *r, uint32_t idx,
                            const struct report_options *options)
{
    const struct inferred_setup *s = &r->session.dir[idx].setup;
    const struct trace_flow *req = &s->trace->flow[s->recorded->req_flow];
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    report_direction_ends(&t, s);
    fprintf(out, "connection #%u: %s\n", s->recorded->conn_index, buf);
    if (r->responses.result)
        print_diffs(out, &r->responses, idx, false, options->verbose);
    if (r->requests.result)
        report_requester_diffs(out, &r->requests, idx, false);
    fprintf(out, "  captured  %s, %s, frames %u..%u%s\n",
            inferred_setup_svc(s) == ROCE_SVC_XRC ? "XRC" : "RC", packet_text_encap(req->encap),
            s->trace->pkt[s->recorded->pkt[0]].frame,
            s->trace->pkt[s->recorded->pkt[s->recorded->cnt - 1]].frame,
            s->recorded->cm.present ? ", set up by CM messages" : "");
    print_resumed(out, s);
    if (report_run_verdict(r, idx) != VERDICT_SKIPPED)
        print_requests(out, s);
    if (r->responses.result)
        print_responder(out, &r->responses, idx, options);
    if (r->requests.result)
        report_requester_text(out, &r->requests, idx);
    if (report_run_verdict(r, idx) != VERDICT_SKIPPED)
        print_ladder(out, r, idx, options);
}

static void print_skips(FILE *out, const struct replay *r)
{
    for (size_t i = 0; i < r->connections.skip_cnt && i < SKIPS_MAX; i++) {
        const struct skipped_flow *skip = &r->connections.skip[i];
        const struct trace_flow *flow = &r->trace.flow[skip->flow];
        char buf[160];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_add_addr(&t, flow->src);
        strbuf_addf(&t, " → ");
        strbuf_add_addr(&t, flow->dst);
        strbuf_addf(&t, " QP 0x%06x", flow->dest_qp);
        fprintf(out, "not replayed: %s: %zu packet%s from frame %u: %s\n", buf, skip->packets,
                skip->packets == 1 ? "" : "s", skip->frame, skip->reason);
    }
    if (r->connections.skip_cnt > SKIPS_MAX)
        fprintf(out, "not replayed: %zu more flows\n", r->connections.skip_cnt - SKIPS_MAX);
}

/* Prints one line about the frames with a wrong ICRC that is a known deviation of the sender.
 * Returns the number of these frames. */
static uint32_t print_seals(FILE *out, const struct trace *trace)
{
    const struct trace_packet *first = NULL;
    uint32_t cnt = 0;

    for (size_t i = 0; i < trace->cnt; i++) {
        if (!trace->pkt[i].icrc_fixed)
            continue;
        first = cnt++ ? first : &trace->pkt[i];
    }
    if (cnt)
        fprintf(out,
                "known deviation %s of %s (%s; %s): %u frame%s, first frame %u: ICRC accepted\n",
                first->icrc_fixed->deviation->id, peer_quirk_peer(first->icrc_fixed),
                first->icrc_fixed->deviation->text, first->icrc_fixed->deviation->rules, cnt,
                cnt == 1 ? "" : "s", first->frame);
    return cnt;
}

static void print_counts(FILE *out, const uint32_t cnt[3], const char *what)
{
    fprintf(out, "%u %s%s passed, %u failed, %u skipped", cnt[VERDICT_PASS], what,
            cnt[VERDICT_PASS] == 1 ? "" : "s", cnt[VERDICT_FAIL], cnt[VERDICT_SKIPPED]);
}

/* Returns 1 if one role of a direction (responder or requester) was skipped although the other role
 * was compared, otherwise 0. */
static uint32_t skipped_sides(const struct replay *r, uint32_t idx)
{
    if (report_run_verdict(r, idx) == VERDICT_SKIPPED)
        return 0;
    return (r->responses.result && r->responses.result[idx].verdict == VERDICT_SKIPPED) +
           (r->requests.result && r->requests.result[idx].verdict == VERDICT_SKIPPED);
}

static bool is_auto(const struct replay *r)
{
    return r->quirks && strcmp(r->quirks, PEER_QUIRKS_AUTO) == 0;
}

/* Returns whether at least one difference or wrong ICRC counts as a known deviation of the
 * recognised peer. The report then names the peer. */
static bool excuses(const struct replay *r)
{
    bool known = false;

    if (!is_auto(r))
        return false;
    for (uint32_t i = 0; i < r->session.dir_cnt; i++)
        known |= (r->responses.result && r->responses.result[i].known_frames) ||
                 (r->requests.result && r->requests.result[i].known_frames);
    for (uint32_t i = 0; i < r->trace.cnt && !known; i++)
        known = r->trace.pkt[i].icrc_fixed != NULL;
    return known;
}

/* Prints which hosts were recognised as Linux Soft-RoCE (rxe), and by which evidence. */
static void print_peers(FILE *out, const struct replay *r)
{
    const char *sep = "recognised as Linux rxe: ";
    bool any = false;

    for (uint32_t i = 0; i < r->trace.flows.cnt; i++) {
        char buf[64];
        struct strbuf t = strbuf_of(buf, sizeof(buf));
        bool named = !r->connections.rxe[i];

        for (uint32_t k = 0; k < i && !named; k++)
            named = r->connections.rxe[k] &&
                    memcmp(r->trace.flow[k].src, r->trace.flow[i].src, 16) == 0;
        if (named)
            continue;
        strbuf_add_addr(&t, r->trace.flow[i].src);
        fprintf(out, "%s%s", sep, buf);
        sep = ", ";
        any = true;
    }
    if (any)
        fputs("; evidence: MigReq 0 and UDP source ports derived from QP numbers. To count "
              "deviations of Linux rxe as errors, use --quirks none\n",
              out);
}

/* Responses that could not be judged, which do not count for the verdict. */
struct unjudged {
    struct inconclusive_reason reason[INCONCLUSIVE_REASONS];
    uint32_t compared, inconclusive; /* numbers of responses; `compared` includes `inconclusive` */
};

static struct unjudged count_unjudged(const struct replay *r)
{
    struct unjudged sum = {.compared = 0};

    for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
        const struct response_result *res = r->responses.result ? &r->responses.result[i] : NULL;

        if (!res)
            continue;
        sum.compared += res->compared;
        sum.inconclusive += res->inconclusive;
        for (unsigned k = 0; k < INCONCLUSIVE_REASONS && res->reason[k].responses; k++)
            inconclusive_reason_add(sum.reason, res->reason[k].why, res->reason[k].responses);
    }
    return sum;
}

/* Prints the reasons why responses are inconclusive, with the number of responses of each. */
static void print_reasons(FILE *out, const struct unjudged *sum)
{
    for (unsigned i = 0; i < INCONCLUSIVE_REASONS && sum->reason[i].responses; i++)
        fprintf(out, "%s %u because the capture %s", i ? "," : "", sum->reason[i].responses,
                sum->reason[i].why);
}

void report_text(FILE *out, const struct replay *r, const struct report_options *options)
{
    uint32_t sides = 0;
    const struct response_comparison *all = &r->responses;
    uint32_t cnt[3] = {0}, stream_cnt[3] = {0}, exchange_cnt[3] = {0}, known = 0, missing = 0;
    uint32_t damaged = 0, hidden = 0;
    /* The report of a FAIL would hide its differences between the directions that pass. */
    bool only_differences =
        report_verdict(r) == VERDICT_FAIL && !options->verbose && !options->ladder;
    const struct unjudged unjudged = count_unjudged(r);
    bool unseen = false;

    put_escaped(out, r->trace.name);
    fprintf(out, ": %u frame%s, %zu RoCE packet%s", r->trace.frames,
            r->trace.frames == 1 ? "" : "s", r->trace.cnt, r->trace.cnt == 1 ? "" : "s");
    if (r->trace.malformed)
        fprintf(out, ", %u truncated or malformed", r->trace.malformed);
    if (r->trace.checksums_filled)
        fprintf(out, ", %u with an IPv4 header checksum of 0 (not computed), accepted",
                r->trace.checksums_filled);
    if (r->trace.icrcs_fixed)
        fprintf(out,
                ", %u with a wrong ICRC: no packet has a correct ICRC, so the capture changed "
                "bytes that the ICRC covers; replay accepts the packets",
                r->trace.icrcs_fixed);
    fputc('\n', out);
    if (r->trace.cut_payloads)
        fprintf(
            out, "payload not compared: %u packet%s cut to %u bytes; the headers are compared\n",
            r->trace.cut_payloads, r->trace.cut_payloads == 1 ? " is" : "s are", r->trace.cut_len);
    if (unjudged.inconclusive) {
        fprintf(out, "not judged: %u of %u responses:", unjudged.inconclusive, unjudged.compared);
        print_reasons(out, &unjudged);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
        if (only_differences && report_run_verdict(r, i) == VERDICT_PASS)
            hidden++;
        else
            print_direction(out, r, i, options);
        cnt[report_run_verdict(r, i)]++;
        sides += skipped_sides(r, i);
        known += all->result ? all->result[i].known_frames : 0;
        known += r->requests.result ? r->requests.result[i].known_frames : 0;
        missing += all->result ? all->result[i].not_captured : 0;
        damaged += all->result ? all->result[i].damaged : 0;
    }
    if (hidden)
        fprintf(out, "not printed: %u direction%s that passed (-v)\n", hidden,
                hidden == 1 ? "" : "s");
    for (uint32_t i = 0; i < r->dgrams.cnt; i++) {
        report_stream_text(out, &r->dgrams, i,
                           verdict_ignores_stream(r, &r->dgrams.stream[i]) && !options->verbose);
        unseen |= r->dgrams.stream[i].role == DGRAM_RECEIVER &&
                  r->dgrams.stream[i].verdict == VERDICT_PASS &&
                  !verdict_ignores_stream(r, &r->dgrams.stream[i]);
        stream_cnt[r->dgrams.stream[i].verdict]++;
        known += r->dgrams.stream[i].known_frames;
    }
    for (uint32_t i = 0; i < r->cm_exchanges.cnt; i++) {
        report_exchange_text(out, &r->cm_exchanges, i);
        exchange_cnt[report_exchange_verdict(&r->cm_exchanges.at[i])]++;
    }
    if (unseen)
        fputs("not visible: which UC and UD packets the recorded receivers accepted, because UC "
              "and UD have no acknowledgements; replay judges our receiver by the rules\n",
              out);
    print_skips(out, r);
    known += print_seals(out, &r->trace);
    if (excuses(r))
        print_peers(out, r);
    fprintf(out, "verdict: %s (", verdict_name(report_verdict(r)));
    if (r->session.dir_cnt || !r->dgrams.cnt)
        print_counts(out, cnt, "direction");
    if (r->session.dir_cnt && r->dgrams.cnt)
        fputs("; ", out);
    if (r->dgrams.cnt)
        print_counts(out, stream_cnt, "stream");
    if (r->cm_exchanges.cnt) {
        fputs("; ", out);
        print_counts(out, exchange_cnt, "exchange");
    }
    fputc(')', out);
    if (sides)
        fprintf(out, "; %u side%s skipped: %s", sides, sides == 1 ? "" : "s",
                report_skip_reason(r));
    if (known)
        fprintf(out, "; %u known deviation%s of %s", known, known == 1 ? "" : "s",
                is_auto(r) ? "linux-rxe" : r->quirks);
    if (unjudged.inconclusive) {
        fprintf(out, "; %u response%s inconclusive:", unjudged.inconclusive,
                unjudged.inconclusive == 1 ? "" : "s");
        print_reasons(out, &unjudged);
    }
    if (missing)
        fprintf(out, "; %u response%s missing in the capture, not compared", missing,
                missing == 1 ? "" : "s");
    if (damaged)
        fprintf(out, "; %u damaged response%s not compared", damaged, damaged == 1 ? "" : "s");
    fputc('\n', out);
}

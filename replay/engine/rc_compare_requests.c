/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_compare_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "engine/peer_quirks.h"
#include "engine/rc_expected_wc.h"
#include "engine/field_diff.h"

/* Our requests by PSN, then order. */
struct by_rel {
    int64_t rel;
    uint32_t idx;
};

/* One connection under comparison. */
struct view {
    struct verification *v;
    struct asker *asker;
    const struct setup *setup;
    struct verify_result *res;
    uint32_t idx;
    struct by_rel *by_rel;
    struct expect expect;
    size_t done;       /* our completions by the step at hand */
    uint32_t restart;  /* step of the recorded requester's latest going back, or STEP_NONE */
    size_t looked;     /* our requests looked at for `went_back` */
    int64_t next;      /* PSN after the latest of these */
    int64_t went_back; /* PSN that ours went back to since `restart`, or INT64_MIN */
    bool by_rule;      /* ... which is the first not answered (R152) */
};

/* ---- listing -----------------------------------------------------------------------------------
 */

static int report_known(struct view *view, uint32_t step, const struct field_diffs *d,
                        const char *reason, const struct deviation *known)
{
    struct verify_result *res = view->res;

    if (d->cnt == 0)
        return 0;
    if (known) {
        res->known_frames++;
        res->mark[step] = MARK_KNOWN;
    } else {
        res->diff_frames += res->mark[step] != MARK_DIFF;
        res->mark[step] = MARK_DIFF;
        if (res->first_diff == STEP_NONE)
            res->first_diff = step;
    }
    if ((known ? res->known_frames : res->diff_frames) > DIFFS_MAX)
        return 0;
    for (unsigned i = 0; i < d->cnt; i++) {
        struct verification *v = view->v;
        struct diff *diff;

        if (!VEC_GROW(v->diff, v->diff_cnt, v->diff_cap))
            return -1;
        diff = &v->diff[v->diff_cnt++];
        *diff = (struct diff){.run = view->idx,
                              .pkt = view->setup->step[step].pkt,
                              .request = STEP_NONE,
                              .field = d->at[i].field,
                              .known = known};
        memcpy(diff->expected, d->at[i].expected, sizeof(diff->expected));
        memcpy(diff->actual, d->at[i].actual, sizeof(diff->actual));
        snprintf(diff->reason, sizeof(diff->reason), "%s", reason);
    }
    return 0;
}

/* What depends on the answers that ours has got, and may be more than it got. */
static int report(struct view *view, uint32_t step, const struct field_diffs *d, const char *reason)
{
    if (d->cnt && step >= view->asker->doubt_step) {
        view->res->inconclusive++;
        view->res->mark[step] = MARK_NOTE;
        return 0;
    }
    return report_known(view, step, d, reason, NULL);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static int by_rel_cmp(const void *a, const void *b)
{
    const struct by_rel *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

static bool sort_sent(struct view *view)
{
    const struct asker *a = view->asker;

    view->by_rel = malloc((a->sent_cnt + 1) * sizeof(*view->by_rel));
    for (size_t i = 0; view->by_rel && i < a->sent_cnt; i++)
        view->by_rel[i] = (struct by_rel){.rel = a->sent[i].rel, .idx = (uint32_t)i};
    if (view->by_rel && a->sent_cnt)
        qsort(view->by_rel, a->sent_cnt, sizeof(*view->by_rel), by_rel_cmp);
    return view->by_rel != NULL;
}

/* Index in by_rel of the first request of ours with this PSN, or of one after it. */
static size_t first_at(const struct view *view, int64_t rel)
{
    size_t low = 0, high = view->asker->sent_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (view->by_rel[mid].rel < rel)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The first request of ours with this PSN that no recorded one was matched with; `limit` is the
 * step by which it must be out. */
static struct sent *find_sent(const struct view *view, int64_t rel, uint32_t limit)
{
    const struct asker *a = view->asker;

    for (size_t i = first_at(view, rel); i < a->sent_cnt && view->by_rel[i].rel == rel; i++) {
        struct sent *sent = &a->sent[view->by_rel[i].idx];

        if (!sent->used)
            return sent->step <= limit ? sent : NULL;
    }
    return NULL;
}

/* Any request of ours with this PSN. */
static const struct sent *find_like(const struct view *view, int64_t rel)
{
    size_t i = first_at(view, rel);

    return i < view->asker->sent_cnt && view->by_rel[i].rel == rel
               ? &view->asker->sent[view->by_rel[i].idx]
               : NULL;
}

/* Every obligation on the packet level. A far `program` may name any address and key for nothing
 * (R085). */
static void compare_request(const struct trace_packet *p, const struct sent *ours, bool program,
                            struct field_diffs *d)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    memset(d, 0, sizeof(*d));
    fields_differ_opcode(d, p->opcode, ours->opcode);
    fields_differ_num(d, "bth.psn", "%u", p->psn, ours->psn);
    fields_differ_num(d, "bth.dest_qp", "%x", pkt.bth.dest_qp, ours->dest_qp);
    fields_differ_num(d, "bth.pkey", "%x", pkt.bth.pkey, ours->pkey);
    if (roce_opcode_ends(op))
        fields_differ_num(d, "bth.se", "%u", pkt.bth.se, ours->se);
    if (roce_pkt_has(&pkt, ROCE_HDR_XRCETH))
        fields_differ_num(d, "xrceth.srqn", "%x", pkt.xrceth.srqn, ours->srqn);
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        if (!program || pkt.reth.dma_len || ours->dma_len) {
            fields_differ_num(d, "reth.va", "%x", pkt.reth.va, ours->va);
            fields_differ_num(d, "reth.rkey", "%x", pkt.reth.rkey, ours->rkey);
        }
        fields_differ_num(d, "reth.dma_len", "%u", pkt.reth.dma_len, ours->dma_len);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH)) {
        fields_differ_num(d, "atomiceth.va", "%x", pkt.atomiceth.va, ours->va);
        fields_differ_num(d, "atomiceth.rkey", "%x", pkt.atomiceth.rkey, ours->rkey);
        fields_differ_num(d, "atomiceth.swap_add", "%x", pkt.atomiceth.swap_add, ours->swap_add);
        if (op->kind == ROCE_KIND_CMP_SWAP)
            fields_differ_num(d, "atomiceth.compare", "%x", pkt.atomiceth.compare, ours->compare);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_FETH)) {
        fields_differ_num(d, "feth.plt", "%x", pkt.feth.plt, ours->flush_type);
        fields_differ_num(d, "feth.sel", "%u", pkt.feth.sel, ours->flush_level);
    }
    if (roce_pkt_has(&pkt, ROCE_HDR_IMMDT))
        fields_differ_num(d, "immdt.imm", "%x", pkt.immdt.imm, ours->imm);
    if (roce_pkt_has(&pkt, ROCE_HDR_IETH))
        fields_differ_num(d, "ieth.rkey", "%x", pkt.ieth.rkey, ours->imm);
    fields_differ_num(d, "payload length", "%u", p->payload_len, ours->payload_len);
    if (!p->made_up && p->payload_len && p->payload_len == ours->payload_len &&
        drive_hash(trace_payload(p), p->payload_len) != ours->hash)
        fields_differ(d, "payload", "as captured", "other bytes");
}

/* Notes where ours has gone back by the end of `step`. */
static void look_at_ours(struct view *view, uint32_t step)
{
    const struct asker *a = view->asker;

    for (; view->looked < a->sent_cnt && a->sent[view->looked].step <= step; view->looked++) {
        const struct sent *sent = &a->sent[view->looked];
        bool read = roce_opcode(sent->opcode)->kind == ROCE_KIND_READ;

        if (sent->again && sent->rel < view->next) {
            view->went_back = sent->rel;
            view->by_rule = sent->rel == view->expect.acked + 1;
        }
        view->next = sent->rel + (read ? roce_psn_cnt(sent->dma_len, view->setup->mtu) : 1);
    }
}

/* The recorded requester goes back to this PSN. It may have gone back further: what it sent first
 * then got lost before the capture. */
static int compare_restart(struct view *view, uint32_t step, const struct sent *ours)
{
    const struct step *at = &view->setup->step[step];
    struct field_diffs d = {.cnt = 0};
    char e[96], a[96];

    look_at_ours(view, step);
    snprintf(e, sizeof(e), "PSN %u", setup_packet(view->setup, step)->psn);
    if ((ours && (view->went_back == at->rel || view->went_back == INT64_MIN)) ||
        (view->went_back != INT64_MIN && view->went_back < at->rel && view->by_rule)) {
        view->res->restarts++;
        /* Ours was given less than the recorded requester: the capture lacks an answer. */
        if (!ours && step < view->asker->doubt_step)
            view->asker->doubt_step = step;
    } else if (!ours) {
        fields_differ(&d, "sent again from", e, "nothing");
    } else {
        snprintf(a, sizeof(a), "PSN %u",
                 roce_psn_add(view->setup->psn, (int32_t)view->went_back).v);
        fields_differ(&d, "sent again from", e, a);
    }
    view->went_back = INT64_MIN;
    view->restart = step;
    return report(view, step, &d, "our RNIC goes back to another request");
}

/* What was recorded with what ours sent at that PSN, if it did. */
static int compare_with(struct view *view, uint32_t step, const struct sent *ours)
{
    const struct trace_packet *p = setup_packet(view->setup, step);
    struct deviation_request again = {
        .pkt = p, .ours = ours, .again = view->asker->restart[step] != RESTART_NONE};
    struct field_diffs d;

    if (!ours)
        return 0;
    compare_request(p, ours, view->asker->unseen, &d);
    again.diffs = &d;
    if (d.cnt == 0 && view->res->mark[step] == MARK_NONE)
        view->res->mark[step] = MARK_OK;
    return report_known(view, step, &d, "our RNIC sends this request differently",
                        deviation_find_request(view->v->peer, &again));
}

/* A request behind what is replayed: with the first copy of it that is whole (R153). */
static int compare_copies(struct view *view, uint32_t step)
{
    const struct step *at = &view->setup->step[step];
    const struct entry *e = setup_entry(view->setup, at->rel);
    struct roce_pkt pkt;
    struct sent first;

    if (!e || e->rel != at->rel || e->step >= step || at->damaged)
        return 0;
    trace_parse(setup_packet(view->setup, e->step), &pkt);
    first = post_sent(&pkt, view->setup, e->step);
    return setup_packet(view->setup, e->step)->made_up ? 0 : compare_with(view, step, &first);
}

static int compare_step(struct view *view, uint32_t step)
{
    const struct asker *a = view->asker;
    const struct step *at = &view->setup->step[step];
    const struct trace_packet *p = setup_packet(view->setup, step);
    struct verify_result *res = view->res;
    struct field_diffs d;
    struct sent *ours;

    if (at->rel < view->setup->first)
        return 0;
    if (at->rel >= a->works.end)
        return compare_copies(view, step);
    if (a->restart[step] == RESTART_DUPLICATE) {
        res->duplicate++;
        res->mark[step] = MARK_NOTE;
        return 0;
    }
    if (a->error_step != STEP_NONE && a->error_step < step && view->res->diff_frames > 0) {
        res->not_compared++;
        return 0;
    }
    ours = find_sent(view, at->rel, a->restart[step] ? step : UINT32_MAX);
    if (a->restart[step] == RESTART_BEGINS && compare_restart(view, step, ours) != 0)
        return -1;
    /* Only the recorded one sends it again: when, is its own affair, but what is not (R153). */
    if (!ours && a->restart[step]) {
        res->fewer += a->restart[step] == RESTART_AGAIN;
        return at->damaged ? 0 : compare_with(view, step, find_like(view, at->rel));
    }
    res->compared++;
    if (!ours) {
        memset(&d, 0, sizeof(d));
        fields_differ(&d, "request", roce_opcode(p->opcode)->name, "none");
        return report(view, step, &d, "our RNIC never sends it");
    }
    ours->used = true;
    if (at->damaged) {
        res->damaged++;
        res->mark[step] = MARK_NOTE;
        return 0;
    }
    res->ackreq += p->ackreq != ours->ackreq;
    return compare_with(view, step, ours);
}

/* ---- completions -------------------------------------------------------------------------------
 */

static void status_text(char *buf, size_t cap, size_t work, const char *status)
{
    snprintf(buf, cap, "work request %zu: %s", work + 1, status);
}

/* After an answer: as many work requests are complete as it says, with its status. */
static int compare_done(struct view *view, uint32_t step)
{
    const struct asker *a = view->asker;
    struct expect *expect = &view->expect;
    bool was_over = expect->over;
    struct field_diffs d = {.cnt = 0};
    char e[96], o[96];

    if (a->fate[step] == FATE_LOST)
        view->res->lost++;
    if (a->fate[step] != FATE_TAKEN || was_over)
        return 0;
    expect_answer(expect, step);
    if (a->unseen)
        return 0;
    for (; view->done < a->done_cnt && a->done[view->done].step <= step; view->done++) {
        const struct done *done = &a->done[view->done];
        bool ok = done->work < expect->done;
        enum rnic_wc_status want = ok ? RNIC_WC_SUCCESS
                                   : expect->over && done->work == expect->done
                                       ? expect->status
                                       : RNIC_WC_WR_FLUSH_ERR;

        if ((!ok && !expect->over) || done->status != want) {
            status_text(e, sizeof(e), done->work,
                        !ok && !expect->over ? "not complete" : rnic_wc_status_name(want));
            status_text(o, sizeof(o), done->work, rnic_wc_status_name(done->status));
            fields_differ(&d, "completion", e, o);
            break;
        }
    }
    if (d.cnt == 0 && view->done < expect->done + expect->over && view->done < a->works.cnt) {
        status_text(e, sizeof(e), view->done,
                    view->done < expect->done ? rnic_wc_status_name(RNIC_WC_SUCCESS)
                                              : rnic_wc_status_name(expect->status));
        status_text(o, sizeof(o), view->done, "not complete");
        fields_differ(&d, "completion", e, o);
    }
    if (d.cnt)
        expect->over = true; /* once is enough */
    return report(view, step, &d, "our RNIC completes other work requests after this answer");
}

/* ---- all ---------------------------------------------------------------------------------------
 */

static int compare_data(struct view *view)
{
    const struct asker *a = view->asker;
    struct field_diffs d = {.cnt = 0};
    char text[96];

    if (!a->wrong_data)
        return 0;
    status_text(text, sizeof(text), a->wrong_work, "other bytes in memory");
    fields_differ(&d, "data", "as the answers brought it", text);
    return report(view, a->works.work[a->wrong_work].step, &d,
                  "what our RNIC stored is not what the answers had");
}

static void count_ours(struct view *view)
{
    const struct asker *a = view->asker;

    for (size_t i = 0; i < a->sent_cnt; i++) {
        if (a->sent[i].used)
            continue;
        if (a->sent[i].again)
            view->res->more++;
        else
            view->res->unseen++;
    }
    view->res->completed = (uint32_t)a->done_cnt;
    for (size_t i = 0; i < a->done_cnt; i++)
        view->res->failed += a->done[i].status != RNIC_WC_SUCCESS;
    view->res->beyond = a->works.beyond;
}

static int verify_one(struct verification *v, struct post *post, uint32_t idx)
{
    struct asker *a = &post->asker[idx];
    struct verify_result *res = &v->result[idx];
    struct view view = {.v = v,
                        .asker = a,
                        .setup = &a->run->setup,
                        .res = res,
                        .idx = idx,
                        .restart = STEP_NONE,
                        .next = a->run->setup.first,
                        .went_back = INT64_MIN};
    int rc = 0;

    res->first_diff = STEP_NONE;
    res->mark = calloc(a->run->setup.step_cnt + 1, 1);
    if (!res->mark)
        return -1;
    res->skip = a->run->setup.skip ? a->run->setup.skip : a->works.skip ? a->works.skip : a->failed;
    if (res->skip) {
        res->verdict = VERDICT_SKIPPED;
        return 0;
    }
    if (!sort_sent(&view))
        return -1;
    expect_init(&view.expect, a);
    for (uint32_t i = 0; i < view.setup->step_cnt && rc == 0; i++) {
        rc = view.setup->step[i].response ? compare_done(&view, i) : compare_step(&view, i);
        look_at_ours(&view, i);
    }
    if (rc == 0)
        rc = compare_data(&view);
    count_ours(&view);
    free(view.by_rel);
    res->verdict = res->diff_frames ? VERDICT_FAIL : VERDICT_PASS;
    return rc;
}

int verify_all(struct verification *v, struct post *post, const char *peer)
{
    int rc = 0;

    *v = (struct verification){.post = post, .peer = peer};
    v->result = calloc(post->cnt + 1, sizeof(*v->result));
    if (!v->result)
        return -1;
    for (uint32_t i = 0; i < post->cnt && rc == 0; i++)
        rc = verify_one(v, post, i);
    return rc;
}

void verification_free(struct verification *v)
{
    for (size_t i = 0; v->result && i < v->post->cnt; i++)
        free(v->result[i].mark);
    free(v->result);
    free(v->diff);
    memset(v, 0, sizeof(*v));
}

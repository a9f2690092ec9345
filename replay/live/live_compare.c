/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Compares late responses, completions of receives, and the memory of the target. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "engine/base/diff.h"
#include "live/live.h"
#include "util/strbuf.h"
#include "wire/crc32.h"

#define LOAD_MAX 65536u /* number of bytes compared at a time */
#define SHOWN    16u    /* number of bytes of a difference that are printed */

static int add_diff(struct response_comparison *all, uint32_t dir, const struct diff *diff)
{
    struct response_result *res = &all->result[dir];

    res->diff_frames++;
    res->verdict = VERDICT_FAIL;
    return diff_append(&all->diff, &all->diff_cnt, &all->diff_cap, diff);
}

/* ---- late responses ----------------------------------------------------------------------------
 */

/* Returns whether the target sent the response `late`, but later than --tolerance. Returns false
 * for a response that never arrived: rc_compare_responses() reports it, unless a later response
 * acknowledges its request. */
static bool arrived_late(const struct live *live, const struct live_late *late)
{
    const struct rc_direction *dir = &live->drive->dir[late->run];
    const struct trace_packet *p = event_packet(&dir->setup, late->step);

    if (!live_has_responded(live, late->run, late->step))
        return false;
    for (size_t i = dir->response_cnt; i-- > 0;) {
        const struct tx_response *a = &dir->response[i];

        if (a->rel == dir->setup.event[late->step].rel && live_same_kind(p, a) &&
            a->time - live->run[late->run].sent_at[a->event] > live->options->tolerance_ns)
            return true;
    }
    return false;
}

static int compare_late(struct live *live, struct response_comparison *all)
{
    for (size_t i = 0; i < live->late_cnt; i++) {
        const struct live_late *late = &live->late[i];
        const struct response_result *res = &all->result[late->run];
        struct diff diff = {.dir = late->run,
                            .pkt = live->drive->dir[late->run].setup.event[late->step].pkt,
                            .request = EVENT_NONE,
                            .field = "time"};

        if (res->verdict == VERDICT_SKIPPED || res->mark[late->step] != MARK_OK ||
            !arrived_late(live, late))
            continue;
        snprintf(diff.recorded, sizeof(diff.recorded), "within %" PRIu64 " ms",
                 live->options->tolerance_ns / 1000000);
        snprintf(diff.replayed, sizeof(diff.replayed), "later");
        snprintf(diff.reason, sizeof(diff.reason), "the target responds after the time limit");
        if (add_diff(all, late->run, &diff) != 0)
            return -1;
    }
    return 0;
}

/* ---- comparing completions ---------------------------------------------------------------------
 */

/* Expected completion of the next receive WQE of the target in one direction. */
struct expected_completion {
    size_t entry; /* index of the next request packet to examine */
    bool any;
    bool imm_present;
    bool unknown; /* the capture lacks some bytes of the message */
    uint32_t len, crc32, imm, pkt;
};

/* Finds the next message that consumes a receive WQE of the target. Sets x->any to true if there is
 * such a message, otherwise to false. */
static void next_expected(const struct live_run *lr, struct expected_completion *x)
{
    const struct inferred_setup *s = lr->rewrite.setup;

    x->any = x->unknown = x->imm_present = false;
    x->len = x->crc32 = 0;
    for (; x->entry < s->req_cnt && !x->any; x->entry++) {
        const struct request_pkt *e = &s->req[x->entry];
        const struct trace_packet *p = event_packet(s, e->event);
        const struct roce_opcode *op = roce_opcode(p->opcode);
        struct roce_pkt pkt;

        if (e->rel + e->cnt > lr->executed) {
            x->entry = s->req_cnt;
            return;
        }
        if (op->kind == ROCE_KIND_SEND) {
            x->crc32 = roce_crc32(e->off ? x->crc32 : 0, trace_payload(p), p->payload_len);
            x->len = e->off + p->payload_len;
            x->unknown = (e->off && x->unknown) || p->zero_filled || p->cut;
        }
        x->any = roce_opcode_uses_rq(op) && roce_opcode_ends(op);
        if (!x->any)
            continue;
        if (op->kind != ROCE_KIND_SEND)
            x->len = x->crc32 = 0;
        trace_parse(p, &pkt);
        x->imm_present = roce_pkt_has(&pkt, ROCE_HDR_IMMDT);
        x->imm = pkt.immdt.imm;
        x->pkt = s->event[e->event].pkt;
    }
}

static int compare_completion(struct response_comparison *all, uint32_t dir,
                              struct expected_completion *x, const json_t *c)
{
    const char *text = c ? json_string_value(json_object_get(c, "text")) : NULL;
    bool success = c && json_integer_value(json_object_get(c, "status")) == 0;
    uint32_t len = (uint32_t)json_integer_value(json_object_get(c, "len"));
    uint32_t crc = (uint32_t)json_integer_value(json_object_get(c, "crc32"));
    const json_t *imm = json_object_get(c, "imm");
    uint32_t imm_value = (uint32_t)json_integer_value(imm);
    struct diff diff = {.dir = dir, .request = EVENT_NONE, .field = "completion"};

    if (!x->any)
        /* The receive WQE was flushed at the end of the replay, or because the QP failed. If the QP
         * failed, the comparison of the responses reports it. */
        return 0;
    if (success && len == x->len && (x->unknown || crc == x->crc32) &&
        (imm != NULL) == x->imm_present && (!imm || imm_value == x->imm))
        return 0;
    diff.pkt = x->pkt;
    agent_client_describe(diff.recorded, sizeof(diff.recorded), "success", x->len, x->crc32,
                          x->imm_present, x->imm);
    if (!c)
        snprintf(diff.replayed, sizeof(diff.replayed), "none");
    else if (!success)
        snprintf(diff.replayed, sizeof(diff.replayed), "%s", text ? text : "?");
    else
        agent_client_describe(diff.replayed, sizeof(diff.replayed), "success", len, crc,
                              imm != NULL, imm_value);
    snprintf(diff.reason, sizeof(diff.reason),
             "the completion of the target's receive differs from the recorded message");
    return add_diff(all, dir, &diff);
}

/* Argument of take_completion(): comparison of the completions of all directions. */
struct live_comparison {
    struct live *live;
    struct response_comparison *cmp;
    struct expected_completion *x; /* for each direction: expected completion of its next receive */
};

static int take_completion(void *ctx, const json_t *c, struct error *error)
{
    struct live_comparison *j = ctx;
    json_int_t qp = json_integer_value(json_object_get(c, "qp"));

    for (uint32_t i = 0; i < j->live->drive->dir_cnt; i++) {
        if (!j->live->run[i].made || j->live->run[i].qp != qp)
            continue;
        if (compare_completion(j->cmp, i, &j->x[i], c) != 0)
            return error_set(error, "no memory");
        next_expected(&j->live->run[i], &j->x[i]);
    }
    return 0;
}

static int compare_completions(struct live *live, struct response_comparison *all,
                               struct error *error)
{
    size_t runs = live->drive->dir_cnt, cnt;
    struct live_comparison j = {.live = live, .cmp = all, .x = calloc(runs + 1, sizeof(*j.x))};
    uint64_t limit = live_now() + live->options->tolerance_ns;
    int rc = j.x ? 0 : error_set(error, "no memory");
    bool wanted = true;

    for (size_t i = 0; rc == 0 && i < runs; i++)
        if (live->run[i].made)
            next_expected(&live->run[i], &j.x[i]);
    while (rc == 0 && wanted) {
        rc = agent_client_poll(&live->agent, take_completion, &j, &cnt, error);
        wanted = false;
        for (size_t i = 0; i < runs; i++)
            wanted |= j.x[i].any;
        if (cnt == 0)
            wanted = wanted && live_now() < limit;
    }
    for (uint32_t i = 0; i < runs && rc == 0; i++)
        if (j.x[i].any && all->result[i].verdict != VERDICT_SKIPPED &&
            compare_completion(all, i, &j.x[i], NULL) != 0)
            rc = error_set(error, "no memory");
    free(j.x);
    return rc;
}

/* ---- comparing memory --------------------------------------------------------------------------
 */

/* Compares `bytes`, read from the target at offset `off` of a region, with the expected content of
 * the region. Adds a difference for the first wrong byte of the region and then sets *found.
 * Returns 0, or -1 and an error. */
static int compare_bytes(struct live *live, struct response_comparison *all, uint32_t device,
                         uint32_t idx, uint64_t off, const uint8_t *bytes, size_t len, bool *found)
{
    struct shadow_memory *memory = &live->drive->host[device].memory;
    const struct shadow_region *region = &memory->region[idx];

    for (size_t i = 0; i < len && !*found; i++) {
        uint64_t va = region->low + off + i;
        const struct shadow_write *w;
        struct strbuf e, a;
        struct diff diff = {.request = EVENT_NONE, .field = "memory"};

        if (bytes[i] == region->image[off + i] || !shadow_is_written(region, va))
            continue;
        w = shadow_writer(memory, region->rkey, va, UINT32_MAX);
        if (!w || all->result[w->dir].verdict == VERDICT_SKIPPED)
            continue;
        *found = true;
        diff.dir = w->dir;
        diff.pkt = w->pkt;
        e = strbuf_of(diff.recorded, sizeof(diff.recorded));
        a = strbuf_of(diff.replayed, sizeof(diff.replayed));
        for (size_t k = i; k < len && k < i + SHOWN; k++) {
            strbuf_addf(&e, "%02x", region->image[off + k]);
            strbuf_addf(&a, "%02x", bytes[k]);
        }
        snprintf(diff.reason, sizeof(diff.reason),
                 "the target's memory at 0x%" PRIx64 " (key 0x%08x) does not contain the data of "
                 "this request, the last one that wrote there",
                 va, region->rkey);
        if (add_diff(all, w->dir, &diff) != 0)
            return -1;
    }
    return 0;
}

static int compare_region(struct live *live, struct response_comparison *all, uint32_t device,
                          uint32_t idx, struct error *error)
{
    const struct shadow_region *region = &live->drive->host[device].memory.region[idx];
    const struct live_region *far = &live->region[device][idx];
    uint8_t bytes[LOAD_MAX];
    bool found = false;

    for (uint64_t off = 0; off < region->span && !found; off += LOAD_MAX) {
        uint64_t len = region->span - off < LOAD_MAX ? region->span - off : LOAD_MAX;
        uint64_t any = 0;

        while (any < len && !shadow_is_written(region, region->low + off + any))
            any++;
        if (any == len)
            continue;
        if (agent_client_read(&live->agent, far->mr, off, bytes, len, error) != 0)
            return -1;
        if (compare_bytes(live, all, device, idx, off, bytes, len, &found) != 0)
            return error_set(error, "no memory");
    }
    return 0;
}

int live_compare(struct live *live, struct response_comparison *all, struct error *error)
{
    const struct session *d = live->drive;

    error_set(error, "no memory");
    if (compare_late(live, all) != 0)
        return -1;
    /* Completions and memory of the target can be read only through an agent. */
    if (live->options->agent && compare_completions(live, all, error) != 0)
        return -1;
    for (uint32_t i = 0; live->options->agent && i < d->host_cnt; i++)
        for (uint32_t k = 0; k < d->host[i].memory.keys.cnt; k++)
            if (live->region[i][k].made && compare_region(live, all, i, k, error) != 0)
                return -1;
    error->text[0] = '\0';
    return 0;
}

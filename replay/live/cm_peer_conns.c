/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/cm_peer_conns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live/rkey_discovery.h"

static const char ours_text[] = "we are this end";

static const struct memory *memory_of(const struct live_ends *ends, uint32_t run)
{
    return &ends->live->drive->device[ends->live->drive->run[run].device].memory;
}

/* What the far end told in `len` bytes of one of its packets. */
void live_ends_learn(struct live_ends *ends, uint32_t link, const uint8_t *recorded, uint8_t *live,
                     size_t len)
{
    uint32_t out = ends->end[link].out;
    uint32_t device;

    if (out == LIVE_RUN_NONE)
        return;
    device = ends->live->drive->run[out].device;
    live_keys_learn(memory_of(ends, out), recorded, live, len, ends->live->rebind[device],
                    ends->told[device]);
}

static void bind_run(struct live_ends *ends, uint32_t link, uint32_t idx, bool we_request)
{
    struct live *live = ends->live;
    const struct live_link *l = &ends->cm->link[link];
    const struct run *run = &live->drive->run[idx];
    const struct setup *s = &run->setup;
    uint32_t start = we_request ? l->psn_out : l->psn_in;

    live->run[idx].bind = (struct rebind){
        .path = &live->path,
        .setup = s,
        .memory = memory_of(ends, idx),
        .region = live->rebind[run->device],
        .we_request = we_request,
        .our_qpn = l->our_qpn,
        .their_qpn = l->their_qpn,
        .psn = roce_psn_add(roce_psn_of(start), -(int32_t)s->first),
    };
    live->run[idx].made = true;
}

/* Both ends know each other: their packets have meaning from now on. */
void live_ends_bind(struct live_ends *ends, uint32_t link)
{
    const struct live_end *end = &ends->end[link];

    if (!ends->cm->link[link].up)
        return;
    if (end->out != LIVE_RUN_NONE && !ends->live->run[end->out].made)
        bind_run(ends, link, end->out, true);
    if (end->in != LIVE_RUN_NONE && !ends->live->run[end->in].made)
        bind_run(ends, link, end->in, false);
}

/* Notes in `told` which keys a stretch of bytes tells. */
static void note_told(const struct memory *memory, const uint8_t *p, size_t len, bool *told)
{
    struct live_tell tell[LIVE_TELLS_MAX];
    unsigned cnt = live_keys_find(memory, p, len, tell);

    for (unsigned i = 0; i < cnt; i++)
        told[tell[i].region] = true;
}

/* The first key of the far memory that our requests of this run use before the capture shows it
 * being told, or NULL. */
static const struct memory_region *untold(struct live_ends *ends, uint32_t link, bool *told)
{
    const struct trace *trace = ends->live->drive->trace;
    const struct live_end *end = &ends->end[link];
    const struct memory *memory = memory_of(ends, end->out);
    const struct setup *s = &ends->live->drive->run[end->out].setup;
    const struct setup *in =
        end->in == LIVE_RUN_NONE ? NULL : &ends->live->drive->run[end->in].setup;
    const struct exchange *x = &ends->cm->exchanges->exchange[ends->cm->link[link].exchange];
    size_t next = 0;

    for (size_t i = 0; i < x->cnt; i++) {
        struct roce_cm_msg msg;
        const uint8_t *data;
        size_t len;

        if (exchange_is_from(ends->cm->exchanges, x, ends->cm->ours, i))
            continue;
        exchange_message(trace, x->pkt[i], &msg);
        data = roce_cm_private_data(&msg, &len);
        note_told(memory, data, len, told);
    }
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct memory_region *region;
        struct roce_pkt pkt;

        if (s->step[i].response || s->step[i].early)
            continue;
        for (; in && next < in->step_cnt && in->step[next].pkt < s->step[i].pkt; next++) {
            const struct trace_packet *p = setup_packet(in, (uint32_t)next);

            if (!in->step[next].response && p->payload_len && !p->cut && !p->made_up)
                note_told(memory, trace_payload(p), p->payload_len, told);
        }
        trace_parse(setup_packet(s, i), &pkt);
        region = roce_pkt_has(&pkt, ROCE_HDR_RETH)        ? memory_find(memory, pkt.reth.rkey)
                 : roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH) ? memory_find(memory, pkt.atomiceth.rkey)
                 : roce_pkt_has(&pkt, ROCE_HDR_IETH)      ? memory_find(memory, pkt.ieth.rkey)
                                                          : NULL;
        /* Nothing of it is touched by 0 bytes (R085). */
        if (region && region->span && !told[region - memory->region] &&
            !(roce_pkt_has(&pkt, ROCE_HDR_RETH) && pkt.reth.dma_len == 0))
            return region;
    }
    return NULL;
}

/* ---- which runs are played --------------------------------------------------------------------
 */

/* Why a run cannot be played like this, kept with the drive. */
static const char *keep_text(struct live_ends *ends, const char *text)
{
    struct drive *d = ends->live->drive;
    char *copy = strdup(text);

    if (!copy || !VEC_GROW(d->kept, d->kept_cnt, d->kept_cap)) {
        free(copy);
        return "no memory";
    }
    d->kept[d->kept_cnt++] = (uint8_t *)copy;
    return copy;
}

/* The exchange that set the run's connection up, or LIVE_RUN_NONE; *we_request is which end we are.
 */
static uint32_t link_of_run(const struct live_ends *ends, uint32_t idx, bool *we_request)
{
    const struct setup *s = &ends->live->drive->run[idx].setup;
    const struct trace_flow *flow = &s->trace->flow[s->side->req_flow];
    uint32_t found = LIVE_RUN_NONE;

    for (uint32_t i = 0; i < ends->cm->cnt; i++) {
        const struct live_link *link = &ends->cm->link[i];
        const struct exchange *x = &ends->cm->exchanges->exchange[link->exchange];

        if (link->connected == 0 || s->step_cnt == 0 || link->connected > s->step[0].pkt)
            continue;
        for (unsigned asks = 0; asks < 2; asks++)
            if (memcmp(flow->src, x->addr[asks], 16) == 0 &&
                memcmp(flow->dst, x->addr[!asks], 16) == 0 && s->peer_qpn == link->rec_qpn[asks] &&
                s->qpn == link->rec_qpn[!asks]) {
                found = i; /* the latest before it */
                *we_request = asks == ends->cm->ours;
            }
    }
    return found;
}

/* Why the run is not played, or NULL. `link` and `we_request` are of link_of_run(). */
static const char *lacks(const struct live_ends *ends, uint32_t idx, uint32_t link, bool we_request)
{
    const struct run *run = &ends->live->drive->run[idx];
    const struct setup *s = &run->setup;
    const struct asker *a = &ends->post->asker[idx];
    uint32_t start;

    if (link == LIVE_RUN_NONE)
        return "the capture does not show how it was connected: --agent sets such a target up";
    if (ends->cm->link[link].skip)
        return ends->cm->link[link].skip;
    if (s->mtu > ends->live->wire.iface.path_mtu)
        return "its path MTU does not fit through the interface";
    if (!we_request && (a->works.skip || a->failed))
        return a->works.skip ? a->works.skip : a->failed;
    if (s->cut)
        return "the capture is cut: what our end sent is not whole";
    /* The responder's message says with which PSN the requester is to begin (R240). */
    start = ends->cm->link[link].rec_psn[we_request ? !ends->cm->ours : ends->cm->ours];
    if (s->side->resumed || roce_psn_add(s->psn, (int32_t)s->first).v != start)
        return "the capture lacks a request before it";
    return NULL;
}

/* Whether the path MTU has cut a message of the run. */
static bool is_cut_by_mtu(const struct setup *s)
{
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct roce_opcode *op = setup_op(s, i);

        if (!roce_opcode_starts(op) || !roce_opcode_ends(op))
            return true;
    }
    return false;
}

static int choose_runs(struct live_ends *ends)
{
    struct drive *d = ends->live->drive;

    for (uint32_t i = 0; i < d->run_cnt; i++) {
        struct run *run = &d->run[i];
        bool we_request = false;
        uint32_t link = link_of_run(ends, i, &we_request);
        const char *why = run->setup.skip ? run->setup.skip : lacks(ends, i, link, we_request);
        struct live_end *end = link == LIVE_RUN_NONE ? NULL : &ends->end[link];

        ends->link_of[i] = LIVE_RUN_NONE;
        if (!why && (we_request ? end->out : end->in) != LIVE_RUN_NONE)
            why = "its QPs were connected once and requested twice";
        run->failed = why ? why : we_request ? NULL : ours_text;
        ends->post->asker[i].failed = why ? why : we_request ? ours_text : NULL;
        ends->post->asker[i].unseen = true;
        if (why)
            continue;
        ends->link_of[i] = link;
        ends->cm->link[link].mtu_matters |= is_cut_by_mtu(&run->setup);
        if (we_request) {
            end->out = i;
            continue;
        }
        end->in = i;
        if (live_ear_open(&end->ear, &ends->post->asker[i]) != 0)
            return -1;
        end->wanted = run->setup.first - 1;
    }
    return 0;
}

/* Runs whose keys nobody tells are left out, and so is the other direction, which they explain. */
static void choose_by_keys(struct live_ends *ends)
{
    struct drive *d = ends->live->drive;

    for (uint32_t i = 0; i < ends->cm->cnt; i++) {
        struct live_end *end = &ends->end[i];
        const struct memory_region *region;
        char text[160];
        const char *why;

        if (end->out == LIVE_RUN_NONE)
            continue;
        region = untold(ends, i, ends->told[d->run[end->out].device]);
        memset(ends->told[d->run[end->out].device], 0, memory_of(ends, end->out)->keys.cnt);
        if (!region)
            continue;
        snprintf(text, sizeof(text),
                 "no message of the capture tells the key 0x%08" PRIx32
                 " of the far memory and its address: --agent sets such a target up",
                 region->rkey);
        why = keep_text(ends, text);
        d->run[end->out].failed = why;
        ends->post->asker[end->out].failed = why;
        if (end->in != LIVE_RUN_NONE) {
            d->run[end->in].failed = why;
            ends->post->asker[end->in].failed = why;
            live_ear_close(&end->ear);
        }
        end->out = end->in = LIVE_RUN_NONE;
        ends->cm->link[i].skip = "its connection is not played";
    }
}

static bool allocate(struct live_ends *ends)
{
    const struct drive *d = ends->live->drive;
    bool fine;

    ends->end = calloc(ends->cm->cnt + 1, sizeof(*ends->end));
    ends->link_of = calloc(d->run_cnt + 1, sizeof(*ends->link_of));
    ends->told = calloc(d->device_cnt + 1, sizeof(*ends->told));
    fine = ends->end && ends->link_of && ends->told;
    for (uint32_t i = 0; fine && i < ends->cm->cnt; i++)
        ends->end[i].out = ends->end[i].in = LIVE_RUN_NONE;
    for (size_t i = 0; fine && i < d->device_cnt; i++) {
        ends->told[i] = calloc(d->device[i].memory.keys.cnt + 1, sizeof(bool));
        fine = ends->told[i] != NULL;
    }
    return fine;
}

/* What was never set up is nobody's answer. */
void live_ends_leave_out(struct live_ends *ends)
{
    for (uint32_t i = 0; i < ends->cm->cnt; i++) {
        const struct live_end *end = &ends->end[i];
        static const char why[] = "the connection was not set up";

        if (ends->cm->link[i].up)
            continue;
        if (end->out != LIVE_RUN_NONE)
            ends->live->drive->run[end->out].failed = why;
        if (end->in != LIVE_RUN_NONE)
            ends->post->asker[end->in].failed = why;
    }
}

/* ---- all ---------------------------------------------------------------------------------------
 */

int live_ends_open(struct live_ends *ends, struct live *live, struct post *post, struct live_cm *cm)
{
    *ends = (struct live_ends){.live = live, .post = post, .cm = cm};
    if (!allocate(ends) || choose_runs(ends) != 0)
        return -1;
    choose_by_keys(ends);
    return 0;
}

void live_ends_close(struct live_ends *ends)
{
    for (uint32_t i = 0; ends->end && i < ends->cm->cnt; i++)
        live_ear_close(&ends->end[i].ear);
    for (size_t i = 0; ends->told && i < ends->live->drive->device_cnt; i++)
        free(ends->told[i]);
    free(ends->end);
    free(ends->told);
    free(ends->link_of);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/cm_peer_conns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live/rkey_discovery.h"

static const char ours_text[] = "our RNIC takes the place of this endpoint";

static const struct shadow_memory *memory_of(const struct cm_peer_conns *conns, uint32_t dir)
{
    return &conns->live->drive->host[conns->live->drive->dir[dir].host].memory;
}

void cm_peer_conns_learn(struct cm_peer_conns *conns, uint32_t exch, const uint8_t *recorded,
                         uint8_t *live, size_t len)
{
    uint32_t out = conns->conn[exch].out;
    uint32_t device;

    if (out == LIVE_RUN_NONE)
        return;
    device = conns->live->drive->dir[out].host;
    learn_rkeys(memory_of(conns, out), recorded, live, len, conns->live->rewrite[device],
                conns->rkey_known[device]);
}

static void set_rewrite(struct cm_peer_conns *conns, uint32_t exch, uint32_t idx, bool we_request)
{
    struct live *live = conns->live;
    const struct live_cm_exchange *l = &conns->cm->exch[exch];
    const struct rc_direction *dir = &live->drive->dir[idx];
    const struct inferred_setup *s = &dir->setup;
    uint32_t start = we_request ? l->psn_out : l->psn_in;

    live->run[idx].rewrite = (struct rewrite){
        .path = &live->path,
        .setup = s,
        .memory = memory_of(conns, idx),
        .region = live->rewrite[dir->host],
        .we_request = we_request,
        .our_qpn = l->our_qpn,
        .their_qpn = l->their_qpn,
        .psn = roce_psn_add(roce_psn_of(start), -(int32_t)s->first),
    };
    live->run[idx].made = true;
}

void cm_peer_conns_bind(struct cm_peer_conns *conns, uint32_t exch)
{
    const struct cm_peer_conn *conn = &conns->conn[exch];

    if (!conns->cm->exch[exch].up)
        return;
    if (conn->out != LIVE_RUN_NONE && !conns->live->run[conn->out].made)
        set_rewrite(conns, exch, conn->out, true);
    if (conn->in != LIVE_RUN_NONE && !conns->live->run[conn->in].made)
        set_rewrite(conns, exch, conn->in, false);
}

/* Marks as known those R_Keys of `memory` that occur in the `len` bytes at `p`. */
static void mark_rkeys_known(const struct shadow_memory *memory, const uint8_t *p, size_t len,
                             bool *rkey_known)
{
    struct rkey_mention mention[RKEY_MENTIONS_MAX];
    unsigned cnt = find_rkeys(memory, p, len, mention);

    for (unsigned i = 0; i < cnt; i++)
        rkey_known[mention[i].region] = true;
}

/* Returns the first region with an R_Key that our requests use before the peer has sent it in the
 * capture. Returns NULL if there is none. */
static const struct shadow_region *find_unknown_rkey(struct cm_peer_conns *conns, uint32_t exch,
                                                     bool *rkey_known)
{
    const struct trace *trace = conns->live->drive->trace;
    const struct cm_peer_conn *conn = &conns->conn[exch];
    const struct shadow_memory *memory = memory_of(conns, conn->out);
    const struct inferred_setup *s = &conns->live->drive->dir[conn->out].setup;
    const struct inferred_setup *in =
        conn->in == LIVE_RUN_NONE ? NULL : requester_setup(&conns->live->drive->dir[conn->in]);
    const struct cm_exchange *x = &conns->cm->exchanges->at[conns->cm->exch[exch].idx];
    size_t next = 0;

    for (size_t i = 0; i < x->cnt; i++) {
        struct roce_cm_msg msg;
        const uint8_t *data;
        size_t len;

        if (cm_exchange_is_from(conns->cm->exchanges, x, conns->cm->ours, i))
            continue;
        cm_exchange_message(trace, x->pkt[i], &msg);
        data = roce_cm_private_data(&msg, &len);
        mark_rkeys_known(memory, data, len, rkey_known);
    }
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct shadow_region *region;
        struct roce_pkt pkt;

        if (s->event[i].response || s->event[i].before_first)
            continue;
        for (; in && next < in->event_cnt && in->event[next].sent_at < s->event[i].sent_at;
             next++) {
            const struct trace_packet *p = event_packet(in, (uint32_t)next);

            if (!in->event[next].response && p->payload_len && !p->cut && !p->zero_filled)
                mark_rkeys_known(memory, trace_payload(p), p->payload_len, rkey_known);
        }
        trace_parse(event_packet(s, i), &pkt);
        region = roce_pkt_has(&pkt, ROCE_HDR_RETH)        ? shadow_find(memory, pkt.reth.rkey)
                 : roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH) ? shadow_find(memory, pkt.atomiceth.rkey)
                 : roce_pkt_has(&pkt, ROCE_HDR_IETH)      ? shadow_find(memory, pkt.ieth.rkey)
                                                          : NULL;
        /* A request of 0 bytes accesses no memory (R085). */
        if (region && region->span && !rkey_known[region - memory->region] &&
            !(roce_pkt_has(&pkt, ROCE_HDR_RETH) && pkt.reth.dma_len == 0))
            return region;
    }
    return NULL;
}

/* ---- selecting directions ----------------------------------------------------------------------
 */

/* Copies the text `text`, the reason for skipping a direction. The session owns the copy. Returns
 * the copy, or "no memory". */
static const char *keep_reason(struct cm_peer_conns *conns, const char *text)
{
    struct session *d = conns->live->drive;
    char *copy = strdup(text);

    if (!copy || !VEC_GROW(d->kept, d->kept_cnt, d->kept_cap)) {
        free(copy);
        return "no memory";
    }
    d->kept[d->kept_cnt++] = (uint8_t *)copy;
    return copy;
}

/* Returns the index of the CM exchange that set up the connection of direction `idx`, or
 * LIVE_RUN_NONE. Sets *we_request to whether our endpoint sends the requests of this direction. */
static uint32_t cm_exchange_of_run(const struct cm_peer_conns *conns, uint32_t idx,
                                   bool *we_request)
{
    const struct inferred_setup *s = &conns->live->drive->dir[idx].setup;
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    uint32_t found = LIVE_RUN_NONE;

    for (uint32_t i = 0; i < conns->cm->cnt; i++) {
        const struct live_cm_exchange *exch = &conns->cm->exch[i];
        const struct cm_exchange *x = &conns->cm->exchanges->at[exch->idx];

        if (exch->connected == 0 || s->event_cnt == 0 || exch->connected > s->event[0].sent_at)
            continue;
        for (unsigned asks = 0; asks < 2; asks++)
            if (memcmp(flow->src, x->addr[asks], 16) == 0 &&
                memcmp(flow->dst, x->addr[!asks], 16) == 0 && s->peer_qpn == exch->rec_qpn[asks] &&
                s->qpn == exch->rec_qpn[!asks]) {
                found = i; /* do not stop here: if several exchanges have these QPNs, the last
                            * one before the first packet of the connection set it up */
                *we_request = asks == conns->cm->ours;
            }
    }
    return found;
}

/* Returns the reason why direction `idx` cannot be played, or NULL if it can. `exch` and
 * `we_request` are results of cm_exchange_of_run(). */
static const char *unplayable_run(const struct cm_peer_conns *conns, uint32_t idx, uint32_t exch,
                                  bool we_request)
{
    const struct rc_direction *dir = &conns->live->drive->dir[idx];
    const struct inferred_setup *s = &dir->setup;
    const struct requester_run *a = &conns->post->run[idx];
    uint32_t start;

    if (exch == LIVE_RUN_NONE)
        return "the capture does not contain the CM exchange of this connection: use --agent";
    if (conns->cm->exch[exch].skip)
        return conns->cm->exch[exch].skip;
    if (s->mtu > conns->live->port.iface.path_mtu)
        return "the path MTU of the connection is larger than the MTU of the interface";
    if (!we_request && (a->wrs.skip || a->failed))
        return a->wrs.skip ? a->wrs.skip : a->failed;
    if (s->cut)
        return "the capture is truncated: packets of our endpoint are incomplete";
    /* The CM message that the responder sent contains the first PSN that the requester must use
     * (R240). */
    start = conns->cm->exch[exch].rec_psn[we_request ? !conns->cm->ours : conns->cm->ours];
    if (s->recorded->after_gap || roce_psn_add(s->psn, (int32_t)s->first).v != start)
        return "the capture does not contain the first requests of the connection";
    return NULL;
}

/* Returns whether a message of the direction has several packets. Then both ends must use the
 * recorded path MTU, so that they divide the messages as in the capture. */
static bool is_cut_by_mtu(const struct inferred_setup *s)
{
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct roce_opcode *op = event_opcode(s, i);

        if (!roce_opcode_starts(op) || !roce_opcode_ends(op))
            return true;
    }
    return false;
}

static int match_directions(struct cm_peer_conns *conns)
{
    struct session *d = conns->live->drive;

    for (uint32_t i = 0; i < d->dir_cnt; i++) {
        struct rc_direction *dir = &d->dir[i];
        bool we_request = false;
        uint32_t exch = cm_exchange_of_run(conns, i, &we_request);
        const char *why =
            dir->setup.skip ? dir->setup.skip : unplayable_run(conns, i, exch, we_request);
        struct cm_peer_conn *conn = exch == LIVE_RUN_NONE ? NULL : &conns->conn[exch];

        conns->exch_of[i] = LIVE_RUN_NONE;
        if (!why && (we_request ? conn->out : conn->in) != LIVE_RUN_NONE)
            why = "two recorded directions match the same CM exchange";
        dir->failed = why ? why : we_request ? NULL : ours_text;
        conns->post->run[i].failed = why ? why : we_request ? ours_text : NULL;
        conns->post->run[i].completions_unseen = true;
        if (why)
            continue;
        conns->exch_of[i] = exch;
        conns->cm->exch[exch].mtu_matters |= is_cut_by_mtu(&dir->setup);
        if (we_request) {
            conn->out = i;
            continue;
        }
        conn->in = i;
        if (request_tracker_open(&conn->tracker, &conns->post->run[i]) != 0)
            return -1;
        conn->wanted = dir->setup.first - 1;
    }
    return 0;
}

/* Skips both directions of each connection in which a request uses an R_Key that the peer did not
 * send in an earlier captured packet. */
static void choose_by_keys(struct cm_peer_conns *conns)
{
    struct session *d = conns->live->drive;

    for (uint32_t i = 0; i < conns->cm->cnt; i++) {
        struct cm_peer_conn *conn = &conns->conn[i];
        const struct shadow_region *region;
        char text[160];
        const char *why;

        if (conn->out == LIVE_RUN_NONE)
            continue;
        region = find_unknown_rkey(conns, i, conns->rkey_known[d->dir[conn->out].host]);
        memset(conns->rkey_known[d->dir[conn->out].host], 0, memory_of(conns, conn->out)->keys.cnt);
        if (!region)
            continue;
        snprintf(text, sizeof(text),
                 "no SEND of the capture contains the R_Key 0x%08" PRIx32
                 " and its address, so the target's own R_Key is unknown: use --agent",
                 region->rkey);
        why = keep_reason(conns, text);
        d->dir[conn->out].failed = why;
        conns->post->run[conn->out].failed = why;
        if (conn->in != LIVE_RUN_NONE) {
            d->dir[conn->in].failed = why;
            conns->post->run[conn->in].failed = why;
            request_tracker_close(&conn->tracker);
        }
        conn->out = conn->in = LIVE_RUN_NONE;
        conns->cm->exch[i].skip = "the connection of this direction is skipped";
    }
}

static bool allocate_conns(struct cm_peer_conns *conns)
{
    const struct session *d = conns->live->drive;
    bool fine;

    conns->conn = calloc(conns->cm->cnt + 1, sizeof(*conns->conn));
    conns->exch_of = calloc(d->dir_cnt + 1, sizeof(*conns->exch_of));
    conns->rkey_known = calloc(d->host_cnt + 1, sizeof(*conns->rkey_known));
    fine = conns->conn && conns->exch_of && conns->rkey_known;
    for (uint32_t i = 0; fine && i < conns->cm->cnt; i++)
        conns->conn[i].out = conns->conn[i].in = LIVE_RUN_NONE;
    for (size_t i = 0; fine && i < d->host_cnt; i++) {
        conns->rkey_known[i] = calloc(d->host[i].memory.keys.cnt + 1, sizeof(bool));
        fine = conns->rkey_known[i] != NULL;
    }
    return fine;
}

void cm_peer_conns_leave_out(struct cm_peer_conns *conns)
{
    for (uint32_t i = 0; i < conns->cm->cnt; i++) {
        const struct cm_peer_conn *conn = &conns->conn[i];
        static const char why[] = "the connection was not set up";

        if (conns->cm->exch[i].up)
            continue;
        if (conn->out != LIVE_RUN_NONE)
            conns->live->drive->dir[conn->out].failed = why;
        if (conn->in != LIVE_RUN_NONE)
            conns->post->run[conn->in].failed = why;
    }
}

/* ---- opening and closing all connections -------------------------------------------------------
 */

int cm_peer_conns_open(struct cm_peer_conns *conns, struct live *live,
                       struct rc_requester *requester, struct live_cm *cm)
{
    *conns = (struct cm_peer_conns){.live = live, .post = requester, .cm = cm};
    if (!allocate_conns(conns) || match_directions(conns) != 0)
        return -1;
    choose_by_keys(conns);
    return 0;
}

void cm_peer_conns_close(struct cm_peer_conns *conns)
{
    for (uint32_t i = 0; conns->conn && i < conns->cm->cnt; i++)
        request_tracker_close(&conns->conn[i].tracker);
    for (size_t i = 0; conns->rkey_known && i < conns->live->drive->host_cnt; i++)
        free(conns->rkey_known[i]);
    free(conns->conn);
    free(conns->rkey_known);
    free(conns->exch_of);
}

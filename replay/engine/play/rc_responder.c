/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_responder.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "device/output_packet.h"
#include "engine/base/inject.h"
#include "engine/play/rc_responder_app.h"
#include "engine/play/rc_responder_dev.h"
#include "infer/infer_setup.h"
#include "infer/request_table.h"
#include "infer/shared_memory.h"
#include "util/lower_bound.h"
#include "util/sort.h"

/* Maximum total length of the stored payloads, bytes. If the payload of our response differs from
 * the recorded payloads, the replay stores a copy for the report. */
#define KEPT_MAX (UINT64_C(64) << 20)

/* Request packet to replay, and its position in the order of the replay. */
struct scheduled_packet {
    uint32_t pkt; /* index into trace.pkt of a packet: our RNIC receives the request at the capture
                   * time of this packet */
    uint32_t dir;
    uint32_t event;    /* index into setup.event of the packet that our RNIC receives */
    uint32_t at_event; /* index into setup.event: at the time of this packet, our RNIC receives the
                        * request. It differs from `event` only if the responder executed the
                        * request before the capture point saw it (struct executed_unseen) */
    size_t order;      /* position among the packets of the direction that have the same `pkt` */
    size_t next;       /* index of the next packet of the direction that must wait (see
                        * must_wait()), or NOT_HELD */
};

/* ---- Replaying one packet -------------------------------------------------------------------- */

static const uint8_t *keep_payload(struct session *session, const struct roce_pkt *pkt)
{
    uint8_t *p;

    if (pkt->payload_len == 0 || session->kept_len + pkt->payload_len > KEPT_MAX ||
        !VEC_GROW(session->kept, session->kept_cnt, session->kept_cap))
        return NULL;
    p = malloc(pkt->payload_len);
    if (!p)
        return NULL;
    memcpy(p, pkt->payload, pkt->payload_len);
    session->kept[session->kept_cnt++] = p;
    session->kept_len += pkt->payload_len;
    return p;
}

/* Returns the payload of our response *pkt. If a recorded response with this PSN has the same
 * payload, returns a pointer to the recorded payload. Otherwise returns a copy, or NULL if
 * keep_payload() cannot make one. */
static const uint8_t *find_payload(struct session *session, const struct dir_state *state,
                                   const struct roce_pkt *pkt, int64_t rel)
{
    const struct inferred_setup *s = &state->dir->setup;
    size_t low = 0, high = state->payload_cnt;

    LOWER_BOUND(low, high, mid, state->payload[mid].rel < rel);
    for (unsigned tries = 0; low < state->payload_cnt && tries < 16; low++, tries++) {
        const struct trace_packet *p = event_packet(s, state->payload[low].event);

        if (state->payload[low].rel != rel)
            break;
        if (p->payload_len == pkt->payload_len && p->payload_len &&
            memcmp(trace_payload(p), pkt->payload, p->payload_len) == 0)
            return trace_payload(p);
    }
    return keep_payload(session, pkt);
}

/* Returns the direction to which a frame of our RNIC belongs. Usually this is direction `dir_idx`,
 * to which the latest request belongs. If the timer of another QP caused the frame, it is the
 * direction of that QP. */
static struct dir_state *requester_dir(struct rc_responder_dev *dev, uint32_t dir_idx,
                                       uint32_t dest_qp)
{
    if (dev->state[dir_idx].dir->setup.peer_qpn == dest_qp)
        return &dev->state[dir_idx];
    for (uint32_t i = dev->host->first_dir; i != KEYMAP_NONE; i = dev->state[i].dir->next_of_host)
        if (dev->state[i].qp && dev->state[i].dir->setup.peer_qpn == dest_qp)
            return &dev->state[i];
    return &dev->state[dir_idx];
}

static int take_responses(struct rc_responder_dev *dev, uint32_t dir_idx, rnic_time now)
{
    const struct roce_pkt *pkt;

    while ((pkt = rnic_output_packet(dev->rnic, now)) != NULL) {
        struct dir_state *state = requester_dir(dev, dir_idx, pkt->bth.dest_qp);
        struct rc_direction *dir = state->dir;
        const struct pkt_event *at = &dir->setup.event[state->last];
        struct tx_response *a = session_add_response(
            dir, pkt, state->last, now,
            at->rel + roce_psn_diff(roce_pkt_psn(pkt),
                                    roce_psn_of(event_packet(&dir->setup, state->last)->psn)));

        if (!a)
            return -1;
        if (a->payload_len)
            a->payload = find_payload(dev->session, state, pkt, a->rel);
    }
    return 0;
}

/* Records the effects of a request that our RNIC executed: the memory written and the R_Key
 * invalidated. Returns 0, or -1 if out of memory. */
static int note_executed(struct rc_responder_dev *dev, uint32_t dir_idx, uint32_t event)
{
    const struct inferred_setup *s = &dev->session->dir[dir_idx].setup;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    const struct trace_packet *p = event_packet(s, event);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct shadow_memory *memory = &dev->host->memory;
    struct shadow_write write = {.dir = dir_idx, .pkt = s->event[event].pkt};
    struct shadow_region *region;
    struct roce_pkt pkt;
    uint64_t found, left;

    if (roce_opcode_uses_rq(op) && roce_opcode_ends(op))
        dev->app_active = s->event[event].pkt;
    if (roce_opcode_has(op, ROCE_HDR_IETH)) {
        trace_parse_headers(p, &pkt);
        region = shadow_find(memory, pkt.ieth.rkey);
        if (region)
            dev->invalidated[region - memory->region] = 1;
    }
    if (!e || (op->kind != ROCE_KIND_WRITE && op->kind != ROCE_KIND_ATOMIC_WRITE &&
               !roce_opcode_is_atomic(op)))
        return 0;
    write.req = (uint32_t)(e - s->req);
    shared_memory_executed(&dev->sharing, dir_idx, write.req);
    write.rkey = e->rkey;
    write.va = e->va;
    write.len = e->len;
    write.data = roce_opcode_is_atomic(op) ? NULL : trace_payload(p);
    /* The bytes are uncertain if the capture lacks them, or if a retransmission had other bytes:
     * the recorded responder may have executed either copy. */
    write.unknown = p->zero_filled || e->rewritten;
    region = shadow_find(memory, e->rkey);
    if (!region || !shadow_covers(region, e->va, e->len, 0))
        return 0;
    if (roce_opcode_is_atomic(op)) {
        if (!shared_memory_atomic(s, e, &found, &left))
            return shadow_note_atomic(memory, region, &write);
        write.confirmed = true;
        memcpy(write.value, &left, sizeof(write.value));
    }
    return shadow_note_write(memory, region, &write);
}

static bool drain_timers(struct rc_responder_dev *dev, uint32_t dir_idx, rnic_time until)
{
    rnic_time at;

    /* A device has fewer than 2^16 deadlines between two packets. The limit ends the loop if a bug
     * in our RNIC repeats a deadline forever. */
    for (unsigned i = 0;
         i < 1u << 16 && (at = rnic_deadline(dev->rnic)) <= until && at != RNIC_NEVER; i++) {
        rnic_expire(dev->rnic, at);
        if (take_responses(dev, dir_idx, at) != 0)
            return false;
    }
    return true;
}

static int play_packet(struct rc_responder_dev *dev, const struct scheduled_packet *sched,
                       rnic_time now)
{
    uint32_t dir_idx = sched->dir, event = sched->event;
    struct rc_direction *dir = &dev->session->dir[dir_idx];
    const struct inferred_setup *s = &dir->setup;
    const struct pkt_event *at = &s->event[event];
    const struct trace_packet *p = event_packet(s, event);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    const struct session_watch *watch = dev->session->watch;
    struct shadow_memory *memory = &dev->host->memory;
    struct shadow_region *region = NULL;
    struct rnic_qp_view before, after;
    struct responder_srq *srq = NULL;
    struct rnic_qp *qp = rc_responder_dev_qp(dev, dir_idx, now);
    const struct shadow_reader lender = {
        .store = watch || dev->session->memory_log ? rc_responder_app_store_byte : NULL,
        .ctx = dev};
    const struct request_pkt *e;
    struct rnic_wc wc[16];
    struct roce_pkt pkt;
    int64_t psn_dist;
    bool taken;

    if (!qp)
        return 0;
    dev->state[dir_idx].last = sched->at_event;
    if (inferred_setup_svc(s) == ROCE_SVC_XRC && !at->damaged)
        srq = rc_responder_app_srq(dev, p);
    rnic_qp_view(qp, &before);
    psn_dist = roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(before.epsn));
    if (!at->damaged && psn_dist == 0 &&
        rc_responder_app_post_recv(dev, dir, qp, srq, event, sched->at_event == event, &before) !=
            0)
        return -1;
    if (!at->damaged && (op->kind == ROCE_KIND_READ || roce_opcode_is_atomic(op))) {
        trace_parse_headers(p, &pkt);
        region =
            shadow_find(memory, op->kind == ROCE_KIND_READ ? pkt.reth.rkey : pkt.atomiceth.rkey);
        if (psn_dist <= 0 && rc_responder_app_set_memory(dev, dir_idx, event, psn_dist == 0) != 0)
            return -1;
    } else if (!at->damaged && roce_opcode_has(op, ROCE_HDR_RETH)) {
        region = shadow_find(memory, trace_reth(p).rkey);
    } else if (!at->damaged && roce_opcode_has(op, ROCE_HDR_IETH)) {
        trace_parse_headers(p, &pkt);
        region = shadow_find(memory, pkt.ieth.rkey);
    }
    if (region && !at->rkey_invalid && psn_dist == 0 && dev->invalidated[region - memory->region]) {
        /* The capture contains a request that uses the R_Key after its invalidation. So the
         * responder's program must have registered the R_Key again. */
        if (rc_responder_app_set_key(dev, region, false) != 0)
            return -1;
        dev->invalidated[region - memory->region] = 0;
    }
    /* If the recorded responder refused the R_Key of this request, our RNIC must refuse it too. Our
     * RNIC does so if a SEND has invalidated the R_Key, or if the region does not permit the
     * access. Otherwise the replay deregisters the R_Key before the request, as the recorded
     * program must have done. */
    e = request_at(s, at->rel);
    taken = region && at->rkey_invalid && !dev->invalidated[region - memory->region] &&
            (!e || infer_setup_permits(s, e, region));
    if (region && (taken || !at->rkey_invalid) &&
        rc_responder_app_set_key(dev, region, !taken) != 0)
        return -1;
    if (dev->session->memory_log)
        memory_log_frame(dev->session->memory_log, dev->session->trace->pkt[sched->pkt].frame,
                         p->frame);
    if (watch && watch->frame(watch->ctx, dir_idx, event, sched->at_event, sched->pkt) != 0)
        return -1;
    inject(dev->rnic, p, now);
    if (taken && rc_responder_app_set_key(dev, region, true) != 0)
        return -1;
    if (take_responses(dev, dir_idx, now) != 0 || shadow_return_lent(memory, &lender) != 0)
        return -1;
    rnic_qp_view(qp, &after);
    if (after.epsn != before.epsn) {
        if (srq && srq->spare && rc_responder_app_takes_recv(op))
            srq->spare--;
        if (!VEC_GROW(dir->advance, dir->advance_cnt, dir->advance_cap))
            return -1;
        dir->advance[dir->advance_cnt++] = (struct epsn_advance){
            .event = sched->at_event,
            .epsn = at->rel + roce_psn_diff(roce_psn_of(after.epsn), roce_psn_of(p->psn)),
            .msn = after.msn,
        };
        if (note_executed(dev, dir_idx, event) != 0)
            return -1;
    }
    if (after.state == RNIC_QPS_ERR && dir->error_event == EVENT_NONE)
        dir->error_event = sched->at_event;
    while (rnic_cq_poll(dev->cq, wc, sizeof(wc) / sizeof(wc[0])) > 0)
        ;
    return 0;
}

/* ---- Packets that wait ----------------------------------------------------------------------- */

/* Returns whether a packet must wait. This is the case if our RNIC would execute it now, but the
 * recorded responses imply that the responder executed requests of other connections first. */
static bool must_wait(const struct rc_responder_dev *dev, const struct scheduled_packet *sched)
{
    const struct dir_state *state = &dev->state[sched->dir];
    const struct inferred_setup *s = &state->dir->setup;
    const struct request_pkt *e = request_at(s, s->event[sched->event].rel);
    struct rnic_qp_view view;

    if (dev->sharing.turn_cnt == 0 || !e || s->event[sched->event].damaged || state->over ||
        state->dir->failed ||
        !shared_memory_waits(&dev->sharing, sched->dir, (uint32_t)(e - s->req)))
        return false;
    if (!state->qp)
        return e == s->req;
    rnic_qp_view(state->qp, &view);
    return view.epsn == event_packet(s, sched->event)->psn;
}

static void hold_packet(struct rc_responder_dev *dev, struct scheduled_packet *sched, size_t at)
{
    struct dir_state *state = &dev->state[sched[at].dir];

    sched[at].next = NOT_HELD;
    if (state->held == NOT_HELD)
        state->held = at;
    else
        sched[state->held_last].next = at;
    state->held_last = at;
    dev->held_cnt++;
}

/* Replays the packets that no longer need to wait for requests of other connections (must_wait()).
 * If `all` is set, replays all waiting packets: if our RNIC never executes the request for which a
 * packet waits, the packet still waits at the end of the trace. Returns 0, or -1 if out of
 * memory. */
static int release_held(struct rc_responder_dev *dev, struct scheduled_packet *sched, rnic_time now,
                        bool all)
{
    bool again = dev->held_cnt > 0;

    while (again) {
        again = false;
        for (uint32_t i = dev->host->first_dir; i != KEYMAP_NONE && dev->held_cnt > 0;
             i = dev->session->dir[i].next_of_host) {
            struct dir_state *state = &dev->state[i];

            while (state->held != NOT_HELD && (all || !must_wait(dev, &sched[state->held]))) {
                const struct scheduled_packet *c = &sched[state->held];

                state->held = c->next;
                dev->held_cnt--;
                again = true;
                if (play_packet(dev, c, now) != 0)
                    return -1;
            }
        }
    }
    return 0;
}

/* Replays a packet. If our RNIC must execute requests of other connections first, delays the packet
 * until then. Returns 0, or -1 if out of memory. */
static int play_or_hold(struct rc_responder_dev *dev, struct scheduled_packet *sched, size_t at,
                        rnic_time now)
{
    if (dev->state[sched[at].dir].held != NOT_HELD || must_wait(dev, &sched[at])) {
        hold_packet(dev, sched, at);
        return 0;
    }
    if (play_packet(dev, &sched[at], now) != 0)
        return -1;
    return release_held(dev, sched, now, false);
}

/* ---- Replaying all packets ------------------------------------------------------------------- */

static int scheduled_cmp(const void *a, const void *b)
{
    const struct scheduled_packet *x = a, *y = b;

    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int payload_cmp(const void *a, const void *b)
{
    const struct recorded_payload *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static bool list_payloads(struct dir_state *state)
{
    const struct inferred_setup *s = &state->dir->setup;

    state->payload = malloc((s->event_cnt + 1) * sizeof(*state->payload));
    if (!state->payload)
        return false;
    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (s->event[i].response && event_packet(s, i)->payload_len &&
            !event_packet(s, i)->zero_filled)
            state->payload[state->payload_cnt++] =
                (struct recorded_payload){.rel = s->event[i].rel, .event = i};
    sort_if_needed(state->payload, state->payload_cnt, sizeof(*state->payload), payload_cmp);
    return true;
}

/* Returns all requests to a host, of all its directions, in capture order, or NULL if out of
 * memory. */
static struct scheduled_packet *schedule_packets(const struct session *session, uint32_t host,
                                                 size_t *cnt)
{
    struct scheduled_packet *sched;
    uint32_t first = session->host[host].first_dir;
    size_t cap = 0;

    for (uint32_t i = first; i != KEYMAP_NONE; i = session->dir[i].next_of_host)
        cap += session->dir[i].setup.event_cnt + session->dir[i].setup.executed_unseen_cnt;
    sched = malloc((cap + 1) * sizeof(*sched));
    *cnt = 0;
    for (uint32_t i = first; sched && i != KEYMAP_NONE; i = session->dir[i].next_of_host) {
        const struct inferred_setup *s = &session->dir[i].setup;

        if (s->skip)
            continue;
        for (uint32_t k = 0; k < s->event_cnt; k++)
            if (!s->event[k].response && !s->event[k].before_first && !s->event[k].lost)
                sched[(*cnt)++] = (struct scheduled_packet){
                    .pkt = s->event[k].pkt, .dir = i, .event = k, .at_event = k};
        for (size_t k = 0; k < s->executed_unseen_cnt; k++)
            sched[(*cnt)++] =
                (struct scheduled_packet){.pkt = s->event[s->executed_unseen[k].response].sent_at,
                                          .dir = i,
                                          .event = s->executed_unseen[k].event,
                                          .at_event = s->executed_unseen[k].response,
                                          .order = k};
    }
    if (sched)
        sort_if_needed(sched, *cnt, sizeof(*sched), scheduled_cmp);
    return sched;
}

/* For each host that has a responder: the requests that this host itself sent, in capture order. */
struct own_requests {
    struct keymap addrs; /* addresses of the responders */
    uint32_t *sender;    /* for each flow of the trace: number of the sender's address, or
                          * KEYMAP_NONE if the sender is not the host of a responder */
    size_t *end;         /* for each address: index into `pkt` after its last request */
    uint32_t *pkt;       /* indices into trace.pkt */
};

/* Returns the number of the sender's address if the packet is a request that arrived, and its
 * sender is the host of a responder. Returns KEYMAP_NONE for all other packets. */
static uint32_t sender_of(const struct own_requests *own, const struct trace_packet *p)
{
    return p->dropped || !roce_opcode_is_request(roce_opcode(p->opcode)) ? KEYMAP_NONE
                                                                         : own->sender[p->flow];
}

/* Fills *own: for each host of a responder, finds the requests that this host itself sent. Returns
 * false if out of memory. */
static bool find_own_requests(struct own_requests *own, const struct session *session)
{
    const struct trace *trace = session->trace;
    uint32_t from;
    size_t sum = 0;

    keymap_init(&own->addrs, sizeof(session->host[0].addr));
    for (size_t i = 0; i < session->host_cnt; i++)
        if (keymap_add(&own->addrs, session->host[i].addr) == KEYMAP_NONE)
            return false;
    own->end = calloc(own->addrs.cnt + 1, sizeof(*own->end));
    own->pkt = malloc((trace->cnt + 1) * sizeof(*own->pkt));
    own->sender = malloc((trace->flows.cnt + 1) * sizeof(*own->sender));
    if (!own->end || !own->pkt || !own->sender)
        return false;
    for (uint32_t i = 0; i < trace->flows.cnt; i++)
        own->sender[i] = keymap_get(&own->addrs, trace->flow[i].src);
    for (uint32_t i = 0; i < trace->cnt; i++)
        if ((from = sender_of(own, &trace->pkt[i])) != KEYMAP_NONE)
            own->end[from]++;
    for (uint32_t i = 0; i < own->addrs.cnt; i++) {
        size_t cnt = own->end[i];

        own->end[i] = sum;
        sum += cnt;
    }
    for (uint32_t i = 0; i < trace->cnt; i++)
        if ((from = sender_of(own, &trace->pkt[i])) != KEYMAP_NONE)
            own->pkt[own->end[from]++] = i;
    return true;
}

static void own_requests_free(struct own_requests *own)
{
    keymap_free(&own->addrs);
    free(own->sender);
    free(own->end);
    free(own->pkt);
}

/* Sets app_active to the last request before packet `to` that the responder's host sent as a
 * requester. The program on the host was active when it sent this request, so it may have changed
 * memory. */
static void note_own_requests(struct rc_responder_dev *dev, const struct own_requests *own,
                              size_t *from, size_t end, uint32_t to)
{
    for (; *from < end && own->pkt[*from] < to; ++*from)
        dev->app_active = own->pkt[*from];
}

static int play_device(struct session *session, uint32_t host, struct dir_state *state,
                       const struct own_requests *own, struct error *error)
{
    struct rc_responder_dev dev = {
        .session = session, .host = &session->host[host], .state = state};
    const struct rc_direction *any = NULL;
    struct scheduled_packet *sched;
    uint32_t sender = keymap_get(&own->addrs, session->host[host].addr);
    size_t cnt, from = sender ? own->end[sender - 1] : 0;
    int rc = 0;

    for (uint32_t i = session->host[host].first_dir; i != KEYMAP_NONE;
         i = session->dir[i].next_of_host) {
        if (session->dir[i].setup.skip)
            continue;
        any = &session->dir[i];
        if (any->setup.max_recv > dev.recv_len)
            dev.recv_len = any->setup.max_recv;
    }
    if (!any)
        return 0;
    sched = schedule_packets(session, host, &cnt);
    if (!sched)
        return error_set(error, "%s: no memory", session->trace->name);
    if (shared_memory_find(&dev.sharing, session, host) != 0)
        rc = error_set(error, "%s: no memory", session->trace->name);
    dev.host->unordered = dev.sharing.gave_up;
    dev.host->failed = rc_responder_dev_open(&dev, any);
    for (size_t i = 0; i < cnt && rc == 0 && !dev.host->failed; i++) {
        /* Virtual time starts at 1 s, so that no event is at time 0. */
        rnic_time now =
            session->trace->pkt[sched[i].pkt].time - session->trace->pkt[0].time + 1000000000;

        note_own_requests(&dev, own, &from, own->end[sender], sched[i].pkt);
        if (!drain_timers(&dev, sched[i].dir, now) || play_or_hold(&dev, sched, i, now) != 0)
            rc = error_set(error, "%s: frame %u: %s", session->trace->name,
                           session->trace->pkt[sched[i].pkt].frame,
                           dev.host->memory.pages > MEMORY_PAGES_MAX
                               ? "the requests access more memory than replay can simulate"
                               : "no memory");
        dev.last = now;
    }
    if (rc == 0 && release_held(&dev, sched, dev.last, true) != 0)
        rc = error_set(error, "%s: no memory", session->trace->name);
    /* Fire the remaining timers. Every timer of a responder expires within ten seconds. */
    if (rc == 0 && !dev.host->failed && cnt &&
        !drain_timers(&dev, sched[cnt - 1].dir, dev.last + UINT64_C(10) * 1000000000))
        rc = error_set(error, "%s: no memory", session->trace->name);
    if (session->memory_log)
        memory_log_end(session->memory_log);
    rc_responder_dev_close(&dev);
    shared_memory_free(&dev.sharing);
    free(sched);
    return rc;
}

int rc_responder_play(struct session *session, struct error *error)
{
    struct own_requests own = {.pkt = NULL};
    struct dir_state *state;
    int rc = 0;

    state = calloc(session->dir_cnt + 1, sizeof(*state));
    if (!state || !find_own_requests(&own, session))
        rc = -1;
    for (size_t i = 0; rc == 0 && i < session->dir_cnt; i++) {
        state[i].dir = &session->dir[i];
        state[i].held = NOT_HELD;
        if (!list_payloads(&state[i]))
            rc = -1;
    }
    if (rc != 0)
        error_set(error, "%s: no memory", session->trace->name);
    for (uint32_t i = 0; rc == 0 && i < session->host_cnt; i++)
        rc = play_device(session, i, state, &own, error);
    for (size_t i = 0; state && i < session->dir_cnt; i++) {
        struct rc_direction *dir = &session->dir[i];

        free(state[i].payload);
        if (rc == 0 && !dir->failed)
            dir->failed = session->host[dir->host].failed;
    }
    own_requests_free(&own);
    free(state);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_responder_app.h"

#include <string.h>
#include "infer/request_table.h"
#include "infer/shared_memory.h"

/* Maximum number of later requests that first_value() examines to find the initial value of a
 * counter. */
#define COUNTER_AHEAD 4096

/* Maximum number of later packets in which the replay searches for a retransmission of a READ with
 * an incomplete response. */
#define COPY_AHEAD 1024

struct responder_srq *rc_responder_app_srq(struct rc_responder_dev *dev,
                                           const struct trace_packet *p)
{
    /* At most one receive WQE is posted at a time, so a few entries are enough. */
    struct rnic_srq_init init = {.max_wr = 16, .max_sge = 1, .xrcd = dev->xrcd, .cq = dev->cq};
    struct responder_srq *srq;
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    for (size_t i = 0; i < dev->srq_cnt; i++)
        if (dev->srq[i].srqn == pkt.xrceth.srqn)
            return &dev->srq[i];
    if (!VEC_GROW(dev->srq, dev->srq_cnt, dev->srq_cap))
        return NULL;
    srq = &dev->srq[dev->srq_cnt];
    *srq = (struct responder_srq){.srqn = pkt.xrceth.srqn};
    init.srqn = srq->srqn;
    if (rnic_srq_new(dev->pd, &init, &srq->srq) != 0)
        return NULL;
    dev->srq_cnt++;
    return srq;
}

/* Posts a receive WQE of `len` bytes. `srq` is the SRQ of an XRC request, otherwise NULL. */
static int post_recv(struct rc_responder_dev *dev, struct rc_direction *dir, struct rnic_qp *qp,
                     struct responder_srq *srq, uint32_t len)
{
    const struct session_watch *watch = dev->session->watch;
    struct rnic_sge sge = {.addr = 0, .len = len, .lkey = dev->recv_key};
    struct rnic_recv_wr wr = {.wr_id = dir->recv_posted, .sge = &sge, .sge_cnt = 1};

    if ((srq ? rnic_post_srq_recv(srq->srq, &wr) : rnic_post_recv(qp, &wr)) != 0)
        return 0;
    if (srq)
        srq->spare++;
    dir->recv_posted++;
    return watch ? watch->recv(watch->ctx, (uint32_t)(dir - dev->session->dir), len) : 0;
}

int rc_responder_app_set_key(struct rc_responder_dev *dev, struct shadow_region *region, bool valid)
{
    const struct session_watch *watch = dev->session->watch;
    bool was = region->mr != NULL;

    if (!valid)
        shadow_deregister(region);
    else if (shadow_register(region, dev->pd) != 0)
        return -1;
    return watch && was != valid
               ? watch->key(watch->ctx, (uint32_t)(dev->host - dev->session->host), region->rkey,
                            valid)
               : 0;
}

bool rc_responder_app_takes_recv(const struct roce_opcode *op)
{
    return roce_opcode_uses_rq(op) &&
           (op->kind == ROCE_KIND_SEND ? roce_opcode_starts(op) : roce_opcode_ends(op));
}

int rc_responder_app_post_recv(struct rc_responder_dev *dev, struct rc_direction *dir,
                               struct rnic_qp *qp, struct responder_srq *srq, uint32_t event,
                               bool in_place, const struct rnic_qp_view *view)
{
    const struct pkt_event *at = &dir->setup.event[event];
    const struct roce_opcode *op = event_opcode(&dir->setup, event);
    bool none = at->no_recv_wqe && in_place;

    if (rc_responder_app_takes_recv(op) && !none && (srq ? srq->spare : view->recv_wr) == 0)
        return post_recv(dev, dir, qp, srq,
                         at->recv_len == RECV_FULL ? dev->recv_len : at->recv_len);
    return 0;
}

/* Returns the initial value of a counter that only FETCH_ADDs change: the value that most responses
 * imply. A single wrong response does not change this value, so only the wrong response is
 * reported. */
static uint64_t first_value(const struct inferred_setup *s, const struct request_pkt *e)
{
    struct {
        uint64_t value;
        unsigned votes;
    } seen[16] = {{0}};
    unsigned cnt = 0, best = 0, votes = 0;
    uint64_t sum = 0;
    size_t from = (size_t)(e - s->req);

    for (size_t i = from; i < s->req_cnt && i - from < COUNTER_AHEAD; i++) {
        const struct request_pkt *x = &s->req[i];
        const struct roce_opcode *op = roce_opcode(event_packet(s, x->event)->opcode);
        struct roce_pkt pkt;
        unsigned k;

        if (x->rkey != e->rkey || x->va >= e->va + 8 || e->va >= x->va + x->len)
            continue;
        if (op->kind == ROCE_KIND_WRITE)
            break;
        if (!roce_opcode_is_atomic(op) || x->va != e->va)
            continue;
        if (x->first_response == EVENT_NONE || cnt == 16)
            break;
        trace_parse(event_packet(s, x->first_response), &pkt);
        for (k = 0; k < cnt && seen[k].value != pkt.atomicacketh.orig - sum; k++)
            ;
        if (k == cnt)
            seen[cnt++].value = pkt.atomicacketh.orig - sum;
        votes++;
        if (++seen[k].votes > seen[best].votes)
            best = k;
        if (op->kind == ROCE_KIND_CMP_SWAP)
            break; /* a CMP_SWAP may store any value, so the responses after it do not show the
                    * initial value */
        trace_parse(event_packet(s, x->event), &pkt);
        sum += pkt.atomiceth.swap_add;
    }
    /* No value has a majority if other connections also add to the counter. Then use only the first
     * response. */
    return 2 * seen[best].votes > votes ? seen[best].value : seen[0].value;
}

int rc_responder_app_store_byte(void *ctx, const struct shadow_region *region, uint64_t va,
                                uint8_t byte, bool initial)
{
    const struct rc_responder_dev *dev = ctx;
    const struct session_watch *watch = dev->session->watch;
    uint32_t host = (uint32_t)(dev->host - dev->session->host);

    if (dev->session->memory_log &&
        memory_log_byte(dev->session->memory_log, host, region->rkey, va, byte, initial) != 0)
        return -1;
    return watch ? watch->store(watch->ctx, host, region->rkey, va, byte, initial) : 0;
}

/* Stores those bytes of READ request `event` that the responses to READ request `from` show. `from`
 * is `event` itself or another transmission of the READ, which may begin at an earlier or later PSN
 * of the READ. Adds to *seen the number of bytes that no earlier response showed. Returns 0, or -1
 * if out of memory. */
static int observe_answers(struct shadow_memory *memory, struct shadow_region *region,
                           const struct inferred_setup *s, uint32_t event, uint32_t from,
                           const struct roce_reth *reth, const struct shadow_reader *reader,
                           uint64_t *seen)
{
    struct rc_responder_dev *dev = reader->ctx;
    struct shared_read read = {.sharing = &dev->sharing,
                               .dir = reader->dir,
                               .event = from,
                               .rkey = reth->rkey,
                               .from = reader->pkt};
    struct shadow_reader with = *reader;
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    int64_t last = s->event[event].rel - 1; /* last PSN of a response to `event` that was counted */

    if (e) {
        read.req = (uint32_t)(e - s->req);
        with.explains = dev->sharing.write_cnt ? shared_memory_explains : NULL;
        with.suggests_store = shared_memory_suggests_store;
        with.explains_ctx = &read;
    }
    for (uint32_t a = s->event[from].next_response; a != EVENT_NONE;
         a = s->event[a].next_response) {
        const struct trace_packet *p = event_packet(s, a);
        uint64_t off = (uint64_t)(s->event[a].rel - s->event[event].rel) * s->mtu;
        uint64_t initial = memory->initial;

        if (s->event[a].rel < s->event[event].rel || p->zero_filled ||
            off + p->payload_len > reth->dma_len ||
            !shadow_covers(region, reth->va + off, p->payload_len, 0))
            continue;
        read.until = s->event[a].pkt > read.from ? s->event[a].pkt : read.from;
        if (shadow_observe(memory, region, reth->va + off, trace_payload(p), p->payload_len,
                           &with) != 0)
            return -1;
        /* Responses to different copies of a READ repeat bytes. If the response answers another
         * copy than `event`, count only the bytes that were unknown before. */
        if (from != event)
            *seen += memory->initial - initial;
        else if (s->event[a].rel > last)
            *seen += p->payload_len;
        if (s->event[a].rel > last)
            last = s->event[a].rel;
    }
    return 0;
}

/* Stores the bytes that the recorded responses to a READ show. If these responses lack some bytes,
 * also uses the responses to later copies of the READ, but only for memory with contents that are
 * still unknown. Returns 0, or -1 if out of memory. */
static int prepare_read(struct shadow_memory *memory, struct shadow_region *region,
                        const struct inferred_setup *s, uint32_t event,
                        const struct roce_reth *reth, struct shadow_reader *reader)
{
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    uint64_t seen = 0;

    if (observe_answers(memory, region, s, event, event, reth, reader, &seen) != 0)
        return -1;
    reader->unseen_only = true;
    for (uint32_t i = event + 1;
         seen < reth->dma_len && e && i < s->event_cnt && i - event < COPY_AHEAD; i++)
        if (!s->event[i].response && s->event[i].next_response != EVENT_NONE &&
            request_at(s, s->event[i].rel) == e &&
            observe_answers(memory, region, s, event, i, reth, reader, &seen) != 0)
            return -1;
    return 0;
}

int rc_responder_app_set_memory(struct rc_responder_dev *dev, uint32_t dir_idx, uint32_t event,
                                bool fresh)
{
    const struct inferred_setup *s = &dev->session->dir[dir_idx].setup;
    const struct pkt_event *at = &s->event[event];
    const struct request_pkt *e = request_at(s, at->rel);
    struct shadow_memory *memory = &dev->host->memory;
    struct shadow_reader reader = {.dir = dir_idx,
                                   .pkt = at->pkt,
                                   .app_active = dev->app_active,
                                   .store = dev->session->watch || dev->session->memory_log
                                                ? rc_responder_app_store_byte
                                                : NULL,
                                   .ctx = dev};
    struct shadow_region *region;
    struct roce_pkt pkt;
    uint64_t va;

    trace_parse(event_packet(s, event), &pkt);
    va = roce_pkt_has(&pkt, ROCE_HDR_RETH) ? pkt.reth.va : pkt.atomiceth.va;
    region =
        shadow_find(memory, roce_pkt_has(&pkt, ROCE_HDR_RETH) ? pkt.reth.rkey : pkt.atomiceth.rkey);
    if (!region)
        return 0;
    if (roce_opcode_is_atomic(pkt.op)) {
        uint64_t value;

        if (!fresh || !e || e->first_response == EVENT_NONE || !shadow_covers(region, va, 8, 0))
            return 0;
        /* If the value of the counter is unknown, use the value that most responses imply. */
        value = first_value(s, e);
        if (pkt.op->kind != ROCE_KIND_FETCH_ADD || region->state[va - region->low] != 0 ||
            shared_memory_has_order(&dev->sharing, dir_idx, (uint32_t)(e - s->req))) {
            trace_parse(event_packet(s, e->first_response), &pkt);
            value = pkt.atomicacketh.orig;
        }
        /* Our RNIC stores the operand of an atomic as a 64-bit number in host byte order. */
        return shadow_observe(memory, region, va, (const uint8_t *)&value, 8, &reader);
    }
    return prepare_read(memory, region, s, event, &pkt.reth, &reader);
}

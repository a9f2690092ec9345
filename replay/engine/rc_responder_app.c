/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_responder_app.h"

#include <string.h>

/* How many requests ahead are looked at for a counter's first value. */
#define COUNTER_AHEAD 4096

/* How far ahead a READ request that was not all answered is looked for again. */
#define COPY_AHEAD 1024

struct shared *prepare_shared(struct stage *st, const struct trace_packet *p)
{
    struct rnic_srq_init init = {.max_wr = 1024, .max_sge = 1, .xrcd = st->xrcd, .cq = st->cq};
    struct shared *shared;
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    for (size_t i = 0; i < st->shared_cnt; i++)
        if (st->shared[i].srqn == pkt.xrceth.srqn)
            return &st->shared[i];
    if (!VEC_GROW(st->shared, st->shared_cnt, st->shared_cap))
        return NULL;
    shared = &st->shared[st->shared_cnt];
    *shared = (struct shared){.srqn = pkt.xrceth.srqn};
    init.srqn = shared->srqn;
    if (rnic_srq_new(st->pd, &init, &shared->srq) != 0)
        return NULL;
    st->shared_cnt++;
    return shared;
}

/* `shared` is the SRQ of an XRC request, else NULL. */
static int post_recv(struct stage *st, struct run *run, struct rnic_qp *qp, struct shared *shared,
                     uint32_t len)
{
    const struct drive_watch *watch = st->drive->watch;
    struct rnic_sge sge = {.addr = 0, .len = len, .lkey = st->recv_key};
    struct rnic_recv_wr wr = {.wr_id = run->recv_posted, .sge = &sge, .sge_cnt = 1};

    if ((shared ? rnic_post_srq_recv(shared->srq, &wr) : rnic_post_recv(qp, &wr)) != 0)
        return 0;
    if (shared)
        shared->spare++;
    run->recv_posted++;
    return watch ? watch->recv(watch->ctx, (uint32_t)(run - st->drive->run), len) : 0;
}

int prepare_key(struct stage *st, struct memory_region *region, bool valid)
{
    const struct drive_watch *watch = st->drive->watch;
    bool was = region->mr != NULL;

    if (!valid)
        memory_withdraw(region);
    else if (memory_register(region, st->pd) != 0)
        return -1;
    return watch && was != valid
               ? watch->key(watch->ctx, (uint32_t)(st->device - st->drive->device), region->rkey,
                            valid)
               : 0;
}

bool prepare_takes_recv(const struct roce_opcode *op)
{
    return roce_opcode_uses_rq(op) &&
           (op->kind == ROCE_KIND_SEND ? roce_opcode_starts(op) : roce_opcode_ends(op));
}

int prepare_recv(struct stage *st, struct run *run, struct rnic_qp *qp, struct shared *shared,
                 uint32_t step, bool in_place, const struct rnic_qp_view *view)
{
    const struct step *at = &run->setup.step[step];
    const struct roce_opcode *op = setup_op(&run->setup, step);
    bool none = at->no_recv && in_place;

    if (prepare_takes_recv(op) && !none && (shared ? shared->spare : view->recv_wr) == 0)
        return post_recv(st, run, qp, shared,
                         at->recv_len == RECV_FULL ? st->recv_len : at->recv_len);
    return 0;
}

/* The first value of a counter that only FETCH_ADDs change is what most of their answers imply, so
 * that a wrong first answer does not make all others look wrong. */
static uint64_t first_value(const struct setup *s, const struct entry *e)
{
    struct {
        uint64_t value;
        unsigned votes;
    } seen[16] = {{0}};
    unsigned cnt = 0, best = 0, votes = 0;
    uint64_t sum = 0;
    size_t from = (size_t)(e - s->entry);

    for (size_t i = from; i < s->entry_cnt && i - from < COUNTER_AHEAD; i++) {
        const struct entry *x = &s->entry[i];
        const struct roce_opcode *op = roce_opcode(setup_packet(s, x->step)->opcode);
        struct roce_pkt pkt;
        unsigned k;

        if (x->rkey != e->rkey || x->va >= e->va + 8 || e->va >= x->va + x->len)
            continue;
        if (op->kind == ROCE_KIND_WRITE)
            break;
        if (!roce_opcode_is_atomic(op) || x->va != e->va)
            continue;
        if (x->answer == STEP_NONE || cnt == 16)
            break;
        trace_parse(setup_packet(s, x->answer), &pkt);
        for (k = 0; k < cnt && seen[k].value != pkt.atomicacketh.orig - sum; k++)
            ;
        if (k == cnt)
            seen[cnt++].value = pkt.atomicacketh.orig - sum;
        votes++;
        if (++seen[k].votes > seen[best].votes)
            best = k;
        if (op->kind == ROCE_KIND_CMP_SWAP)
            break; /* it shows the sum too, and then may change it to anything */
        trace_parse(setup_packet(s, x->step), &pkt);
        sum += pkt.atomiceth.swap_add;
    }
    /* Without a majority others add to it too: the first answer is all there is. */
    return 2 * seen[best].votes > votes ? seen[best].value : seen[0].value;
}

int prepare_store(void *ctx, const struct memory_region *region, uint64_t va, uint8_t byte,
                  bool initial)
{
    const struct stage *st = ctx;
    const struct drive_watch *watch = st->drive->watch;
    uint32_t device = (uint32_t)(st->device - st->drive->device);

    if (st->drive->stores &&
        stores_byte(st->drive->stores, device, region->rkey, va, byte, initial) != 0)
        return -1;
    return watch ? watch->store(watch->ctx, device, region->rkey, va, byte, initial) : 0;
}

/* What the answers to READ request `from` show of the bytes that the one at `step` asks for; the
 * two are copies, or one asks for the other's tail. Adds to *seen the bytes they show. 0 or -1. */
static int observe_answers(struct memory *memory, struct memory_region *region,
                           const struct setup *s, uint32_t step, uint32_t from,
                           const struct roce_reth *reth, const struct memory_reader *reader,
                           uint64_t *seen)
{
    struct sharing_read read = {.run = reader->side, .rkey = reth->rkey, .from = reader->pkt};
    struct memory_reader with = *reader;
    const struct entry *e = setup_entry(s, s->step[step].rel);

    if (e && reader->sharing->write_cnt)
        with.read = &read;
    if (e)
        read.entry = (uint32_t)(e - s->entry);
    for (uint32_t a = s->step[from].answer; a != STEP_NONE; a = s->step[a].answer) {
        const struct trace_packet *p = setup_packet(s, a);
        uint64_t off = (uint64_t)(s->step[a].rel - s->step[step].rel) * s->mtu;

        if (s->step[a].rel < s->step[step].rel || p->made_up ||
            off + p->payload_len > reth->dma_len ||
            !memory_covers(region, reth->va + off, p->payload_len, 0))
            continue;
        *seen += p->payload_len;
        read.until = s->step[a].pkt > read.from ? s->step[a].pkt : read.from;
        if (memory_observe(memory, region, reth->va + off, trace_payload(p), p->payload_len,
                           &with) != 0)
            return -1;
    }
    return 0;
}

/* What the recorded answers to a READ show was in memory then; where none shows it, what those to
 * its later copies show, if nothing else is known of it. */
static int prepare_read(struct memory *memory, struct memory_region *region, const struct setup *s,
                        uint32_t step, const struct roce_reth *reth, struct memory_reader *reader)
{
    const struct entry *e = setup_entry(s, s->step[step].rel);
    uint64_t seen = 0;

    if (observe_answers(memory, region, s, step, step, reth, reader, &seen) != 0)
        return -1;
    reader->unseen_only = true;
    for (uint32_t i = step + 1;
         seen < reth->dma_len && e && i < s->step_cnt && i - step < COPY_AHEAD; i++)
        if (!s->step[i].response && s->step[i].answer != STEP_NONE &&
            setup_entry(s, s->step[i].rel) == e &&
            observe_answers(memory, region, s, step, i, reth, reader, &seen) != 0)
            return -1;
    return 0;
}

int prepare_memory(struct stage *st, uint32_t run_idx, uint32_t step, bool fresh)
{
    const struct setup *s = &st->drive->run[run_idx].setup;
    const struct step *at = &s->step[step];
    const struct entry *e = setup_entry(s, at->rel);
    struct memory *memory = &st->device->memory;
    struct memory_reader reader = {.side = run_idx,
                                   .pkt = at->pkt,
                                   .event = st->event,
                                   .sharing = &st->sharing,
                                   .store =
                                       st->drive->watch || st->drive->stores ? prepare_store : NULL,
                                   .ctx = st};
    struct memory_region *region;
    struct roce_pkt pkt;
    uint64_t va;

    trace_parse(setup_packet(s, step), &pkt);
    va = roce_pkt_has(&pkt, ROCE_HDR_RETH) ? pkt.reth.va : pkt.atomiceth.va;
    region =
        memory_find(memory, roce_pkt_has(&pkt, ROCE_HDR_RETH) ? pkt.reth.rkey : pkt.atomiceth.rkey);
    if (!region)
        return 0;
    if (roce_opcode_is_atomic(pkt.op)) {
        uint64_t value;

        if (!fresh || !e || e->answer == STEP_NONE || !memory_covers(region, va, 8, 0))
            return 0;
        /* Only a counter that nobody has seen gets the value that most answers imply. */
        value = first_value(s, e);
        if (pkt.op->kind != ROCE_KIND_FETCH_ADD || region->state[va - region->low] != 0 ||
            sharing_has_order(&st->sharing, run_idx, (uint32_t)(e - s->entry))) {
            trace_parse(setup_packet(s, e->answer), &pkt);
            value = pkt.atomicacketh.orig;
        }
        /* Atomics work on 64-bit numbers in the host's order. */
        return memory_observe(memory, region, va, (const uint8_t *)&value, 8, &reader);
    }
    return prepare_read(memory, region, s, step, &pkt.reth, &reader);
}

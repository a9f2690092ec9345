/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_post_wr.h"

#include <stdlib.h>
#include <string.h>

enum rnic_wr_opcode posted_opcode(const struct roce_opcode *op)
{
    bool imm = roce_opcode_has(op, ROCE_HDR_IMMDT);

    switch (op->kind) {
    case ROCE_KIND_WRITE: return imm ? RNIC_WR_WRITE_IMM : RNIC_WR_WRITE;
    case ROCE_KIND_READ: return RNIC_WR_READ;
    case ROCE_KIND_CMP_SWAP: return RNIC_WR_CMP_SWAP;
    case ROCE_KIND_FETCH_ADD: return RNIC_WR_FETCH_ADD;
    case ROCE_KIND_FLUSH: return RNIC_WR_FLUSH;
    case ROCE_KIND_ATOMIC_WRITE: return RNIC_WR_ATOMIC_WRITE;
    default:
        return imm                                  ? RNIC_WR_SEND_IMM
               : roce_opcode_has(op, ROCE_HDR_IETH) ? RNIC_WR_SEND_INV
                                                    : RNIC_WR_SEND;
    }
}

bool posted_fetches(const struct work *work)
{
    return work->kind == ROCE_KIND_READ || work->kind == ROCE_KIND_CMP_SWAP ||
           work->kind == ROCE_KIND_FETCH_ADD;
}

uint32_t posted_len(const struct work *work)
{
    switch (work->kind) {
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return 8;
    case ROCE_KIND_FLUSH: return 0;
    default: return work->len;
    }
}

/* The buffer of a work, with the bytes that its packets show. */
static int make_data(struct posted *out, const struct works *w, const struct work *work,
                     struct rnic_pd *pd)
{
    struct rnic_mr_attr mr = {.len = posted_len(work), .access = RNIC_ACCESS_LOCAL_WRITE};
    uint64_t off = 0;

    if (mr.len == 0)
        return 0;
    out->data = calloc(1, mr.len);
    if (!out->data)
        return -1;
    for (uint32_t i = 0; i < work->part_cnt && !posted_fetches(work); i++) {
        const struct trace_packet *p = setup_packet(w->setup, w->part[work->part + i]);

        if (off + p->payload_len > mr.len)
            break;
        memcpy(out->data + off, trace_payload(p), p->payload_len);
        off += p->payload_len;
    }
    mr.addr = out->data;
    mr.iova = (uintptr_t)out->data;
    return rnic_mr_reg(pd, &mr, &out->mr) == 0 ? 0 : -1;
}

int posted_send(struct posted *posted, const struct works *w, size_t idx, struct rnic_pd *pd,
                struct rnic_qp *qp)
{
    const struct work *work = &w->work[idx];
    const struct trace_packet *last =
        setup_packet(w->setup, w->part[work->part + work->part_cnt - 1]);
    struct rnic_send_wr wr = {.wr_id = idx, .flags = RNIC_SEND_SIGNALED};
    struct roce_pkt first, end;
    struct rnic_sge sge;

    if (make_data(posted, w, work, pd) != 0)
        return RNIC_ERR_NOMEM;
    trace_parse(setup_packet(w->setup, work->step), &first);
    trace_parse(last, &end);
    if (posted->mr) {
        sge = (struct rnic_sge){.addr = (uintptr_t)posted->data,
                                .len = posted_len(work),
                                .lkey = rnic_mr_key(posted->mr)};
        wr.sge = &sge;
        wr.sge_cnt = 1;
    }
    wr.opcode = work->open ? posted_opcode(first.op) : posted_opcode(end.op);
    if (end.bth.se && !work->open)
        wr.flags |= RNIC_SEND_SOLICITED;
    wr.imm = end.immdt.imm;
    wr.srqn = first.xrceth.srqn;
    wr.invalidate_key = end.ieth.rkey;
    if (roce_pkt_has(&first, ROCE_HDR_ATOMICETH)) {
        wr.remote_addr = first.atomiceth.va;
        wr.rkey = first.atomiceth.rkey;
        wr.compare_add =
            work->kind == ROCE_KIND_CMP_SWAP ? first.atomiceth.compare : first.atomiceth.swap_add;
        wr.swap = first.atomiceth.swap_add;
    } else {
        wr.remote_addr = first.reth.va;
        wr.rkey = first.reth.rkey;
    }
    if (roce_pkt_has(&first, ROCE_HDR_FETH)) {
        wr.flush.len = first.reth.dma_len;
        wr.flush.type = first.feth.plt;
        wr.flush.level = (enum rnic_flush_level)first.feth.sel;
    }
    return rnic_post_send(qp, &wr);
}

void posted_forget(struct posted *posted)
{
    rnic_mr_dereg(posted->mr);
    free(posted->data);
    *posted = (struct posted){0};
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/base/post_wr.h"

#include <stdlib.h>
#include <string.h>

enum rnic_wr_opcode post_wr_opcode(const struct roce_opcode *op)
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

bool work_request_fetches(const struct work_request *wr)
{
    return wr->kind == ROCE_KIND_READ || wr->kind == ROCE_KIND_CMP_SWAP ||
           wr->kind == ROCE_KIND_FETCH_ADD;
}

uint32_t work_request_buffer_len(const struct work_request *wr)
{
    switch (wr->kind) {
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return 8;
    case ROCE_KIND_FLUSH: return 0;
    default: return wr->len;
    }
}

/* Allocates and registers the buffer of a work request. Fills the buffer with the bytes of the
 * recorded packets, and with 0 where the capture lacks bytes. */
static int make_data(struct posted_wr *out, const struct work_requests *w,
                     const struct work_request *wr, struct rnic_pd *pd)
{
    struct rnic_mr_attr mr = {.len = work_request_buffer_len(wr),
                              .access = RNIC_ACCESS_LOCAL_WRITE};
    uint64_t off = 0;

    if (mr.len == 0)
        return 0;
    /* A READ can be much longer than the captured data. calloc() reserves its buffer without using
     * physical memory, as long as the buffer is not written. */
    out->data = work_request_fetches(wr) ? calloc(1, mr.len) : malloc(mr.len);
    if (!out->data)
        return -1;
    for (uint32_t i = 0; i < wr->part_cnt && !work_request_fetches(wr); i++) {
        const struct trace_packet *p = event_packet(w->setup, w->part[wr->part + i]);

        if (off + p->payload_len > mr.len)
            break;
        memcpy(out->data + off, trace_payload(p), p->payload_len);
        off += p->payload_len;
    }
    if (!work_request_fetches(wr) && off < mr.len)
        memset(out->data + off, 0, mr.len - off);
    mr.addr = out->data;
    mr.iova = (uintptr_t)out->data;
    return rnic_mr_reg(pd, &mr, &out->mr) == 0 ? 0 : -1;
}

int post_wr(struct posted_wr *posted, const struct work_requests *w, size_t idx, struct rnic_pd *pd,
            struct rnic_qp *qp)
{
    const struct work_request *wr = &w->wr[idx];
    const struct trace_packet *last = event_packet(w->setup, w->part[wr->part + wr->part_cnt - 1]);
    struct rnic_send_wr send_wr = {.wr_id = idx, .flags = RNIC_SEND_SIGNALED};
    const struct roce_opcode *end_op = roce_opcode(last->opcode);
    struct roce_pkt first, end;
    struct rnic_sge sge;

    if (make_data(posted, w, wr, pd) != 0)
        return RNIC_ERR_NOMEM;
    trace_parse_headers(event_packet(w->setup, wr->event), &first);
    if (posted->mr) {
        sge = (struct rnic_sge){.addr = (uintptr_t)posted->data,
                                .len = work_request_buffer_len(wr),
                                .lkey = rnic_mr_key(posted->mr)};
        send_wr.sge = &sge;
        send_wr.sge_cnt = 1;
    }
    send_wr.opcode = post_wr_opcode(wr->open ? first.op : end_op);
    if (last->se && !wr->open)
        send_wr.flags |= RNIC_SEND_SOLICITED;
    if (roce_opcode_has(end_op, ROCE_HDR_IMMDT) || roce_opcode_has(end_op, ROCE_HDR_IETH)) {
        trace_parse_headers(last, &end);
        send_wr.imm = end.immdt.imm;
        send_wr.invalidate_key = end.ieth.rkey;
    }
    send_wr.srqn = first.xrceth.srqn;
    if (roce_pkt_has(&first, ROCE_HDR_ATOMICETH)) {
        send_wr.remote_addr = first.atomiceth.va;
        send_wr.rkey = first.atomiceth.rkey;
        send_wr.compare_add =
            wr->kind == ROCE_KIND_CMP_SWAP ? first.atomiceth.compare : first.atomiceth.swap_add;
        send_wr.swap = first.atomiceth.swap_add;
    } else {
        send_wr.remote_addr = first.reth.va;
        send_wr.rkey = first.reth.rkey;
    }
    if (roce_pkt_has(&first, ROCE_HDR_FETH)) {
        send_wr.flush.len = first.reth.dma_len;
        send_wr.flush.type = first.feth.plt;
        send_wr.flush.level = (enum rnic_flush_level)first.feth.sel;
    }
    return rnic_post_send(qp, &send_wr);
}

void posted_wr_free(struct posted_wr *posted)
{
    rnic_mr_dereg(posted->mr);
    free(posted->data);
    *posted = (struct posted_wr){0};
}

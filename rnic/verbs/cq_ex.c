/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Extended polling: ibv_start_poll(), ibv_next_poll() and the ibv_wc_read_* functions. The CQ
 * exposes one completion at a time, and belongs to one thread from ibv_start_poll() to
 * ibv_end_poll(). */
#include "verbs/objects.h"

#include <endian.h>
#include <errno.h>
#include "base/clock.h"

static struct vcq *vcq_of_ex(struct ibv_cq_ex *cq)
{
    return (struct vcq *)(void *)cq;
}

/* Polls one completion. Returns 0, ENOENT if the CQ is empty, or ENODEV. */
static int poll_next(struct ibv_cq_ex *ex)
{
    struct vcq *cq = vcq_of_ex(ex);
    int result = vctx_check_owner(ex->context, cq->hca);
    if (result != 0)
        return result;
    vhca_lock(cq->hca);
    size_t got = vcq_take(cq, &cq->current, 1, true);
    vhca_unlock(cq->hca);
    if (got == 0)
        return ENOENT;
    ex->wr_id = cq->current.wr_id;
    ex->status = (enum ibv_wc_status)cq->current.status;
    return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
    struct vcq *cq = vcq_of_ex(ex);
    if (attr && attr->comp_mask)
        return EINVAL;
    if (!cq->single_threaded)
        pthread_mutex_lock(&cq->poll_lock);
    int result = poll_next(ex);
    if (result != 0 && !cq->single_threaded)
        pthread_mutex_unlock(&cq->poll_lock); /* the caller does not call ibv_end_poll() after an
                                               * error */
    return result;
}

static void end_poll(struct ibv_cq_ex *ex)
{
    if (!vcq_of_ex(ex)->single_threaded)
        pthread_mutex_unlock(&vcq_of_ex(ex)->poll_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
    return (enum ibv_wc_opcode)vcq_of_ex(ex)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.byte_len;
}

/* Returns the immediate data, or the invalidated R_Key, which is in host byte order. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
    const struct rnic_wc *wc = &vcq_of_ex(ex)->current;
    return wc->flags & RNIC_WC_WITH_INV ? (__be32)wc->invalidated_key : htobe32(wc->imm);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.src_qp;
}

static unsigned read_wc_flags(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
    (void)ex; /* RoCE has no LIDs */
    return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
    return vcq_sl(&vcq_of_ex(ex)->current);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
    (void)ex;
    return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.time;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
    return vcq_of_ex(ex)->current.time + rnic_utc_offset();
}

void vcq_ex_init(struct vcq *cq)
{
    struct ibv_cq_ex *ex = &cq->ex;
    ex->start_poll = start_poll;
    ex->next_poll = poll_next;
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_byte_len = read_byte_len;
    ex->read_imm_data = read_imm_data;
    ex->read_qp_num = read_qp_num;
    ex->read_src_qp = read_src_qp;
    ex->read_wc_flags = read_wc_flags;
    ex->read_slid = read_slid;
    ex->read_sl = read_sl;
    ex->read_dlid_path_bits = read_dlid_path_bits;
    ex->read_completion_ts = read_completion_ts;
    ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "responder_fixture.h"

#include <stdlib.h>
#include "suite.h"
#include "wire/codes.h"

static enum rnic_mem responder_mem(void *ctx, uint32_t key, uint64_t va, uint64_t len,
                                   unsigned access, uint8_t **out)
{
    struct responder_fixture *fake = ctx;
    unsigned granted = key == RESPONDER_KEY_RO ? RNIC_ACCESS_REMOTE_READ : RNIC_ACCESS_ALL;

    /* The responder must not call translate() with len 0 (rnic_transport_ops). */
    CU_ASSERT(len > 0);
    if (key == RESPONDER_KEY_HUGE) {
        *out = fake->mem;
        return va - RESPONDER_VA + len <= UINT64_C(1) << 40 ? RNIC_MEM_OK : RNIC_MEM_RANGE;
    }
    if ((key != RESPONDER_KEY || fake->key_gone) && key != RESPONDER_KEY_RO &&
        (key != RESPONDER_KEY_INV || fake->inv_gone))
        return RNIC_MEM_KEY;
    if ((access & granted) != access)
        return RNIC_MEM_ACCESS;
    if (va < RESPONDER_VA || va - RESPONDER_VA > RESPONDER_MEM_LEN ||
        len > RESPONDER_MEM_LEN - (va - RESPONDER_VA))
        return RNIC_MEM_RANGE;
    *out = fake->mem + (va - RESPONDER_VA);
    return RNIC_MEM_OK;
}

static enum rnic_mem responder_recv_mem(void *ctx, uint32_t key, uint64_t va, uint64_t len,
                                        uint8_t **out)
{
    return responder_mem(ctx, key, va, len, RNIC_ACCESS_LOCAL_WRITE, out);
}

static struct rnic_rq *responder_srq(void *ctx, uint32_t srqn)
{
    struct responder_fixture *fake = ctx;

    return srqn == RESPONDER_SRQN && !fake->srq_gone ? &fake->srq : NULL;
}

static enum rnic_mem responder_whole(void *ctx, uint32_t key, unsigned access)
{
    uint8_t *ptr;

    return responder_mem(ctx, key, RESPONDER_VA, 1, access, &ptr);
}

static bool responder_invalidate(void *ctx, uint32_t key)
{
    struct responder_fixture *fake = ctx;

    if (key != RESPONDER_KEY_INV || fake->inv_gone)
        return false;
    CU_ASSERT(fake->wc_cnt == 0); /* the invalidation must precede the completion (R203) */
    fake->inv_gone = true;
    return true;
}

static void responder_complete(void *ctx, const struct rnic_wc *wc)
{
    struct responder_fixture *fake = ctx;

    fake->wc[fake->wc_cnt++ % RESPONDER_LOG] = *wc;
}

static void responder_event(void *ctx, enum rnic_event_type type)
{
    struct responder_fixture *fake = ctx;

    fake->event[fake->event_cnt++ % RESPONDER_LOG] = type;
}

static void responder_failed(void *ctx)
{
    struct responder_fixture *fake = ctx;

    fake->failed_cnt++;
    fake->wc_cnt_at_failure = fake->wc_cnt;
    rnic_responder_flush(&fake->resp);
}

static void responder_ready(void *ctx)
{
    struct responder_fixture *fake = ctx;

    fake->ready_cnt++;
}

static const struct rnic_transport_ops host = {
    .translate = responder_mem,
    .translate_recv = responder_recv_mem,
    .srq = responder_srq,
    .check_whole_mr = responder_whole,
    .invalidate = responder_invalidate,
    .complete = responder_complete,
    .event = responder_event,
    .failed = responder_failed,
    .ready = responder_ready,
};

struct rnic_responder_attr responder_attr(void)
{
    return (struct rnic_responder_attr){
        .access = RNIC_ACCESS_ALL,
        .path_mtu = RESPONDER_MTU,
        .dest_qpn = RESPONDER_PEER_QPN,
        .pkey = 0xFFFF,
        .rq_psn = roce_psn_of(RESPONDER_PSN),
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 12,
    };
}

void responder_init(struct responder_fixture *fake)
{
    struct rnic_responder_attr attr = responder_attr();

    memset(fake, 0, sizeof(*fake));
    pktgen_init(&fake->gen, ROCE_ENCAP_V2_IP4);
    for (uint32_t i = 0; i < RESPONDER_MEM_LEN; i++)
        fake->mem[i] = (uint8_t)(i * 7 + i / 256);
    if (!rnic_responder_init(&fake->resp, &host, fake, &fake->counters, NULL, 8, 4) ||
        !rnic_rq_init(&fake->srq, 8, 4))
        abort();
    rnic_responder_start(&fake->resp, &attr);
}

void responder_restart(struct responder_fixture *fake, const struct rnic_responder_attr *attr)
{
    rnic_responder_reset(&fake->resp);
    rnic_responder_start(&fake->resp, attr);
}

void responder_free(struct responder_fixture *fake)
{
    rnic_responder_free(&fake->resp);
    rnic_rq_free(&fake->srq);
}

void responder_post(struct responder_fixture *fake, uint64_t wr_id, uint32_t off, uint32_t len)
{
    responder_post_to(&fake->resp.rq, wr_id, off, len);
}

void responder_post_to(struct rnic_rq *rq, uint64_t wr_id, uint32_t off, uint32_t len)
{
    const struct rnic_sge sge = {.addr = RESPONDER_VA + off, .len = len, .lkey = RESPONDER_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    EXPECT_EQ(rnic_rq_post(rq, &wr), RNIC_RQ_POSTED);
}

enum rnic_resp_step responder_in(struct responder_fixture *fake, struct roce_pkt pkt)
{
    struct pktgen_frame frame;

    pktgen_build(&pkt, &frame);
    pktgen_parse(&frame, &pkt);
    return rnic_responder_input(&fake->resp, &pkt);
}

enum rnic_uc_step responder_uc(struct responder_fixture *fake, struct roce_pkt pkt)
{
    struct pktgen_frame frame;

    pktgen_build(&pkt, &frame);
    pktgen_parse(&frame, &pkt);
    return rnic_uc_input(&fake->resp, &pkt);
}

struct roce_pkt responder_out(struct responder_fixture *fake)
{
    struct roce_pkt pkt = {0};

    if (!rnic_responder_output(&fake->resp, &pkt)) {
        pkt.bth.opcode = 0xFF;
        return pkt;
    }
    /* Check the fields that have the same value in all responses (R041, R043, R044, R045, R108). */
    EXPECT_EQ(pkt.bth.dest_qp, RESPONDER_PEER_QPN);
    EXPECT_EQ(pkt.bth.ackreq, 0);
    EXPECT_EQ(pkt.bth.se, 0);
    EXPECT_EQ(pkt.bth.migreq, 1);
    EXPECT_EQ(pkt.bth.pkey, 0xFFFF);
    EXPECT_EQ(pkt.bth.tver, 0);
    CU_ASSERT(roce_opcode_is_response(pkt.op));
    if (roce_opcode_has(pkt.op, ROCE_HDR_AETH))
        CU_ASSERT(roce_syndrome_kind(pkt.aeth.syndrome) != ROCE_SYN_RESERVED);
    return pkt;
}

void responder_expect_aeth(struct responder_fixture *fake, uint32_t psn, uint8_t syndrome,
                           uint32_t msn)
{
    struct roce_pkt pkt = responder_out(fake);

    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ACK);
    EXPECT_EQ(pkt.bth.psn, psn);
    EXPECT_EQ(pkt.aeth.syndrome, syndrome);
    EXPECT_EQ(pkt.aeth.msn, msn);
    EXPECT_EQ(pkt.payload_len, 0);
}

void responder_expect_read(struct responder_fixture *fake, uint8_t opcode, uint32_t psn,
                           uint32_t off, uint32_t len)
{
    struct roce_pkt pkt = responder_out(fake);

    EXPECT_EQ(pkt.bth.opcode, opcode);
    EXPECT_EQ(pkt.bth.psn, psn);
    EXPECT_EQ(pkt.payload_len, len);
    if (len)
        CU_ASSERT(pkt.payload == fake->mem + off);
    if (roce_opcode_has(pkt.op, ROCE_HDR_AETH))
        EXPECT_EQ(pkt.aeth.syndrome, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE);
}

void responder_expect_nothing(struct responder_fixture *fake)
{
    CU_ASSERT(!rnic_responder_ready(&fake->resp));
    EXPECT_EQ(responder_out(fake).bth.opcode, 0xFF);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "requester_fixture.h"

#include <stdlib.h>
#include "suite.h"
#include "wire/codes.h"

static enum rnic_mem fake_mem(void *ctx, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                              uint8_t **out)
{
    struct requester_fixture *fake = ctx;

    /* The requester must not call translate() with len 0 (rnic_transport_ops). */
    CU_ASSERT(len > 0);
    CU_ASSERT((access & ~(unsigned)RNIC_ACCESS_LOCAL_WRITE) == 0);
    if (key != REQUESTER_KEY || fake->key_gone)
        return RNIC_MEM_KEY;
    if (va < REQUESTER_VA || va - REQUESTER_VA > REQUESTER_MEM_LEN ||
        len > REQUESTER_MEM_LEN - (va - REQUESTER_VA))
        return RNIC_MEM_RANGE;
    *out = fake->mem + (va - REQUESTER_VA);
    return RNIC_MEM_OK;
}

static bool fake_invalidate(void *ctx, uint32_t key)
{
    struct requester_fixture *fake = ctx;

    if (key != REQUESTER_KEY_INV || fake->inv_gone)
        return false;
    fake->inv_gone = true;
    return true;
}

static void fake_sent(void *ctx, const struct rnic_wc *wc)
{
    struct requester_fixture *fake = ctx;

    fake->wc[fake->wc_cnt++ % REQUESTER_LOG] = *wc;
    rnic_sq_retrieved(&fake->req.sq, wc->wqe); /* as a program that polls at once */
}

static void fake_failed(void *ctx)
{
    struct requester_fixture *fake = ctx;

    fake->failed_cnt++;
    fake->wc_cnt_at_failure = fake->wc_cnt;
    rnic_requester_flush(&fake->req);
}

static bool fake_bind(void *ctx, const struct rnic_mw_bind *bind)
{
    struct requester_fixture *fake = ctx;

    fake->bind_cnt++;
    fake->bind = *bind;
    return bind->mr_key == REQUESTER_KEY;
}

static const struct rnic_transport_ops host = {
    .translate = fake_mem,
    .invalidate = fake_invalidate,
    .bind = fake_bind,
    .failed = fake_failed,
    .sent = fake_sent,
};

struct rnic_requester_attr requester_attr(void)
{
    return (struct rnic_requester_attr){
        .path_mtu = REQUESTER_MTU,
        .dest_qpn = REQUESTER_PEER_QPN,
        .pkey = 0xFFFF,
        .sq_psn = roce_psn_of(REQUESTER_PSN),
        .max_rd_atomic = 4,
        .timeout = 14,
        .retry_cnt = 3,
        .rnr_retry = 2,
    };
}

void requester_init(struct requester_fixture *fake)
{
    struct rnic_requester_attr attr = requester_attr();

    memset(fake, 0, sizeof(*fake));
    pktgen_init(&fake->gen, ROCE_ENCAP_V2_IP4);
    for (uint32_t i = 0; i < REQUESTER_MEM_LEN; i++)
        fake->mem[i] = (uint8_t)(i * 5 + i / 256);
    if (!rnic_requester_init(&fake->req, &host, fake, &fake->counters, 300, 4, 64))
        abort();
    fake->now = 1000;
    rnic_requester_start(&fake->req, &attr);
}

void requester_restart(struct requester_fixture *fake, const struct rnic_requester_attr *attr)
{
    rnic_requester_reset(&fake->req);
    rnic_requester_start(&fake->req, attr);
}

void requester_free(struct requester_fixture *fake)
{
    rnic_requester_free(&fake->req);
}

enum rnic_sq_post requester_post_wr(struct requester_fixture *fake, const struct rnic_send_wr *wr)
{
    return rnic_requester_post(&fake->req, wr);
}

void requester_post_flags(struct requester_fixture *fake, uint64_t wr_id,
                          enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, unsigned flags)
{
    const struct rnic_sge sge = {.addr = REQUESTER_VA + off, .len = len, .lkey = REQUESTER_KEY};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = flags,
                                    .sge = &sge,
                                    .sge_cnt = opcode != RNIC_WR_LOCAL_INV,
                                    .imm = 0x1234ABCD,
                                    .invalidate_key = REQUESTER_KEY_INV,
                                    .remote_addr = REQUESTER_RVA,
                                    .rkey = REQUESTER_RKEY,
                                    .compare_add = 11,
                                    .swap = 22};

    EXPECT_EQ(requester_post_wr(fake, &wr), RNIC_SQ_POSTED);
}

void requester_post(struct requester_fixture *fake, uint64_t wr_id, enum rnic_wr_opcode opcode,
                    uint32_t off, uint32_t len)
{
    requester_post_flags(fake, wr_id, opcode, off, len, RNIC_SEND_SIGNALED);
}

struct roce_pkt requester_out(struct requester_fixture *fake)
{
    struct roce_pkt pkt = {0};

    if (!rnic_requester_output(&fake->req, &pkt, fake->scratch, fake->now)) {
        pkt.bth.opcode = 0xFF;
        return pkt;
    }
    /* Check the fields that have the same value in all requests (R044, R045, R057). */
    EXPECT_EQ(pkt.bth.dest_qp, REQUESTER_PEER_QPN);
    EXPECT_EQ(pkt.bth.migreq, 1);
    EXPECT_EQ(pkt.bth.pkey, 0xFFFF);
    EXPECT_EQ(pkt.bth.tver, 0);
    CU_ASSERT(roce_opcode_is_request(pkt.op));
    /* First and Middle packets have a full path MTU of payload (R038). */
    if (pkt.op->payload == ROCE_PAYLOAD_MTU)
        EXPECT_EQ(pkt.payload_len, fake->req.attr.path_mtu);
    return pkt;
}

void requester_expect(struct requester_fixture *fake, uint8_t opcode, uint32_t pos)
{
    struct roce_pkt pkt = requester_out(fake);

    EXPECT_EQ(pkt.bth.opcode, opcode);
    EXPECT_EQ(pkt.bth.psn, (fake->req.attr.sq_psn.v + pos) & ROCE_PSN_MASK);
}

static const char *gate_text(enum rnic_req_gate gate)
{
    static const char *const texts[] = {
#define X(NAME, text) text,
        RNIC_REQ_GATES(X)
#undef X
    };

    return texts[gate];
}

void requester_expect_gate(struct requester_fixture *fake, enum rnic_req_gate gate)
{
    if (rnic_requester_gate(&fake->req) != gate)
        suite_fail(__FILE__, __LINE__, "the requester says \"%s\", wanted \"%s\"",
                   gate_text(rnic_requester_gate(&fake->req)), gate_text(gate));
    else
        CU_ASSERT(requester_out(fake).bth.opcode == 0xFF);
}

unsigned requester_out_all(struct requester_fixture *fake)
{
    unsigned cnt = 0;

    while (requester_out(fake).bth.opcode != 0xFF)
        cnt++;
    return cnt;
}

static enum rnic_comp_step feed(struct requester_fixture *fake, const struct roce_pkt *pkt)
{
    struct pktgen_frame frame;
    struct roce_pkt parsed;

    pktgen_build(pkt, &frame);
    pktgen_parse(&frame, &parsed);
    return rnic_completer_input(&fake->req, &parsed, fake->now);
}

static uint32_t psn_at(const struct requester_fixture *fake, uint32_t pos)
{
    return fake->req.attr.sq_psn.v + pos;
}

enum rnic_comp_step requester_aeth(struct requester_fixture *fake, uint32_t pos, uint8_t syndrome,
                                   uint32_t msn)
{
    struct roce_pkt pkt = pktgen_pkt(&fake->gen, ROCE_OP_RC_ACK, psn_at(fake, pos));

    pkt.aeth = (struct roce_aeth){.syndrome = syndrome, .msn = msn};
    return feed(fake, &pkt);
}

enum rnic_comp_step requester_ack(struct requester_fixture *fake, uint32_t pos)
{
    return requester_aeth(fake, pos, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 0);
}

enum rnic_comp_step requester_read(struct requester_fixture *fake, uint8_t opcode, uint32_t pos,
                                   uint8_t fill, uint32_t len)
{
    uint8_t data[4096];
    struct roce_pkt pkt;

    memset(data, fill, sizeof(data));
    pkt = pktgen_data(&fake->gen, opcode, psn_at(fake, pos), data, len);
    pkt.aeth.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    return feed(fake, &pkt);
}

enum rnic_comp_step requester_atomic(struct requester_fixture *fake, uint32_t pos, uint64_t orig)
{
    struct roce_pkt pkt = pktgen_pkt(&fake->gen, ROCE_OP_RC_ATOMIC_ACK, psn_at(fake, pos));

    pkt.aeth.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    pkt.atomicacketh.orig = orig;
    return feed(fake, &pkt);
}

void requester_expect_wc(struct requester_fixture *fake, uint64_t wr_id, enum rnic_wc_status status)
{
    const struct rnic_wc *wc = &fake->wc[fake->wc_seen % REQUESTER_LOG];

    if (fake->wc_seen == fake->wc_cnt) {
        suite_fail(__FILE__, __LINE__, "no completion; wanted wr_id %llu",
                   (unsigned long long)wr_id);
        return;
    }
    fake->wc_seen++;
    EXPECT_EQ(wc->wr_id, wr_id);
    EXPECT_EQ(wc->status, status);
}

void requester_expect_no_wc(struct requester_fixture *fake)
{
    EXPECT_EQ(fake->wc_cnt, fake->wc_seen);
}

void requester_pass(struct requester_fixture *fake, uint64_t ns)
{
    fake->now += ns;
    rnic_requester_expire(&fake->req, fake->now);
}

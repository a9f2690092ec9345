/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UC as Linux Soft-RoCE sends it (traces/), with lost packets. The device receives the recorded
 * requests and must deliver each message that is complete in the capture (R065, R162-R166). The
 * recorded receiver lost more messages than our device (R164), so the table also has the number of
 * messages that the recorded receiver completed.
 */
#include <string.h>
#include "device/rnic.h"
#include "recorded.h"
#include "support/suite.h"

#define MEM_LEN 262144u /* size of the recorded region, bytes */
#define WQES    32u
#define BUF     8192u

static uint8_t mem[MEM_LEN];
static uint8_t bufs[WQES][BUF];
static struct recorded rec;

/* Finds the first UC packet of the capture, the R_Key, and the lowest remote address. */
static bool first_of(struct roce_pkt *first, uint64_t *low, uint32_t *key)
{
    bool found = false;

    *low = UINT64_MAX;
    for (unsigned i = 0; i < rec.cnt; i++) {
        struct roce_pkt pkt;

        pktgen_parse(&rec.frame[i], &pkt);
        if (!pkt.op || pkt.op->svc != ROCE_SVC_UC)
            continue;
        if (!found)
            *first = pkt;
        found = true;
        if (pkt.bth.dest_qp == first->bth.dest_qp && roce_opcode_has(pkt.op, ROCE_HDR_RETH)) {
            *key = pkt.reth.rkey;
            *low = pkt.reth.va < *low ? pkt.reth.va : *low;
        }
    }
    return found;
}

static struct rnic *device_of(const struct roce_pkt *first, uint64_t low, uint32_t key,
                              struct rnic_cq **cq)
{
    struct rnic_attr attr = {.gid_cnt = 1, .gid[0].type = RNIC_GID_ROCE_V2};
    struct rnic_qp_attr qp_attr = {
        .access = RNIC_ACCESS_ALL, .pkey = 0xFFFF, .path_mtu = 1024, .rq_psn = first->bth.psn};
    struct rnic_mr_attr mr_attr = {.addr = mem, .access = RNIC_ACCESS_ALL, .key = key};
    struct rnic_mr_attr buf_attr = {
        .addr = bufs, .len = sizeof(bufs), .access = RNIC_ACCESS_ALL, .key = 0x7000000};
    struct rnic_qp_init init = {
        .type = RNIC_QPT_UC, .qpn = first->bth.dest_qp, .max_recv_sge = 1, .max_recv_wr = WQES};
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_qp *qp;

    memcpy(attr.mac, first->eth.dst, 6);
    roce_pkt_addr(first, qp_attr.av.dgid, attr.gid[0].gid);
    memcpy(qp_attr.av.dmac, first->eth.src, 6);
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    if (low != UINT64_MAX) {
        mr_attr.iova = low;
        mr_attr.len = MEM_LEN;
        EXPECT_EQ(rnic_mr_reg(pd, &mr_attr, &mr), RNIC_OK);
    }
    EXPECT_EQ(rnic_mr_reg(pd, &buf_attr, &mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, WQES, cq), RNIC_OK);
    init.recv_cq = *cq;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTR; state++) {
        qp_attr.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(qp, &qp_attr, 0), RNIC_OK);
    }
    for (unsigned i = 0; i < WQES; i++) {
        struct rnic_sge sge = {(uint64_t)i * BUF, BUF, 0x7000000};
        struct rnic_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};

        EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    }
    return rnic;
}

/* Bytes of the current message, from its packets. */
static struct {
    bool whole;
    uint32_t next_psn;
    uint32_t len;
    uint64_t va;
    uint8_t data[BUF];
} message;

static void gather(const struct roce_pkt *pkt)
{
    bool starts = roce_opcode_starts(pkt->op);

    message.whole = starts || (message.whole && pkt->bth.psn == message.next_psn);
    message.next_psn = (pkt->bth.psn + 1) & ROCE_PSN_MASK;
    if (starts)
        message.len = 0;
    if (roce_opcode_has(pkt->op, ROCE_HDR_RETH))
        message.va = pkt->reth.va;
    CU_ASSERT_FATAL(message.len + pkt->payload_len <= BUF);
    if (pkt->payload_len)
        memcpy(message.data + message.len, pkt->payload, pkt->payload_len);
    message.len += pkt->payload_len;
}

/* Replays a capture. Returns the number of complete messages and the lengths of their completions.
 */
static unsigned play(const char *name, uint32_t lens[WQES])
{
    struct roce_pkt first;
    struct rnic_cq *cq;
    struct rnic *rnic;
    uint8_t out[ROCE_FRAME_MAX];
    uint32_t key = 0;
    uint64_t low;
    unsigned cnt = 0;

    memset(mem, 0, sizeof(mem));
    memset(&message, 0, sizeof(message));
    recorded_read(&rec, name);
    CU_ASSERT_FATAL(first_of(&first, &low, &key));
    rnic = device_of(&first, low, key, &cq);
    for (unsigned i = 0; i < rec.cnt; i++) {
        struct roce_pkt pkt;
        struct rnic_wc wc;

        pktgen_parse(&rec.frame[i], &pkt);
        if (!pkt.op || pkt.op->svc != ROCE_SVC_UC || pkt.bth.dest_qp != first.bth.dest_qp)
            continue;
        gather(&pkt);
        rnic_input(rnic, rec.frame[i].bytes, rec.frame[i].len, i);
        EXPECT_EQ(rnic_output(rnic, out, sizeof(out), i), 0); /* UC sends no responses (R162) */
        if (!roce_opcode_ends(pkt.op) || !message.whole) {
            EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 0);
            continue;
        }
        if (pkt.op->kind == ROCE_KIND_WRITE)
            CU_ASSERT(memcmp(mem + (message.va - low), message.data, message.len) == 0);
        if (!roce_opcode_uses_rq(pkt.op)) {
            EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 0);
            continue;
        }
        CU_ASSERT_FATAL(rnic_cq_poll(cq, &wc, 1) == 1);
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        EXPECT_EQ(wc.wr_id, cnt);
        EXPECT_EQ(wc.byte_len, message.len);
        EXPECT_EQ((wc.flags & RNIC_WC_WITH_IMM) != 0, roce_opcode_has(pkt.op, ROCE_HDR_IMMDT));
        if (wc.flags & RNIC_WC_WITH_IMM)
            EXPECT_EQ(wc.imm, pkt.immdt.imm);
        if (pkt.op->kind == ROCE_KIND_SEND)
            CU_ASSERT(memcmp(bufs[cnt], message.data, message.len) == 0);
        lens[cnt++] = wc.byte_len;
    }
    rnic_del(rnic);
    return cnt;
}

static void recorded(void)
{
    static const struct {
        const char *name;
        uint32_t lens[8]; /* lengths of the completions; 9 ends the list */
        unsigned theirs;  /* messages that the recorded receiver completed */
    } rows[] = {
        {"uc-send-write", {0, 1, 1025, 4096, 2000, 9}, 5},
        {"uc-psn-wrap", {10, 4096, 9}, 2},
        {"uc-loss", {1000, 2000, 100, 9}, 2},
        {"uc-loss-send-last", {1000, 2000, 100, 9}, 2},
        {"uc-loss-last", {1000, 2000, 100, 9}, 1},
        {"linux-6.12-uc-loss-send-last", {1000, 2000, 100, 9}, 2},
        {"linux-6.12-uc-loss-last", {1000, 2000, 100, 9}, 1},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t lens[WQES];
        unsigned cnt = play(rows[i].name, lens);
        unsigned k = 0;

        for (; k < cnt && rows[i].lens[k] != 9; k++)
            EXPECT_EQ(lens[k], rows[i].lens[k]);
        EXPECT_EQ(k, cnt);
        EXPECT_EQ(rows[i].lens[k], 9);
        CU_ASSERT(cnt >= rows[i].theirs);
    }
}

/* In captures without loss, of ibv_uc_pingpong and another program, every message is delivered. */
static void whole_conversations(void)
{
    uint32_t lens[WQES];

    EXPECT_EQ(play("ibv-uc-pingpong", lens), 4);
    CU_ASSERT(play("ipv6-uc-ud", lens) > 0);
}

SUITE("device.recorded_uc", TEST(recorded), TEST(whole_conversations))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

CASE(PSN_GAP)
{
    flowgen_send(g, 0, 64);
    if (wrong)
        (void)flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_send(g, 0, 64);
}

CASE(READ_PSN_RANGE)
{
    flowgen_send(g, 0, 4096);
    flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, 4096);
    if (wrong)
        g->conn.psn[0] -= 2;
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 10);
}

CASE(PSN_WINDOW)
{
    g->mtu = 256;
    flowgen_connect(g);
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, wrong ? UINT32_C(1) << 31 : UINT32_C(1) << 29);
    flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, UINT32_C(1) << 29);
}

CASE(UC_PSN_GAP)
{
    g->svc = ROCE_SVC_UC;
    flowgen_send(g, 0, 3000);
    if (wrong)
        (void)flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_send(g, 0, 3000);
}

CASE(OPCODE_ORDER)
{
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_FIRST, 1024);
    flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_WRITE_LAST : ROCE_OP_RC_SEND_LAST, 10);
    flowgen_ack(g, 1, g->conn.psn[0] - (wrong ? 1 : 1), wrong ? NAK_INV : ACK_31);
}

CASE(INTERLEAVED)
{
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_FIRST, 1024);
    flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_WRITE_ONLY : ROCE_OP_RC_SEND_LAST, 10);
}

CASE(ACK_NO_FIRST)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_LAST, 10);
    if (!wrong) { /* replace the invalid request by a valid one, so that the same ACK is correct */
        g->frame_cnt--;
        g->conn.psn[0]--;
        g->conn.msn[0]--;
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 10);
    }
    flowgen_ack_all(g, 1);
}

CASE(ACK_OPEN_MESSAGE)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_FIRST, 1024);
    flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_SEND_ONLY : ROCE_OP_RC_WRITE_MIDDLE,
                    wrong ? 10 : 1024);
    g->frame_cnt -= wrong ? 0 : 2;
    if (!wrong) {
        g->conn.psn[0] -= 2;
        flowgen_message(g, 0, ROCE_KIND_WRITE, 2048);
    }
    flowgen_ack_all(g, 1);
}

CASE(ACK_WRONG_KIND)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_FIRST, 1024);
    flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_WRITE_LAST : ROCE_OP_RC_SEND_LAST, 10);
    flowgen_ack_all(g, 1);
}

CASE(ACK_LENGTH)
{
    flowgen_send(g, 0, 4096);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_FIRST, wrong ? 512 : 1024);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_LAST, 10);
    flowgen_ack_all(g, 1);
}

CASE(ACK_DMA_LEN)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    p.reth.dma_len = wrong ? 100 : 64;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(DMA_LEN)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_FIRST, 1024);

    p.reth.dma_len = 2048;
    flowgen_put(g, 0, &p);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_LAST, wrong ? 1000 : 1024);
}

CASE(DMA_LEN_MAX)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 64);

    p.reth.dma_len = wrong ? 0x80000001u : 64;
    flowgen_put(g, 0, &p);
}

CASE(VA_WRAP)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 64);

    p.reth.va = UINT64_MAX - (wrong ? 10 : 63);
    flowgen_put(g, 0, &p);
}

CASE(ATOMIC_ALIGN)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_FETCH_ADD, 0);
    p.atomiceth.va += wrong ? 4 : 0;
    flowgen_put(g, 0, &p);
    p = flowgen_resp(g, 1, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);
    flowgen_put(g, 1, &p);
}

CASE(RD_ATOMIC)
{
    flowgen_connect(g);
    flowgen_send(g, 0, 64);
    for (int i = 0; i < (wrong ? 5 : 4); i++)
        flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, 64);
}

/* Acknowledges all requests of side 0, with credit code `code` in the AETH. */
static void credit(struct flowgen *g, uint8_t code)
{
    flowgen_ack(g, 1, g->conn.psn[0] - 1, ROCE_SYNDROME_ACK | code);
}

CASE(NO_CREDIT)
{
    for (int i = 0; i < 8; i++) {
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        credit(g, 0);
    }
    flowgen_wait(g, 10000000); /* longer than a packet can be in flight, so that the requester must
                                * know its credits */
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (wrong)
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    credit(g, 0);
}

CASE(CREDITS)
{
    for (int i = 0; i < 8; i++) {
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        credit(g, 2);
    }
    flowgen_wait(g, 10000000); /* longer than a packet can be in flight, so that the requester must
                                * know its credits */
    for (int i = 0; i < (wrong ? 4 : 2); i++)
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    credit(g, 2);
}

CASE(ZERO_CREDIT)
{
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    credit(g, wrong ? 0 : 3);
    if (!wrong) { /* 0 credits are correct in the ACK of a WRITE, because a WRITE needs no receive
                   * WQE */
        flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        credit(g, 0);
    }
}

CASE(REQ_AFTER_NAK)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    flowgen_ack(g, 1, g->conn.psn[0] - 1, wrong ? NAK_ACC : ACK_31);
    flowgen_wait(g, 500000000);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
}

CASE(FATAL_NAK)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    flowgen_ack(g, 1, g->conn.psn[0] - 1, wrong ? NAK_ACC : ACK_31);
}

/* Sends a request and acknowledges it. If `again`, retransmits the request after `wait` ns, before
 * the acknowledgement. */
static void repeat(struct flowgen *g, bool again, uint64_t wait)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_wait(g, wait);
    if (again)
        flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(TIMEOUT)
{
    repeat(g, wrong, 70000000);
}

CASE(TIMEOUT_RANGE)
{
    flowgen_connect(g);
    repeat(g, true, wrong ? 400000000 : 80000000);
}

CASE(RETRY_UNEXPLAINED)
{
    repeat(g, wrong, 200000);
}

CASE(SEQ_RETRY)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (wrong) {
        g->conn.msn[0]--;
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        g->conn.msn[0]--;
        flowgen_ack(g, 1, p.bth.psn, NAK_SEQ);
        g->conn.msn[0] += 2;
        flowgen_put(g, 0, &p);
        p.bth.psn++;
        flowgen_put(g, 0, &p);
    }
    flowgen_ack_all(g, 1);
}

CASE(SEQ_NAK)
{
    case_SEQ_RETRY(g, wrong);
}

CASE(NAK_ONCE)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0] -= 2;
    flowgen_ack(g, 1, p.bth.psn, NAK_SEQ);
    g->conn.msn[0] += 2;
    for (int i = 0; i < (wrong ? 2 : 1); i++) {
        struct roce_pkt q = p;

        flowgen_put(g, 0, &q);
        q.bth.psn++;
        flowgen_put(g, 0, &q);
    }
    flowgen_ack_all(g, 1);
}

CASE(RETRY_DIFFERS)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    flowgen_wait(g, 70000000);
    p.reth.va += wrong ? 8 : 0;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(PAYLOAD_CHANGED)
{
    static const uint8_t other[64] = {9};
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    flowgen_wait(g, 70000000);
    p.payload = wrong ? other : p.payload;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(RETRY_COUNT)
{
    struct roce_pkt p;

    flowgen_connect(g); /* the CM messages set the retry count to 6 */
    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (int i = 0; i < (wrong ? 7 : 6); i++) {
        flowgen_wait(g, 80000000);
        flowgen_put(g, 0, &p);
    }
    flowgen_ack_all(g, 1);
}

CASE(TIMEOUT_SPREAD)
{
    static const uint64_t waits[] = {70000000, 70000000, 70000000, 600000000};
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (int i = 0; i < 4; i++) {
        flowgen_wait(g, wrong ? waits[i] : 70000000 + (uint64_t)i * 60000000);
        flowgen_put(g, 0, &p);
    }
    flowgen_ack_all(g, 1);
}

CASE(NAK_ACCESS)
{
    flowgen_send(g, 0, 64);
    flowgen_message(g, 0, wrong ? ROCE_KIND_SEND : ROCE_KIND_WRITE, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, g->conn.psn[0] - 1, NAK_ACC);
}

CASE(RETRY_EXHAUSTED)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (int i = 0; i < 3; i++) {
        flowgen_wait(g, 80000000);
        flowgen_put(g, 0, &p);
    }
    if (!wrong)
        flowgen_ack_all(g, 1);
    flowgen_silence(g, 400000000);
}

/* Sends a SEND and `cnt` RNR NAKs for it. The SEND is retransmitted `wait` ns after each RNR
 * NAK. */
static struct roce_pkt rnr(struct flowgen *g, int cnt, uint64_t wait)
{
    struct roce_pkt p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    for (int i = 0; i < cnt; i++) {
        g->conn.msn[0]--;
        flowgen_ack(g, 1, p.bth.psn, RNR_1MS);
        g->conn.msn[0]++;
        flowgen_wait(g, wait);
        flowgen_put(g, 0, &p);
    }
    return p;
}

CASE(RNR_NAK)
{
    flowgen_send(g, 0, 64);
    rnr(g, wrong, 1500000);
    flowgen_ack_all(g, 1);
}

CASE(RNR_RETRY)
{
    case_RNR_NAK(g, wrong);
}

CASE(RNR_WAIT)
{
    flowgen_send(g, 0, 64);
    rnr(g, 1, wrong ? 700000 : 1400000);
    flowgen_ack_all(g, 1);
}

CASE(RNR_COUNT)
{
    flowgen_connect(g);
    flowgen_send(g, 0, 64);
    rnr(g, wrong ? 7 : 6, 1400000);
    flowgen_ack_all(g, 1);
}

CASE(RNR_EXHAUSTED)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = rnr(g, 2, 1400000);
    g->conn.msn[0] -= wrong;
    flowgen_ack(g, 1, p.bth.psn, wrong ? RNR_1MS : ACK_31);
    flowgen_silence(g, 100000000);
}

CASE(OUT_OF_ORDER)
{
    struct roce_pkt a, b;

    flowgen_send(g, 0, 64);
    a = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    a.ip4.id = ++g->ip_id[0]; /* the requester sends `a` before `b` */
    b = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(g, 0, wrong ? &b : &a);
    flowgen_put(g, 0, wrong ? &a : &b);
    flowgen_ack_all(g, 1);
}

CASE(RETRY_ACKED)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack_all(g, 1);
    flowgen_wait(g, 300000);
    if (wrong)
        flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(RETRY_IMPLIED)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, 64);
    if (!wrong)
        flowgen_read_resp(g, 1, p.bth.psn, 64, 0, 0);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack_all(g, 1);
    flowgen_wait(g, 100000);
    if (wrong) {
        flowgen_put(g, 0, &p);
        flowgen_read_resp(g, 1, p.bth.psn, 64, 0, 0);
    }
}

CASE(IMPLIED_NAK)
{
    case_RETRY_IMPLIED(g, wrong);
}

CASE(QP_REUSED)
{
    flowgen_send(g, 0, 64);
    flowgen_wait(g, 1000000000);
    if (wrong) {
        g->conn.psn[0] = 0xABCDEF;
        g->conn.msn[0] = 0;
    }
    flowgen_send(g, 0, 64);
}

CASE(END_PENDING)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (!wrong)
        flowgen_ack_all(g, 1);
}

CASE(ACK_MISSING)
{
    struct flowgen_conn one = g->conn, two = flowgen_conn_of(2, 0x700, 0x800);

    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (!wrong)
        flowgen_ack_all(g, 1);
    one = g->conn;
    g->conn = two;
    flowgen_wait(g, UINT64_C(3000000000));
    flowgen_send(g, 0, 64);
    g->conn = one;
}

const struct rule_case cases_request[] = {
    ROW(PSN_GAP),         ROW(READ_PSN_RANGE), ROW(PSN_WINDOW),     ROW(UC_PSN_GAP),
    ROW(OPCODE_ORDER),    ROW(INTERLEAVED),    ROW(ACK_NO_FIRST),   ROW(ACK_OPEN_MESSAGE),
    ROW(ACK_WRONG_KIND),  ROW(ACK_LENGTH),     ROW(ACK_DMA_LEN),    ROW(DMA_LEN),
    ROW(DMA_LEN_MAX),     ROW(VA_WRAP),        ROW(ATOMIC_ALIGN),   ROW(RD_ATOMIC),
    ROW(NO_CREDIT),       ROW(CREDITS),        ROW(ZERO_CREDIT),    ROW(REQ_AFTER_NAK),
    ROW(FATAL_NAK),       ROW(TIMEOUT),        ROW(TIMEOUT_RANGE),  ROW(RETRY_UNEXPLAINED),
    ROW(SEQ_RETRY),       ROW(SEQ_NAK),        ROW(NAK_ONCE),       ROW(RETRY_DIFFERS),
    ROW(PAYLOAD_CHANGED), ROW(RETRY_COUNT),    ROW(TIMEOUT_SPREAD), ROW(NAK_ACCESS),
    ROW(RETRY_EXHAUSTED), ROW(RNR_NAK),        ROW(RNR_RETRY),      ROW(RNR_WAIT),
    ROW(RNR_COUNT),       ROW(RNR_EXHAUSTED),  ROW(OUT_OF_ORDER),   ROW(RETRY_ACKED),
    ROW(RETRY_IMPLIED),   ROW(IMPLIED_NAK),    ROW(QP_REUSED),      ROW(END_PENDING),
    ROW(ACK_MISSING),
};
const unsigned cases_request_cnt = sizeof(cases_request) / sizeof(cases_request[0]);

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

/* On a paired connection, sends a READ request for four packets, and no response to it. */
static struct roce_pkt open_read(struct flowgen *g)
{
    flowgen_send(g, 0, 2048);
    return flowgen_put_req(g, 0, ROCE_OP_RC_READ_REQUEST, 4096);
}

static void put_resp(struct flowgen *g, uint8_t opcode, uint32_t psn, uint32_t len)
{
    struct roce_pkt p = flowgen_resp(g, 1, opcode, psn, len);

    flowgen_put(g, 1, &p);
}

CASE(READ_RESP_START)
{
    struct roce_pkt p = open_read(g);

    put_resp(g, ROCE_OP_RC_READ_RESP_FIRST, p.bth.psn, 1024);
    put_resp(g, wrong ? ROCE_OP_RC_READ_RESP_FIRST : ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 1,
             1024);
}

CASE(READ_RESP_ORDER)
{
    struct roce_pkt p = open_read(g);

    put_resp(g, ROCE_OP_RC_READ_RESP_FIRST, p.bth.psn, 1024);
    put_resp(g, wrong ? ROCE_OP_RC_READ_RESP_LAST : ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 1,
             1024);
}

CASE(READ_RESP_LEN)
{
    struct roce_pkt p = open_read(g);

    flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 2);
    put_resp(g, ROCE_OP_RC_READ_RESP_LAST, p.bth.psn + 3, wrong ? 1000 : 1024);
}

CASE(READ_RESP_GAP)
{
    struct roce_pkt p = open_read(g);

    flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 0);
    if (!wrong)
        put_resp(g, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 1, 1024);
    put_resp(g, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 2, 1024);
}

CASE(READ_RESP_KIND)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 2048);
    p = flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_SEND_ONLY : ROCE_OP_RC_READ_REQUEST, 64);
    put_resp(g, ROCE_OP_RC_READ_RESP_ONLY, p.bth.psn, 64);
}

CASE(RESP_DUPLICATE)
{
    struct roce_pkt p = open_read(g);

    flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 1);
    if (wrong)
        put_resp(g, ROCE_OP_RC_READ_RESP_FIRST, p.bth.psn, 1024);
    put_resp(g, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 2, 1024);
}

CASE(READ_RESTART)
{
    struct roce_pkt p = open_read(g);

    flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 0);
    put_resp(g, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 2, 1024);
    put_resp(g, ROCE_OP_RC_READ_RESP_LAST, p.bth.psn + 3, 1024);
    p.bth.psn++;
    p.reth.va += 1024;
    p.reth.dma_len -= 1024;
    flowgen_put(g, 0, &p);
    put_resp(g, wrong ? ROCE_OP_RC_READ_RESP_MIDDLE : ROCE_OP_RC_READ_RESP_FIRST, p.bth.psn, 1024);
    put_resp(g, ROCE_OP_RC_READ_RESP_MIDDLE, p.bth.psn + 1, 1024);
    put_resp(g, ROCE_OP_RC_READ_RESP_LAST, p.bth.psn + 2, 1024);
}

CASE(RESP_ORDER)
{
    struct roce_pkt p = open_read(g);

    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (wrong) {
        flowgen_ack_all(g, 1);
        flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 3);
        flowgen_put(g, 0, &p);
        flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 3);
    } else {
        flowgen_read_resp(g, 1, p.bth.psn, 4096, 0, 3);
        flowgen_ack_all(g, 1);
    }
}

CASE(NAK_STALE)
{
    flowgen_send(g, 0, 64);
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, g->conn.psn[0] - (wrong ? 2 : 1), NAK_SEQ);
}

CASE(NAK_TWICE)
{
    uint32_t psn;

    flowgen_send(g, 0, 64);
    flowgen_send(g, 0, 64);
    psn = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64).bth.psn;
    g->conn.msn[0]--;
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, psn, NAK_SEQ);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    if (wrong)
        flowgen_ack(g, 1, psn, NAK_SEQ);
}

CASE(NAK_AFTER_RNR)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, p.bth.psn, RNR_1MS);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    if (wrong)
        flowgen_ack(g, 1, p.bth.psn, NAK_SEQ);
}

CASE(NAK_DUPLICATE)
{
    flowgen_send(g, 0, 64);
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, g->conn.psn[0] - (wrong ? 2 : 1), NAK_ACC);
}

CASE(ACK_AFTER_NAK)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, g->conn.psn[0] - 1, NAK_ACC);
    if (wrong) {
        flowgen_put_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_ack_all(g, 1);
    }
}

CASE(RNR_SEND_POS)
{
    uint32_t psn;

    flowgen_send(g, 0, 64);
    psn = flowgen_message(g, 0, ROCE_KIND_SEND, 3000);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, psn + wrong, RNR_1MS);
}

CASE(RNR_NO_RWQE)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_WRITE_ONLY : ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0]--;
    flowgen_ack(g, 1, g->conn.psn[0] - 1, RNR_1MS);
}

CASE(RNR_MSN)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0] -= !wrong;
    flowgen_ack(g, 1, g->conn.psn[0] - 1, RNR_1MS);
}

CASE(MSN)
{
    flowgen_send(g, 0, 64);
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0] -= wrong;
    flowgen_ack_all(g, 1);
}

CASE(MSN_TOO_HIGH)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    g->conn.msn[0] += wrong;
    flowgen_ack_all(g, 1);
}

CASE(SRQ_CREDITS)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m = flowgen_cm_rep(g);
    m.rep.srq = 1;
    flowgen_cm(g, 1, &m);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack(g, 1, g->conn.psn[0] - 1, wrong ? 5 : ACK_31);
}

CASE(XRC_CREDITS)
{
    g->svc = ROCE_SVC_XRC;
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack(g, 1, g->conn.psn[0] - 1, wrong ? 5 : ACK_31);
}

CASE(SYNDROME_RESERVED)
{
    flowgen_send(g, 0, 64);
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack(g, 1, g->conn.psn[0] - 1, wrong ? 0x65 : ACK_31);
}

CASE(ACK_BEFORE_START)
{
    uint32_t first = g->conn.psn[0];

    flowgen_connect(g);
    flowgen_send(g, 0, 64);
    flowgen_ack(g, 1, wrong ? first - 1 : first, ACK_31);
}

CASE(ATOMIC_REPLAY)
{
    struct roce_pkt p, a;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_FETCH_ADD, 0);
    a = flowgen_resp(g, 1, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);
    a.atomicacketh.orig = 42;
    flowgen_put(g, 1, &a);
    flowgen_wait(g, 70000000);
    flowgen_put(g, 0, &p);
    a.atomicacketh.orig += wrong;
    flowgen_put(g, 1, &a);
}

CASE(ATOMIC_ACK_KIND)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, wrong ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_FETCH_ADD, 8);
    put_resp(g, ROCE_OP_RC_ATOMIC_ACK, p.bth.psn, 0);
}

CASE(ACK_UNSEEN)
{
    flowgen_send(g, 0, 64);
    if (wrong)
        (void)flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    else
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_ack_all(g, 1);
}

CASE(ACK_DUPLICATE)
{
    flowgen_send(g, 0, 64);
    if (wrong)
        flowgen_ack_all(g, 1);
}

CASE(ONE_SIDED)
{
    flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    if (!wrong)
        flowgen_ack_all(g, 1);
}

/* Two QPs have equal PSNs and send at the same times. With `wrong`, their source ports do not show
 * which directions belong together. */
CASE(PAIR_UNKNOWN)
{
    struct flowgen_conn conn[2];

    for (uint32_t i = 0; i < 2; i++) {
        conn[i] = flowgen_conn_of(i, 0x5000, 0x9000);
        conn[i].sport = wrong ? 0xC123 : flowgen_linux_sport(conn[i].qpn[0], conn[i].qpn[1]);
        g->conn = conn[i];
        flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        conn[i] = g->conn;
    }
    for (uint32_t i = 0; i < 2; i++) {
        g->conn = conn[i];
        flowgen_ack_all(g, 1);
    }
}

/* The responder acknowledges a SEND after 100 ms. With `wrong`, the requester retransmitted the
 * SEND after 70 ms, and the responder acknowledges both transmissions. */
CASE(SPURIOUS_TIMEOUT)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_put_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_wait(g, 70000000);
    if (wrong)
        flowgen_put(g, 0, &p);
    flowgen_wait(g, 30000000);
    flowgen_ack_all(g, 1);
    if (!wrong)
        return;
    flowgen_wait(g, 70000000);
    flowgen_ack_all(g, 1);
}

const struct rule_case cases_response[] = {
    ROW(READ_RESP_START),
    ROW(READ_RESP_ORDER),
    ROW(READ_RESP_LEN),
    ROW(READ_RESP_GAP),
    ROW(READ_RESP_KIND),
    ROW(RESP_DUPLICATE),
    ROW(READ_RESTART),
    ROW(RESP_ORDER),
    ROW(NAK_STALE),
    ROW(NAK_TWICE),
    ROW(NAK_AFTER_RNR),
    ROW(NAK_DUPLICATE),
    ROW(ACK_AFTER_NAK),
    ROW(RNR_SEND_POS),
    ROW(RNR_NO_RWQE),
    ROW(RNR_MSN),
    ROW(MSN),
    ROW(MSN_TOO_HIGH),
    ROW(SRQ_CREDITS),
    ROW(XRC_CREDITS),
    ROW(SYNDROME_RESERVED),
    ROW(ACK_BEFORE_START),
    ROW(ATOMIC_REPLAY),
    ROW(ATOMIC_ACK_KIND),
    ROW(ACK_UNSEEN),
    ROW(ACK_DUPLICATE),
    ROW(ONE_SIDED),
    ROW(PAIR_UNKNOWN),
    ROW(SPURIOUS_TIMEOUT),
};
const unsigned cases_response_cnt = sizeof(cases_response) / sizeof(cases_response[0]);

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the preconditions of checks, with pairs of conversations. In one conversation, the
 * precondition is not met, and the analysis engine must report no ERROR. In the other one, the
 * precondition is met, and the engine must report the violation.
 */
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* ---- CM: transactions ------------------------------------------------------------------------ */

static void put_cm(struct flowgen *g, int side, enum roce_cm kind, uint64_t tid)
{
    struct roce_cm_msg m;

    if (kind == ROCE_CM_REQ) {
        m = flowgen_cm_req(g);
        m.mad.tid = tid;
    } else if (kind == ROCE_CM_REP) {
        m = flowgen_cm_rep(g);
        m.mad.tid = tid;
    } else {
        roce_cm_msg_init(&m, kind, tid);
    }
    if (kind == ROCE_CM_DREQ) {
        m.dreq.local_comm_id = g->conn.qpn[side];
        m.dreq.remote_comm_id = g->conn.qpn[!side];
    } else if (kind == ROCE_CM_DREP) {
        m.drep.local_comm_id = g->conn.qpn[side];
        m.drep.remote_comm_id = g->conn.qpn[!side];
    } else if (kind == ROCE_CM_RTU) {
        m.rtu.local_comm_id = g->conn.qpn[side];
        m.rtu.remote_comm_id = g->conn.qpn[!side];
    } else if (kind == ROCE_CM_MRA) {
        m.mra.local_comm_id = g->conn.qpn[side];
        m.mra.remote_comm_id = g->conn.qpn[!side];
        m.mra.message = tid == 9 ? 2 : 0; /* with transaction id 9, the MRA answers a LAP and does
                                           * not have the transaction id of the REQ */
    }
    flowgen_cm(g, side, &m);
}

/* Each row lists messages as {kind, sender, transaction}. A row with `true` has a message with a
 * wrong transaction id, which must be reported. */
static void wrong_cm_transaction_is_reported(void)
{
    enum { REQ = ROCE_CM_REQ, REP = ROCE_CM_REP, RTU = ROCE_CM_RTU, MRA = ROCE_CM_MRA };
    enum { DREQ = ROCE_CM_DREQ, DREP = ROCE_CM_DREP };
    static const struct {
        struct {
            int kind, side;
            uint64_t tid;
        } msg[6];
        bool wrong;
    } rows[] = {
        {{{REQ, 0, 1}, {REP, 1, 1}, {RTU, 0, 1}, {MRA, 1, 9}}, false},
        {{{REQ, 0, 1}, {MRA, 1, 2}}, true},
        /* the REQ is sent again with another transaction id */
        {{{REQ, 0, 1}, {REQ, 0, 2}, {REP, 1, 1}, {RTU, 0, 1}}, false},
        {{{REQ, 0, 1}, {REQ, 0, 2}, {REP, 1, 2}, {RTU, 0, 2}}, false},
        {{{REQ, 0, 1}, {REQ, 0, 2}, {REP, 1, 3}}, true},
        /* two pairs of hosts share two addresses (NAT) and have equal communication ids */
        {{{REQ, 0, 1}, {REQ, 0, 2}, {REP, 1, 1}, {REP, 1, 2}, {RTU, 0, 1}, {RTU, 0, 2}}, false},
        {{{REQ, 0, 1}, {REQ, 0, 2}, {REP, 1, 1}, {REP, 1, 2}, {RTU, 0, 3}}, true},
        {{{REQ, 0, 1}, {REP, 1, 1}, {REP, 1, 2}}, true},
        /* a REP of another exchange with the same communication id; the REQ of that exchange was
         * not captured */
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREP, 1, 5}, {REP, 1, 7}}, false},
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREQ, 0, 6}, {DREP, 1, 5}}, false},
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREQ, 0, 6}, {DREP, 1, 6}}, false},
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREQ, 0, 6}, {DREP, 1, 8}}, true},
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREQ, 1, 6}, {DREP, 1, 5}, {DREP, 0, 6}}, false},
        {{{REQ, 0, 1}, {REP, 1, 1}, {DREQ, 0, 5}, {DREQ, 1, 6}, {DREP, 1, 6}}, true},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 6 && rows[i].msg[k].tid; k++)
            put_cm(&g, rows[i].msg[k].side, (enum roce_cm)rows[i].msg[k].kind, rows[i].msg[k].tid);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_CM_TID), rows[i].wrong);
    }
}

/* A Get of ClassPortInfo in the CM class must not be reported, because it is allowed in any class.
 * A Get of another attribute must be. */
static void class_port_info_is_accepted(void)
{
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        uint8_t mad[ROCE_MAD_SIZE] = {1, 0x07, 2, 0x01};
        struct roce_pkt p;
        struct flowgen g;

        flowgen_begin(&g);
        mad[17] = wrong ? 0x10 : 0x01;
        p = flowgen_mad(&g, 0, mad);
        flowgen_put(&g, 0, &p);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_CM_MAD) || judge_found(&v, ROCE_RULE_CM_ATTR), wrong);
    }
}

/* A MAD has a wrong length. The analysis engine must report the length, but not the versions in the
 * MAD. */
static void mad_of_wrong_length_has_one_finding(void)
{
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        uint8_t mad[ROCE_MAD_SIZE] = {1, 0x07, 2, 0x03};
        struct roce_pkt p;
        struct flowgen g;

        flowgen_begin(&g);
        mad[17] = 0x10;
        p = flowgen_mad(&g, 0, mad);
        p.payload_len = p.payload_cap_len = wrong ? 200 : 256;
        flowgen_put(&g, 0, &p);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_GSI), wrong);
        EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR], wrong);
    }
}

/* A packet to QP 0xFFFFFF has a unicast address. The address must be reported. The destination MAC
 * address must not, because no multicast MAC address belongs to a unicast address. */
static void multicast_qp_of_a_unicast_address_is_reported(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    p = flowgen_req(&g, 0, ROCE_OP_UD_SEND_ONLY, 64);
    p.bth.dest_qp = ROCE_QP_MULTICAST;
    flowgen_put(&g, 0, &p);
    judge_end(&g, &v);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_MULTICAST_QP), true);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_MULTICAST_MAC), false);
}

/* ---- CM: negotiated values ------------------------------------------------------------------- */

/* The first captured request has a PSN before the one in the CM messages. If it was sent soon after
 * the CM messages, this must be an ERROR. If it was sent long after them, the PSN may have wrapped,
 * so the analysis engine must report no ERROR. */
static void wrapped_first_psn_is_no_error(void)
{
    for (unsigned long_after = 0; long_after < 2; long_after++) {
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_connect(&g);
        flowgen_wait(&g, long_after ? 2000000000 : 1000000);
        g.conn.psn[0] -= 5;
        flowgen_send(&g, 0, 64);
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_CM_START_PSN),
                  long_after ? ROCE_SEV_WARN : ROCE_SEV_ERROR);
    }
}

/* An unsolicited ACK with initial credits has the PSN before the first PSN. This ACK must not be an
 * ERROR. An ACK with a still earlier PSN must be an ERROR. */
static void initial_credits_are_no_error(void)
{
    for (uint32_t back = 1; back < 3; back++) {
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_connect(&g);
        flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        g.conn.msn[0] = 0;
        flowgen_ack(&g, 1, g.conn.psn[0] - 1 - back, ROCE_SYNDROME_ACK | 5);
        g.conn.msn[0] = 1;
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_ACK_BEFORE_START),
                  back == 1 ? ROCE_SEV_WARN : ROCE_SEV_ERROR);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_MSN), ROCE_SEV_NOTE);
    }
}

/* With several capture points, a REQ may be captured after its REP. The connection then exists
 * without the parameters of the REQ, so they must not be used for checks. */
static void req_captured_after_its_rep_is_not_used(void)
{
    for (unsigned late = 0; late < 2; late++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_connect(&g);
        if (late) {
            struct flowgen_frame req = g.frame[0];

            g.frame[0] = g.frame[1];
            g.frame[1] = req;
        }
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 70000000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        flowgen_disconnect(&g);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RETRY_COUNT), false);
    }
}

/* Both ends use another path MTU than the CM messages agreed on. The analysis engine must report
 * this once. */
static void mtu_other_than_cm_has_one_finding(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_connect(&g);
    g.mtu = 256;
    flowgen_read(&g, 0, 1000);
    for (int i = 0; i < 3; i++) {
        flowgen_write(&g, 0, 1000);
        flowgen_read(&g, 0, 1000);
    }
    judge_end(&g, &v);
    EXPECT_EQ(judge_worst(&v, ROCE_RULE_CM_MTU), ROCE_SEV_WARN);
    EXPECT_EQ(v.totals.errors_unknown, 0);
}

/* ---- damaged ICRCs --------------------------------------------------------------------------- */

static void spoil_icrc(struct flowgen *g, size_t from, int side)
{
    for (size_t i = from; i < g->frame_cnt; i++)
        if (g->frame[i].side == side)
            g->bytes[g->frame[i].off + g->frame[i].len - 1] ^= 0x55;
}

/* A host captures its own packets before its NIC computes the ICRCs, so all are wrong. If its
 * requests were acknowledged, that would prove that they arrived intact. Here it sends only
 * responses, or only requests of UC, without such a proof: the analysis engine must report a WARN,
 * and no ERROR. */
static void host_capturing_itself_is_no_error(void)
{
    for (unsigned uc = 0; uc < 2; uc++) {
        struct flowgen g;
        int self = uc ? 0 : 1;

        flowgen_begin(&g);
        flowgen_connect(&g);
        g.svc = uc ? ROCE_SVC_UC : ROCE_SVC_RC;
        for (int i = 0; i < 20; i++)
            if (uc)
                flowgen_message(&g, i & 1, ROCE_KIND_WRITE, 64);
            else
                flowgen_write(&g, 0, 64);
        spoil_icrc(&g, 0, self);
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_ICRC_NEVER_GOOD), ROCE_SEV_WARN);
        EXPECT_EQ(v.totals.errors_unknown, 0);
    }
}

/* ---- responses lost after the capture point ------------------------------------------------- */

/* After a NAK the requester goes back, and later goes back again to the same PSN. If the request at
 * this PSN is an atomic, its response may be lost. Then each later response makes the requester go
 * back (R139), and the second go-back must not be an ERROR. If the request is not an atomic, the
 * second go-back must be reported. */
static void second_go_back_for_an_atomic_is_no_error(void)
{
    for (unsigned atomic = 0; atomic < 2; atomic++) {
        struct flowgen g;
        struct roce_pkt p, q;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, atomic ? ROCE_OP_RC_FETCH_ADD : ROCE_OP_RC_WRITE_ONLY,
                        atomic ? 0 : 64);
        flowgen_put(&g, 0, &p);
        q = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_put(&g, 0, &q);
        g.conn.msn[0] -= 2;
        flowgen_ack(&g, 1, p.bth.psn, NAK_SEQ);
        for (unsigned i = 0; i < 2; i++) {
            flowgen_wait(&g, 100000);
            flowgen_put(&g, 0, &p);
            flowgen_put(&g, 0, &q);
        }
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_ONCE), !atomic);
    }
}

/* The requester restarts a READ at its second PSN, and the response with this PSN is a Middle
 * instead of a First. The analysis engine must report this. After a second restart at the same PSN
 * it must not: the Middle may be late, from an earlier response whose first packet was lost. */
static void late_middle_response_is_no_error(void)
{
    for (unsigned asked = 2; asked < 4; asked++) {
        struct flowgen g;
        struct roce_pkt read, p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 2048);
        read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4096);
        flowgen_put(&g, 0, &read);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_FIRST, read.bth.psn, 1024);
        flowgen_put(&g, 1, &p);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_LAST, read.bth.psn + 3, 1024);
        flowgen_put(&g, 1, &p);
        read.bth.psn++;
        read.reth.va += 1024;
        read.reth.dma_len -= 1024;
        for (unsigned i = 1; i < asked; i++)
            flowgen_put(&g, 0, &read);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_MIDDLE, read.bth.psn, 1024);
        flowgen_put(&g, 1, &p);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_READ_RESTART), asked == 2);
    }
}

/* ---- pairing of directions ------------------------------------------------------------------- */

/* All QPs of a device use one UDP source port. By chance it is also the port that Linux would
 * derive from the QPNs of two QPs that do not belong together. The analysis engine must not pair
 * the two QPs because of this port, because the capture also contains the right partner of each
 * QP. */
static void source_port_of_many_qps_is_no_proof(void)
{
    struct flowgen_conn conn[2] = {flowgen_conn_of(1, 0x777777, 0x123456),
                                   flowgen_conn_of(2, 0x777777, 0x123456)};
    struct flowgen g;
    uint16_t port = flowgen_linux_sport(conn[0].qpn[0], conn[1].qpn[1]);

    flowgen_init(&g);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 2; i++) {
            g.conn = conn[i];
            g.conn.sport = port;
            flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
            conn[i] = g.conn;
        }
        for (unsigned i = 0; i < 2; i++) {
            g.conn = conn[1 - i];
            g.conn.sport = port;
            flowgen_ack_all(&g, 1);
        }
    }
    judge_end(&g, &v);
    for (uint32_t i = 0; i < v.conn_cnt; i++)
        CU_ASSERT(!v.conn[i].facts.paired || roce_pairing_is_guess(v.conn[i].facts.pairing));
}

/* ---- UC connections -------------------------------------------------------------------------- */

/* A program reuses a UC QP after a short time, starting at the same PSN. UC does not retransmit, so
 * a different packet with a captured PSN shows the reuse. The analysis engine must still report a
 * wrong opcode order after the reuse. */
static void uc_reuse_is_detected(void)
{
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        uint32_t psn;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        g.svc = ROCE_SVC_UC;
        psn = g.conn.psn[0];
        flowgen_message(&g, 0, ROCE_KIND_SEND, 3000);
        g.conn.psn[0] = psn;
        flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        flowgen_message(&g, 0, ROCE_KIND_WRITE, 4000); /* longer than before the reuse */
        if (wrong) {
            p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_MIDDLE, 1024);
            flowgen_put(&g, 0, &p);
        }
        judge_end(&g, &v);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_OPCODE_ORDER), wrong ? ROCE_SEV_ERROR : ROCE_SEV_NOTE);
        EXPECT_EQ(v.totals.errors_unknown, wrong);
    }
}

SUITE("flow.preconditions", TEST(wrong_cm_transaction_is_reported),
      TEST(class_port_info_is_accepted), TEST(mad_of_wrong_length_has_one_finding),
      TEST(multicast_qp_of_a_unicast_address_is_reported), TEST(wrapped_first_psn_is_no_error),
      TEST(initial_credits_are_no_error), TEST(req_captured_after_its_rep_is_not_used),
      TEST(mtu_other_than_cm_has_one_finding), TEST(host_capturing_itself_is_no_error),
      TEST(second_go_back_for_an_atomic_is_no_error), TEST(late_middle_response_is_no_error),
      TEST(source_port_of_many_qps_is_no_proof), TEST(uc_reuse_is_detected))

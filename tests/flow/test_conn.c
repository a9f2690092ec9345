/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the assignment of packets to connections, and the summary of a connection. */
#include <string.h>
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

static void run(struct flowgen *g)
{
    judge_end(g, &v);
    EXPECT_EQ(judge_errors(&v, "conn"), 0);
}

static void directions_are_paired_without_cm(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_write(&g, 0, 3000);
    flowgen_send(&g, 1, 100);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 1);
    CU_ASSERT(v.conn[0].facts.paired);
    EXPECT_EQ(v.conn[0].side[0].qpn, 0x101);
    EXPECT_EQ(v.conn[0].side[1].qpn, 0x80001);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_WRITE].completed, 1);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_WRITE].bytes, 3000);
    EXPECT_EQ(v.conn[0].side[1].oper[ROCE_OPER_SEND].bytes, 100);
    EXPECT_EQ(v.conn[0].facts.mtu, 1024);
    CU_ASSERT(v.conn[0].facts.complete);
}

static void many_connections_with_random_psns(void)
{
    struct rng rng = rng_seed();
    struct flowgen_conn c[JUDGE_CONNS];
    struct flowgen g;

    flowgen_init(&g);
    for (uint32_t i = 0; i < JUDGE_CONNS; i++)
        c[i] = flowgen_conn_of(i + 1, rng_below(&rng, 1 << 24), rng_below(&rng, 1 << 24));
    for (int n = 0; n < 200; n++) {
        uint32_t i = rng_below(&rng, JUDGE_CONNS);

        g.conn = c[i];
        flowgen_random(&g, &rng, 2);
        c[i] = g.conn;
    }
    run(&g);
    EXPECT_EQ(v.totals.connections, JUDGE_CONNS);
    for (uint32_t i = 0; i < v.conn_cnt; i++) {
        bool swapped = v.conn[i].side[0].qpn > 0x80000;

        CU_ASSERT(v.conn[i].facts.paired);
        EXPECT_EQ(v.conn[i].side[swapped].qpn + 0x7FF00, v.conn[i].side[!swapped].qpn);
    }
}

/* Before the two directions are paired, each has its own connection number. After that,
 * roce_flow_owner() must return the common number for each packet. */
static void every_packet_has_a_final_owner(void)
{
    static struct roce_flow_result results[64];
    static struct roce_flow_owner owners[64];
    struct flowgen g;
    uint32_t first[2];

    flowgen_init(&g);
    for (uint32_t i = 0; i < 2; i++) {
        g.conn = flowgen_conn_of(i + 1, 0x70000 + i, 0x90000 + i);
        first[i] = (uint32_t)g.frame_cnt;
        flowgen_write(&g, 0, 3000);
        flowgen_send(&g, 1, 100);
    }
    v.results = results;
    v.owners = owners;
    v.results_cap = g.frame_cnt;
    CU_ASSERT_FATAL(g.frame_cnt <= 64);
    judge(&g, NULL, NULL, &v);
    EXPECT_EQ(v.conn_cnt, 2);
    for (size_t i = 0; i < g.frame_cnt; i++) {
        EXPECT_EQ(owners[i].conn_index, v.conn[i >= first[1]].facts.conn_index);
        EXPECT_EQ(owners[i].side, g.frame[i].side);
    }
    CU_ASSERT(results[first[1] - 1].conn_index == owners[first[1] - 1].conn_index);
    v.results = NULL;
    v.owners = NULL;
    v.results_cap = 0;
    flowgen_free(&g);
}

/* Every QP starts at PSN 0, as in many programs. Only the source ports, which Linux derives from
 * the QPNs, show which directions belong together. */
static void equal_psns_are_paired_by_source_port(void)
{
    struct flowgen_conn c[8];
    struct flowgen g;

    flowgen_init(&g);
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t x;

        c[i] = flowgen_conn_of(i + 1, 0, 0);
        x = (uint64_t)c[i].qpn[0] * c[i].qpn[1];
        x ^= x >> 20;
        x ^= x >> 40;
        c[i].sport = (uint16_t)(0xC000 | ((x & 0x3FFF) ^ (x & 0xFC000) >> 14));
    }
    for (int n = 0; n < 5; n++) {
        for (uint32_t i = 0; i < 8; i++) {
            g.conn = c[i];
            flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
            c[i] = g.conn;
        }
        for (uint32_t i = 0; i < 8; i++) {
            g.conn = c[7 - i];
            flowgen_ack_all(&g, 1);
        }
    }
    run(&g);
    EXPECT_EQ(v.totals.connections, 8);
    for (uint32_t i = 0; i < v.conn_cnt; i++)
        EXPECT_EQ(v.conn[i].side[0].qpn + 0x7FF00, v.conn[i].side[1].qpn);
}

static void equal_psns_without_evidence_stay_unpaired(void)
{
    struct flowgen_conn c[4];
    struct flowgen g;

    flowgen_init(&g);
    for (uint32_t i = 0; i < 4; i++)
        c[i] = flowgen_conn_of(i + 1, 0, 0);
    for (int n = 0; n < 5; n++)
        for (int phase = 0; phase < 2; phase++)
            for (uint32_t i = 0; i < 4; i++) {
                g.conn = c[i];
                if (phase == 0)
                    flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
                else
                    flowgen_ack_all(&g, 1);
                c[i] = g.conn;
            }
    run(&g);
    for (uint32_t i = 0; i < v.conn_cnt; i++)
        CU_ASSERT(!v.conn[i].facts.paired ||
                  v.conn[i].side[0].qpn + 0x7FF00 == v.conn[i].side[1].qpn);
}

static void cm_names_both_sides(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_connect(&g);
    flowgen_send(&g, 1, 64);
    flowgen_send(&g, 0, 64);
    flowgen_disconnect(&g);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 2); /* QP1 and the data connection */
    EXPECT_EQ(v.conn[1].facts.end, ROCE_END_DISCONNECTED);
    EXPECT_EQ(v.conn[1].side[0].first_psn, 0x5000);
    EXPECT_EQ(v.conn[1].side[1].first_psn, 0x9000);
    EXPECT_EQ(v.conn[1].facts.cm.ack_timeout_code, 14);
    EXPECT_EQ(v.conn[1].facts.cm.setup_ns, 20000);
    EXPECT_EQ(v.conn[1].facts.cm.reqs, 1);
    EXPECT_EQ(v.cm_msgs, 5); /* REQ, REP, RTU, DREQ, DREP */
    EXPECT_EQ(v.uses, 1);
    EXPECT_EQ(v.use.conn_index, v.conn[1].facts.conn_index);
    EXPECT_EQ(v.use.frame, 2);
    EXPECT_EQ(v.use.req_frame, 1);
    EXPECT_EQ(v.use.rep_frame, 2);
    CU_ASSERT(v.conn[1].facts.complete);
}

/* An XRC connection: the REP contains the QPN of the XRC target in the field of the EE context
 * (Annex A14). Then another target QP of the same host is connected. The analysis engine must not
 * report a reuse of the first QP. */
static void cm_names_an_xrc_target(void)
{
    struct flowgen g;

    flowgen_init(&g);
    g.svc = ROCE_SVC_XRC;
    flowgen_connect(&g);
    flowgen_send(&g, 0, 64);
    flowgen_disconnect(&g);
    g.conn = flowgen_conn_of(2, 0x7000, 0xB000);
    flowgen_connect(&g);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 3); /* QP1 and both data connections */
    EXPECT_EQ(v.conn[1].facts.pairing, ROCE_PAIRED_BY_CM);
    EXPECT_EQ(v.conn[1].facts.end, ROCE_END_DISCONNECTED);
    EXPECT_EQ(v.conn[1].side[0].qpn, 0x101);
    EXPECT_EQ(v.conn[1].side[1].qpn, 0x80001);
    EXPECT_EQ(v.conn[1].facts.svc, ROCE_SVC_XRC);
    CU_ASSERT(!judge_found(&v, ROCE_RULE_CM_TIMEWAIT));
}

/* A connection was set up by CM messages and sent no packets. Its summary must have the frame
 * numbers of its CM messages. */
static void cm_connection_without_packets_is_reported(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_connect(&g);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 2);
    CU_ASSERT(v.conn[1].facts.first_frame > 0);
    EXPECT_EQ(v.conn[1].facts.last_frame, v.conn[1].facts.first_frame);
    EXPECT_EQ(v.conn[1].facts.last_time, v.conn[1].facts.first_time);
}

static void rejected_connection_is_reported_once(void)
{
    struct flowgen g;
    struct roce_cm_msg m;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64); /* a message of an earlier connection of this QP */
    m = flowgen_cm_req(&g);
    flowgen_cm(&g, 0, &m);
    roce_cm_msg_init(&m, ROCE_CM_REJ, g.tid);
    m.rej.remote_comm_id = g.conn.qpn[0];
    m.rej.message = 0;
    m.rej.reason = 28;
    flowgen_cm(&g, 1, &m); /* frame 4 */
    flowgen_cm(&g, 1, &m); /* a repeated REJ, which must not be reported again */
    run(&g);
    EXPECT_EQ(v.conn_cnt, 3); /* a rejected connection is reported at once, so it is the first */
    EXPECT_EQ(v.conn[0].facts.end, ROCE_END_REJECTED);
    EXPECT_EQ(v.conn[0].facts.end_frame, 4);
    EXPECT_EQ(v.conn[0].facts.cm.rej_reason, 28);
    EXPECT_EQ(v.conn[0].facts.cm.req_frame, 3);
    EXPECT_EQ(v.conn[0].side[0].qpn, 0x101);
    EXPECT_EQ(v.conn[0].side[1].qpn, ROCE_QPN_UNKNOWN);
    EXPECT_EQ(v.conn[0].side[0].packets, 0);
    CU_ASSERT(v.conn[0].facts.conn_index != v.conn[1].facts.conn_index &&
              v.conn[0].facts.conn_index != v.conn[2].facts.conn_index);
    EXPECT_EQ(v.conn[1].facts.end, ROCE_END_OPEN);
    EXPECT_EQ(v.totals.connections, 3);
}

static void reuse_announced_by_cm_is_a_second_use(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_connect(&g);
    flowgen_send(&g, 0, 64);
    flowgen_disconnect(&g);
    flowgen_wait(&g, 1000000000);
    g.conn = flowgen_conn_of(1, 0x5000, 0x9000);
    g.tid = 0x900;
    flowgen_connect(&g);
    flowgen_write(&g, 0, 64);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 2);
    EXPECT_EQ(v.conn[1].facts.qp_uses, 2);
    EXPECT_EQ(v.uses, 2);
    EXPECT_EQ(v.use.rep_frame, v.use.frame);
    CU_ASSERT(judge_found(&v, ROCE_RULE_QP_REUSED));
}

/* After a DREQ, the parameters from the CM messages are no longer valid. Then the QPs are used
 * again without CM messages, with another path MTU. The analysis engine must detect the reuse and
 * the new path MTU. */
static void reuse_after_a_dreq_is_detected(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_connect(&g); /* CM sets path MTU 1024 */
    flowgen_send(&g, 0, 64);
    flowgen_disconnect(&g);
    flowgen_wait(&g, 1000000000);
    g.conn = flowgen_conn_of(1, 0x5000, 0x9000);
    g.mtu = 4096;
    flowgen_send(&g, 0, 2000); /* a message of one packet */
    flowgen_send(&g, 0, 5000);
    run(&g);
    EXPECT_EQ(v.conn_cnt, 2);
    EXPECT_EQ(v.conn[1].facts.qp_uses, 2);
    EXPECT_EQ(v.conn[1].facts.mtu, 4096);
    EXPECT_EQ(v.uses, 2);
    EXPECT_EQ(v.use.rep_frame, 0);
    CU_ASSERT(v.use.frame > v.conn[1].facts.cm.dreq_frame);
    CU_ASSERT(judge_found(&v, ROCE_RULE_QP_REUSED));
    CU_ASSERT(!judge_found(&v, ROCE_RULE_CM_MTU));
    EXPECT_EQ(judge_errors(&v, "another use after a DREQ"), 0);
}

static void datagrams_are_paired_by_qpns(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    for (int i = 0; i < 4; i++) {
        p = flowgen_req(&g, i & 1, ROCE_OP_UD_SEND_ONLY, 64);
        flowgen_put(&g, i & 1, &p);
    }
    run(&g);
    EXPECT_EQ(v.conn_cnt, 1);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].messages, 2);
    EXPECT_EQ(v.conn[0].side[1].oper[ROCE_OPER_SEND].messages, 2);
}

static void vlans_separate_connections(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    p.vlan_cnt = 1;
    p.eth.type = ROCE_ETHERTYPE_VLAN;
    p.vlan[0].vid = 7;
    p.vlan[0].type = ROCE_ETHERTYPE_IP4;
    p.present |= ROCE_HDR_BIT(ROCE_HDR_VLAN);
    flowgen_put(&g, 0, &p);
    run(&g);
    EXPECT_EQ(v.totals.connections, 2);
    EXPECT_EQ(v.conn[1].facts.vid, 7);
}

static void two_qps_of_one_address_are_paired(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    for (int i = 0; i < 4; i++) {
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        memcpy(p.ip4.dst, p.ip4.src, 4);
        flowgen_put(&g, 0, &p);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, g.conn.psn[0] - 1, 0);
        memcpy(p.ip4.dst, p.ip4.src, 4);
        memcpy(p.ip4.src, p.ip4.dst, 4);
        p.ip4.src[3] = p.ip4.dst[3] = 1;
        flowgen_put(&g, 1, &p);
    }
    run(&g);
    EXPECT_EQ(v.conn_cnt, 1);
    CU_ASSERT(v.conn[0].facts.paired);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].completed, 4);
}

/* There are no CM messages, the source ports do not match, and PSNs start at 0. The first response
 * is a sequence NAK or RNR NAK. The requester goes back before the analysis engine has paired the
 * directions, which needs three responses. The engine must count a go-back with the right cause,
 * not out-of-order packets. */
static void nak_before_pairing_explains_the_go_back(void)
{
    static const struct {
        uint8_t syndrome;
        enum roce_cause cause;
    } rows[] = {{ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, ROCE_CAUSE_SEQ_NAK},
                {ROCE_SYNDROME_RNR | 1, ROCE_CAUSE_RNR_NAK}};

    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt p[4];
        struct flowgen g;

        flowgen_init(&g);
        g.conn = flowgen_conn_of(1, 0, 0);
        for (unsigned k = 0; k < 4; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            if (k != 1 || i == 1) /* row 0: packet 1 is lost; row 1: packet 1 is captured, but finds
                                   * no receive WQE */
                flowgen_put(&g, 0, &p[k]);
        }
        flowgen_ack(&g, 1, p[1].bth.psn, rows[i].syndrome);
        flowgen_wait(&g, 20000);
        for (unsigned k = 1; k < 4; k++)
            flowgen_put(&g, 0, &p[k]);
        flowgen_ack_all(&g, 1);
        for (unsigned k = 0; k < 4; k++)
            flowgen_send(&g, 0, 64);
        judge_end(&g, &v);
        EXPECT_EQ(v.conn_cnt, 1);
        EXPECT_EQ(v.conn[0].side[0].out_of_order, 0);
        EXPECT_EQ(v.conn[0].side[0].retx[rows[i].cause].go_backs, 1);
    }
}

/* In a go-back, one retransmitted packet is lost before the capture point. The packets after this
 * gap must not count as another go-back. */
static void go_back_with_a_hole_counts_once(void)
{
    struct roce_pkt p[5];
    struct flowgen g;

    flowgen_init(&g);
    for (unsigned k = 0; k < 5; k++) {
        p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        if (k != 1)
            flowgen_put(&g, 0, &p[k]);
    }
    flowgen_ack(&g, 1, p[1].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    flowgen_put(&g, 0, &p[1]);
    flowgen_put(&g, 0, &p[2]);
    flowgen_put(&g, 0, &p[4]);
    flowgen_wait(&g, 80000000);
    flowgen_put(&g, 0, &p[3]);
    flowgen_put(&g, 0, &p[4]);
    flowgen_ack_all(&g, 1);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].go_backs, 1);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].packets, 3);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_TIMEOUT].go_backs, 1);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_UNKNOWN].go_backs, 0);
}

static uint64_t all_waited(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < ROCE_CAUSE_CNT; i++)
        sum += v.conn[0].side[0].retx[i].waited_ns;
    return sum;
}

/* The clock of the capture steps back, once by 700 ms and then repeatedly by 60 ms. The sum of all
 * waits must not exceed the duration of the connection. */
static void clock_that_steps_back_does_not_lengthen_waits(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_wait(&g, 1000000000);
    flowgen_send(&g, 0, 64);
    g.now -= 700000000;
    for (int i = 0; i < 80; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 70000000);
        flowgen_put(&g, 0, &p);
        g.now -= 60000000;
        flowgen_ack_all(&g, 1);
    }
    judge_end(&g, &v);
    EXPECT_EQ(v.conn_cnt, 1);
    CU_ASSERT(all_waited() > 0);
    CU_ASSERT(all_waited() <= v.conn[0].facts.last_time - v.conn[0].facts.first_time);
}

/* The clock stepped back between the requests and the responses, so the responses have earlier
 * times. The last time of the connection must not be earlier than its first time. */
static void pairing_keeps_the_latest_time(void)
{
    struct flowgen g;

    flowgen_init(&g);
    flowgen_wait(&g, 1000000000);
    for (int i = 0; i < 4; i++)
        (void)flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
    g.now -= 500000000;
    for (int i = 0; i < 4; i++)
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, 0x1F);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn_cnt, 1);
    CU_ASSERT(v.conn[0].facts.last_time >= v.conn[0].facts.first_time);
}

/* A packet is lost, and the requester continues to send new packets for 5 ms. Only the time from
 * the last of these packets to the retransmission must count as a wait. */
static void requester_that_sends_does_not_wait(void)
{
    struct roce_pkt p[5];
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    for (unsigned k = 0; k < 5; k++) {
        p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p[k]);
        flowgen_wait(&g, k < 4 ? 1000000 : 200000);
    }
    flowgen_ack(&g, 1, p[0].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    for (unsigned k = 0; k < 5; k++)
        flowgen_put(&g, 0, &p[k]);
    flowgen_ack_all(&g, 1);
    run(&g);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].go_backs, 1);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_SEQ_NAK].waited_ns, 220000);
}

/* The responses to a READ arrive for 5 ms, and one of them is missing. The time until the requester
 * restarts the READ must not count as a wait, because data arrived all the time. */
static void requester_that_receives_read_data_does_not_wait(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    flowgen_write(&g, 0, 3000);
    p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 5 * g.mtu);
    flowgen_put(&g, 0, &p);
    for (unsigned k = 0; k < 5; k++) {
        flowgen_wait(&g, 1000000);
        if (k != 3)
            flowgen_read_resp(&g, 1, p.bth.psn, 5 * g.mtu, k, k);
    }
    g.conn.psn[0] = p.bth.psn + 3;
    p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2 * g.mtu);
    p.reth.va += 3 * g.mtu;
    flowgen_put(&g, 0, &p);
    flowgen_read_resp(&g, 1, p.bth.psn, 2 * g.mtu, 0, 1);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].retx[ROCE_CAUSE_READ_GAP].go_backs, 1);
    CU_ASSERT(all_waited() < 100000);
}

/* A few packets without CM messages, matching source ports or random PSNs. rnic/flow must pair
 * the directions by the MSN, because the two hosts have no other connection. */
static void short_connection_is_paired_by_msn(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

    for (unsigned i = 0; i < 3; i++) {
        struct flowgen g;

        flowgen_init(&g);
        g.encap = encaps[i];
        g.conn = flowgen_conn_of(1, 0, 0);
        g.conn.sport = 0xC123;
        flowgen_write(&g, 0, 100);
        flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
        run(&g);
        EXPECT_EQ(v.totals.connections, 1);
        EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_WRITE].completed, 1);
        EXPECT_EQ(v.conn[0].facts.end, ROCE_END_NAK);
        EXPECT_EQ(v.conn[0].facts.end_request_frame, 3);
        CU_ASSERT(!judge_found(&v, ROCE_RULE_ONE_SIDED));
    }
}

/* A short connection uses another source port in each direction. rnic/flow must pair the directions
 * when the MSNs of two responses match the requests of the opposite direction. If no MSNs match, it
 * must pair them at the end of the capture. */
static void short_connection_with_two_ports_is_paired(void)
{
    for (uint32_t answers = 1; answers < 4; answers++) {
        struct flowgen g;

        flowgen_init(&g);
        g.conn = flowgen_conn_of(1, 0, 0);
        for (uint32_t n = 1; n <= answers; n++) {
            g.conn.sport = 0xC123;
            flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
            g.conn.sport = 0xC456;
            flowgen_ack(&g, 1, g.conn.psn[0] - 1,
                        n < answers ? 0x1F : ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ);
        }
        run(&g);
        EXPECT_EQ(v.totals.connections, 1);
        EXPECT_EQ(v.conn[0].facts.end, ROCE_END_NAK);
        EXPECT_EQ(v.conn[0].facts.end_side, 0);
        EXPECT_EQ(v.conn[0].facts.pairing, answers < 3 ? ROCE_PAIRED_ALONE : ROCE_PAIRED_BY_PSNS);
        EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].completed, answers - 1);
        CU_ASSERT(!judge_found(&v, ROCE_RULE_ONE_SIDED));
    }
}

/* Only the direction with the NAKs was captured. The NAKs must be reported, although their requests
 * are unknown. */
static void naks_without_requests_are_reported(void)
{
    struct judge_spoil one = {.one_side = true, .side = 1};
    struct flowgen g;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
    flowgen_ack(&g, 1, g.conn.psn[0] - 1, ROCE_SYNDROME_RNR | 1);
    flowgen_ack(&g, 1, g.conn.psn[0] - 1, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    flowgen_ack(&g, 1, g.conn.psn[0] - 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS);
    judge(&g, NULL, &one, &v);
    flowgen_free(&g);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_RNR_NAK], 1);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_SEQ_NAK], 1);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_FATAL_NAK], 1);
    EXPECT_EQ(v.conn[0].facts.end, ROCE_END_NAK);
    EXPECT_EQ(v.conn[0].facts.end_side,
              1); /* side that sent the requests that are not in the capture */
    EXPECT_EQ(v.conn[0].facts.end_syndrome, 0x62);
}

/* Two connections start with equal PSNs, so the analysis engine pairs the directions of each only
 * after some responses. The packets before that must not be reported as missing. */
static void packets_before_pairing_are_not_missing(void)
{
    struct flowgen_conn c[2];
    struct flowgen g;

    flowgen_init(&g);
    for (uint32_t i = 0; i < 2; i++) {
        c[i] = flowgen_conn_of(i + 1, 0, 0);
        c[i].sport = 0xC123;
    }
    for (unsigned n = 0; n < 16; n++) {
        g.conn = c[n & 1];
        flowgen_read(&g, 0, 2500);
        c[n & 1] = g.conn;
    }
    run(&g);
    EXPECT_EQ(v.totals.connections, 2);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_IMPLIED_NAK], 0);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_READ_RESP_GAP], 0);
}

/* Each row has another evidence of the pairing of the directions. The summary must name this
 * evidence, and whether the pairing is a guess. */
static void summary_names_the_evidence_of_a_pair(void)
{
    static const struct {
        bool cm, linux_port;
        uint32_t psn;
        enum roce_pairing pairing;
        bool guess;
    } rows[] = {
        {true, false, 0, ROCE_PAIRED_BY_CM, false},
        {false, true, 0, ROCE_PAIRED_BY_PORTS, false},
        {false, false, 0x123456, ROCE_PAIRED_BY_PSNS, true},
    };
    struct roce_pkt p;
    struct flowgen g;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        flowgen_init(&g);
        g.conn = flowgen_conn_of(1, rows[i].psn, rows[i].psn);
        if (rows[i].linux_port)
            g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
        if (rows[i].cm)
            flowgen_connect(&g);
        for (unsigned n = 0; n < 4; n++)
            flowgen_send(&g, 0, 64);
        run(&g);
        CU_ASSERT(v.conn[v.conn_cnt - 1].facts.paired);
        EXPECT_EQ(v.conn[v.conn_cnt - 1].facts.pairing, rows[i].pairing);
        EXPECT_EQ(roce_pairing_is_guess(v.conn[v.conn_cnt - 1].facts.pairing), rows[i].guess);
    }
    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_UD_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    run(&g);
    EXPECT_EQ(v.conn[0].facts.pairing, ROCE_PAIRED_BY_QPNS);
    flowgen_init(&g);
    flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
    run(&g);
    EXPECT_EQ(v.conn[0].facts.pairing, ROCE_PAIRED_NOT);
}

/* UC has no responses to compare. If two hosts have only two directions of UC, the analysis engine
 * must pair these directions. If they have more, it must not pair any. */
static void lone_uc_directions_are_paired(void)
{
    for (uint32_t others = 0; others < 2; others++) {
        struct flowgen g;

        flowgen_init(&g);
        g.svc = ROCE_SVC_UC;
        for (uint32_t n = 0; n < 6; n++) {
            g.conn = flowgen_conn_of(1 + others * (n & 1), 100 + n, 200 + n);
            g.conn.sport = 0xC123;
            flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
            flowgen_message(&g, 1, ROCE_KIND_SEND, 64);
        }
        run(&g);
        EXPECT_EQ(v.totals.connections, others ? 4 : 1);
        EXPECT_EQ(v.conn[0].facts.paired, !others);
        EXPECT_EQ(v.conn[0].facts.pairing, others ? ROCE_PAIRED_NOT : ROCE_PAIRED_ALONE);
    }
}

/* A packet has another transport service than the first packet of the QP. The finding must name
 * both services. */
/* A WRITE in one direction and a READ in the other direction are not answered. If the UDP source
 * port follows from both QPNs, it shows that the two directions are one connection. With another
 * port, nothing shows this. */
static void unanswered_requests_in_both_directions_are_one_connection(void)
{
    for (int linux_port = 0; linux_port < 2; linux_port++) {
        struct flowgen_conn first;
        struct roce_pkt p;
        struct flowgen g;

        flowgen_begin(&g);
        first = g.conn;
        g.conn = flowgen_conn_of(7, 0x111, 0x222);
        flowgen_write(&g, 0, 3000); /* another connection of the two hosts */
        g.conn = first;
        g.conn.sport = (uint16_t)(first.sport ^ !linux_port);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_put(&g, 0, &p);
        p = flowgen_req(&g, 1, ROCE_OP_RC_READ_REQUEST, 64);
        flowgen_put(&g, 1, &p);
        run(&g);
        EXPECT_EQ(v.conn_cnt, linux_port ? 2 : 3);
        EXPECT_EQ(v.conn[v.conn_cnt - 1].facts.paired, linux_port);
        if (linux_port)
            EXPECT_EQ(v.conn[v.conn_cnt - 1].facts.pairing, ROCE_PAIRED_BY_PORTS);
    }
}

static void services_are_named(void)
{
    struct flowgen g;
    struct roce_pkt p;
    char text[256] = "";

    flowgen_init(&g);
    g.svc = ROCE_SVC_UC;
    flowgen_send(&g, 0, 64);
    g.svc = ROCE_SVC_RC;
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    run(&g);
    for (uint32_t k = 0; k < v.finding_cnt; k++)
        if (v.finding[k].rule == ROCE_RULE_SERVICE)
            roce_finding_text(&v.finding[k], text, sizeof(text));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "bth.opcode: expected UC, found RC;"));
}

SUITE("flow.conn", TEST(nak_before_pairing_explains_the_go_back),
      TEST(clock_that_steps_back_does_not_lengthen_waits), TEST(pairing_keeps_the_latest_time),
      TEST(requester_that_sends_does_not_wait),
      TEST(requester_that_receives_read_data_does_not_wait), TEST(go_back_with_a_hole_counts_once),
      TEST(directions_are_paired_without_cm), TEST(many_connections_with_random_psns),
      TEST(every_packet_has_a_final_owner), TEST(equal_psns_are_paired_by_source_port),
      TEST(equal_psns_without_evidence_stay_unpaired), TEST(cm_names_both_sides),
      TEST(cm_names_an_xrc_target), TEST(cm_connection_without_packets_is_reported),
      TEST(rejected_connection_is_reported_once), TEST(reuse_announced_by_cm_is_a_second_use),
      TEST(reuse_after_a_dreq_is_detected), TEST(datagrams_are_paired_by_qpns),
      TEST(vlans_separate_connections), TEST(two_qps_of_one_address_are_paired),
      TEST(short_connection_is_paired_by_msn), TEST(short_connection_with_two_ports_is_paired),
      TEST(naks_without_requests_are_reported), TEST(packets_before_pairing_are_not_missing),
      TEST(lone_uc_directions_are_paired), TEST(summary_names_the_evidence_of_a_pair),
      TEST(unanswered_requests_in_both_directions_are_one_connection), TEST(services_are_named))

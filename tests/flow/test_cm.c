/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests CM exchanges: requests and their answers, and the assignment of messages to exchanges. */
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;
static struct roce_flow_result results[16];

static void end(struct flowgen *g)
{
    v.results = results;
    v.results_cap = sizeof(results) / sizeof(results[0]);
    judge_end(g, &v);
}

/* Sends an MRA, RTU, DREQ or DREP from `side`. */
static void put(struct flowgen *g, int side, enum roce_cm kind)
{
    struct roce_cm_msg m;
    uint32_t local = g->conn.qpn[side], remote = g->conn.qpn[!side];

    roce_cm_msg_init(&m, kind, g->tid);
    switch (kind) {
    case ROCE_CM_MRA: m.mra.local_comm_id = local, m.mra.remote_comm_id = remote; break;
    case ROCE_CM_RTU: m.rtu.local_comm_id = local, m.rtu.remote_comm_id = remote; break;
    case ROCE_CM_DREQ: m.dreq.local_comm_id = local, m.dreq.remote_comm_id = remote; break;
    default: m.drep.local_comm_id = local, m.drep.remote_comm_id = remote; break;
    }
    flowgen_cm(g, side, &m);
}

/* A whole CM exchange, from REQ to DREP. Either side may send the DREQ. The result of each message
 * must name the message that it answers. */
static void messages_of_an_exchange_are_linked(void)
{
    static const uint32_t answers[] = {0, 1, 1, 3,
                                       3, 0, 6}; /* element i: number of the message that message i
                                                  * + 1 answers; 0: none */

    for (int side = 0; side < 2; side++) {
        const struct roce_conn_summary *c = &v.conn[1]; /* connection 0 is QP1 */
        struct roce_cm_msg m;
        struct flowgen g;

        flowgen_begin(&g);
        m = flowgen_cm_req(&g);
        m.req.responder_resources = 5;
        m.req.initiator_depth = 6;
        flowgen_cm(&g, 0, &m); /* message 1 */
        m = flowgen_cm_rep(&g);
        m.rep.responder_resources = 3;
        m.rep.initiator_depth = 2;
        put(&g, 1, ROCE_CM_MRA); /* message 2 */
        flowgen_cm(&g, 1, &m);   /* message 3 */
        put(&g, 0, ROCE_CM_MRA);
        put(&g, 0, ROCE_CM_RTU); /* message 5 */
        g.tid++;
        put(&g, side, ROCE_CM_DREQ);
        put(&g, !side, ROCE_CM_DREP); /* message 7 */
        end(&g);
        EXPECT_EQ(judge_errors(&v, "an exchange"), 0);
        EXPECT_EQ(v.conn_cnt, 2);
        EXPECT_EQ(c->facts.pairing, ROCE_PAIRED_BY_CM);
        EXPECT_EQ(c->facts.cm.responder_resources, 5);
        EXPECT_EQ(c->facts.cm.initiator_depth, 6);
        EXPECT_EQ(c->facts.cm.rep_responder_resources, 3);
        EXPECT_EQ(c->facts.cm.rep_initiator_depth, 2);
        EXPECT_EQ(c->facts.cm.req_frame, 1);
        EXPECT_EQ(c->facts.cm.rep_frame, 3);
        EXPECT_EQ(c->facts.cm.rtu_frame, 5);
        EXPECT_EQ(c->facts.cm.dreq_frame, 6);
        EXPECT_EQ(c->facts.end, ROCE_END_DISCONNECTED);
        EXPECT_EQ(c->facts.end_frame, 6);
        EXPECT_EQ(c->facts.end_side, side);
        for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
            EXPECT_EQ(results[i].cm_frame, answers[i]);
            EXPECT_EQ(results[i].cm_conn_index, i < 2 ? ROCE_NO_CONN : c->facts.conn_index);
        }
    }
}

/* Sets up the connection: frames 1 to 3. */
static void set_up(struct flowgen *g)
{
    struct roce_cm_msg m = flowgen_cm_req(g);

    flowgen_cm(g, 0, &m);
    m = flowgen_cm_rep(g);
    flowgen_cm(g, 1, &m);
    put(g, 0, ROCE_CM_RTU);
}

/* A side sends its DREQ three times before the DREP. The summary must have the number of DREQs and
 * the time from the first DREQ to the DREP. */
static void transmissions_of_a_dreq_are_counted(void)
{
    const struct roce_conn_summary *c = &v.conn[1];
    struct flowgen g;

    flowgen_begin(&g);
    set_up(&g);
    g.tid++;
    for (unsigned i = 0; i < 3; i++) {
        put(&g, 1, ROCE_CM_DREQ); /* frames 4 to 6 */
        g.now += 1000000;
    }
    put(&g, 0, ROCE_CM_DREP);
    end(&g);
    EXPECT_EQ(c->facts.end, ROCE_END_DISCONNECTED);
    EXPECT_EQ(c->facts.cm.dreqs, 3);
    EXPECT_EQ(c->facts.cm.dreq_side, 1);
    CU_ASSERT_TRUE(c->facts.cm.dreq_answered);
    EXPECT_EQ(c->facts.cm.dreq_ms, 3);
}

/* If a program ends without disconnecting, our software RNIC sends the DREQ for it, with a special
 * transaction id. From this id, the analysis engine must infer that the program ended, and report
 * the end of the connection as ROCE_END_GONE. */
static void dreq_in_place_of_a_program_ends_the_connection_as_gone(void)
{
    const struct roce_conn_summary *c = &v.conn[1];
    struct flowgen g;

    flowgen_begin(&g);
    set_up(&g);
    g.tid = (uint64_t)ROCE_CM_TID_GONE << 32 | 77;
    put(&g, 1, ROCE_CM_DREQ);
    put(&g, 0, ROCE_CM_DREP);
    end(&g);
    EXPECT_EQ(judge_errors(&v, "an exchange"), 0);
    EXPECT_EQ(c->facts.end, ROCE_END_GONE);
    EXPECT_EQ(c->facts.end_side, 1);
    EXPECT_EQ(c->facts.end_frame, 4);
}

/* A REP must not contain more responder resources or initiator depth than the REQ allows. The
 * finding must refer to the frame of the REQ. */
static void rep_above_the_offered_depths_is_reported(void)
{
    static const struct {
        uint8_t responder_resources, initiator_depth; /* depths in the REP; the REQ has 5 and 6 */
        const char *field;
    } rows[] = {{6, 5, NULL},
                {0, 0, NULL},
                {7, 5, "rep.responder_resources"},
                {6, 6, "rep.initiator_depth"}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_finding *f = NULL;
        struct roce_cm_msg m;
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 1, 64); /* frames 1, 2 */
        g.conn = flowgen_conn_of(2, 0x7000, 0xB000);
        m = flowgen_cm_req(&g);
        m.req.responder_resources = 5;
        m.req.initiator_depth = 6;
        flowgen_cm(&g, 0, &m); /* frame 3 */
        m = flowgen_cm_rep(&g);
        m.rep.responder_resources = rows[i].responder_resources;
        m.rep.initiator_depth = rows[i].initiator_depth;
        flowgen_cm(&g, 1, &m);
        end(&g);
        for (uint32_t k = 0; k < v.finding_cnt; k++)
            if (v.finding[k].rule == ROCE_RULE_CM_DEPTHS)
                f = &v.finding[k];
        EXPECT_EQ(f != NULL, rows[i].field != NULL);
        if (!f || !rows[i].field)
            continue;
        CU_ASSERT_STRING_EQUAL(f->field, rows[i].field);
        EXPECT_EQ(f->other_frame, 3);
        EXPECT_EQ(f->expected + 1, f->actual);
    }
}

/* The finding about an RDMA-IP header names the field that is wrong: its version, or the IP
 * version. */
static void wrong_rdma_ip_header_names_its_field(void)
{
    static const struct {
        uint8_t byte[2]; /* the first two bytes of the header */
        enum roce_rule rule;
        const char *field;
    } rows[] = {{{0x10, 0x40}, ROCE_RULE_CM_IP_HEADER_VERSION, "rdmaip.majv"},
                {{0x01, 0x40}, ROCE_RULE_CM_IP_HEADER_VERSION, "rdmaip.minv"},
                {{0x00, 0x00}, ROCE_RULE_CM_IP_VERSION, "rdmaip.ipv"},
                {{0x00, 0x60}, ROCE_RULE_CM_IP_VERSION, "rdmaip.ipv"}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_finding *f = NULL;
        struct roce_cm_msg m;
        struct flowgen g;

        flowgen_begin(&g);
        m = flowgen_cm_req(&g);
        memcpy(m.req.private_data, rows[i].byte, 2);
        flowgen_cm(&g, 0, &m);
        end(&g);
        for (uint32_t k = 0; k < v.finding_cnt; k++)
            if (v.finding[k].rule == rows[i].rule)
                f = &v.finding[k];
        CU_ASSERT_PTR_NOT_NULL(f);
        if (f)
            CU_ASSERT_STRING_EQUAL(f->field, rows[i].field);
    }
}

/* Two hosts begin a CM exchange with each other, and by chance use the same communication ids. Each
 * message must be assigned to the right exchange. */
static void equal_ids_of_two_hosts_are_told_apart(void)
{
    struct flowgen_conn conn[2] = {flowgen_conn_of(1, 0x5000, 0x9000),
                                   flowgen_conn_of(2, 0x7000, 0xB000)};
    struct roce_cm_msg m;
    struct flowgen g;

    flowgen_begin(&g);
    for (int i = 0; i < 2; i++) {
        g.conn = conn[i];
        m = flowgen_cm_req(&g);
        m.req.local_comm_id = 7;
        flowgen_cm(&g, i, &m);
    }
    for (int i = 0; i < 2; i++) {
        g.conn = conn[i];
        m = flowgen_cm_rep(&g);
        m.rep.remote_comm_id = 7;
        m.rep.local_comm_id = 8;
        flowgen_cm(&g, !i, &m);
    }
    end(&g);
    EXPECT_EQ(v.conn_cnt, 3);
    for (uint32_t i = 1; i < 3; i++) {
        EXPECT_EQ(v.conn[i].facts.pairing, ROCE_PAIRED_BY_CM);
        EXPECT_EQ(v.conn[i].side[0].qpn, conn[i - 1].qpn[0]);
        EXPECT_EQ(v.conn[i].side[1].qpn, conn[i - 1].qpn[1]);
        EXPECT_EQ(v.conn[i].facts.cm.req_frame, i);
        EXPECT_EQ(v.conn[i].facts.cm.rep_frame, i + 2);
    }
}

/* CM messages connect a QP that was already paired to another QP. The earlier connection must end,
 * and a new one begin. */
static void qp_of_an_older_pair_gets_a_new_connection(void)
{
    for (int side = 0; side < 2; side++) {
        struct flowgen_conn two = flowgen_conn_of(2, 0x7000, 0xB000);
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 1, 64);
        two.qpn[side] = g.conn.qpn[side];
        g.conn = two;
        flowgen_wait(&g, 1000000000);
        flowgen_connect(&g);
        flowgen_send(&g, 0, 64);
        end(&g);
        EXPECT_EQ(judge_errors(&v, "a QP of another pair"), 0);
        EXPECT_EQ(v.conn_cnt, 3);
        EXPECT_EQ(v.conn[0].facts.last_frame, 4); /* the earlier connection ended when CM messages
                                                   * reused its QP */
        EXPECT_EQ(v.conn[0].facts.qp_uses, 1);
        EXPECT_EQ(v.conn[2].side[0].qpn, two.qpn[0]);
        EXPECT_EQ(v.conn[2].side[1].qpn, two.qpn[1]);
        EXPECT_EQ(v.conn[2].side[0].oper[ROCE_OPER_SEND].completed, 1);
    }
}

/* Each side announces the RNR retry count of its peer: the REP contains the count for the active
 * side, the REQ the count for the passive side (R157). A requester that retries more often must be
 * reported, and the finding must refer to the frame of its peer's REP or REQ. */
static void rnr_retry_count_comes_from_the_peer(void)
{
    static const struct {
        uint8_t req, rep;
        int requester;
        bool wrong;
    } rows[] = {{1, 7, 0, false}, {7, 1, 0, true}, {1, 7, 1, true}, {7, 1, 1, false}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_cm_msg m;
        struct roce_pkt p;
        uint32_t other = 0;

        flowgen_begin(&g);
        m = flowgen_cm_req(&g);
        m.req.rnr_retry_count = rows[i].req;
        flowgen_cm(&g, 0, &m); /* frame 1 */
        m = flowgen_cm_rep(&g);
        m.rep.rnr_retry_count = rows[i].rep;
        flowgen_cm(&g, 1, &m); /* frame 2 */
        put(&g, 0, ROCE_CM_RTU);
        flowgen_send(&g, rows[i].requester, 64);
        p = flowgen_req(&g, rows[i].requester, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned n = 0; n < 3; n++) {
            flowgen_put(&g, rows[i].requester, &p);
            g.conn.msn[rows[i].requester]--;
            flowgen_ack(&g, !rows[i].requester, p.bth.psn, RNR_1MS);
            g.conn.msn[rows[i].requester]++;
            flowgen_wait(&g, 1400000);
        }
        flowgen_put(&g, rows[i].requester, &p);
        flowgen_ack_all(&g, !rows[i].requester);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_COUNT), rows[i].wrong);
        for (uint32_t k = 0; k < v.finding_cnt; k++)
            if (v.finding[k].rule == ROCE_RULE_RNR_COUNT)
                other = v.finding[k].other_frame;
        EXPECT_EQ(other, !rows[i].wrong ? 0 : rows[i].requester == 0 ? 2 : 1);
        EXPECT_EQ(v.conn[1].facts.cm.rnr_retry, rows[i].req);
        EXPECT_EQ(v.conn[1].facts.cm.rep_rnr_retry, rows[i].rep);
    }
}

/* The timeout in the REQ is for the passive side, here 67 ms. The active side computes its timeout
 * from the target ACK delay in the REP (R239), here 268 ms. A retransmission after 400 ms is in
 * time for the active side, and late for the passive side. */
static void timeout_of_the_active_side_comes_from_the_rep(void)
{
    for (int side = 0; side < 2; side++) {
        struct flowgen g;
        struct roce_cm_msg m;
        struct roce_pkt p;

        flowgen_begin(&g);
        m = flowgen_cm_req(&g);
        flowgen_cm(&g, 0, &m);
        m = flowgen_cm_rep(&g);
        m.rep.target_ack_delay = 16;
        flowgen_cm(&g, 1, &m);
        put(&g, 0, ROCE_CM_RTU);
        flowgen_send(&g, side, 64);
        p = flowgen_req(&g, side, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, side, &p);
        flowgen_wait(&g, 400000000);
        flowgen_put(&g, side, &p);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_TIMEOUT_RANGE), side);
        EXPECT_EQ(v.last.cause, ROCE_CAUSE_TIMEOUT);
        EXPECT_EQ(v.last.timeout, side == 0 ? 268435456 : 67108864);
    }
}

/* The CM messages name a path MTU, but the QPs use another one, smaller or larger. The packets
 * decide how many PSNs each READ has: no packet is missing, and all READs are completed. */
static void packets_decide_the_path_mtu(void)
{
    static const uint32_t lens[] = {3000, 8192, 700, 5000};

    for (uint32_t agreed = 256; agreed <= 4096; agreed *= 2)
        for (uint32_t used = 256; used <= 4096; used *= 2)
            for (unsigned first = 0; first < 3; first++) { /* kind of the first packets */
                struct flowgen g;
                struct roce_cm_msg m;
                uint32_t psn[4];

                flowgen_begin(&g);
                g.mtu = used;
                m = flowgen_cm_req(&g);
                m.req.mtu = roce_mtu_code(agreed);
                flowgen_cm(&g, 0, &m);
                m = flowgen_cm_rep(&g);
                flowgen_cm(&g, 1, &m);
                if (first == 1)
                    flowgen_send(&g, 0, used);
                if (first == 2)
                    flowgen_write(&g, 0, 3 * used);
                for (unsigned i = 0; i < 4; i++) {
                    struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, lens[i]);

                    psn[i] = p.bth.psn;
                    flowgen_put(&g, 0, &p);
                }
                for (unsigned i = 0; i < 4; i++)
                    flowgen_read_resp(&g, 1, psn[i], lens[i], 0, (lens[i] - 1) / used);
                flowgen_send(&g, 0, 64);
                end(&g);
                for (uint32_t c = 0; c < v.conn_cnt; c++) {
                    const struct roce_endpoint_summary *a = &v.conn[c].side[0];

                    if (v.conn[c].facts.svc != ROCE_SVC_RC)
                        continue;
                    if (a->oper[ROCE_OPER_READ].completed != 4 || a->missing_psns ||
                        a->unseen_acked || v.conn[c].side[1].missing_responses ||
                        judge_found(&v, ROCE_RULE_READ_RESP_LEN) ||
                        judge_found(&v, ROCE_RULE_READ_RESP_SIZE) ||
                        judge_found(&v, ROCE_RULE_PMTU_SIZE) || judge_errors(&v, "path MTU"))
                        suite_fail(__FILE__, __LINE__,
                                   "path MTU %u in CM, %u in use, first packets %u: %llu READs "
                                   "completed, %llu PSNs missing",
                                   agreed, used, first,
                                   (unsigned long long)a->oper[ROCE_OPER_READ].completed,
                                   (unsigned long long)a->missing_psns);
                }
            }
}

SUITE("flow.cm", TEST(packets_decide_the_path_mtu), TEST(messages_of_an_exchange_are_linked),
      TEST(transmissions_of_a_dreq_are_counted),
      TEST(dreq_in_place_of_a_program_ends_the_connection_as_gone),
      TEST(rep_above_the_offered_depths_is_reported), TEST(wrong_rdma_ip_header_names_its_field),
      TEST(equal_ids_of_two_hosts_are_told_apart), TEST(qp_of_an_older_pair_gets_a_new_connection),
      TEST(rnr_retry_count_comes_from_the_peer),
      TEST(timeout_of_the_active_side_comes_from_the_rep))

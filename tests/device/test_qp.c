/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Queue pairs: states (R054, R183-R190), attributes, receive WQEs, flushing (R189), events (R055,
 * R088). */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "transport/responder.h"
#include "wire/codes.h"

#define ACK    (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK(n) (ROCE_SYNDROME_NAK | (n))

static struct device_fixture fixture;
static const enum rnic_qp_state states[] = {RNIC_QPS_RESET, RNIC_QPS_INIT, RNIC_QPS_RTR,
                                            RNIC_QPS_RTS, RNIC_QPS_ERR};

static int modify(enum rnic_qp_state state)
{
    struct rnic_qp_attr attr = fixture.attr;

    attr.state = state;
    return rnic_qp_modify(fixture.qp, &attr, fixture.now);
}

/* Moves the QP from its present state to `state`. */
static void bring_to(enum rnic_qp_state state)
{
    EXPECT_EQ(modify(RNIC_QPS_RESET), RNIC_OK);
    for (unsigned i = 1; i < 4 && fixture_state(&fixture) != state; i++)
        EXPECT_EQ(modify(states[i]), RNIC_OK);
    if (state == RNIC_QPS_ERR)
        EXPECT_EQ(modify(RNIC_QPS_ERR), RNIC_OK);
    EXPECT_EQ(fixture_state(&fixture), state);
}

static struct roce_pkt send(uint32_t psn)
{
    struct roce_pkt pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, psn);

    pkt.bth.ackreq = 1;
    return pkt;
}

static void creation(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_sge = 1};
    struct rnic_qp_init bad;
    struct rnic_attr attr;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_qp *qp;
    struct rnic_qp *other;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_OK);
    CU_ASSERT(rnic_qp_qpn(qp) >= 2 && rnic_qp_qpn(qp) <= 0xFFFFFE);
    CU_ASSERT(rnic_qp_qpn(qp) != rnic_qp_qpn(other));
    CU_ASSERT(rnic_qp_qpn(qp) + 1 != rnic_qp_qpn(other)); /* QPNs are not predictable */
    rnic_qp_del(other);
    rnic_qp_del(NULL);

    bad = init;
    bad.qpn = FIXTURE_QPN;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_EXISTS);
    bad.qpn = 1;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad.qpn = 0xFFFFFF;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad = init;
    bad.max_recv_sge = 0;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad.max_recv_sge = 33;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad = init;
    bad.max_recv_wr = 32769;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad = init;
    bad.type = (enum rnic_qp_type)7;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    bad = init;
    bad.recv_cq = NULL;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &bad, &qp), RNIC_ERR_INVALID);
    attr = fixture_device_attr(&fixture.gen);
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_ERR_INVALID); /* CQ of another device */
    rnic_del(rnic);
    fixture_free(&fixture);
}

/* Transitions between all pairs of states (R183). */
static void r183_only_valid_transitions_succeed(void)
{
    static const bool allowed[5][5] = {/* columns: to RESET, INIT, RTR, RTS, ERR */
                                       {true, true, false, false, false},  /* from RESET */
                                       {true, true, true, false, true},    /* from INIT */
                                       {true, false, false, true, true},   /* from RTR */
                                       {true, false, false, true, true},   /* from RTS */
                                       {true, false, false, false, true}}; /* from ERR */

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned from = 0; from < 5; from++) {
        for (unsigned to = 0; to < 5; to++) {
            bring_to(states[from]);
            EXPECT_EQ(modify(states[to]), allowed[from][to] ? RNIC_OK : RNIC_ERR_STATE);
            EXPECT_EQ(fixture_state(&fixture), allowed[from][to] ? states[to] : states[from]);
        }
    }
    bring_to(RNIC_QPS_RTR);
    EXPECT_EQ(modify((enum rnic_qp_state)4), RNIC_ERR_STATE);
    EXPECT_EQ(modify((enum rnic_qp_state)7), RNIC_ERR_INVALID);
    CU_ASSERT_STRING_EQUAL(rnic_qp_state_name(RNIC_QPS_RTR), "RTR");
    CU_ASSERT_STRING_EQUAL(rnic_qp_state_name((enum rnic_qp_state)9), "unknown");
    fixture_free(&fixture);
}

/* A value out of range changes nothing (R187, R194). */
static void r187_value_out_of_range_changes_nothing(void)
{
    struct rnic_qp_attr good;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    good = fixture.attr;
#define BAD_IN(target, member, value)                                                              \
    do {                                                                                           \
        bring_to((target) == RNIC_QPS_RTR ? RNIC_QPS_INIT : RNIC_QPS_RESET);                       \
        fixture.attr.member = (value);                                                             \
        EXPECT_EQ(modify(target), RNIC_ERR_INVALID);                                               \
        fixture.attr = good;                                                                       \
        EXPECT_EQ(modify(target), RNIC_OK);                                                        \
    } while (0)
    BAD_IN(RNIC_QPS_INIT, access, 1u << 10);
    BAD_IN(RNIC_QPS_INIT, pkey, 0);
    BAD_IN(RNIC_QPS_INIT, pkey, 0x8000);
    BAD_IN(RNIC_QPS_RTR, path_mtu, 0);
    BAD_IN(RNIC_QPS_RTR, path_mtu, 1000);
    BAD_IN(RNIC_QPS_RTR, path_mtu, 8192);
    BAD_IN(RNIC_QPS_RTR, dest_qpn, 1u << 24);
    BAD_IN(RNIC_QPS_RTR, rq_psn, 1u << 24);
    BAD_IN(RNIC_QPS_RTR, rq_msn, 1u << 24);
    BAD_IN(RNIC_QPS_RTR, max_dest_rd_atomic, 17);
    BAD_IN(RNIC_QPS_RTR, min_rnr_timer, 32);
    BAD_IN(RNIC_QPS_RTR, av.sgid_idx, 1);
    BAD_IN(RNIC_QPS_RTR, av.flow, 1u << 20);
    BAD_IN(RNIC_QPS_RTR, av.dgid[0], 0x20); /* IPv6 address with an IPv4 GID */
#undef BAD_IN
    fixture_free(&fixture);
}

static void r054_each_state_accepts_its_packets(void)
{
    for (unsigned i = 0; i < 5; i++) {
        struct roce_pkt pkt;
        bool in = states[i] == RNIC_QPS_RTR || states[i] == RNIC_QPS_RTS;

        fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
        bring_to(states[i]);
        if (states[i] != RNIC_QPS_RESET)
            EXPECT_EQ(fixture_post(&fixture, 1, 0, 8), RNIC_OK);
        pkt = send(FIXTURE_PSN);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_out(&fixture, &pkt), in);
        EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, !in);
        pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_ACK, FIXTURE_PSN);
        fixture_in(&fixture, &pkt);
        fixture_expect_nothing(&fixture);
        EXPECT_EQ(fixture_counters(&fixture).rx_no_request, states[i] == RNIC_QPS_RTS);
        fixture_free(&fixture);
    }
}

/* COMM_EST is raised once, for the first valid packet in RTR (R055). */
static void r055_comm_est_is_raised_once(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    bring_to(RNIC_QPS_RTR);
    pkt = send(FIXTURE_PSN);
    pkt.bth.pkey = 0x1234;
    fixture_in(&fixture, &pkt);
    fixture_expect_no_event(&fixture);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    fixture_expect_event(&fixture, RNIC_EVENT_COMM_EST);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    fixture_expect_no_event(&fixture);
    bring_to(RNIC_QPS_RTS);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

static void r188_post_depends_on_the_state(void)
{
    struct rnic_sge sge[5] = {{0}};
    struct rnic_recv_wr wr = {.sge = sge, .sge_cnt = 5};
    struct rnic_qp_view view;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    bring_to(RNIC_QPS_RESET);
    EXPECT_EQ(fixture_post(&fixture, 1, 0, 8), RNIC_ERR_STATE);
    bring_to(RNIC_QPS_INIT);
    EXPECT_EQ(rnic_post_recv(fixture.qp, &wr), RNIC_ERR_INVALID);
    for (unsigned i = 0; i < 64; i++)
        EXPECT_EQ(fixture_post(&fixture, i, 0, 8), RNIC_OK);
    EXPECT_EQ(fixture_post(&fixture, 64, 0, 8), RNIC_ERR_FULL);
    rnic_qp_view(fixture.qp, &view);
    EXPECT_EQ(view.recv_wr, 64);
    EXPECT_EQ(modify(RNIC_QPS_RTR), RNIC_OK); /* WQEs posted in INIT remain */
    rnic_qp_view(fixture.qp, &view);
    EXPECT_EQ(view.recv_wr, 64);
    EXPECT_EQ(view.epsn, FIXTURE_PSN);
    EXPECT_EQ(modify(RNIC_QPS_ERR), RNIC_OK);
    for (unsigned i = 0; i < 64; i++)
        fixture_expect_wc(&fixture, i, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(fixture_post(&fixture, 99, 0, 8),
              RNIC_OK); /* the receive is flushed at once (R189) */
    fixture_expect_wc(&fixture, 99, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(rnic_post_recv(fixture.qp, &wr), RNIC_ERR_INVALID);
    fixture_free(&fixture);
}

/* The WQE in error completes first, then the remaining WQEs in order; the NAK is still sent (R189,
 * R082). */
static void r189_wqe_in_error_completes_first(void)
{
    static const uint8_t data[100];
    struct rnic_wc wc;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(fixture_post(&fixture, i, 0, 64), RNIC_OK);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + 1, data, 100);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_ERR);
    fixture_expect_wc(&fixture, 0, RNIC_WC_SUCCESS);
    fixture_expect_wc(&fixture, 1, RNIC_WC_LOC_LEN_ERR);
    fixture_expect_wc(&fixture, 2, RNIC_WC_WR_FLUSH_ERR);
    fixture_expect_wc(&fixture, 3, RNIC_WC_WR_FLUSH_ERR);
    fixture_expect_wc(&fixture, 4, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 0);
    fixture_expect_aeth(&fixture, FIXTURE_PSN + 1, NAK(ROCE_NAK_INVALID_REQ), 1);
    fixture_expect_nothing(&fixture);
    fixture_expect_no_event(&fixture);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    fixture_expect_nothing(&fixture); /* a QP in ERR accepts no packet (R054) */
    fixture_free(&fixture);
}

/* An invalid R_Key raises the event, moves the QP to ERR and flushes the WQEs (R088). */
static void r088_invalid_rkey_raises_the_event(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(fixture_post(&fixture, 5, 0, 64), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, 0, 0xBAD, 8);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_ERR);
    fixture_expect_event(&fixture, RNIC_EVENT_QP_ACCESS_ERR);
    fixture_expect_no_event(&fixture);
    fixture_expect_wc(&fixture, 5, RNIC_WC_WR_FLUSH_ERR);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, NAK(ROCE_NAK_REMOTE_ACCESS), 0);
    EXPECT_EQ(fixture_counters(&fixture).resp_remote_access_errors, 1);
    fixture_free(&fixture);
}

/* The user moves the QP to ERR. The device drops pending responses and flushes the WQE in use
 * before the other WQEs. */
static void err_by_user(void)
{
    static const uint8_t data[1024];
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(fixture_post(&fixture, i, 0, 4096), RNIC_OK);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_FIRST, FIXTURE_PSN, data, 1024);
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(modify(RNIC_QPS_ERR), RNIC_OK);
    for (unsigned i = 0; i < 3; i++)
        fixture_expect_wc(&fixture, i, RNIC_WC_WR_FLUSH_ERR);
    fixture_expect_nothing(&fixture);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

/* RESET clears the PSN, the MSN, the results stored for duplicate requests, the pending responses,
 * the state of a message that is not complete, and the WQEs (R190). */
static void r190_reset_clears_the_connection(void)
{
    static const uint8_t data[1024];
    struct rnic_wc wc;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(fixture_post(&fixture, 1, 0, 4096), RNIC_OK);
    EXPECT_EQ(fixture_post(&fixture, 2, 0, 4096), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    pkt = pktgen_data(&fixture.gen, ROCE_OP_RC_SEND_FIRST, FIXTURE_PSN + 1, data, 1024);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(modify(RNIC_QPS_RESET), RNIC_OK);
    EXPECT_EQ(rnic_cq_poll(fixture.cq, &wc, 1), 0);
    fixture_expect_nothing(&fixture);
    fixture.attr.rq_psn = 5;
    fixture_connect(&fixture, fixture.qp);
    pkt = send(5);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, 5, ROCE_SYNDROME_RNR | 12, 0);
    pkt = pktgen_read(&fixture.gen, 5, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.psn, 5);
    EXPECT_EQ(pkt.aeth.msn, 1);
    fixture_free(&fixture);
}

/* A QP is deleted while responses are pending. The device sends none of them, and a later packet
 * finds no QP. */
static void deleted_while_owing(void)
{
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 100000);
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    rnic_qp_del(fixture.qp);
    fixture_expect_nothing(&fixture);
    pkt = send(FIXTURE_PSN);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 1);
    fixture_free(&fixture);
}

/* The responder of a QP needs at most 2 KiB of memory, without its receive queue. */
static void size_of_a_qp(void)
{
    CU_ASSERT(sizeof(struct rnic_responder) <= 2048);
}

SUITE("device.qp", TEST(creation), TEST(r183_only_valid_transitions_succeed),
      TEST(r187_value_out_of_range_changes_nothing), TEST(r054_each_state_accepts_its_packets),
      TEST(r055_comm_est_is_raised_once), TEST(r188_post_depends_on_the_state),
      TEST(r189_wqe_in_error_completes_first), TEST(r088_invalid_rkey_raises_the_event),
      TEST(err_by_user), TEST(r190_reset_clears_the_connection), TEST(deleted_while_owing),
      TEST(size_of_a_qp))

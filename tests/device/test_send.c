/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Send side of a device through its API: states, limits, attributes, the packets of one request
 * (R124, R184, R188-R191, R194, R198, R200, R205 of rnic/rules.md). tests/sim tests two devices
 * together. */
#include <string.h>
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct device_fixture fixture;
static struct rnic_cq *send_cq;
static struct rnic_qp *qp;

#define QPN 0x77u

/* Creates a second QP with a send queue of 4 WQEs and moves it to RTS. */
static void begin(uint32_t cq_depth)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = QPN,
                                .max_recv_sge = 1,
                                .max_send_wr = 4,
                                .max_send_sge = 2,
                                .max_inline = 32};

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, cq_depth, &send_cq), RNIC_OK);
    init.recv_cq = fixture.cq;
    init.send_cq = send_cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture.attr.timeout = 10;
    fixture.attr.retry_cnt = 1;
    fixture.attr.sq_psn = 0x123456;
}

static int post(enum rnic_wr_opcode opcode, uint64_t wr_id, uint32_t len, unsigned flags)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, len, FIXTURE_KEY};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = flags,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = 0x1000,
                                    .rkey = 7};

    return rnic_post_send(qp, &wr);
}

static int check(enum rnic_wr_opcode opcode, uint32_t len, unsigned flags)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, len, FIXTURE_KEY};
    const struct rnic_send_wr wr = {.opcode = opcode, .flags = flags, .sge = &sge, .sge_cnt = 1};

    return rnic_post_send_check(qp, &wr);
}

static void expect_send_wc(uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc;

    EXPECT_EQ(rnic_cq_poll(send_cq, &wc, 1), 1);
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.status, status);
    EXPECT_EQ(wc.qpn, QPN);
}

/* Posts are refused before RTS and flushed in ERR (R188). */
static void r188_post_before_rts_is_refused(void)
{
    static const enum rnic_qp_state before[] = {RNIC_QPS_INIT, RNIC_QPS_RTR};

    begin(16);
    EXPECT_EQ(post(RNIC_WR_SEND, 1, 8, 0), RNIC_ERR_STATE);
    for (unsigned i = 0; i < 2; i++) {
        fixture.attr.state = before[i];
        EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
        EXPECT_EQ(post(RNIC_WR_SEND, 1, 8, 0), RNIC_ERR_STATE);
    }
    fixture.attr.state = RNIC_QPS_RTS;
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_SEND, 1, 8, 0), RNIC_OK);
    fixture.attr.state = RNIC_QPS_ERR;
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    expect_send_wc(1, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(post(RNIC_WR_READ, 2, 8, 0), RNIC_OK);
    expect_send_wc(2, RNIC_WC_WR_FLUSH_ERR);
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

/* A value outside the range of an RTS attribute changes nothing (R194, R184). */
static void r194_value_out_of_range_changes_nothing(void)
{
    struct rnic_qp_attr bad[6];

    begin(16);
    fixture.attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    fixture.attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    fixture.attr.state = RNIC_QPS_RTS;
    for (unsigned i = 0; i < 6; i++)
        bad[i] = fixture.attr;
    bad[0].sq_psn = 0x1000000;
    bad[1].max_rd_atomic = 17;
    bad[2].timeout = 32;
    bad[3].retry_cnt = 8;
    bad[4].rnr_retry = 8;
    bad[5].state = RNIC_QPS_SQD;
    for (unsigned i = 0; i < 6; i++)
        EXPECT_EQ(rnic_qp_modify(qp, &bad[i], 0), i < 5 ? RNIC_ERR_INVALID : RNIC_ERR_STATE);
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_WRITE, 1, 8, 0), RNIC_OK);
    fixture_free(&fixture);
}

static void creation_limits(void)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .max_recv_sge = 1, .max_send_wr = 1, .max_send_sge = 1};
    struct rnic_qp *other = NULL;

    begin(16);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other),
              RNIC_ERR_INVALID); /* a QP without send CQ
                                  * cannot have a send queue */
    init.send_cq = send_cq;
    init.max_send_wr = 32769;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_ERR_INVALID);
    init.max_send_wr = 1;
    init.max_send_sge = 33;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_ERR_INVALID);
    init.max_send_sge = 1;
    init.max_inline = 1025;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_ERR_INVALID);
    init.max_inline = 1024;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &other), RNIC_OK);
    rnic_qp_del(other);
    EXPECT_EQ(rnic_cq_del(send_cq), RNIC_ERR_BUSY); /* a QP uses the CQ (R205) */
    rnic_qp_del(qp);
    EXPECT_EQ(rnic_cq_del(send_cq), RNIC_OK);
    fixture_free(&fixture);
}

/* rnic_post_send_check() reports errors of a request without posting it. */
static void errors_of_a_post(void)
{
    begin(16);
    EXPECT_EQ(check(RNIC_WR_WRITE, 8, 0), RNIC_ERR_STATE);
    fixture_connect(&fixture, qp);
    /* the buffer of an atomic must have 8 bytes (R124) */
    EXPECT_EQ(post(RNIC_WR_FETCH_ADD, 1, 4, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(check(RNIC_WR_FETCH_ADD, 4, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(post(RNIC_WR_SEND, 1, 33, RNIC_SEND_INLINE), RNIC_ERR_INVALID);
    EXPECT_EQ(check(RNIC_WR_SEND, 33, RNIC_SEND_INLINE), RNIC_ERR_INVALID);
    EXPECT_EQ(check(RNIC_WR_BIND_MW, 0, 0), RNIC_ERR_INVALID); /* the request names no window */
    for (unsigned i = 0; i < 8; i++) /* more requests than the queue has room for */
        EXPECT_EQ(check(RNIC_WR_WRITE, 8, 0), RNIC_OK);
    fixture_expect_nothing(&fixture);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(post(RNIC_WR_WRITE, i, 8, 0), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_WRITE, 4, 8, 0), RNIC_ERR_FULL);
    fixture_free(&fixture);
}

/* Acknowledges the first `cnt` packets that the device sent. */
static void acknowledge(uint32_t cnt)
{
    struct roce_pkt pkt, ack;

    while (fixture_out(&fixture, &pkt))
        ;
    fixture.gen.dest_qp = QPN;
    ack = pktgen_pkt(&fixture.gen, ROCE_OP_RC_ACK, (fixture.attr.sq_psn + cnt - 1) & 0xFFFFFF);
    ack.aeth.syndrome = 0x1F;
    fixture_in(&fixture, &ack);
}

/* A request is outstanding until its completion, or the completion of a later request, is polled
 * (IBTA 10.8.5.1). */
static void request_is_outstanding_until_a_completion_is_polled(void)
{
    begin(16);
    fixture_connect(&fixture, qp);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(post(RNIC_WR_WRITE, i, 8, 0), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_WRITE, 3, 8, RNIC_SEND_SIGNALED), RNIC_OK);
    acknowledge(4);
    EXPECT_EQ(post(RNIC_WR_WRITE, 4, 8, 0), RNIC_ERR_FULL);
    expect_send_wc(3, RNIC_WC_SUCCESS); /* releases all four requests */
    for (unsigned i = 4; i < 8; i++)
        EXPECT_EQ(post(RNIC_WR_WRITE, i, 8, 0), RNIC_OK);
    acknowledge(8);
    /* The four unsignaled requests remain outstanding, because no completion after them exists. */
    EXPECT_EQ(post(RNIC_WR_WRITE, 8, 8, 0), RNIC_ERR_FULL);
    fixture.attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(qp, &fixture.attr, 0), RNIC_OK);
    fixture_connect(&fixture, qp);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(post(RNIC_WR_WRITE, i, 8, 0), RNIC_OK);
    fixture_free(&fixture);
}

/* The packets of one request, its deadlines, and its failure (R150, R154). */
static void one_request(void)
{
    struct rnic_qp_view view;
    struct roce_pkt pkt;

    begin(16);
    fixture_connect(&fixture, qp);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    EXPECT_EQ(post(RNIC_WR_WRITE, 9, 100, 0), RNIC_OK);
    for (unsigned i = 0; i < 2; i++) {
        rnic_time sent = fixture.now;
        rnic_time wait = UINT64_C(4096) << (10 + i); /* 2T after the first expiry (R150) */

        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_WRITE_ONLY);
        EXPECT_EQ(pkt.bth.psn, 0x123456);
        EXPECT_EQ(pkt.bth.dest_qp, FIXTURE_PEER_QPN);
        EXPECT_EQ(pkt.bth.ackreq, 1);
        EXPECT_EQ(pkt.reth.va, 0x1000);
        EXPECT_EQ(pkt.ip4.ttl, 17);          /* hop limit of the address vector (R008) */
        EXPECT_EQ(pkt.ip4.dscp, 0x68u >> 2); /* DSCP of the address vector (R004) */
        EXPECT_EQ(pkt.udp.sport, 0xD00D);    /* source port of the address vector (R012) */
        EXPECT_EQ(pkt.udp.dport, ROCE_UDP_PORT);
        CU_ASSERT(memcmp(pkt.payload, fixture.mem, 100) == 0);
        fixture_expect_nothing(&fixture);
        EXPECT_EQ(rnic_deadline(fixture.rnic), sent + wait);
        rnic_expire(fixture.rnic, sent + wait - 1);
        fixture_expect_nothing(&fixture);
        fixture.now = sent + wait;
        rnic_expire(fixture.rnic, fixture.now);
    }
    expect_send_wc(9, RNIC_WC_RETRY_EXC_ERR);
    rnic_qp_view(qp, &view);
    EXPECT_EQ(view.state, RNIC_QPS_ERR);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(fixture_counters(&fixture).local_ack_timeout_err, 2);
    fixture_free(&fixture);
}

/* A deleted QP leaves neither a timer nor a packet. */
static void deleted_while_waiting(void)
{
    struct roce_pkt pkt;

    begin(16);
    fixture_connect(&fixture, qp);
    EXPECT_EQ(post(RNIC_WR_WRITE, 1, 100, 0), RNIC_OK);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(post(RNIC_WR_WRITE, 2, 100, 0), RNIC_OK);
    rnic_qp_del(qp);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    rnic_expire(fixture.rnic, UINT64_MAX - 1);
    fixture_free(&fixture);
}

/* A completion that does not fit the CQ moves the QP to ERR and raises an event (R200). */
static void r200_send_cq_overrun(void)
{
    struct rnic_event event;
    struct rnic_qp_view view;

    begin(1);
    fixture_connect(&fixture, qp);
    EXPECT_EQ(post(RNIC_WR_WRITE, 1, 8, RNIC_SEND_SIGNALED), RNIC_OK);
    EXPECT_EQ(post(RNIC_WR_WRITE, 2, 8, RNIC_SEND_SIGNALED), RNIC_OK);
    for (struct roce_pkt pkt; fixture_out(&fixture, &pkt);)
        ;
    fixture.gen.dest_qp = QPN;
    {
        struct roce_pkt ack = pktgen_pkt(&fixture.gen, ROCE_OP_RC_ACK, 0x123457);

        ack.aeth.syndrome = 0x1F;
        fixture_in(&fixture, &ack);
    }
    expect_send_wc(1, RNIC_WC_SUCCESS);
    rnic_qp_view(qp, &view);
    EXPECT_EQ(view.state, RNIC_QPS_ERR);
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_CQ_ERR);
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_QP_FATAL);
    fixture_free(&fixture);
}

/* The device sends an ACK before requests. One WRITE of a single packet may precede the ACK,
 * because a WRITE completes nothing at the peer. */
static void acks_are_sent_before_requests(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t len; /* the path MTU is 1024 */
        unsigned passes;
    } rows[] = {
        {RNIC_WR_WRITE, 8, 1},     {RNIC_WR_WRITE, 1024, 1}, {RNIC_WR_WRITE, 1025, 0},
        {RNIC_WR_WRITE_IMM, 8, 0}, {RNIC_WR_SEND, 8, 0},     {RNIC_WR_SEND_INV, 8, 0},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t data[8] = {0};
        struct roce_pkt pkt;
        unsigned before = 0;

        begin(16);
        fixture_connect(&fixture, qp);
        fixture.gen.dest_qp = QPN;
        pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, FIXTURE_PSN, FIXTURE_IOVA,
                           FIXTURE_KEY, 8, data, 8);
        pkt.bth.ackreq = 1;
        fixture_in(&fixture, &pkt);
        for (unsigned j = 0; j < 3; j++)
            EXPECT_EQ(post(rows[i].opcode, j, rows[i].len, 0), RNIC_OK);
        while (fixture_out(&fixture, &pkt) && pkt.op->kind != ROCE_KIND_ACK)
            before++;
        EXPECT_EQ(pkt.op->kind, ROCE_KIND_ACK);
        EXPECT_EQ(before, rows[i].passes);
        fixture_free(&fixture);
    }
}

/* Passes the peer's WRITE of 8 bytes with this PSN to the device. */
static void peer_writes(uint32_t psn)
{
    uint8_t data[8] = {0};
    struct roce_pkt pkt;

    pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, psn, FIXTURE_IOVA, FIXTURE_KEY, 8, data,
                       8);
    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
}

#define TIMEOUT_LONG  12 /* ACK timeout code: 16.8 ms */
#define TIMEOUT_SHORT 11

static void begin_held(uint8_t timeout)
{
    begin(16);
    fixture.attr.timeout = timeout;
    fixture_connect(&fixture, qp);
    fixture.gen.dest_qp = QPN;
}

static void expect_out(enum roce_kind kind, uint32_t psn)
{
    struct roce_pkt pkt;

    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.op->kind, kind);
    if (kind == ROCE_KIND_ACK)
        EXPECT_EQ(pkt.bth.psn, psn);
}

static void expect_silence(void)
{
    struct roce_pkt pkt;

    CU_ASSERT(!fixture_out(&fixture, &pkt));
}

static void answer_held(uint64_t id)
{
    rnic_ack_hold(fixture.rnic, fixture.now + RNIC_ACK_HOLD_NS);
    EXPECT_EQ(post(RNIC_WR_WRITE, id, 8, 0), RNIC_OK);
    expect_out(ROCE_KIND_WRITE, 0);
}

/* The device may send one WRITE before an ACK and then delay the ACK. The device sends the ACK when
 * the delay ends or when the QP has another packet to send. A later ACK replaces the delayed one. A
 * NAK is not delayed. */
static void ack_waits_only_while_the_qp_is_idle(void)
{
    begin_held(TIMEOUT_LONG);
    peer_writes(FIXTURE_PSN);
    answer_held(1);
    expect_silence();
    CU_ASSERT(rnic_ack_waits(fixture.rnic));
    rnic_ack_hold(fixture.rnic, 0);
    CU_ASSERT(!rnic_ack_waits(fixture.rnic));
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN);
    expect_silence();

    /* A second ACK replaces the delayed ACK. Its delay is new, so the device sends one more WRITE
     * before any ACK. */
    peer_writes(FIXTURE_PSN + 1);
    answer_held(2);
    expect_silence();
    peer_writes(FIXTURE_PSN + 2);
    expect_silence();
    answer_held(3);
    expect_silence();
    CU_ASSERT(rnic_ack_waits(fixture.rnic));

    /* The QP has another packet to send. */
    EXPECT_EQ(post(RNIC_WR_WRITE, 4, 8, 0), RNIC_OK);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN + 2);
    CU_ASSERT(!rnic_ack_waits(fixture.rnic));
    expect_out(ROCE_KIND_WRITE, 0);
    expect_silence();

    fixture_free(&fixture);

    /* A NAK for a missing packet. */
    begin_held(TIMEOUT_LONG);
    peer_writes(FIXTURE_PSN + 1);
    answer_held(1);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN);
    expect_silence();
    CU_ASSERT(!rnic_ack_waits(fixture.rnic));

    /* Deleting the QP drops its delayed ACK. */
    peer_writes(FIXTURE_PSN);
    answer_held(2);
    expect_silence();
    CU_ASSERT(rnic_ack_waits(fixture.rnic));
    EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
    CU_ASSERT(!rnic_ack_waits(fixture.rnic));
    rnic_ack_hold(fixture.rnic, 0);
    expect_silence();
    fixture_free(&fixture);

    /* With a short ACK timeout, ACKs are not delayed. */
    begin_held(TIMEOUT_SHORT);
    peer_writes(FIXTURE_PSN);
    answer_held(1);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN);
    fixture_free(&fixture);
}

/* The delay ends at the time that rnic_deadline() returns; a later request does not extend it. */
static void ack_hold_ends_at_its_deadline(void)
{
    rnic_time until;

    begin_held(TIMEOUT_LONG);
    until = fixture.now + 10000;
    rnic_ack_hold(fixture.rnic, until);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    peer_writes(FIXTURE_PSN);
    expect_silence();
    EXPECT_EQ(rnic_deadline(fixture.rnic), until);
    peer_writes(FIXTURE_PSN + 1);
    expect_silence();
    EXPECT_EQ(rnic_deadline(fixture.rnic), until);
    fixture.now = until;
    rnic_expire(fixture.rnic, until);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN + 1);
    expect_silence();
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);

    /* The delay has ended: the next ACK is sent at once. */
    peer_writes(FIXTURE_PSN + 2);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN + 2);
    fixture_free(&fixture);
}

/* A NAK, and an ACK that precedes a NAK, are never delayed. */
static void nak_ends_the_wait_of_an_ack(void)
{
    begin_held(TIMEOUT_LONG);
    rnic_ack_hold(fixture.rnic, fixture.now + RNIC_ACK_HOLD_NS);
    peer_writes(FIXTURE_PSN);
    expect_silence();
    peer_writes(FIXTURE_PSN + 2); /* the previous request is missing */
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN);
    expect_out(ROCE_KIND_ACK, FIXTURE_PSN + 1);
    expect_silence();
    CU_ASSERT(!rnic_ack_waits(fixture.rnic));
    fixture_free(&fixture);
}

/* A port sends a frame some time after rnic_output() built it. The ACK timer must start when the
 * frame was sent, not when it was built (9.7.6.1.3). */
static void ack_timer_runs_from_the_time_when_the_request_left(void)
{
    const uint64_t timeout = roce_ack_timeout_ns(TIMEOUT_SHORT);
    struct roce_pkt pkt;

    begin_held(TIMEOUT_SHORT);
    EXPECT_EQ(rnic_timers_started(fixture.rnic), false);
    EXPECT_EQ(post(RNIC_WR_WRITE, 1, 8, 0), RNIC_OK);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(rnic_timers_started(fixture.rnic), true);
    rnic_sent(fixture.rnic, fixture.now + 13000);
    EXPECT_EQ(rnic_timers_started(fixture.rnic), false);
    rnic_expire(fixture.rnic, fixture.now + timeout + 12999);
    CU_ASSERT(!fixture_out(&fixture, &pkt));
    EXPECT_EQ(rnic_deadline(fixture.rnic), fixture.now + timeout + 13000);
    rnic_qp_del(qp);
    fixture.now += 2 * timeout;
    rnic_sent(fixture.rnic, fixture.now);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    fixture_free(&fixture);
}

SUITE("device.send", TEST(ack_timer_runs_from_the_time_when_the_request_left),
      TEST(ack_waits_only_while_the_qp_is_idle), TEST(ack_hold_ends_at_its_deadline),
      TEST(nak_ends_the_wait_of_an_ack), TEST(acks_are_sent_before_requests),
      TEST(r188_post_before_rts_is_refused), TEST(r194_value_out_of_range_changes_nothing),
      TEST(creation_limits), TEST(errors_of_a_post),
      TEST(request_is_outstanding_until_a_completion_is_polled), TEST(one_request),
      TEST(deleted_while_waiting), TEST(r200_send_cq_overrun))

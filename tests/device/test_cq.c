/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Completion queues: order (R198), overrun (R200), notification (R201), moderation, and deletion
 * while in use (R205). */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct device_fixture fixture;

static void limits(void)
{
    struct rnic_cq *cq;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 0, &cq), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, (1u << 22) + 1, &cq), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 1, &cq), RNIC_OK);
    EXPECT_EQ(rnic_cq_del(fixture.cq), RNIC_ERR_BUSY); /* a QP uses the CQ (C11-17) */
    EXPECT_EQ(rnic_cq_del(cq), RNIC_OK);
    EXPECT_EQ(rnic_cq_del(NULL), RNIC_OK);
    CU_ASSERT_STRING_EQUAL(rnic_wc_status_name(RNIC_WC_LOC_LEN_ERR), "LOC_LEN_ERR");
    CU_ASSERT_STRING_EQUAL(rnic_wc_status_name((enum rnic_wc_status)99), "unknown");
    fixture_free(&fixture);
}

/* A CQ ring wraps many times and is polled in pieces. The completions must keep their order (R198).
 */
static void r198_completions_keep_their_order(void)
{
    struct rnic_wc wc[7];
    struct roce_pkt pkt;
    uint64_t next = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (uint32_t i = 0; i < 600; i++) {
        EXPECT_EQ(fixture_post(&fixture, i, 0, 16), RNIC_OK);
        pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + i);
        fixture_in(&fixture, &pkt);
        if (i % 100 == 99) {
            size_t got;

            while ((got = rnic_cq_poll(fixture.cq, wc, 7)) != 0)
                for (size_t k = 0; k < got; k++)
                    EXPECT_EQ(wc[k].wr_id, next++);
        }
    }
    EXPECT_EQ(next, 600);
    fixture_free(&fixture);
}

/* A QP is reset. Its completions must be removed from the CQ. The completions of other QPs must
 * keep their order (R190). */
static void r190_reset_removes_completions(void)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .qpn = 0x55, .max_recv_wr = 8, .max_recv_sge = 1};
    const struct rnic_qp_attr reset = {.state = RNIC_QPS_RESET};
    struct rnic_wc wc[16];
    struct rnic_qp *qp;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_resize(fixture.cq, 7), RNIC_OK);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    for (uint32_t round = 0; round < 10; round++) { /* each round begins at another position of the
                                                     * ring */
        fixture_connect(&fixture, qp);
        for (uint32_t i = 0; i < 3; i++) {
            const struct rnic_recv_wr wr = {.wr_id = 100};

            EXPECT_EQ(fixture_post(&fixture, i, 0, 16), RNIC_OK);
            EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
            pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + 3 * round + i);
            fixture_in(&fixture, &pkt);
            pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + i);
            pkt.bth.dest_qp = 0x55;
            fixture_in(&fixture, &pkt);
        }
        EXPECT_EQ(rnic_qp_modify(qp, &reset, fixture.now), RNIC_OK);
        EXPECT_EQ(rnic_cq_poll(fixture.cq, wc, 16), 3);
        for (uint32_t i = 0; i < 3; i++) {
            EXPECT_EQ(wc[i].wr_id, i);
            CU_ASSERT_NOT_EQUAL(wc[i].qpn, 0x55);
        }
    }
    EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
    fixture_free(&fixture);
}

/* Completions that were not polled remain in both CQs after their QP is deleted (see
 * rnic_cq_clean()). */
static void completions_outlive_a_deleted_qp(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_send_wr = 4,
                                .max_recv_wr = 4,
                                .max_send_sge = 1,
                                .max_recv_sge = 1};
    const struct rnic_recv_wr recv = {.wr_id = 1};
    const struct rnic_send_wr send = {.wr_id = 2, .opcode = RNIC_WR_SEND};
    struct rnic_cq *cq[2];
    struct rnic_qp *qp[2];
    struct rnic_wc wc[8];

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(rnic_cq_new(fixture.rnic, 8, &cq[i]), RNIC_OK);
    init.send_cq = cq[0];
    init.recv_cq = cq[1];
    for (unsigned i = 0; i < 2; i++) {
        struct rnic_qp_attr attr = fixture.attr;

        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp[i]), RNIC_OK);
        fixture_connect(&fixture, qp[i]);
        attr.state = RNIC_QPS_ERR;
        EXPECT_EQ(rnic_qp_modify(qp[i], &attr, fixture.now), RNIC_OK);
    }
    for (unsigned i = 0; i < 4; i++) { /* flushed WQEs of the two QPs alternately */
        EXPECT_EQ(rnic_post_send(qp[i % 2], &send), RNIC_OK);
        EXPECT_EQ(rnic_post_recv(qp[i % 2], &recv), RNIC_OK);
    }
    EXPECT_EQ(rnic_cq_poll(cq[1], wc, 1), 1);
    EXPECT_EQ(wc[0].qpn, rnic_qp_qpn(qp[0]));
    const uint32_t qpn[] = {rnic_qp_qpn(qp[0]), rnic_qp_qpn(qp[1])};
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(rnic_qp_del(qp[i]), RNIC_OK);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(rnic_cq_poll(cq[i], wc, 8), 4 - i);
        for (unsigned k = 0; k < 4 - i; k++)
            EXPECT_EQ(wc[k].qpn, qpn[(k + i) % 2]);
    }
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(rnic_cq_del(cq[i]), RNIC_OK);
    fixture_free(&fixture);
}

/* On overrun no completion is overwritten, the CQ and the QP raise events, and the QP enters ERR
 * (R200). */
static void r200_overrun_moves_the_qp_to_err(void)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .qpn = 0x55, .max_recv_wr = 8, .max_recv_sge = 1};
    const struct rnic_recv_wr wr = {.wr_id = 1};
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_event event;
    struct rnic_qp_view view;
    struct rnic_wc wc[4];
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 2, &cq), RNIC_OK);
    init.recv_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture_connect(&fixture, qp);
    for (uint32_t i = 0; i < 5; i++)
        EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    for (uint32_t i = 0; i < 3; i++) {
        pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + i);
        pkt.bth.dest_qp = 0x55;
        pkt.bth.ackreq = 1;
        fixture_in(&fixture, &pkt);
    }
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_CQ_ERR);
    CU_ASSERT(event.cq == cq);
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_QP_FATAL);
    CU_ASSERT(event.qp == qp);
    fixture_expect_no_event(&fixture);
    rnic_qp_view(qp, &view);
    EXPECT_EQ(view.state, RNIC_QPS_ERR);
    EXPECT_EQ(view.recv_wr, 0);
    fixture_expect_nothing(&fixture); /* a message with a lost completion is not acknowledged */
    EXPECT_EQ(rnic_cq_poll(cq, wc, 4), 2);
    EXPECT_EQ(wc[0].status, RNIC_WC_SUCCESS);
    EXPECT_EQ(wc[1].status, RNIC_WC_SUCCESS);
    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK); /* this WQE is flushed into a full CQ */
    EXPECT_EQ(rnic_cq_poll(cq, wc, 4), 0);
    rnic_qp_del(qp);
    EXPECT_EQ(rnic_cq_del(cq), RNIC_OK);
    fixture_free(&fixture);
}

static void deleted_cq_has_no_event(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_wr = 8, .max_recv_sge = 1};
    const struct rnic_recv_wr wr = {.wr_id = 1};
    struct rnic_qp_attr attr = {.state = RNIC_QPS_INIT, .pkey = 0xFFFF};
    struct rnic_cq *cq;
    struct rnic_qp *qp;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 1, &cq), RNIC_OK);
    init.recv_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    attr.state = RNIC_QPS_ERR;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK); /* flushes two WQEs, but the CQ holds
                                                       * only one completion */
    rnic_qp_del(qp);
    EXPECT_EQ(rnic_cq_del(cq), RNIC_OK);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

/* A CQ is resized while its completions wrap around the end of the ring. The completions must keep
 * their order. */
static void resized_cq_keeps_the_order(void)
{
    static const uint32_t depths[] = {5, 4, 64, 4, 7};
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .qpn = 0x55, .max_recv_wr = 64, .max_recv_sge = 1};
    struct rnic_qp_attr attr;
    struct rnic_cq *cq;
    struct rnic_wc wc;
    struct rnic_qp *qp;
    uint64_t next = 0;
    uint64_t posted = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    attr = fixture.attr;
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 4, &cq), RNIC_OK);
    init.recv_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture_connect(&fixture, qp);
    attr.state = RNIC_QPS_ERR; /* in ERR, posted work completes at once */
    EXPECT_EQ(rnic_qp_modify(qp, &attr, fixture.now), RNIC_OK);
    for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        while (posted < next + 4) {
            const struct rnic_recv_wr wr = {.wr_id = posted++};

            EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
        }
        EXPECT_EQ(rnic_cq_resize(cq, 3), RNIC_ERR_INVALID); /* the CQ contains 4 completions */
        EXPECT_EQ(rnic_cq_resize(cq, depths[i]), RNIC_OK);
        EXPECT_EQ(rnic_cq_depth(cq), depths[i]);
        for (unsigned k = 0; k < 3; k++) {
            EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 1);
            EXPECT_EQ(wc.wr_id, next++);
        }
    }
    EXPECT_EQ(rnic_cq_resize(cq, 0), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_cq_resize(cq, (1u << 22) + 1), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_cq_depth(cq), 7);
    fixture_free(&fixture);
}

/* Passes the peer's next SEND to the device, with or without a solicited event. */
static void arrive(uint32_t i, bool solicited)
{
    struct roce_pkt pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_SEND_ONLY, FIXTURE_PSN + i);

    pkt.bth.se = solicited;
    EXPECT_EQ(fixture_post(&fixture, i, 0, 16), RNIC_OK);
    fixture_in(&fixture, &pkt);
}

/* Each request for a notification must raise one notification (R201). A request for the next
 * completion overrides a request for the next solicited completion (C11-31). */
static void r201_one_request_raises_one_notification(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    arrive(0, true);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic)); /* no notification was requested */
    rnic_cq_arm(fixture.cq, false);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic)); /* an existing completion causes no notification */
    arrive(1, false);
    arrive(2, false);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic));
    rnic_cq_arm(fixture.cq, true);
    arrive(3, false);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic));
    arrive(4, true);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    rnic_cq_arm(fixture.cq, false);
    rnic_cq_arm(fixture.cq, true); /* a request for solicited completions only does not replace
                                    * the earlier request for any completion */
    arrive(5, false);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    rnic_cq_arm(fixture.cq, true);
    rnic_cq_arm(fixture.cq, false); /* a request for any completion replaces an earlier request
                                     * for solicited completions only */
    arrive(6, false);
    rnic_cq_arm(fixture.cq, false);
    arrive(7, false); /* raises a second notification before the program fetches the first one */
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic));
    fixture_free(&fixture);
}

/* A completion in error counts as solicited (C11-32). */
static void r201_error_is_solicited(void)
{
    struct rnic_qp_attr attr;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    attr = fixture.attr;
    EXPECT_EQ(fixture_post(&fixture, 1, 0, 16), RNIC_OK);
    rnic_cq_arm(fixture.cq, true);
    attr.state = RNIC_QPS_ERR;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &attr, fixture.now), RNIC_OK);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == fixture.cq);
    fixture_free(&fixture);
}

/* Several CQs: the oldest notification comes first; deleting a CQ removes its notifications. */
static void oldest_notification_is_first(void)
{
    struct rnic_cq *cq[3];
    struct rnic_qp *qp[3];

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 3; i++) {
        struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_wr = 8, .max_recv_sge = 1};
        struct rnic_qp_attr attr = fixture.attr;

        EXPECT_EQ(rnic_cq_new(fixture.rnic, 8, &cq[i]), RNIC_OK);
        init.recv_cq = cq[i];
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp[i]), RNIC_OK);
        fixture_connect(&fixture, qp[i]);
        attr.state = RNIC_QPS_ERR;
        EXPECT_EQ(rnic_qp_modify(qp[i], &attr, fixture.now), RNIC_OK);
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 3; i-- > 0;) {
            const struct rnic_recv_wr wr = {.wr_id = i};

            rnic_cq_arm(cq[i], false);
            EXPECT_EQ(rnic_post_recv(qp[i], &wr), RNIC_OK);
        }
    }
    rnic_qp_del(qp[1]);
    EXPECT_EQ(rnic_cq_del(cq[1]), RNIC_OK);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == cq[2]);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == cq[0]);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == cq[2]);
    CU_ASSERT(rnic_cq_notified(fixture.rnic) == cq[0]);
    CU_ASSERT(!rnic_cq_notified(fixture.rnic));
    fixture_free(&fixture);
}

/* Moves the clock to `at` and returns the CQ that is notified, or NULL. */
static struct rnic_cq *notified_at(rnic_time at)
{
    rnic_expire(fixture.rnic, at);
    return rnic_cq_notified(fixture.rnic);
}

/* A CQ moderated to a count of 3 notifies once for every three completions. */
static void moderated_notification_reports_a_count(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_moderate(fixture.cq, 3, 100000), RNIC_OK);
    arrive(0, false); /* before the request: does not count */
    for (uint32_t round = 0; round < 3; round++) {
        rnic_cq_arm(fixture.cq, false);
        EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
        arrive(3 * round + 1, false);
        arrive(3 * round + 2, false);
        CU_ASSERT(!notified_at(fixture.now));
        arrive(3 * round + 3, false);
        CU_ASSERT(notified_at(fixture.now) == fixture.cq);
        CU_ASSERT(!notified_at(fixture.now + 100000));
        fixture.now += 100000;
    }
    /* only solicited completions count for a request for solicited completions */
    rnic_cq_arm(fixture.cq, true);
    arrive(10, true);
    arrive(11, false);
    arrive(12, true);
    CU_ASSERT(!notified_at(fixture.now));
    arrive(13, true);
    CU_ASSERT(notified_at(fixture.now) == fixture.cq);
    fixture_free(&fixture);
}

/* A moderated CQ with fewer completions than its count notifies when the period ends. The period
 * begins with the first completion. */
static void moderated_notification_waits_at_most_a_period(void)
{
    rnic_time first;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_cq_moderate(fixture.cq, 3, 100000), RNIC_OK);
    rnic_cq_arm(fixture.cq, false);
    arrive(0, false);
    first = fixture.now;
    fixture.now += 600;
    arrive(1, false);
    EXPECT_EQ(rnic_deadline(fixture.rnic), first + 100000);
    CU_ASSERT(!notified_at(first + 99999));
    CU_ASSERT(notified_at(first + 100000) == fixture.cq);
    EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    fixture.now = first + 200000;
    arrive(2, false); /* no notification was requested */
    CU_ASSERT(!notified_at(first + 900000));
    fixture_free(&fixture);
}

/* New moderation values also apply to a notification that is already delayed. A count of 0 or 1, or
 * a period of 0, ends the moderation. A deleted CQ leaves no timer. */
static void changed_moderation_applies_to_a_delayed_notification(void)
{
    static const uint32_t off[][2] = {{0, 100000}, {1, 100000}, {3, 0}, {2, 100000}};
    struct rnic_cq *cq[2];
    uint32_t psn = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        EXPECT_EQ(rnic_cq_moderate(fixture.cq, 100, 100000), RNIC_OK);
        rnic_cq_arm(fixture.cq, false);
        arrive(psn++, false);
        arrive(psn++, false);
        CU_ASSERT(!notified_at(fixture.now));
        EXPECT_EQ(rnic_cq_moderate(fixture.cq, 50, 30000), RNIC_OK);
        EXPECT_EQ(rnic_deadline(fixture.rnic), fixture.now - 1000 + 30000);
        CU_ASSERT(!notified_at(fixture.now));
        EXPECT_EQ(rnic_cq_moderate(fixture.cq, off[i][0], off[i][1]), RNIC_OK);
        CU_ASSERT(notified_at(fixture.now) == fixture.cq);
        EXPECT_EQ(rnic_deadline(fixture.rnic), RNIC_NEVER);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_wr = 8, .max_recv_sge = 1};
        struct rnic_qp_attr attr = fixture.attr;
        struct rnic_qp *qp;

        EXPECT_EQ(rnic_cq_new(fixture.rnic, 8, &cq[i]), RNIC_OK);
        EXPECT_EQ(rnic_cq_moderate(cq[i], 9, 200 - 100 * i), RNIC_OK);
        init.recv_cq = cq[i];
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
        fixture_connect(&fixture, qp);
        attr.state = RNIC_QPS_ERR;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, fixture.now), RNIC_OK);
        rnic_cq_arm(cq[i], false);
        EXPECT_EQ(rnic_post_recv(qp, &(struct rnic_recv_wr){.wr_id = i}), RNIC_OK);
        EXPECT_EQ(rnic_deadline(fixture.rnic), fixture.now + 200 - 100 * i);
        if (i == 1) {
            EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
            EXPECT_EQ(rnic_cq_del(cq[i]), RNIC_OK);
        }
    }
    EXPECT_EQ(rnic_deadline(fixture.rnic), fixture.now + 200);
    CU_ASSERT(!notified_at(fixture.now + 199));
    CU_ASSERT(notified_at(fixture.now + 200) == cq[0]);
    fixture_free(&fixture);
}

SUITE("device.cq", TEST(limits), TEST(r198_completions_keep_their_order),
      TEST(r190_reset_removes_completions), TEST(completions_outlive_a_deleted_qp),
      TEST(r200_overrun_moves_the_qp_to_err), TEST(deleted_cq_has_no_event),
      TEST(resized_cq_keeps_the_order), TEST(r201_one_request_raises_one_notification),
      TEST(r201_error_is_solicited), TEST(oldest_notification_is_first),
      TEST(moderated_notification_reports_a_count),
      TEST(moderated_notification_waits_at_most_a_period),
      TEST(changed_moderation_applies_to_a_delayed_notification))

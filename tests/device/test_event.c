/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Asynchronous events: merging, order, limit, and deleted objects. */
#include "support/device_fixture.h"
#include "support/suite.h"

static struct device_fixture fixture;

static struct rnic_qp *new_qp(struct rnic_cq *cq)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .recv_cq = cq, .max_recv_sge = 1};
    struct rnic_qp *qp;

    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    return qp;
}

/* Connects a QP and sends its first packet, which raises COMM_EST (R055). */
static void provoke(struct rnic_qp *qp)
{
    struct rnic_qp_attr attr = fixture.attr;
    struct roce_pkt pkt;

    attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, FIXTURE_PSN, 0, 0, 0, NULL, 0);
    pkt.bth.dest_qp = rnic_qp_qpn(qp);
    fixture_in(&fixture, &pkt);
}

static void repeated_event_is_merged(void)
{
    struct rnic_qp *other;
    struct rnic_event event;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    other = new_qp(fixture.cq);
    provoke(fixture.qp);
    provoke(other);
    for (unsigned i = 0; i < 10; i++)
        provoke(fixture.qp);
    fixture_expect_event(&fixture, RNIC_EVENT_COMM_EST);
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    CU_ASSERT(event.qp == other);
    CU_ASSERT(event.cq == NULL);
    fixture_expect_no_event(&fixture);
    provoke(fixture.qp); /* the program has fetched the first event, so a second one is raised */
    fixture_expect_event(&fixture, RNIC_EVENT_COMM_EST);
    fixture_free(&fixture);
}

static void event_queue_is_bounded(void)
{
    struct rnic_event event;
    unsigned cnt = 0;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 1100; i++)
        provoke(new_qp(fixture.cq));
    while (rnic_event_get(fixture.rnic, &event))
        cnt++;
    EXPECT_EQ(cnt, 1024);
    fixture_free(&fixture);
}

static void deleted_object_has_no_events(void)
{
    struct rnic_qp *other;
    struct rnic_qp *third;
    struct rnic_event event;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    other = new_qp(fixture.cq);
    third = new_qp(fixture.cq);
    provoke(other);
    provoke(fixture.qp);
    provoke(third);
    rnic_qp_del(other);
    fixture_expect_event(&fixture, RNIC_EVENT_COMM_EST);
    CU_ASSERT(rnic_event_get(fixture.rnic, &event));
    CU_ASSERT(event.qp == third);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

SUITE("device.event", TEST(repeated_event_is_merged), TEST(event_queue_is_bounded),
      TEST(deleted_object_has_no_events))

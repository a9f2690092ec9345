/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Asynchronous events: merging, order, bound, and objects that go away. */
#include "support/rig.h"
#include "support/suite.h"

static struct rig rig;

static struct rnic_qp *new_qp(struct rnic_cq *cq)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .recv_cq = cq, .max_recv_sge = 1};
    struct rnic_qp *qp;

    EXPECT_EQ(rnic_qp_new(rig.pd, &init, &qp), RNIC_OK);
    return qp;
}

/* Brings a QP up and lets its first packet raise COMM_EST (R055). */
static void provoke(struct rnic_qp *qp)
{
    struct rnic_qp_attr attr = rig.attr;
    struct roce_pkt pkt;

    attr.state = RNIC_QPS_RESET;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    pkt = pktgen_write(&rig.gen, ROCE_OP_RC_WRITE_ONLY, RIG_PSN, 0, 0, 0, NULL, 0);
    pkt.bth.dest_qp = rnic_qp_qpn(qp);
    rig_in(&rig, &pkt);
}

static void merged(void)
{
    struct rnic_qp *other;
    struct rnic_event event;

    rig_init(&rig, ROCE_ENCAP_V2_IP4);
    other = new_qp(rig.cq);
    provoke(rig.qp);
    provoke(other);
    for (unsigned i = 0; i < 10; i++)
        provoke(rig.qp);
    rig_expect_event(&rig, RNIC_EVENT_COMM_EST);
    CU_ASSERT(rnic_event_get(rig.rnic, &event));
    CU_ASSERT(event.qp == other);
    CU_ASSERT(event.cq == NULL);
    rig_expect_no_event(&rig);
    provoke(rig.qp); /* taken, so it may come again */
    rig_expect_event(&rig, RNIC_EVENT_COMM_EST);
    rig_free(&rig);
}

static void bounded(void)
{
    struct rnic_event event;
    unsigned cnt = 0;

    rig_init(&rig, ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 1100; i++)
        provoke(new_qp(rig.cq));
    while (rnic_event_get(rig.rnic, &event))
        cnt++;
    EXPECT_EQ(cnt, 1024);
    rig_free(&rig);
}

static void purged(void)
{
    struct rnic_qp *other;
    struct rnic_qp *third;
    struct rnic_event event;

    rig_init(&rig, ROCE_ENCAP_V2_IP4);
    other = new_qp(rig.cq);
    third = new_qp(rig.cq);
    provoke(other);
    provoke(rig.qp);
    provoke(third);
    rnic_qp_del(other);
    rig_expect_event(&rig, RNIC_EVENT_COMM_EST);
    CU_ASSERT(rnic_event_get(rig.rnic, &event));
    CU_ASSERT(event.qp == third);
    rig_expect_no_event(&rig);
    rig_free(&rig);
}

SUITE("device.event", TEST(merged), TEST(bounded), TEST(purged))

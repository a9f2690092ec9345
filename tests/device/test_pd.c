/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Protection domains: deletion while in use (R205), and separation (R206). */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct device_fixture fixture;

static void r205_pd_in_use_is_busy(void)
{
    struct rnic_mr_attr attr = {.len = 0};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_sge = 1};
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_qp *qp;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(pd, &attr, &mr), RNIC_OK);
    EXPECT_EQ(rnic_pd_del(pd), RNIC_ERR_BUSY);
    rnic_mr_dereg(mr);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    EXPECT_EQ(rnic_pd_del(pd), RNIC_ERR_BUSY);
    rnic_qp_del(qp);
    EXPECT_EQ(rnic_pd_del(pd), RNIC_OK);
    EXPECT_EQ(rnic_pd_del(NULL), RNIC_OK);
    fixture_free(&fixture);
}

static void r206_key_of_another_pd_is_refused(void)
{
    struct rnic_mr_attr attr = {.len = 64, .access = 0xF, .key = 0x99};
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    attr.addr = fixture.mem;
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(pd, &attr, &mr), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, 0, 0x99, 8);
    fixture_in(&fixture, &pkt);
    fixture_expect_aeth(&fixture, FIXTURE_PSN, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 0);
    fixture_expect_event(&fixture, RNIC_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_ERR);
    fixture_free(&fixture);
}

SUITE("device.pd", TEST(r205_pd_in_use_is_busy), TEST(r206_key_of_another_pd_is_refused))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Limits of a device: each limit is reached and exceeded. Also tests the choice of GIDs and
 * QPNs. */
#include <string.h>
#include "device/limits.h"
#include "support/device_fixture.h"
#include "support/suite.h"

static struct rnic *rnic;
static struct rnic_pd *pd;
static struct rnic_cq *cq;

static void begin(const struct rnic_limits *limits)
{
    struct rnic_attr attr;
    struct pktgen gen;

    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    attr = fixture_device_attr(&gen);
    attr.limits = *limits;
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 1, &cq), RNIC_OK);
}

/* Limits of the number of objects: one object more is refused with NOMEM. After one object is
 * deleted, another can be created. */
static void count_above_the_limit_is_nomem(void)
{
    const struct rnic_limits limits = {
        .max_pd = 3, .max_mr = 5, .max_mw = 4, .max_cq = 6, .max_qp = 7, .max_ah = 2};
    const struct rnic_mr_attr region = {.len = 0};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_sge = 1};
    struct rnic_limits told;
    struct rnic_pd *pds[4];
    struct rnic_mr *mrs[6];
    struct rnic_mw *mws[5];
    struct rnic_cq *cqs[7];
    struct rnic_qp *qps[8];

    begin(&limits);
    init.recv_cq = cq;
    rnic_limits_get(rnic, &told);
    for (unsigned i = 1; i <= told.max_pd; i++)
        EXPECT_EQ(rnic_pd_new(rnic, &pds[i]), i < told.max_pd ? RNIC_OK : RNIC_ERR_NOMEM);
    for (unsigned i = 0; i <= told.max_mr; i++)
        EXPECT_EQ(rnic_mr_reg(pd, &region, &mrs[i]), i < told.max_mr ? RNIC_OK : RNIC_ERR_NOMEM);
    for (unsigned i = 0; i <= told.max_mw; i++)
        EXPECT_EQ(rnic_mw_new(pd, RNIC_MW_TYPE_2, &mws[i]),
                  i < told.max_mw ? RNIC_OK : RNIC_ERR_NOMEM);
    for (unsigned i = 1; i <= told.max_cq; i++)
        EXPECT_EQ(rnic_cq_new(rnic, 1, &cqs[i]), i < told.max_cq ? RNIC_OK : RNIC_ERR_NOMEM);
    for (unsigned i = 0; i <= told.max_qp; i++)
        EXPECT_EQ(rnic_qp_new(pd, &init, &qps[i]), i < told.max_qp ? RNIC_OK : RNIC_ERR_NOMEM);
    EXPECT_EQ(told.max_pd + told.max_mr + told.max_mw + told.max_cq + told.max_qp, 25);
    EXPECT_EQ(rnic_pd_del(pds[1]), RNIC_OK);
    EXPECT_EQ(rnic_pd_new(rnic, &pds[1]), RNIC_OK);
    EXPECT_EQ(rnic_mr_dereg(mrs[0]), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(pd, &region, &mrs[0]), RNIC_OK);
    EXPECT_EQ(rnic_mw_del(mws[0]), RNIC_OK);
    EXPECT_EQ(rnic_mw_new(pd, RNIC_MW_TYPE_1, &mws[0]), RNIC_OK);
    EXPECT_EQ(rnic_cq_del(cqs[1]), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 1, &cqs[1]), RNIC_OK);
    rnic_qp_del(qps[3]);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qps[3]), RNIC_OK);
    rnic_del(rnic);
}

/* Limits of sizes: the limit itself is accepted, and a greater size returns INVALID. */
static void size_above_the_limit_is_invalid(void)
{
    const struct rnic_limits limits = {.max_cqe = 10,
                                       .max_qp_wr = 20,
                                       .max_sge = 3,
                                       .max_inline = 40,
                                       .max_qp_rd_atom = 2,
                                       .max_qp_init_rd_atom = 1,
                                       .max_mr_size = 4096};
    static uint8_t mem[8192];

    begin(&limits);
    for (unsigned over = 0; over < 2; over++) {
        struct rnic_mr_attr region = {.addr = mem, .len = 4096 + over};
        struct rnic_mr *mr;
        struct rnic_cq *other;

        EXPECT_EQ(rnic_mr_reg(pd, &region, &mr), over ? RNIC_ERR_INVALID : RNIC_OK);
        EXPECT_EQ(rnic_cq_new(rnic, 10 + over, &other), over ? RNIC_ERR_INVALID : RNIC_OK);
        EXPECT_EQ(rnic_cq_resize(cq, 10 + over), over ? RNIC_ERR_INVALID : RNIC_OK);
        for (unsigned which = 0; which < 5; which++) {
            struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                        .recv_cq = cq,
                                        .send_cq = cq,
                                        .max_recv_wr = 20 + (over && which == 0),
                                        .max_send_wr = 20 + (over && which == 1),
                                        .max_recv_sge = 3 + (over && which == 2),
                                        .max_send_sge = 3 + (over && which == 3),
                                        .max_inline = 40 + (over && which == 4)};
            struct rnic_qp *qp;

            EXPECT_EQ(rnic_qp_new(pd, &init, &qp), over ? RNIC_ERR_INVALID : RNIC_OK);
        }
    }
    rnic_del(rnic);
}

/* Limits of the numbers of address handles, SRQs, XRC domains and multicast groups, and of the
 * sizes of an SRQ. */
static void of_other_objects(void)
{
    const struct rnic_limits limits = {.max_ah = 2,
                                       .max_srq = 3,
                                       .max_srq_wr = 5,
                                       .max_srq_sge = 2,
                                       .max_xrcd = 2,
                                       .max_mcast_grp = 2,
                                       .max_mcast_qp_attach = 1};
    struct rnic_qp_init ud = {.type = RNIC_QPT_UD, .max_recv_sge = 1};
    const struct rnic_av av = {.dgid = {[10] = 0xFF, 0xFF, 192, 0, 2, 9}};
    uint8_t group[16] = {[10] = 0xFF, 0xFF, 239, 0, 0, 0};
    struct rnic_ah *ah[3];
    struct rnic_srq *srq[4];
    struct rnic_xrcd *xrcd[3];
    struct rnic_qp *qp[2];

    begin(&limits);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(rnic_ah_new(pd, &av, &ah[i]), i < 2 ? RNIC_OK : RNIC_ERR_NOMEM);
    EXPECT_EQ(rnic_ah_del(ah[0]), RNIC_OK);
    EXPECT_EQ(rnic_ah_new(pd, &av, &ah[0]), RNIC_OK);
    for (unsigned over = 0; over < 3; over++) {
        struct rnic_srq_init init = {.max_wr = 5 + (over == 1), .max_sge = 2 + (over == 2)};

        EXPECT_EQ(rnic_srq_new(pd, &init, &srq[0]), over ? RNIC_ERR_INVALID : RNIC_OK);
    }
    for (unsigned i = 1; i < 4; i++) {
        const struct rnic_srq_init init = {.max_wr = 1, .max_sge = 1};
        const uint32_t more = 6;

        EXPECT_EQ(rnic_srq_new(pd, &init, &srq[i]), i < 3 ? RNIC_OK : RNIC_ERR_NOMEM);
        if (i < 3)
            EXPECT_EQ(rnic_srq_modify(srq[i], &more, NULL), RNIC_ERR_INVALID);
    }
    EXPECT_EQ(rnic_srq_del(srq[1]), RNIC_OK);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(rnic_xrcd_new(rnic, &xrcd[i]), i < 2 ? RNIC_OK : RNIC_ERR_NOMEM);
    EXPECT_EQ(rnic_xrcd_del(xrcd[0]), RNIC_OK);
    EXPECT_EQ(rnic_xrcd_new(rnic, &xrcd[0]), RNIC_OK);
    ud.recv_cq = cq;
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(rnic_qp_new(pd, &ud, &qp[i]), RNIC_OK);
    for (group[15] = 0; group[15] < 3; group[15]++)
        EXPECT_EQ(rnic_mcast_attach(qp[0], group), group[15] < 2 ? RNIC_OK : RNIC_ERR_NOMEM);
    group[15] = 0;
    EXPECT_EQ(rnic_mcast_attach(qp[1], group), RNIC_ERR_NOMEM);
    EXPECT_EQ(rnic_mcast_detach(qp[0], group), RNIC_OK);
    EXPECT_EQ(rnic_mcast_attach(qp[1], group), RNIC_OK);
    rnic_del(rnic);
}

/* Limits of the attributes of a QP, and of the number of SGEs of a READ. */
static void of_a_connection(void)
{
    const struct rnic_limits limits = {
        .max_qp_rd_atom = 2, .max_qp_init_rd_atom = 1, .max_sge = 3, .max_sge_rd = 2};
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};
    const struct rnic_sge sge[3] = {{0, 1, 0}, {0, 1, 0}, {0, 1, 0}};
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .max_recv_sge = 1, .max_send_wr = 4, .max_send_sge = 3};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_READ, .sge = sge, .sge_cnt = 3};
    struct rnic_qp_attr attr = {
        .pkey = 0xFFFF, .path_mtu = 1024, .av = {.dgid = {[10] = 0xFF, 0xFF, 192, 0, 2, 9}}};
    struct rnic_qp *qp;

    begin(&limits);
    init.recv_cq = init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    for (unsigned i = 0; i < 3; i++) {
        attr.state = states[i];
        attr.max_dest_rd_atomic = i == 1 ? 3 : 2;
        attr.max_rd_atomic = i == 2 ? 2 : 1;
        if (i > 0)
            EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_ERR_INVALID);
        attr.max_dest_rd_atomic = 2;
        attr.max_rd_atomic = 1;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    }
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_ERR_INVALID);
    wr.sge_cnt = 2;
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    wr.opcode = RNIC_WR_WRITE;
    wr.sge_cnt = 3;
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    rnic_del(rnic);
}

static void limits_above_the_maximum_are_reduced(void)
{
    struct rnic_limits limits;
    struct rnic_limits told;
    struct rnic_limits own;

    memset(&limits, 0, sizeof(limits));
    begin(&limits);
    rnic_limits_get(rnic, &own);
    rnic_del(rnic);
    memset(&limits, 0xFF, sizeof(limits));
    begin(&limits);
    rnic_limits_get(rnic, &told);
    EXPECT_EQ(told.max_cqe, own.max_cqe);
    EXPECT_EQ(told.max_qp_wr, RNIC_WR_MAX);
    EXPECT_EQ(told.max_sge, RNIC_SGE_MAX);
    EXPECT_EQ(told.max_inline, RNIC_INLINE_MAX);
    EXPECT_EQ(told.max_qp_rd_atom, RNIC_RD_ATOMIC_MAX);
    EXPECT_EQ(told.max_pkeys, 1);
    rnic_del(rnic);
}

/* A device must be refused if it has more P_Keys than its limit max_pkeys. A device with fewer
 * P_Keys must report their number as its limit, because no P_Key can be added later. */
static void port_keeps_its_initial_pkeys(void)
{
    struct rnic_limits told;
    struct rnic_attr attr;
    struct pktgen gen;

    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    attr = fixture_device_attr(&gen);
    for (unsigned i = 0; i < RNIC_PKEY_MAX; i++)
        attr.pkey[i] = (uint16_t)(0x8001 + i);
    for (uint32_t max = 0; max <= RNIC_PKEY_MAX + 1; max++)
        for (unsigned cnt = 0; cnt <= RNIC_PKEY_MAX; cnt++) {
            attr.pkey_cnt = cnt;
            attr.limits.max_pkeys = max;
            rnic = rnic_new(&attr);
            EXPECT_EQ(rnic != NULL, max == 0 || cnt <= max);
            if (!rnic)
                continue;
            rnic_limits_get(rnic, &told);
            EXPECT_EQ(told.max_pkeys, cnt ? cnt : 1);
            rnic_del(rnic);
        }
    attr.pkey_cnt = RNIC_PKEY_MAX + 1;
    attr.limits.max_pkeys = 0;
    CU_ASSERT(rnic_new(&attr) == NULL);
}

/* The device chooses QPNs inside its range, until none is free. */
static void chosen_qpns_are_in_the_range(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_sge = 1};
    struct rnic_attr attr;
    struct pktgen gen;
    struct rnic_qp *qps[301];

    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    attr = fixture_device_attr(&gen);
    attr.qpn_first = 0x4000;
    attr.qpn_last = 0x4000 + 299;
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 1, &cq), RNIC_OK);
    init.recv_cq = cq;
    for (unsigned i = 0; i < 300; i++) {
        EXPECT_EQ(rnic_qp_new(pd, &init, &qps[i]), RNIC_OK);
        CU_ASSERT(rnic_qp_qpn(qps[i]) >= 0x4000 && rnic_qp_qpn(qps[i]) < 0x4000 + 300);
    }
    EXPECT_EQ(rnic_qp_new(pd, &init, &qps[300]), RNIC_ERR_NOMEM);
    init.qpn = 0x123456;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qps[300]), RNIC_OK); /* a QPN chosen by the user may be
                                                            * outside the range */
    init.qpn = 0;
    rnic_qp_del(qps[77]);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qps[77]), RNIC_OK);
    rnic_del(rnic);
    attr.qpn_first = 1;
    CU_ASSERT(!rnic_new(&attr));
    attr.qpn_first = 0x5000;
    CU_ASSERT(!rnic_new(&attr));
    attr.qpn_last = 0xFFFFFF;
    CU_ASSERT(!rnic_new(&attr));
}

/* After a GID is removed from the table, packets to its address are dropped (R052), and no QP can
 * connect with its index. After a GID is added, QPs can use it. */
static void emptied_gid_accepts_no_packets(void)
{
    struct rnic_gid gid = {.type = RNIC_GID_ROCE_V2};
    struct device_fixture fixture;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    CU_ASSERT(rnic_gid_get(fixture.rnic, 0, &gid));
    CU_ASSERT(!rnic_gid_get(fixture.rnic, 1, &gid));
    CU_ASSERT(!rnic_gid_get(fixture.rnic, 1000, &gid));
    EXPECT_EQ(rnic_gid_set(fixture.rnic, RNIC_GID_MAX, &gid), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_gid_set(fixture.rnic, 0, NULL), RNIC_OK);
    CU_ASSERT(!rnic_gid_get(fixture.rnic, 0, &gid));
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(fixture_counters(&fixture).rx_no_qp, 1);
    fixture.attr.state = RNIC_QPS_RESET; /* no QP can connect with an empty slot */
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, fixture.now), RNIC_OK);
    fixture.attr.state = RNIC_QPS_INIT;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, fixture.now), RNIC_OK);
    fixture.attr.state = RNIC_QPS_RTR;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, fixture.now), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_gid_set(fixture.rnic, 5, &gid), RNIC_OK); /* moves the address to another slot */
    fixture.attr.av.sgid_idx = 5;
    EXPECT_EQ(rnic_qp_modify(fixture.qp, &fixture.attr, fixture.now), RNIC_OK);
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    fixture_free(&fixture);
}

/* A GID changes while a QP uses it. The QP keeps the old address, and drops packets to the new one
 * (R051). */
static void gid_changed_under_a_qp(void)
{
    struct rnic_gid gid;
    struct rnic_gid old;
    struct device_fixture fixture;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    CU_ASSERT(rnic_gid_get(fixture.rnic, 0, &old));
    gid = old;
    gid.gid[15] ^= 0x40;
    EXPECT_EQ(rnic_gid_set(fixture.rnic, 0, &gid), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 8);
    memcpy(pkt.ip4.dst, gid.gid + 12, 4);
    fixture_in(&fixture, &pkt);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(rnic_gid_set(fixture.rnic, 1, &old), RNIC_OK);
    pkt = pktgen_read(&fixture.gen, FIXTURE_PSN, FIXTURE_IOVA, FIXTURE_KEY, 8);
    fixture_in(&fixture, &pkt);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(memcmp(pkt.ip4.src, old.gid + 12, 4), 0);
    fixture_free(&fixture);
}

SUITE("device.limits", TEST(count_above_the_limit_is_nomem), TEST(size_above_the_limit_is_invalid),
      TEST(of_other_objects), TEST(of_a_connection), TEST(limits_above_the_maximum_are_reduced),
      TEST(port_keeps_its_initial_pkeys), TEST(chosen_qpns_are_in_the_range),
      TEST(emptied_gid_accepts_no_packets), TEST(gid_changed_under_a_qp))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* UD and GSI QPs of a device: R008, R030, R042, R046-R055, R169-R174, R178, R183, R186, R188-R192
 * of rnic/rules.md. */
#include "support/device_fixture.h"
#include "support/suite.h"
#include "wire/mad.h"

#define UD_QPN 0x33u
#define QKEY   0x1234u

static struct device_fixture fixture;
static struct rnic_qp *qp; /* the QP under test */
static struct rnic_cq *cq;

static void begin_type(enum roce_encap encap, enum rnic_qp_type type)
{
    struct rnic_qp_init init = {.type = type,
                                .qpn = type == RNIC_QPT_GSI ? 0 : UD_QPN,
                                .max_recv_wr = 8,
                                .max_recv_sge = 2,
                                .max_send_wr = 8,
                                .max_send_sge = 2};

    fixture_init(&fixture, encap);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 64, &cq), RNIC_OK);
    init.recv_cq = init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture.attr.qkey = QKEY;
    fixture_connect(&fixture, qp);
}

static void begin(void)
{
    begin_type(ROCE_ENCAP_V2_IP4, RNIC_QPT_UD);
}

static int modify(enum rnic_qp_state state)
{
    struct rnic_qp_attr attr = fixture.attr;

    attr.state = state;
    return rnic_qp_modify(qp, &attr, fixture.now);
}

static enum rnic_qp_state state_of(void)
{
    struct rnic_qp_view view;

    rnic_qp_view(qp, &view);
    return view.state;
}

static void post(uint64_t wr_id, uint32_t len)
{
    const struct rnic_sge sge = {FIXTURE_IOVA + 8192 * wr_id, len, FIXTURE_KEY};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sge = &sge, .sge_cnt = 1};

    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
}

static struct rnic_ah *handle(void)
{
    struct rnic_ah *ah = NULL;

    EXPECT_EQ(rnic_ah_new(fixture.pd, &fixture.attr.av, &ah), RNIC_OK);
    return ah;
}

static int send_key(uint64_t wr_id, const struct rnic_ah *ah, uint32_t len, uint32_t lkey)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, len, lkey};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = RNIC_WR_SEND,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .ah = ah,
                                    .remote_qpn = 0x55,
                                    .remote_qkey = 0x777};
    int foretold = rnic_post_send_check(qp, &wr);
    int error = rnic_post_send(qp, &wr);

    EXPECT_EQ(foretold, error == RNIC_ERR_FULL ? RNIC_OK : error);
    return error;
}

static int send(uint64_t wr_id, const struct rnic_ah *ah, uint32_t len)
{
    return send_key(wr_id, ah, len, FIXTURE_KEY);
}

static struct roce_pkt datagram(uint32_t qpn, uint32_t qkey, uint32_t len)
{
    static const uint8_t payload[4096] = {1, 2, 3, [4095] = 9};
    struct roce_pkt pkt = pktgen_data(&fixture.gen, ROCE_OP_UD_SEND_ONLY, 0, payload, len);

    pkt.bth.dest_qp = qpn;
    pkt.deth = (struct roce_deth){.qkey = qkey, .src_qp = 0x55};
    return pkt;
}

static void expect_wc(uint64_t wr_id, enum rnic_wc_status status)
{
    struct rnic_wc wc;

    if (rnic_cq_poll(cq, &wc, 1) != 1) {
        suite_fail(__FILE__, __LINE__, "no completion; wanted %s", rnic_wc_status_name(status));
        return;
    }
    EXPECT_EQ(wc.wr_id, wr_id);
    EXPECT_EQ(wc.status, status);
    EXPECT_EQ(wc.qpn, rnic_qp_qpn(qp));
}

static void expect_no_wc(void)
{
    struct rnic_wc wc;

    EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 0);
}

/* ---- receiving datagrams --------------------------------------------------------------------- */

/* Datagrams from any sender are accepted: the source address (R051 is for connections), UDP port,
 * MAC and TTL (R053) are not checked. */
static void datagrams_of_any_sender_are_accepted(void)
{
    struct roce_pkt pkt;
    struct rnic_wc wc;

    begin();
    for (unsigned i = 0; i < 8; i++) {
        post(i, 2000);
        pkt = datagram(UD_QPN, QKEY, 100 + i);
        pkt.ip4.src[2] ^= (uint8_t)i;
        pkt.eth.src[3] ^= (uint8_t)i;
        pkt.udp.sport = (uint16_t)(i * 777);
        pkt.ip4.ttl = (uint8_t)(i + 1);
        pkt.deth.src_qp = 0xFFFF00 + i;
        if (i == 5) {
            pkt.vlan_cnt = 1;
            pkt.vlan[0] = (struct roce_vlan){.pcp = 3, .vid = 77, .type = pkt.eth.type};
            pkt.eth.type = ROCE_ETHERTYPE_VLAN;
        }
        fixture_in(&fixture, &pkt);
        CU_ASSERT_FATAL(rnic_cq_poll(cq, &wc, 1) == 1);
        EXPECT_EQ(wc.wr_id, i);
        EXPECT_EQ(wc.byte_len, 140 + i);
        EXPECT_EQ(wc.src_qp, 0xFFFF00 + i);
        EXPECT_EQ(wc.qpn, UD_QPN);
        EXPECT_EQ(wc.vlan, i == 5 ? 77 : RNIC_VLAN_NONE);
        EXPECT_EQ(wc.smac[3], (uint8_t)(fixture.gen.smac[3] ^ i));
        EXPECT_EQ(fixture.mem[8192 * i + 28], i + 1); /* TTL of the received header (R172) */
        CU_ASSERT(memcmp(fixture.mem + 8192 * i + 40, pkt.payload, 100) == 0);
    }
    EXPECT_EQ(fixture_counters(&fixture).rx_datagrams, 8);
    fixture_expect_nothing(&fixture); /* a datagram gets no response (R178) */
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

/* Invalid datagrams are dropped and counted, without other effects (R030, R047-R052, R170, R174,
 * R056). */
static void invalid_datagrams_are_dropped_and_counted(void)
{
    enum what { SVC, RC_ACK, QPN_NONE, DST_IP, PKEY, QKEY_BAD, TOO_LONG, NO_WQE, ICRC, WHAT_CNT };

    for (unsigned what = 0; what < WHAT_CNT; what++) {
        struct rnic_counters c;
        struct roce_pkt pkt;
        struct pktgen_frame frame;

        begin();
        if (what != NO_WQE)
            post(1, 100);
        pkt = datagram(UD_QPN, QKEY, 60);
        switch (what) {
        case SVC:
            pkt = pktgen_data(&fixture.gen, ROCE_OP_UC_SEND_ONLY, 0, NULL, 0);
            pkt.bth.dest_qp = UD_QPN;
            break;
        case RC_ACK:
            pkt = pktgen_pkt(&fixture.gen, ROCE_OP_RC_ACK, 0);
            pkt.bth.dest_qp = UD_QPN;
            break;
        case QPN_NONE: pkt.bth.dest_qp++; break;
        case DST_IP: pkt.ip4.dst[3] ^= 4; break;
        case PKEY: pkt.bth.pkey = 0xFFFE; break;
        case QKEY_BAD: pkt.deth.qkey++; break;
        case TOO_LONG: pkt.payload_len = 61; break;
        default: break;
        }
        pktgen_build(&pkt, &frame);
        if (what == ICRC)
            frame.bytes[frame.len - 1] ^= 1;
        rnic_input(fixture.rnic, frame.bytes, frame.len, fixture.now);
        expect_no_wc();
        fixture_expect_nothing(&fixture);
        fixture_expect_no_event(&fixture);
        EXPECT_EQ(state_of(), RNIC_QPS_RTS);
        c = fixture_counters(&fixture);
        EXPECT_EQ(c.rx_no_qp, what <= DST_IP);
        EXPECT_EQ(c.rx_bad_pkey, what == PKEY);
        EXPECT_EQ(c.qkey_viol_cntr, what == QKEY_BAD);
        EXPECT_EQ(c.rx_datagram_too_long, what == TOO_LONG);
        EXPECT_EQ(c.out_of_buffer, what == NO_WQE);
        EXPECT_EQ(c.rx_icrc_encapsulated, what == ICRC);
        EXPECT_EQ(c.rx_datagrams, 0);
        if (what == NO_WQE)
            post(1, 100);
        pkt = datagram(UD_QPN, QKEY, 60);
        fixture_in(&fixture, &pkt);
        expect_wc(1, RNIC_WC_SUCCESS);
        fixture_free(&fixture);
    }
}

/* UD QPs ignore CNPs and congestion marks, because R215 applies only to RC and UC. */
static void congestion_marks_are_ignored(void)
{
    struct rnic_attr attr;
    struct roce_pkt pkt;
    struct rnic_pd *pd;
    struct rnic_cq *mine;
    struct rnic_qp *ud;
    struct rnic *rnic;
    struct rnic_qp_init init = {.type = RNIC_QPT_UD, .qpn = UD_QPN, .max_recv_sge = 1};
    struct rnic_qp_attr qpa;
    uint8_t buf[ROCE_FRAME_MAX];

    begin();
    attr = fixture_device_attr(&fixture.gen);
    rnic_ecn_defaults(&attr.ecn);
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 4, &mine), RNIC_OK);
    init.recv_cq = mine;
    EXPECT_EQ(rnic_qp_new(pd, &init, &ud), RNIC_OK);
    qpa = fixture.attr;
    for (enum rnic_qp_state s = RNIC_QPS_INIT; s <= RNIC_QPS_RTS; s++) {
        qpa.state = s;
        EXPECT_EQ(rnic_qp_modify(ud, &qpa, 0), RNIC_OK);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct pktgen_frame frame;

        pkt = i ? pktgen_pkt(&fixture.gen, ROCE_OP_CNP_ROCE, 0) : datagram(UD_QPN, QKEY, 8);
        pkt.bth.dest_qp = UD_QPN;
        pkt.ip4.ecn = 3;
        pktgen_build(&pkt, &frame);
        rnic_input(rnic, frame.bytes, frame.len, 0);
        EXPECT_EQ(rnic_output(rnic, buf, sizeof(buf), 0), 0);
    }
    rnic_del(rnic);
    fixture_free(&fixture);
}

/* Datagrams are accepted from RTR on and sent from RTS on (R054, R188). */
static void r054_states(void)
{
    struct rnic_event event;
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    pkt = datagram(UD_QPN, QKEY, 8);
    for (enum rnic_qp_state s = RNIC_QPS_RESET; s <= RNIC_QPS_SQD; s++) {
        EXPECT_EQ(modify(s), RNIC_OK);
        EXPECT_EQ(send(9, ah, 8), s >= RNIC_QPS_RTS ? RNIC_OK : RNIC_ERR_STATE);
        EXPECT_EQ(send(9, NULL, 8), s >= RNIC_QPS_RTS ? RNIC_ERR_INVALID : RNIC_ERR_STATE);
        if (s != RNIC_QPS_RESET)
            post(1, 100);
        fixture_in(&fixture, &pkt);
        EXPECT_EQ(fixture_counters(&fixture).rx_datagrams,
                  s < RNIC_QPS_RTR ? 0 : s - RNIC_QPS_INIT);
    }
    CU_ASSERT_FATAL(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
    fixture_expect_no_event(&fixture); /* a datagram establishes no connection (R055) */
    fixture_free(&fixture);
}

/* A datagram that does not fit consumes no WQE of an SRQ (R174). */
static void shared_receive_queue(void)
{
    const struct rnic_srq_init shared = {.max_wr = 4, .max_sge = 1};
    struct rnic_qp_init init = {.type = RNIC_QPT_UD};
    struct rnic_qp *ud[2];
    struct rnic_srq *srq;
    struct roce_pkt pkt;
    struct rnic_wc wc;

    begin();
    EXPECT_EQ(rnic_srq_new(fixture.pd, &shared, &srq), RNIC_OK);
    init.recv_cq = cq;
    init.srq = srq;
    for (uint32_t i = 0; i < 2; i++) {
        init.qpn = 0x200 + i;
        EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &ud[i]), RNIC_OK);
        fixture_connect(&fixture, ud[i]);
    }
    for (uint64_t i = 0; i < 2; i++) {
        const struct rnic_sge sge = {FIXTURE_IOVA + 4096 * i, i ? 200 : 100, FIXTURE_KEY};
        const struct rnic_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};

        EXPECT_EQ(rnic_post_srq_recv(srq, &wr), RNIC_OK);
    }
    pkt = datagram(0x200, QKEY, 61);
    fixture_in(&fixture, &pkt);
    expect_no_wc();
    pkt = datagram(0x201, QKEY, 60);
    fixture_in(&fixture, &pkt);
    CU_ASSERT_FATAL(rnic_cq_poll(cq, &wc, 1) == 1);
    EXPECT_EQ(wc.wr_id, 0);
    EXPECT_EQ(wc.qpn, 0x201);
    pkt = datagram(0x200, QKEY, 61);
    fixture_in(&fixture, &pkt);
    CU_ASSERT_FATAL(rnic_cq_poll(cq, &wc, 1) == 1);
    EXPECT_EQ(wc.wr_id, 1);
    EXPECT_EQ(wc.qpn, 0x200);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).out_of_buffer, 1);
    EXPECT_EQ(fixture_counters(&fixture).rx_datagram_too_long, 1);
    fixture_free(&fixture);
}

/* ---- attributes and states ------------------------------------------------------------------- */

/* P_Key, Q_Key and first PSN are required; attributes of connections are ignored (R186). */
static void r186_attributes(void)
{
    struct rnic_qp_attr attr = {.pkey = 0xFFFF, .qkey = 77, .access = 0xFFFF};
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    EXPECT_EQ(modify(RNIC_QPS_RESET), RNIC_OK);
    attr.state = RNIC_QPS_INIT;
    attr.pkey = 0x8000; /* invalid P_Key: its partition is 0 (R049) */
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_ERR_INVALID);
    attr.pkey = 0xFFFF;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_RTR;
    attr.path_mtu = 1;
    attr.av.sgid_idx = 99;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    attr.state = RNIC_QPS_RTS;
    attr.timeout = 99;
    attr.sq_psn = 0x1000000;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_ERR_INVALID);
    attr.sq_psn = 0xFFFFFF;
    EXPECT_EQ(rnic_qp_modify(qp, &attr, 0), RNIC_OK);
    for (uint32_t i = 0; i < 2; i++) {
        EXPECT_EQ(send(1, ah, 4096), RNIC_OK); /* longer than path_mtu: only the device's MTU limits
                                                * datagrams */
        CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
        EXPECT_EQ(pkt.bth.psn, (0xFFFFFF + i) & 0xFFFFFF);
        EXPECT_EQ(pkt.payload_len, 4096);
        EXPECT_EQ(pkt.deth.src_qp, UD_QPN);
    }
    fixture_free(&fixture);
}

/* The MTU of the port limits datagrams in both directions (R168). */
static void r168_longer_than_the_port_mtu_is_not_sent(void)
{
    struct rnic_attr attr;
    struct rnic_mr_attr mr = {
        .len = FIXTURE_MEM_LEN, .iova = FIXTURE_IOVA, .access = 1, .key = FIXTURE_KEY};
    struct rnic_qp_init init = {.type = RNIC_QPT_UD,
                                .qpn = UD_QPN,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 2,
                                .max_send_sge = 1};
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    attr = fixture_device_attr(&fixture.gen);
    attr.mtu = 1000;
    CU_ASSERT(rnic_new(&attr) == NULL);
    attr.mtu = 8192;
    CU_ASSERT(rnic_new(&attr) == NULL);
    attr.mtu = 256;
    attr.pkey_cnt = RNIC_PKEY_MAX + 1;
    CU_ASSERT(rnic_new(&attr) == NULL);
    attr.pkey_cnt = 0;
    rnic_del(fixture.rnic);
    fixture.rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(fixture.rnic != NULL);
    EXPECT_EQ(rnic_pd_new(fixture.rnic, &fixture.pd), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 16, &cq), RNIC_OK);
    mr.addr = fixture.mem;
    EXPECT_EQ(rnic_mr_reg(fixture.pd, &mr, &fixture.mr), RNIC_OK);
    init.recv_cq = init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture.attr.qkey = QKEY;
    fixture_connect(&fixture, qp);
    ah = handle();
    EXPECT_EQ(send(1, ah, 257), RNIC_OK);
    EXPECT_EQ(send(2, ah, 256), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.payload_len, 256);
    fixture_expect_nothing(&fixture);
    expect_wc(1, RNIC_WC_SUCCESS);
    expect_wc(2, RNIC_WC_SUCCESS);
    EXPECT_EQ(fixture_counters(&fixture).tx_too_long, 1);
    post(3, 4096);
    pkt = datagram(UD_QPN, QKEY, 257);
    fixture_in(&fixture, &pkt);
    expect_no_wc();
    pkt = datagram(UD_QPN, QKEY, 256);
    fixture_in(&fixture, &pkt);
    expect_wc(3, RNIC_WC_SUCCESS);
    fixture_free(&fixture);
}

/* An error of the send queue leaves the receive queue running, and RTS restarts the send queue.
 * Requests posted in between are flushed (R192, R183). */
static void r192_send_error_keeps_the_receive_queue(void)
{
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    post(100, 200);
    post(101, 200);
    post(102, 200);
    EXPECT_EQ(send(1, ah, 8), RNIC_OK);
    EXPECT_EQ(send_key(2, ah, 8, FIXTURE_KEY + 1), RNIC_OK);
    EXPECT_EQ(send(3, ah, 8), RNIC_OK);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(state_of(), RNIC_QPS_SQE);
    CU_ASSERT_STRING_EQUAL(rnic_qp_state_name(RNIC_QPS_SQE), "SQE");
    expect_wc(1, RNIC_WC_SUCCESS);
    expect_wc(2, RNIC_WC_LOC_PROT_ERR);
    expect_wc(3, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(send(4, ah, 8), RNIC_OK);
    expect_wc(4, RNIC_WC_WR_FLUSH_ERR);
    expect_no_wc();
    pkt = datagram(UD_QPN, QKEY, 8);
    fixture_in(&fixture, &pkt);
    expect_wc(100, RNIC_WC_SUCCESS);
    for (enum rnic_qp_state s = RNIC_QPS_INIT; s <= RNIC_QPS_SQE; s++)
        if (s != RNIC_QPS_RTS)
            EXPECT_EQ(modify(s), RNIC_ERR_STATE);
    EXPECT_EQ(modify(RNIC_QPS_RTS), RNIC_OK);
    EXPECT_EQ(send(5, ah, 8), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.psn, fixture.attr.sq_psn + 1);
    expect_wc(5, RNIC_WC_SUCCESS);
    pkt = datagram(UD_QPN, QKEY, 8);
    fixture_in(&fixture, &pkt);
    expect_wc(101, RNIC_WC_SUCCESS);
    /* The transition from SQE to ERR flushes the receive queue. The transition to RESET completes
     * nothing (R190). */
    EXPECT_EQ(send_key(6, ah, 8, FIXTURE_KEY + 1), RNIC_OK);
    fixture_expect_nothing(&fixture);
    expect_wc(6, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(modify(RNIC_QPS_ERR), RNIC_OK);
    expect_wc(102, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(modify(RNIC_QPS_RTS), RNIC_ERR_STATE);
    EXPECT_EQ(modify(RNIC_QPS_RESET), RNIC_OK);
    fixture_connect(&fixture, qp);
    EXPECT_EQ(send_key(7, ah, 8, FIXTURE_KEY + 1), RNIC_OK);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(state_of(), RNIC_QPS_SQE);
    EXPECT_EQ(modify(RNIC_QPS_RESET), RNIC_OK);
    fixture_expect_no_event(&fixture);
    fixture_free(&fixture);
}

/* An error that moves a UD QP to SQE moves an RC QP to ERR (R192). */
static void r192_rc_goes_to_err(void)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .max_recv_sge = 1, .max_send_wr = 1, .max_send_sge = 1};

    begin();
    init.recv_cq = init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture_connect(&fixture, qp);
    EXPECT_EQ(send_key(1, NULL, 8, FIXTURE_KEY + 1), RNIC_OK);
    fixture_expect_nothing(&fixture);
    expect_wc(1, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(state_of(), RNIC_QPS_ERR);
    fixture_free(&fixture);
}

/* An error of the receive queue moves a UD QP to ERR, too (R189). */
static void receive_error_ends_the_qp(void)
{
    const struct rnic_sge sge = {FIXTURE_IOVA, 100, FIXTURE_KEY + 1};
    const struct rnic_recv_wr wr = {.wr_id = 1, .sge = &sge, .sge_cnt = 1};
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    post(2, 100);
    EXPECT_EQ(send(3, ah, 8), RNIC_OK);
    pkt = datagram(UD_QPN, QKEY, 8);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(state_of(), RNIC_QPS_ERR);
    expect_wc(1, RNIC_WC_LOC_PROT_ERR);
    expect_wc(3, RNIC_WC_WR_FLUSH_ERR);
    expect_wc(2, RNIC_WC_WR_FLUSH_ERR);
    expect_no_wc();
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

/* A draining UD QP is drained at once, because a sent datagram is complete (R191). */
static void r191_queue_is_drained_at_once(void)
{
    struct rnic_ah *ah;
    struct rnic_event event;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    EXPECT_EQ(send(1, ah, 8), RNIC_OK);
    EXPECT_EQ(modify(RNIC_QPS_SQD), RNIC_OK);
    CU_ASSERT_FATAL(rnic_event_get(fixture.rnic, &event));
    EXPECT_EQ(event.type, RNIC_EVENT_SQ_DRAINED);
    CU_ASSERT(event.qp == qp);
    fixture_expect_nothing(&fixture);
    EXPECT_EQ(modify(RNIC_QPS_RTS), RNIC_OK);
    CU_ASSERT(fixture_out(&fixture, &pkt));
    expect_wc(1, RNIC_WC_SUCCESS);
    fixture_free(&fixture);
}

/* A send completion that does not fit the CQ moves the QP to ERR (R200). */
static void r200_overrun(void)
{
    struct rnic_qp_init init = {
        .type = RNIC_QPT_UD, .max_recv_sge = 1, .max_send_wr = 8, .max_send_sge = 1};
    struct rnic_cq *small;
    struct rnic_ah *ah;
    struct roce_pkt pkt;

    begin();
    ah = handle();
    EXPECT_EQ(rnic_cq_new(fixture.rnic, 2, &small), RNIC_OK);
    init.recv_cq = init.send_cq = small;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &qp), RNIC_OK);
    fixture_connect(&fixture, qp);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(send(i, ah, 8), RNIC_OK);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(fixture_out(&fixture, &pkt));
    EXPECT_EQ(state_of(), RNIC_QPS_ERR);
    fixture_expect_nothing(&fixture);
    fixture_free(&fixture);
}

/* ---- the GSI QP ------------------------------------------------------------------------------ */

/* A device has at most one GSI QP. Its QPN is 1, its Q_Key is fixed, and it sends from source QP 1
 * (R171, R221). */
static void r171_gsi(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_GSI, .max_recv_sge = 1};
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_SEND, .sge_cnt = 1, .remote_qpn = 1, .remote_qkey = ROCE_QKEY_GSI};
    struct rnic_sge sge = {FIXTURE_IOVA, ROCE_MAD_SIZE, FIXTURE_KEY};
    struct rnic_qp *second = NULL;
    struct roce_pkt pkt;

    begin_type(ROCE_ENCAP_V2_IP4, RNIC_QPT_GSI);
    EXPECT_EQ(rnic_qp_qpn(qp), 1);
    init.recv_cq = fixture.cq;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &second), RNIC_ERR_EXISTS);
    init.qpn = 2;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &second), RNIC_ERR_INVALID);
    init.type = RNIC_QPT_UD;
    init.qpn = 1;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &second), RNIC_ERR_INVALID);
    wr.sge = &sge;
    wr.ah = handle();
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    CU_ASSERT_FATAL(fixture_out(&fixture, &pkt));
    EXPECT_EQ(pkt.bth.dest_qp, 1);
    EXPECT_EQ(pkt.bth.ackreq, 0); /* AckReq is 0 in datagrams (R042) */
    EXPECT_EQ(pkt.deth.src_qp, 1);
    EXPECT_EQ(pkt.deth.qkey, ROCE_QKEY_GSI);
    EXPECT_EQ(pkt.payload_len, 256);
    post(1, 296);
    pkt = datagram(1, QKEY, 256);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).qkey_viol_cntr, 1);
    pkt = datagram(1, ROCE_QKEY_GSI, 257);
    fixture_in(&fixture, &pkt);
    EXPECT_EQ(fixture_counters(&fixture).rx_datagram_too_long, 1);
    pkt = datagram(1, ROCE_QKEY_GSI, 256);
    pkt.bth.ackreq = 1; /* Linux rxe sets AckReq in MADs (S7 of traces/linux-rxe.md) */
    fixture_in(&fixture, &pkt);
    expect_wc(1, RNIC_WC_SUCCESS);
    EXPECT_EQ(rnic_mcast_attach(qp, (const uint8_t[16]){0xFF, 0x0E, [15] = 1}), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
    init.type = RNIC_QPT_GSI;
    EXPECT_EQ(rnic_qp_new(fixture.pd, &init, &second), RNIC_OK); /* only one GSI QP at a time */
    fixture_free(&fixture);
}

/* QP 1 accepts any P_Key of the port, and the completion reports it. Other QPs accept only their
 * own P_Key (R050). */
static void r050_qp1_accepts_every_pkey(void)
{
    static const struct {
        uint16_t pkey;
        int index; /* P_Key index, or -1 if refused */
    } rows[] = {{0xFFFF, 0},  {0x7FFF, 0}, {0x8123, 1},  {0x0123, 1},
                {0x0222, -1}, {0x8222, 2}, {0x8333, -1}, {0x8000, -1}};
    struct rnic_attr attr;
    struct rnic_qp_init init = {.type = RNIC_QPT_GSI, .max_recv_wr = 4, .max_recv_sge = 1};
    struct rnic_mr_attr mra = {.len = 4096, .iova = 0, .access = 1};
    static uint8_t mem[4096];

    for (unsigned t = 0; t < 2; t++) {
        struct rnic_pd *pd;
        struct rnic_mr *mr;

        begin();
        rnic_del(fixture.rnic);
        attr = fixture_device_attr(&fixture.gen);
        attr.pkey[0] = 0xFFFF;
        attr.pkey[1] = 0x8123;
        attr.pkey[2] = 0x0222; /* P_Key of a limited member */
        attr.pkey_cnt = 3;
        fixture.rnic = rnic_new(&attr);
        CU_ASSERT_FATAL(fixture.rnic != NULL);
        EXPECT_EQ(rnic_pd_new(fixture.rnic, &pd), RNIC_OK);
        EXPECT_EQ(rnic_cq_new(fixture.rnic, 16, &cq), RNIC_OK);
        mra.addr = mem;
        EXPECT_EQ(rnic_mr_reg(pd, &mra, &mr), RNIC_OK);
        init.recv_cq = cq;
        init.type = t ? RNIC_QPT_UD : RNIC_QPT_GSI;
        EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
        fixture.attr.pkey = 0x8123;
        fixture_connect(&fixture, qp);
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            const struct rnic_sge sge = {0, 100, rnic_mr_key(mr)};
            const struct rnic_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};
            bool takes = t ? rows[i].index == 1 : rows[i].index >= 0;
            struct roce_pkt pkt = datagram(rnic_qp_qpn(qp), t ? QKEY : ROCE_QKEY_GSI, 8);
            struct rnic_wc wc;

            pkt.bth.pkey = rows[i].pkey;
            if (takes)
                EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
            fixture_in(&fixture, &pkt);
            EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), takes);
            if (takes)
                EXPECT_EQ(wc.pkey_index, rows[i].index);
        }
        fixture_free(&fixture);
    }
}

SUITE("device.ud", TEST(datagrams_of_any_sender_are_accepted),
      TEST(invalid_datagrams_are_dropped_and_counted), TEST(congestion_marks_are_ignored),
      TEST(shared_receive_queue), TEST(r054_states), TEST(r186_attributes),
      TEST(r168_longer_than_the_port_mtu_is_not_sent),
      TEST(r192_send_error_keeps_the_receive_queue), TEST(r192_rc_goes_to_err),
      TEST(receive_error_ends_the_qp), TEST(r191_queue_is_drained_at_once), TEST(r200_overrun),
      TEST(r171_gsi), TEST(r050_qp1_accepts_every_pkey))

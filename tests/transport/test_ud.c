/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* UD and GSI datagrams on the queues of a QP (R038, R041, R042, R066, R168-R174, R178, R189, R192,
 * R198 of rnic/rules.md). */
#include "transport/ud.h"

#include "support/requester_fixture.h"
#include "support/responder_fixture.h"
#include "support/suite.h"
#include "wire/mad.h"

#define QPN      0x77u
#define QKEY     0x11223344u
#define PEER_QPN 0x99u

static struct requester_fixture req;
static struct responder_fixture host;

/* ---- sending datagrams ----------------------------------------------------------------------- */

static void req_init(void)
{
    struct rnic_requester_attr attr = {.path_mtu = REQUESTER_MTU,
                                       .pkey = 0xFFFF,
                                       .qpn = QPN,
                                       .qkey = QKEY,
                                       .sq_psn = roce_psn_of(REQUESTER_PSN)};

    requester_init(&req);
    CU_ASSERT_FATAL(rnic_sq_add_dests(&req.req.sq));
    requester_restart(&req, &attr);
}

static struct rnic_dest dest(uint32_t qpn, uint32_t qkey)
{
    struct rnic_dest out = {.qpn = qpn, .qkey = qkey};
    struct roce_pkt model = pktgen_pkt(&req.gen, ROCE_OP_UD_SEND_ONLY, 0);

    EXPECT_EQ(roce_header_template_init(&out.env, &model), ROCE_OK);
    return out;
}

static enum rnic_sq_post post(uint64_t wr_id, enum rnic_wr_opcode opcode, unsigned flags,
                              uint32_t len, uint32_t lkey, const struct rnic_dest *to)
{
    const struct rnic_sge sge = {.addr = REQUESTER_VA, .len = len, .lkey = lkey};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = flags,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .imm = 0xABCD1234};

    return rnic_ud_post(&req.req, &wr, to);
}

static void post_ok(uint64_t wr_id, enum rnic_wr_opcode opcode, unsigned flags, uint32_t len)
{
    struct rnic_dest to = dest(PEER_QPN, 0x555);

    EXPECT_EQ(post(wr_id, opcode, flags, len, REQUESTER_KEY, &to), RNIC_SQ_POSTED);
}

/* UD sends datagrams of every length in one packet each, with consecutive PSNs across the wrap.
 * Each request completes when its packet is sent (R168). */
static void r168_one_packet_each(void)
{
    struct roce_pkt pkt;
    uint32_t psn = REQUESTER_PSN;

    req_init();
    for (uint32_t len = 0; len <= REQUESTER_MTU; len++, psn = (psn + 1) & ROCE_PSN_MASK) {
        bool imm = len % 3 == 0;
        bool se = len % 5 == 0;

        post_ok(len, imm ? RNIC_WR_SEND_IMM : RNIC_WR_SEND,
                RNIC_SEND_SIGNALED | (se ? (unsigned)RNIC_SEND_SOLICITED : 0u), len);
        requester_expect_no_wc(&req);
        CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
        EXPECT_EQ(pkt.bth.opcode, imm ? ROCE_OP_UD_SEND_ONLY_IMM : ROCE_OP_UD_SEND_ONLY);
        EXPECT_EQ(pkt.bth.psn, psn);
        EXPECT_EQ(pkt.bth.dest_qp, PEER_QPN);
        EXPECT_EQ(pkt.bth.ackreq, 0); /* a datagram requests no ACK (R042) */
        EXPECT_EQ(pkt.bth.se, se);    /* SE is set if the user asked for it (R041) */
        EXPECT_EQ(pkt.bth.migreq, 1);
        EXPECT_EQ(pkt.bth.pkey, 0xFFFF);
        EXPECT_EQ(pkt.deth.src_qp, QPN); /* the DETH has the QPN of the sender (R169) */
        EXPECT_EQ(pkt.deth.qkey, 0x555);
        EXPECT_EQ(pkt.payload_len, len);
        CU_ASSERT(len == 0 || pkt.payload == req.mem);
        if (imm)
            EXPECT_EQ(pkt.immdt.imm, 0xABCD1234);
        requester_expect_wc(&req, len, RNIC_WC_SUCCESS);
        EXPECT_EQ(req.wc[(req.wc_cnt - 1) % REQUESTER_LOG].opcode, RNIC_WC_SEND);
        CU_ASSERT(!rnic_ud_output(&req.req, &pkt, req.scratch));
    }
    EXPECT_EQ(req.req.retry.deadline, UINT64_MAX); /* no timer, because datagrams are not
                                                    * acknowledged */
    requester_free(&req);
}

/* A datagram that is too long is not sent, completes without error, and uses no PSN. Completions
 * stay in order (C10-93.1.1, R198). */
static void r168_too_long_datagram_is_not_sent(void)
{
    struct roce_pkt pkt;

    req_init();
    post_ok(1, RNIC_WR_SEND, RNIC_SEND_SIGNALED, REQUESTER_MTU + 1);
    post_ok(2, RNIC_WR_SEND, RNIC_SEND_SIGNALED, 16);
    post_ok(3, RNIC_WR_SEND, RNIC_SEND_SIGNALED, 16384);
    post_ok(4, RNIC_WR_SEND, 0, REQUESTER_MTU + 1);
    post_ok(5, RNIC_WR_SEND, RNIC_SEND_SIGNALED, REQUESTER_MTU);
    post_ok(6, RNIC_WR_SEND, RNIC_SEND_SIGNALED, REQUESTER_MTU + 1);
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
        EXPECT_EQ(pkt.bth.psn, REQUESTER_PSN + i);
    }
    CU_ASSERT(!rnic_ud_output(&req.req, &pkt, req.scratch));
    for (uint64_t wr_id = 1; wr_id <= 6; wr_id++)
        if (wr_id != 4)
            requester_expect_wc(&req, wr_id, RNIC_WC_SUCCESS);
    requester_expect_no_wc(&req);
    EXPECT_EQ(req.counters.tx_too_long, 4);
    EXPECT_EQ(rnic_requester_psn(&req.req).v, REQUESTER_PSN + 2);
    requester_free(&req);
}

/* If bit 31 of the Q_Key is set, the QP's own Q_Key is sent (R169). */
static void r169_high_bit_selects_the_own_qkey(void)
{
    static const struct {
        uint32_t asked, sent;
    } rows[] = {
        {0, 0},
        {1, 1},
        {0x7FFFFFFF, 0x7FFFFFFF},
        {0x80000000, QKEY},
        {0xFFFFFFFF, QKEY},
        {0x80010000, QKEY},
    };
    struct roce_pkt pkt;

    req_init();
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_dest to = dest(PEER_QPN, rows[i].asked);

        EXPECT_EQ(post(i, RNIC_WR_SEND, 0, 8, REQUESTER_KEY, &to), RNIC_SQ_POSTED);
        CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
        EXPECT_EQ(pkt.deth.qkey, rows[i].sent);
    }
    requester_free(&req);
}

/* Operations other than SEND, and posts to a full queue, are refused. */
static void only_sends_are_accepted(void)
{
    static const enum rnic_wr_opcode no[] = {
        RNIC_WR_WRITE,     RNIC_WR_WRITE_IMM, RNIC_WR_READ,     RNIC_WR_CMP_SWAP,
        RNIC_WR_FETCH_ADD, RNIC_WR_LOCAL_INV, RNIC_WR_SEND_INV, (enum rnic_wr_opcode)99};
    struct rnic_dest to;

    req_init();
    to = dest(PEER_QPN, 1);
    for (unsigned i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        EXPECT_EQ(post(1, no[i], 0, 8, REQUESTER_KEY, &to), RNIC_SQ_INVALID);
    EXPECT_EQ(post(1, RNIC_WR_SEND, 1u << 30, 8, REQUESTER_KEY, &to), RNIC_SQ_INVALID);
    for (unsigned i = 0; i < 300; i++)
        EXPECT_EQ(post(i, RNIC_WR_SEND, 0, 8, REQUESTER_KEY, &to), RNIC_SQ_POSTED);
    EXPECT_EQ(post(1, RNIC_WR_SEND, 0, 8, REQUESTER_KEY, &to), RNIC_SQ_FULL);
    requester_free(&req);
}

/* Inline data is copied at the post (R136); several SGEs are gathered. */
static void inline_and_gathered_data_is_sent(void)
{
    uint8_t bytes[64];
    struct rnic_sge sge = {.addr = (uintptr_t)bytes, .len = sizeof(bytes), .lkey = 0};
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_SEND, .flags = RNIC_SEND_INLINE, .sge = &sge, .sge_cnt = 1};
    struct rnic_sge parts[3] = {
        {REQUESTER_VA + 9, 5, REQUESTER_KEY},
        {REQUESTER_VA + 100, 0, REQUESTER_BAD_KEY}, /* an SGE of length 0 is not checked (R085) */
        {REQUESTER_VA + 1000, 100, REQUESTER_KEY}};
    struct rnic_dest to;
    struct roce_pkt pkt;

    req_init();
    to = dest(PEER_QPN, 1);
    memset(bytes, 0x5A, sizeof(bytes));
    EXPECT_EQ(rnic_ud_post(&req.req, &wr, &to), RNIC_SQ_POSTED);
    memset(bytes, 0, sizeof(bytes));
    CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
    EXPECT_EQ(pkt.payload_len, 64);
    CU_ASSERT(pkt.payload[0] == 0x5A && pkt.payload[63] == 0x5A);
    sge.len = 65; /* max_inline is 64 */
    EXPECT_EQ(rnic_ud_post(&req.req, &wr, &to), RNIC_SQ_INVALID);
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_SEND, .sge = parts, .sge_cnt = 3};
    EXPECT_EQ(rnic_ud_post(&req.req, &wr, &to), RNIC_SQ_POSTED);
    CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
    EXPECT_EQ(pkt.payload_len, 105);
    CU_ASSERT(memcmp(pkt.payload, req.mem + 9, 5) == 0);
    CU_ASSERT(memcmp(pkt.payload + 5, req.mem + 1000, 100) == 0);
    requester_free(&req);
}

/* A WQE with memory that is not readable stops the send queue, and later WQEs are flushed. The
 * queue can resume with the next PSN (R192). */
static void r192_protection_error_stops_the_queue(void)
{
    struct rnic_dest to;
    struct roce_pkt pkt;

    req_init();
    to = dest(PEER_QPN, 1);
    post_ok(1, RNIC_WR_SEND, 0, 8);
    EXPECT_EQ(post(2, RNIC_WR_SEND, 0, 8, REQUESTER_BAD_KEY, &to), RNIC_SQ_POSTED);
    post_ok(3, RNIC_WR_SEND, 0, 8);
    CU_ASSERT(rnic_ud_output(&req.req, &pkt, req.scratch));
    CU_ASSERT(!rnic_ud_output(&req.req, &pkt, req.scratch));
    EXPECT_EQ(req.failed_cnt, 1);
    requester_expect_wc(&req, 2, RNIC_WC_LOC_PROT_ERR);
    requester_expect_wc(&req, 3, RNIC_WC_WR_FLUSH_ERR);
    requester_expect_no_wc(&req);
    rnic_requester_resume(&req.req);
    post_ok(4, RNIC_WR_SEND, RNIC_SEND_SIGNALED, 8);
    CU_ASSERT_FATAL(rnic_ud_output(&req.req, &pkt, req.scratch));
    EXPECT_EQ(pkt.bth.psn, REQUESTER_PSN + 1);
    requester_expect_wc(&req, 4, RNIC_WC_SUCCESS);
    requester_free(&req);
}

/* While draining, unsent datagrams wait, and the queue is drained at once (R191). */
static void r191_unsent_datagrams_wait_while_draining(void)
{
    struct roce_pkt pkt;

    req_init();
    post_ok(1, RNIC_WR_SEND, RNIC_SEND_SIGNALED, 8);
    post_ok(2, RNIC_WR_SEND, RNIC_SEND_SIGNALED, REQUESTER_MTU + 1);
    rnic_requester_drain(&req.req, true);
    CU_ASSERT(rnic_requester_drained(&req.req));
    CU_ASSERT(!rnic_ud_output(&req.req, &pkt, req.scratch));
    rnic_requester_drain(&req.req, false);
    CU_ASSERT(rnic_ud_output(&req.req, &pkt, req.scratch));
    CU_ASSERT(!rnic_ud_output(&req.req, &pkt, req.scratch));
    requester_expect_wc(&req, 1, RNIC_WC_SUCCESS);
    requester_expect_wc(&req, 2, RNIC_WC_SUCCESS);
    requester_free(&req);
}

/* ---- receiving datagrams --------------------------------------------------------------------- */

static void host_init(enum roce_encap encap)
{
    const struct rnic_responder_attr attr = {
        .path_mtu = RESPONDER_MTU, .pkey = 0xFFFF, .qkey = QKEY};

    responder_init(&host);
    pktgen_init(&host.gen, encap);
    responder_restart(&host, &attr);
}

static struct roce_pkt datagram(uint8_t opcode, const void *payload, uint32_t len)
{
    struct roce_pkt pkt = pktgen_data(&host.gen, opcode, 0x123, payload, len);

    pkt.deth = (struct roce_deth){.qkey = QKEY, .src_qp = PEER_QPN};
    pkt.immdt.imm = 0xCAFE;
    return pkt;
}

/* Builds the datagram in *frame, so that the test can read its bytes, and processes it. */
static enum rnic_ud_fate feed(const struct roce_pkt *model, struct pktgen_frame *frame)
{
    struct roce_pkt pkt;

    pktgen_build(model, frame);
    pktgen_parse(frame, &pkt);
    return rnic_ud_input(&host.resp, &pkt, 3);
}

/* Layout of a received datagram (R172, R173, A17.4.5.2): 40 bytes of network header, the payload,
 * and a completion with the source. */
static void r172_layout(void)
{
    static const struct {
        enum roce_encap encap;
        enum rnic_network_type type;
        uint32_t zero, header; /* number of zero bytes, length of the header */
    } rows[] = {
        {ROCE_ENCAP_V1, RNIC_NETWORK_V1, 0, 40},
        {ROCE_ENCAP_V2_IP4, RNIC_NETWORK_IP4, 20, 20},
        {ROCE_ENCAP_V2_IP6, RNIC_NETWORK_IP6, 0, 40},
    };
    static const uint8_t zeros[20];

    for (unsigned i = 0; i < 3; i++) {
        for (uint32_t len = 0; len <= RESPONDER_MTU; len += len < 8 ? 1 : 31) {
            const struct rnic_wc *wc = &host.wc[0];
            struct pktgen_frame frame;
            struct roce_pkt pkt;
            uint8_t payload[RESPONDER_MTU];
            unsigned tags = len % 3;

            host_init(rows[i].encap);
            for (unsigned b = 0; b < sizeof(payload); b++)
                payload[b] = (uint8_t)(b ^ 0x99);
            memset(host.mem, 0xEE, 512);
            pkt = datagram(len % 2 ? ROCE_OP_UD_SEND_ONLY_IMM : ROCE_OP_UD_SEND_ONLY, payload, len);
            pkt.bth.se = len % 5 == 0;
            pkt.grh.tclass = 0x25;
            pkt.ip4.dscp = 9;
            pkt.ip6.flow = 0x54321;
            for (unsigned t = 0; t < tags; t++)
                pkt.vlan[t] =
                    (struct roce_vlan){.vid = (uint16_t)(100 + t),
                                       .type = t + 1 < tags ? ROCE_ETHERTYPE_VLAN : pkt.eth.type};
            if (tags)
                pkt.eth.type = ROCE_ETHERTYPE_VLAN;
            pkt.vlan_cnt = (uint8_t)tags;
            responder_post(&host, 42, 8, RNIC_UD_HEADER_AREA + len); /* exactly the length of header
                                                                      * and payload */
            EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
            pktgen_parse(&frame, &pkt);
            EXPECT_EQ(host.wc_cnt, 1);
            EXPECT_EQ(wc->wr_id, 42);
            EXPECT_EQ(wc->status, RNIC_WC_SUCCESS);
            EXPECT_EQ(wc->opcode, RNIC_WC_RECV);
            EXPECT_EQ(wc->byte_len, 40 + len);
            EXPECT_EQ(wc->flags, RNIC_WC_GRH | (len % 2 ? (unsigned)RNIC_WC_WITH_IMM : 0u));
            EXPECT_EQ(wc->imm, len % 2 ? 0xCAFE : 0);
            EXPECT_EQ(wc->solicited, len % 5 == 0);
            EXPECT_EQ(wc->src_qp, PEER_QPN);
            EXPECT_EQ(wc->pkey_index, 3);
            EXPECT_EQ(wc->vlan, tags ? 100 : RNIC_VLAN_NONE);
            EXPECT_EQ(wc->network_hdr_type, rows[i].type);
            CU_ASSERT(memcmp(wc->smac, host.gen.smac, 6) == 0);
            CU_ASSERT(memcmp(host.mem + 8, zeros, rows[i].zero) == 0);
            CU_ASSERT(memcmp(host.mem + 8 + rows[i].zero, frame.bytes + pkt.net_off,
                             rows[i].header) == 0);
            CU_ASSERT(memcmp(host.mem + 48, payload, len) == 0);
            EXPECT_EQ(host.mem[7], 0xEE);
            EXPECT_EQ(host.mem[48 + len], 0xEE);
            EXPECT_EQ(host.counters.rx_datagrams, 1);
            EXPECT_EQ(host.ready_cnt, 0); /* no response is sent (R178) */
            responder_expect_nothing(&host);
            responder_free(&host);
        }
    }
}

/* Header and payload are split over SGEs at any byte. */
static void datagram_is_scattered_over_sges(void)
{
    static const uint8_t payload[100] = {1, 2, 3, [99] = 99};

    for (uint32_t cut = 1; cut < 139; cut++) {
        struct rnic_sge sge[3] = {{RESPONDER_VA, cut, RESPONDER_KEY},
                                  {RESPONDER_VA + 2000, 1, RESPONDER_KEY},
                                  {RESPONDER_VA + 4000, 139 - cut, RESPONDER_KEY}};
        struct rnic_recv_wr wr = {.wr_id = 1, .sge = sge, .sge_cnt = 3};
        struct pktgen_frame frame;
        struct roce_pkt pkt;
        uint8_t all[140];

        host_init(ROCE_ENCAP_V2_IP6);
        EXPECT_EQ(rnic_rq_post(&host.resp.rq, &wr), RNIC_RQ_POSTED);
        pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, sizeof(payload));
        EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
        pktgen_parse(&frame, &pkt);
        memcpy(all, frame.bytes + pkt.net_off, 40);
        memcpy(all + 40, payload, 100);
        CU_ASSERT(memcmp(host.mem, all, cut) == 0);
        CU_ASSERT(memcmp(host.mem + 2000, all + cut, 1) == 0);
        CU_ASSERT(memcmp(host.mem + 4000, all + cut + 1, 139 - cut) == 0);
        responder_free(&host);
    }
}

/* A dropped datagram uses no receive WQE: the WQE serves the next datagram that fits (R170, R174).
 */
static void r174_dropped_datagram_uses_no_wqe(void)
{
    uint8_t payload[RESPONDER_MTU + 1] = {0};
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    host_init(ROCE_ENCAP_V2_IP4);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, 8);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_NO_WQE);
    EXPECT_EQ(host.counters.out_of_buffer, 1);
    responder_post(&host, 1, 0, 40 + 64);
    responder_post(&host, 2, 1000, 40 + RESPONDER_MTU);
    pkt.deth.qkey ^= 1;
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_QKEY);
    EXPECT_EQ(host.counters.qkey_viol_cntr, 1);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, RESPONDER_MTU + 1);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_LENGTH);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, 65);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_BUFFER);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_BUFFER);
    EXPECT_EQ(host.counters.rx_datagram_too_long, 3);
    EXPECT_EQ(host.wc_cnt, 0);
    EXPECT_EQ(host.failed_cnt + host.event_cnt, 0);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, 64);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
    EXPECT_EQ(host.wc[0].wr_id, 1);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, 65);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
    EXPECT_EQ(host.wc[1].wr_id, 2);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_NO_WQE);
    EXPECT_EQ(host.counters.out_of_buffer, 2);
    responder_free(&host);
}

/* A receive WQE without room for the 40 bytes of network header receives nothing, even if it has no
 * SGEs. */
static void r174_no_room_for_header(void)
{
    struct rnic_recv_wr none = {.wr_id = 5};
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    host_init(ROCE_ENCAP_V2_IP4);
    EXPECT_EQ(rnic_rq_post(&host.resp.rq, &none), RNIC_RQ_POSTED);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, NULL, 0);
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_BUFFER);
    /* The WQE that was too short is flushed first, and once (R189). */
    responder_post(&host, 6, 0, 39);
    rnic_responder_flush(&host.resp);
    EXPECT_EQ(host.wc_cnt, 2);
    EXPECT_EQ(host.wc[0].wr_id, 5);
    EXPECT_EQ(host.wc[1].wr_id, 6);
    responder_free(&host);
}

static void r066_any_psn_is_accepted(void)
{
    static const uint32_t psns[] = {0, 0, 5, 4, 0xFFFFFF, 0x800000};
    struct pktgen_frame frame;

    host_init(ROCE_ENCAP_V2_IP4);
    for (unsigned i = 0; i < 6; i++) {
        struct roce_pkt pkt = datagram(ROCE_OP_UD_SEND_ONLY, NULL, 0);

        pkt.bth.psn = psns[i];
        /* AckReq is ignored (R042); Linux rxe sets it in datagrams to QP 1 (S7 of
         * traces/linux-rxe.md) */
        pkt.bth.ackreq = i & 1;
        responder_post(&host, i, 0, 40);
        EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
        EXPECT_EQ(host.wc[i].wr_id, i);
    }
    responder_expect_nothing(&host);
    responder_free(&host);
}

static void r171_mad_length_is_256(void)
{
    const struct rnic_responder_attr attr = {.path_mtu = 4096, .pkey = 0xFFFF, .qkey = QKEY};
    uint8_t payload[ROCE_MAD_SIZE + 1] = {0};
    struct pktgen_frame frame;
    struct roce_pkt pkt;

    host_init(ROCE_ENCAP_V2_IP4);
    responder_restart(&host, &attr);
    responder_post(&host, 1, 0, 1000);
    responder_post(&host, 2, 0, 1000);
    pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, ROCE_MAD_SIZE + 1);
    pkt.bth.dest_qp = ROCE_QP_GSI;
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_LENGTH);
    pkt.payload_len = ROCE_MAD_SIZE;
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
    pkt.bth.dest_qp = 0x11; /* a QP other than QP 1 accepts the length */
    pkt.payload_len = ROCE_MAD_SIZE + 1;
    EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_DELIVERED);
    responder_free(&host);
}

/* A receive buffer that is not writable, in the header part or in the payload part, fails the QP.
 */
static void unwritable_buffer_fails_the_qp(void)
{
    static const uint8_t payload[20] = {0};

    for (unsigned bad = 0; bad < 2; bad++) {
        struct rnic_sge sge[2] = {{RESPONDER_VA, 40, bad == 0 ? RESPONDER_KEY_RO : RESPONDER_KEY},
                                  {RESPONDER_VA, 40, bad == 1 ? 0xBADu : RESPONDER_KEY}};
        struct rnic_recv_wr wr = {.wr_id = 1, .sge = sge, .sge_cnt = 2};
        struct pktgen_frame frame;
        struct roce_pkt pkt;

        host_init(ROCE_ENCAP_V2_IP4);
        EXPECT_EQ(rnic_rq_post(&host.resp.rq, &wr), RNIC_RQ_POSTED);
        responder_post(&host, 2, 0, 100);
        pkt = datagram(ROCE_OP_UD_SEND_ONLY, payload, sizeof(payload));
        EXPECT_EQ(feed(&pkt, &frame), RNIC_UD_MEMORY);
        EXPECT_EQ(host.wc_cnt, 2);
        EXPECT_EQ(host.wc[0].wr_id, 1);
        EXPECT_EQ(host.wc[0].status, RNIC_WC_LOC_PROT_ERR);
        EXPECT_EQ(host.wc_cnt_at_failure, 1);
        EXPECT_EQ(host.wc[1].wr_id, 2);
        EXPECT_EQ(host.wc[1].status, RNIC_WC_WR_FLUSH_ERR);
        EXPECT_EQ(host.failed_cnt, 1);
        responder_free(&host);
    }
}

SUITE("transport.ud", TEST(r168_one_packet_each), TEST(r168_too_long_datagram_is_not_sent),
      TEST(r169_high_bit_selects_the_own_qkey), TEST(only_sends_are_accepted),
      TEST(inline_and_gathered_data_is_sent), TEST(r192_protection_error_stops_the_queue),
      TEST(r191_unsent_datagrams_wait_while_draining), TEST(r172_layout),
      TEST(datagram_is_scattered_over_sges), TEST(r174_dropped_datagram_uses_no_wqe),
      TEST(r174_no_room_for_header), TEST(r066_any_psn_is_accepted), TEST(r171_mad_length_is_256),
      TEST(unwritable_buffer_fails_the_qp))

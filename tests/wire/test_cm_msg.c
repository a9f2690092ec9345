/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"
#include "wire/cm_msg.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* Attribute id, name and length of the private data of each message (R222, R225). Written by hand,
 * to check the generated tables. */
static const struct {
    enum roce_cm kind;
    uint16_t attr_id;
    const char *name;
    unsigned private_len;
} messages[] = {
    {ROCE_CM_REQ, 0x10, "REQ", 92},
    {ROCE_CM_MRA, 0x11, "MRA", 222},
    {ROCE_CM_REJ, 0x12, "REJ", 148},
    {ROCE_CM_REP, 0x13, "REP", 196},
    {ROCE_CM_RTU, 0x14, "RTU", 224},
    {ROCE_CM_DREQ, 0x15, "DREQ", 220},
    {ROCE_CM_DREP, 0x16, "DREP", 224},
    {ROCE_CM_SIDR_REQ, 0x17, "SIDR_REQ", 216},
    {ROCE_CM_SIDR_REP, 0x18, "SIDR_REP", 136},
    {ROCE_CM_LAP, 0x19, "LAP", 168},
    {ROCE_CM_APR, 0x1A, "APR", 148},
};

static void messages_are_those_of_the_tables(void)
{
    EXPECT_EQ(CNT(messages), ROCE_CM_MSG_CNT);
    for (size_t i = 0; i < CNT(messages); i++) {
        const struct roce_hdr_info *info = roce_cm_info(messages[i].kind);
        const struct roce_field *last = &info->fields[info->field_cnt - 1];
        struct roce_cm_msg msg;
        size_t len;

        roce_cm_msg_init(&msg, messages[i].kind, 7);
        EXPECT_EQ(msg.mad.attr_id, messages[i].attr_id);
        EXPECT_EQ(msg.mad.tid, 7);
        CU_ASSERT_STRING_EQUAL(roce_cm_name(messages[i].kind), messages[i].name);
        CU_ASSERT_PTR_NOT_NULL(roce_cm_private_data(&msg, &len));
        EXPECT_EQ(len, messages[i].private_len);
        EXPECT_EQ(info->len, 232);
        CU_ASSERT_STRING_EQUAL(last->name, "private_data");
        EXPECT_EQ(last->byte, 232 - messages[i].private_len);
        EXPECT_EQ(last->width, messages[i].private_len * 8);
    }
}

/* Any 232 bytes, parsed as any message and built again, must give the same bytes. */
static void build_is_the_inverse_of_parse(void)
{
    struct rng rng = rng_seed();

    for (int round = 0; round < 500; round++)
        for (size_t i = 0; i < CNT(messages); i++) {
            uint8_t in[ROCE_MAD_SIZE], out[ROCE_MAD_SIZE];
            struct roce_cm_msg msg;

            roce_cm_msg_init(&msg, messages[i].kind, rng_u64(&rng));
            EXPECT_EQ(roce_cm_msg_build(&msg, in, sizeof(in)), ROCE_MAD_SIZE);
            rng_fill(&rng, in + ROCE_MAD_LEN, sizeof(in) - ROCE_MAD_LEN);
            EXPECT_EQ(roce_cm_msg_parse(&msg, in, sizeof(in), sizeof(in)), 0);
            EXPECT_EQ(msg.kind, messages[i].kind);
            EXPECT_EQ(roce_cm_msg_build(&msg, out, sizeof(out)), ROCE_MAD_SIZE);
            CU_ASSERT(memcmp(in, out, sizeof(in)) == 0);
        }
}

static void members_are_where_the_description_says(void)
{
    struct rng rng = rng_seed();
    uint8_t p[232];

    rng_fill(&rng, p, sizeof(p));
    /* clang-format off */
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    {                                                                                              \
        const struct roce_hdr_info *info = roce_cm_info(ROCE_CM_##ID);                             \
        struct roce_cm_##id x;                                                                     \
                                                                                                   \
        roce_cm_##id##_parse(p, &x);
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
        EXPECT_EQ(x.name, roce_field_get(roce_field_find(info, #name), p));
#define BYTES(hdr, name, at, n, fmt, label)                                                        \
        CU_ASSERT(memcmp(x.name, p + roce_field_find(info, #name)->byte, n) == 0);
#define HDR_END(id)                                                                                \
    }
#include "wire/cm_fields.def"
    /* clang-format on */
}

/* The MAD of frame 1 of a Linux 6.1 rdma_cm connection between two guests with rdma_rxe
 * (traces/captures/cm-connect-disconnect.pcap). Bytes that are not listed are 0. */
/* clang-format off */
static const uint8_t linux_req[ROCE_MAD_SIZE] = {
    [0] = 0x01, 0x07, 0x02, 0x03,
    [11] = 0x02, 0xaf, 0x77, 0xa1, 0xa5, 0x00, 0x10,
    [24] = 0xa5, 0xa1, 0x77, 0xaf,
    [36] = 0x01, 0x06, 0x48, 0x53,
    [40] = 0x00, 0x52, 0x6f, 0xff, 0xfe, 0x43, 0x45, 0x01,
    [58] = 0x11, 0x04, 0x00, 0x00, 0x00, 0x04,
    [67] = 0xa0, 0x28, 0x59, 0xfd, 0xa6, 0xff, 0xff, 0x37, 0xf0, 0xff, 0xff, 0xff, 0xff,
    [90] = 0xff, 0xff, 0xc0, 0x00, 0x02, 0x01,
    [106] = 0xff, 0xff, 0xc0, 0x00, 0x02, 0x02,
    [112] = 0x2a, 0xe8, 0x20, 0x00, 0x00, 0x40, 0x00, 0x98,
    [165] = 0x40, 0x97, 0xf1,
    [180] = 0xc0, 0x00, 0x02, 0x01,
    [196] = 0xc0, 0x00, 0x02, 0x02,
    [200] = 'R', 'o', 'C', 'E', 'd', 'r', 'i', 'l', 'l',
};
/* clang-format on */

/* The test expects the values that tshark 4.0 shows for the same frame, except for flow label and
 * packet rate. For the bytes 2a e8 20 00, tshark shows flow label 0x002ae and packet rate 0x2a;
 * according to IBTA table 106 they are 0x2ae82 and 0. */
static void linux_req_is_parsed(void)
{
    static const uint8_t left[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 1};
    static const uint8_t left_ip[16] = {[12] = 192, 0, 2, 1}, right_ip[16] = {[12] = 192, 0, 2, 2};
    struct roce_cm_rdmaip ip;
    struct roce_cm_msg msg;

    EXPECT_EQ(roce_cm_msg_parse(&msg, linux_req, sizeof(linux_req), sizeof(linux_req)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_REQ);
    EXPECT_EQ(msg.mad.tid, 0x2af77a1a5);
    EXPECT_EQ(msg.req.local_comm_id, 0xa5a177af);
    EXPECT_EQ(msg.req.service_id, roce_cm_sid(ROCE_CM_PS_TCP, 0x4853));
    EXPECT_EQ(msg.req.local_ca_guid, 0x00526ffffe434501);
    EXPECT_EQ(msg.req.local_qpn, 0x11);
    EXPECT_EQ(msg.req.responder_resources, 4);
    EXPECT_EQ(msg.req.initiator_depth, 4);
    EXPECT_EQ(msg.req.remote_cm_timeout, 0x14);
    EXPECT_EQ(msg.req.transport, ROCE_CM_TRANSPORT_RC);
    EXPECT_EQ(msg.req.flow_control, 0);
    EXPECT_EQ(msg.req.starting_psn, 0x2859fd);
    EXPECT_EQ(msg.req.local_cm_timeout, 0x14);
    EXPECT_EQ(msg.req.retry_count, 6);
    EXPECT_EQ(msg.req.pkey, 0xffff);
    EXPECT_EQ(msg.req.mtu, 3);
    EXPECT_EQ(msg.req.rnr_retry_count, 7);
    EXPECT_EQ(msg.req.max_cm_retries, 15);
    EXPECT_EQ(msg.req.srq, 0);
    EXPECT_EQ(msg.req.primary_local_lid, 65535);
    CU_ASSERT(memcmp(msg.req.primary_local_gid, left, 16) == 0);
    EXPECT_EQ(msg.req.primary_flow, 0x2ae82);
    EXPECT_EQ(msg.req.resv90, 0);
    EXPECT_EQ(msg.req.primary_rate, 0);
    EXPECT_EQ(msg.req.primary_hop, 64);
    EXPECT_EQ(msg.req.primary_ack_timeout, 0x13);
    EXPECT_EQ(roce_cm_rdmaip_read(&ip, &msg), 0);
    EXPECT_EQ(ip.ipv, 4);
    EXPECT_EQ(ip.sport, 0x97f1);
    CU_ASSERT(memcmp(ip.src, left_ip, 16) == 0);
    CU_ASSERT(memcmp(ip.dst, right_ip, 16) == 0);
    CU_ASSERT_STRING_EQUAL((const char *)msg.req.private_data + ROCE_CM_RDMAIP_LEN, "RoCEdrill");
}

/* More messages between the same peers: the REP and DREQ of cm-connect-disconnect.pcap (frames 2
 * and 4), and the REJ of cm-reject.pcap (frame 2). The test expects the values that tshark 4.0
 * shows. */
static void linux_responses_are_parsed(void)
{
    /* clang-format off */
    static const uint8_t rep[ROCE_MAD_SIZE] = {
        [0] = 0x01, 0x07, 0x02, 0x03,
        [11] = 0x02, 0xaf, 0x77, 0xa1, 0xa5, 0x00, 0x13,
        [24] = 0x64, 0xd9, 0x12, 0xf1, 0xa5, 0xa1, 0x77, 0xaf,
        [38] = 0x60, [44] = 0x41, 0x1b, 0xa0, 0x00, 0x04, 0x04, 0x78, 0xe0,
        [52] = 0x00, 0x52, 0x6f, 0xff, 0xfe, 0x43, 0x45, 0x02,
        [60] = 'R', 'o', 'C', 'E', 'd', 'r', 'i', 'l', 'l',
    };
    static const uint8_t rej[ROCE_MAD_SIZE] = {
        [0] = 0x01, 0x07, 0x02, 0x03,
        [11] = 0x02, 0xaf, 0x77, 0xa1, 0xa0, 0x00, 0x12,
        [24] = 0x6f, 0xd9, 0x12, 0xf1, 0xa0, 0xa1, 0x77, 0xaf,
        [35] = 0x1c,
        [108] = 'R', 'o', 'C', 'E', 'd', 'r', 'i', 'l', 'l',
    };
    static const uint8_t dreq[ROCE_MAD_SIZE] = {
        [0] = 0x01, 0x07, 0x02, 0x03,
        [11] = 0x02, 0xaf, 0x77, 0xa1, 0xa5, 0x00, 0x15,
        [24] = 0xa5, 0xa1, 0x77, 0xaf, 0x64, 0xd9, 0x12, 0xf1,
        [34] = 0x60,
    };
    /* clang-format on */
    struct roce_cm_msg msg;

    EXPECT_EQ(roce_cm_msg_parse(&msg, rep, sizeof(rep), sizeof(rep)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_REP);
    EXPECT_EQ(msg.rep.local_comm_id, 0x64d912f1);
    EXPECT_EQ(msg.rep.remote_comm_id, 0xa5a177af);
    EXPECT_EQ(msg.rep.local_qpn, 0x60);
    EXPECT_EQ(msg.rep.starting_psn, 0x411ba0);
    EXPECT_EQ(msg.rep.responder_resources, 4);
    EXPECT_EQ(msg.rep.initiator_depth, 4);
    EXPECT_EQ(msg.rep.target_ack_delay, 0x0f);
    EXPECT_EQ(msg.rep.failover_accepted, 0);
    EXPECT_EQ(msg.rep.flow_control, 0);
    EXPECT_EQ(msg.rep.rnr_retry_count, 7);
    EXPECT_EQ(msg.rep.srq, 0);
    EXPECT_EQ(msg.rep.local_ca_guid, 0x00526ffffe434502);
    CU_ASSERT_STRING_EQUAL((const char *)msg.rep.private_data, "RoCEdrill");

    EXPECT_EQ(roce_cm_msg_parse(&msg, rej, sizeof(rej), sizeof(rej)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_REJ);
    EXPECT_EQ(msg.rej.remote_comm_id, 0xa0a177af);
    EXPECT_EQ(msg.rej.message, 0);
    EXPECT_EQ(msg.rej.info_len, 0);
    EXPECT_EQ(msg.rej.reason, ROCE_CM_REJ_CONSUMER);
    CU_ASSERT_STRING_EQUAL((const char *)msg.rej.private_data, "RoCEdrill");

    EXPECT_EQ(roce_cm_msg_parse(&msg, dreq, sizeof(dreq), sizeof(dreq)), 0);
    EXPECT_EQ(msg.kind, ROCE_CM_DREQ);
    EXPECT_EQ(msg.dreq.local_comm_id, 0xa5a177af);
    EXPECT_EQ(msg.dreq.remote_qpn, 0x60);
}

/* The parser must distinguish malformed MADs, which a receiver drops, from MADs of another class,
 * method or attribute (R246). */
static void wrong_mads_are_told_apart(void)
{
    static const struct {
        unsigned byte;
        uint8_t value;
        int error;
    } wrong[] = {
        {0, 2, ROCE_ERR_MALFORMED}, /* invalid base version */
        {0, 0, ROCE_ERR_MALFORMED},
        {1, 0x03, ROCE_ERR_NOT_ROCE}, /* management class: subnet administration */
        {2, 1, ROCE_ERR_MALFORMED},   /* invalid class version */
        {3, 0x01, ROCE_ERR_NOT_ROCE}, /* method: Get */
        {3, 0x83, ROCE_ERR_NOT_ROCE},
        {16, 1, ROCE_ERR_NOT_ROCE},    /* attribute id 0x0110 */
        {17, 0x01, ROCE_ERR_NOT_ROCE}, /* attribute ClassPortInfo */
        {17, 0x0F, ROCE_ERR_NOT_ROCE},
        {17, 0x1B, ROCE_ERR_NOT_ROCE},
    };
    struct roce_cm_msg msg;
    uint8_t p[ROCE_MAD_SIZE];

    for (size_t i = 0; i < CNT(wrong); i++) {
        memcpy(p, linux_req, sizeof(p));
        p[wrong[i].byte] = wrong[i].value;
        EXPECT_EQ(roce_cm_msg_parse(&msg, p, sizeof(p), sizeof(p)), wrong[i].error);
        EXPECT_EQ(msg.mad.tid, 0x2af77a1a5);
        EXPECT_EQ(msg.req.local_comm_id, 0);
    }
    EXPECT_EQ(roce_cm_msg_parse(&msg, linux_req, 255, 255), ROCE_ERR_MALFORMED);
    EXPECT_EQ(roce_cm_msg_parse(&msg, linux_req, 256, 257), ROCE_ERR_MALFORMED);
}

static void cut_at_every_length(void)
{
    for (size_t len = 0; len <= ROCE_MAD_SIZE; len++) {
        uint8_t *p = sample_exact(linux_req, len);
        struct roce_cm_msg msg;

        EXPECT_EQ(roce_cm_msg_parse(&msg, p, len, ROCE_MAD_SIZE),
                  len < ROCE_MAD_SIZE ? ROCE_ERR_CUT : ROCE_OK);
        EXPECT_EQ(msg.mad.attr_id, len < ROCE_MAD_LEN ? 0 : 0x10);
        EXPECT_EQ(msg.req.local_qpn, len < ROCE_MAD_SIZE ? 0 : 0x11);
        free(p);
    }
}

static void build_says_what_it_cannot(void)
{
    uint8_t buf[ROCE_MAD_SIZE];
    struct roce_cm_msg msg;

    roce_cm_msg_init(&msg, ROCE_CM_RTU, 1);
    for (size_t cap = 0; cap < ROCE_MAD_SIZE; cap++)
        EXPECT_EQ(roce_cm_msg_build(&msg, buf, cap), ROCE_ERR_NOSPACE);
    EXPECT_EQ(roce_cm_msg_build(&msg, buf, sizeof(buf)), ROCE_MAD_SIZE);
    msg.mad.attr_id = 0x10;
    EXPECT_EQ(roce_cm_msg_build(&msg, buf, sizeof(buf)), ROCE_ERR_INVALID);
    roce_cm_msg_init(&msg, ROCE_CM_RDMAIP, 1);
    EXPECT_EQ(roce_cm_msg_build(&msg, buf, sizeof(buf)), ROCE_ERR_INVALID);
}

/* Builds a packet with this opcode and destination QPN, and with the MAD linux_req as payload.
 * Parses the packet without its last `cut` bytes, then the MAD in it. Returns the result of
 * roce_cm_msg_of_pkt(). */
static int of_pkt(struct roce_cm_msg *msg, uint8_t opcode, uint32_t qpn, size_t cut)
{
    struct rng rng = rng_of(1);
    struct roce_pkt pkt, back;
    uint8_t frame[512];
    int len;

    sample_pkt(&pkt, &rng, ROCE_ENCAP_V2_IP4, opcode, 0, linux_req, sizeof(linux_req));
    pkt.bth.dest_qp = qpn;
    len = roce_pkt_build(&pkt, 0, frame, sizeof(frame));
    CU_ASSERT_FATAL(len > (int)cut);
    EXPECT_EQ(roce_pkt_parse(&back, ROCE_LINK_ETHERNET, frame, (size_t)len - cut, (size_t)len), 0);
    return roce_cm_msg_of_pkt(msg, &back);
}

static void message_of_a_packet(void)
{
    struct roce_cm_msg msg;
    struct roce_pkt pkt;

    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY, 1, 0), 0);
    EXPECT_EQ(msg.req.local_qpn, 0x11);
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY, 1, 4), 0); /* only the ICRC is missing */
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY, 1, 5), ROCE_ERR_CUT);
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY, 1, 256 + 4), ROCE_ERR_CUT);
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY, 2, 0), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_UD_SEND_ONLY_IMM, 1, 0), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(of_pkt(&msg, ROCE_OP_RC_SEND_ONLY, 1, 0), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, linux_req, 20, 20), ROCE_ERR_NOT_ROCE);
    EXPECT_EQ(roce_cm_msg_of_pkt(&msg, &pkt), ROCE_ERR_NOT_ROCE);
}

/* The service ids of the RDMA-IP CM contain port space and port (R241). */
static void service_ids_of_the_rdma_ip_cm(void)
{
    EXPECT_EQ(roce_cm_sid(ROCE_CM_PS_TCP, 7174), 0x0000000001061C06);
    EXPECT_EQ(roce_cm_sid(ROCE_CM_PS_UDP, 1), 0x0000000001110001);
    EXPECT_EQ(roce_cm_sid(ROCE_CM_PS_IB, 0xFFFF), 0x00000000013FFFFF);
    EXPECT_EQ(roce_cm_sid_space(0x0000000001061C06), ROCE_CM_PS_TCP);
    EXPECT_EQ(roce_cm_sid_port(0x0000000001061C06), 7174);
    CU_ASSERT_TRUE(roce_cm_sid_is_ip(0x0000000001061C06));
    CU_ASSERT_FALSE(roce_cm_sid_is_ip(0x0000000000061C06));
    CU_ASSERT_FALSE(roce_cm_sid_is_ip(0x0100000001061C06));
    CU_ASSERT_FALSE(roce_cm_sid_is_ip(0x0000000002061C06));
}

/* A REQ and a SIDR_REQ may contain an RDMA-IP header (R242), which must be read and written
 * correctly; wrong versions must be refused (R243). */
static void rdmaip_header_in_private_data(void)
{
    static const uint8_t head[4] = {0x00, 0x60, 0x12, 0x34};
    struct roce_cm_rdmaip ip = {.ipv = 6, .sport = 0x1234, .src = {1}, .dst = {2}}, back;
    struct roce_cm_msg msg;

    EXPECT_EQ(ROCE_CM_RDMAIP_LEN, 36);
    EXPECT_EQ(sizeof(msg.req.private_data) - ROCE_CM_RDMAIP_LEN, 56);
    for (unsigned kind = 0; kind < ROCE_CM_MSG_CNT; kind++) {
        bool has = kind == ROCE_CM_REQ || kind == ROCE_CM_SIDR_REQ;
        size_t len;

        roce_cm_msg_init(&msg, (enum roce_cm)kind, 1);
        EXPECT_EQ(roce_cm_rdmaip_write(&ip, &msg), has ? ROCE_OK : ROCE_ERR_INVALID);
        EXPECT_EQ(roce_cm_rdmaip_read(&back, &msg),
                  ROCE_ERR_NOT_ROCE); /* service id 0 is not one of the RDMA-IP CM */
        if (!has)
            continue;
        *(kind == ROCE_CM_REQ ? &msg.req.service_id : &msg.sidr_req.service_id) =
            roce_cm_sid(ROCE_CM_PS_UDP, 5);
        EXPECT_EQ(roce_cm_rdmaip_read(&back, &msg), ROCE_OK);
        EXPECT_EQ(back.sport, 0x1234);
        CU_ASSERT(memcmp(roce_cm_private_data(&msg, &len), head, sizeof(head)) == 0);
    }
    roce_cm_msg_init(&msg, ROCE_CM_REQ, 1);
    msg.req.service_id = roce_cm_sid(ROCE_CM_PS_TCP, 5);
    for (unsigned v = 0; v < 256; v++) {
        msg.req.private_data[0] = 0;
        msg.req.private_data[1] = (uint8_t)v;
        EXPECT_EQ(roce_cm_rdmaip_read(&back, &msg),
                  v >> 4 == 4 || v >> 4 == 6 ? ROCE_OK : ROCE_ERR_MALFORMED);
        msg.req.private_data[0] = (uint8_t)v;
        msg.req.private_data[1] = 0x40;
        EXPECT_EQ(roce_cm_rdmaip_read(&back, &msg), v == 0 ? ROCE_OK : ROCE_ERR_MALFORMED);
    }
}

/* The local ACK timeout must be the value that Linux computes from the packet life time and the ACK
 * delay (R239). The active side must use the ACK delay in the REP, not the timeout in the REQ. */
static void ack_timeout_is_delay_plus_two_lifetimes(void)
{
    struct roce_cm_req req = {.primary_ack_timeout = 14};
    struct roce_cm_rep rep = {.target_ack_delay = 16};

    EXPECT_EQ(roce_cm_ack_timeout(15, 18), 19);
    EXPECT_EQ(roce_cm_ack_timeout(15, 14), 16);
    EXPECT_EQ(roce_cm_ack_timeout(20, 3), 20);
    EXPECT_EQ(roce_cm_ack_timeout(31, 31), 31);
    EXPECT_EQ(roce_cm_active_timeout(&req, &rep), 16);
    rep.target_ack_delay = 0;
    EXPECT_EQ(roce_cm_active_timeout(&req, &rep), 14);
    req.primary_ack_timeout = 0;
    EXPECT_EQ(roce_cm_active_timeout(&req, &rep), 0);
}

SUITE("wire.cm_msg", TEST(ack_timeout_is_delay_plus_two_lifetimes),
      TEST(messages_are_those_of_the_tables), TEST(build_is_the_inverse_of_parse),
      TEST(members_are_where_the_description_says), TEST(linux_req_is_parsed),
      TEST(linux_responses_are_parsed), TEST(wrong_mads_are_told_apart), TEST(cut_at_every_length),
      TEST(build_says_what_it_cannot), TEST(message_of_a_packet),
      TEST(service_ids_of_the_rdma_ip_cm), TEST(rdmaip_header_in_private_data))

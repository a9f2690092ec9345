/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cases.h"

#include <string.h>

/* Removes the latest frame from the conversation and returns its packet, which a case can change
 * and send again. Copies the frame to `bytes`; the payload of the returned packet points there. */
static struct roce_pkt take_back(struct flowgen *g, uint8_t bytes[ROCE_FRAME_MAX])
{
    struct flowgen_frame f = g->frame[--g->frame_cnt];
    struct roce_pkt p;

    memcpy(bytes, g->bytes + f.off, f.len);
    roce_pkt_parse(&p, ROCE_LINK_ETHERNET, bytes, f.len, f.len);
    return p;
}

/* Returns a pointer to a byte of the latest frame. */
static uint8_t *byte(struct flowgen *g, size_t off)
{
    return g->bytes + g->frame[g->frame_cnt - 1].off + off;
}

/* Corrects the ICRC of the latest frame after a case changed its bytes. */
static void sign(struct flowgen *g)
{
    struct flowgen_frame *f = &g->frame[g->frame_cnt - 1];
    struct roce_pkt p;
    uint32_t icrc;

    if (roce_pkt_parse(&p, ROCE_LINK_ETHERNET, g->bytes + f->off, f->len, f->len) == 0 &&
        roce_pkt_icrc_check(&p, &icrc) == ROCE_ICRC_BAD)
        for (unsigned i = 0; i < ROCE_ICRC_LEN; i++)
            *byte(g, p.icrc_off + i) = (uint8_t)(icrc >> 8 * i);
}

#define IP_OFF  14u
#define BTH_OFF (14u + 20u + 8u)

CASE(IP_OPTIONS)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.ip4_options_len = wrong ? 4 : 0;
    p.ip4_options[0] = 1;
    flowgen_put(g, 0, &p);
}

CASE(IP_VERSION)
{
    flowgen_send(g, 0, 64);
    if (wrong)
        *byte(g, IP_OFF) = 0x55;
    sign(g);
}

CASE(DSCP_CONSTANT)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.ip4.dscp = wrong ? 26 : 0;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(IP_LEN)
{
    uint8_t bytes[ROCE_FRAME_MAX];
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = take_back(g, bytes);
    p.ip4.len = (uint16_t)(p.ip4.len + (wrong ? 8 : 0));
    flowgen_put_as(g, 1, &p, ROCE_BUILD_KEEP_LEN);
}

CASE(IP_FRAGMENT)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.ip4.df = !wrong;
    flowgen_put(g, 0, &p);
    flowgen_ack_all(g, 1);
}

CASE(IP6_EXT)
{
    static const uint8_t hop_by_hop[8] = {17, 0, 1, 4, 0, 0, 0, 0};
    struct flowgen_frame *f;

    g->encap = ROCE_ENCAP_V2_IP6;
    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    if (!wrong)
        return;
    f = &g->frame[g->frame_cnt - 1];
    memmove(byte(g, 14 + 40 + 8), byte(g, 14 + 40), f->len - 54);
    memcpy(byte(g, 14 + 40), hop_by_hop, 8);
    *byte(g, 14 + 6) = 0;
    *byte(g, 14 + 5) = (uint8_t)(*byte(g, 14 + 5) + 8);
    f->len += 8;
    sign(g);
    g->byte_cnt += 8;
}

CASE(SPORT_CONSTANT)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.udp.sport = (uint16_t)(p.udp.sport + wrong);
    flowgen_put(g, 0, &p);
}

CASE(SPORT_RANGE)
{
    g->conn.sport = wrong ? 4791 : 0xD000;
    flowgen_send(g, 0, 64);
}

CASE(UDP_LEN)
{
    uint8_t bytes[ROCE_FRAME_MAX];
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = take_back(g, bytes);
    p.udp.len = (uint16_t)(p.udp.len - (wrong ? 4 : 0));
    flowgen_put_as(g, 1, &p, ROCE_BUILD_KEEP_LEN);
    sign(g);
}

CASE(UDP_CSUM)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.udp.csum = wrong ? 0x1234 : 0;
    flowgen_put(g, 0, &p);
}

CASE(ICRC_BAD)
{
    flowgen_send(g, 0, 64);
    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    if (wrong)
        *byte(g, BTH_OFF + 20) ^= 0x10;
}

CASE(ICRC_NEVER_GOOD)
{
    struct roce_pkt p;

    flowgen_message(g, 1, ROCE_KIND_SEND, 64);
    for (int i = 0; i < 10; i++) {
        if (i < 8)
            p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        else
            flowgen_wait(g, 70000000); /* longer than the ACK timeout; the next packet is a
                                        * retransmission */
        flowgen_put(g, 0, &p);
        if (wrong)
            *byte(g, BTH_OFF + 20) ^= 0x10;
    }
}

CASE(TVER)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.bth.tver = wrong;
    flowgen_put(g, 0, &p);
}

CASE(RESERVED_BITS)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.bth.resv7 = wrong ? 5 : 0;
    flowgen_put(g, 0, &p);
}

CASE(PAD)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 63);

    p.bth.padcnt = !wrong;
    flowgen_put_as(g, 0, &p, ROCE_BUILD_KEEP_PAD);
}

CASE(SHORT)
{
    flowgen_message(g, 0, ROCE_KIND_SEND, 0);
    if (wrong)
        *byte(g, BTH_OFF) = ROCE_OP_RC_WRITE_ONLY;
    sign(g);
}

CASE(PAD_TOO_LARGE)
{
    flowgen_message(g, 0, ROCE_KIND_SEND, 0);
    if (wrong)
        *byte(g, BTH_OFF + 1) |= 0x30;
    sign(g);
}

CASE(SERVICE)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    g->svc = wrong ? ROCE_SVC_UC : ROCE_SVC_RC;
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(g, 0, &p);
}

CASE(OPCODE_RESERVED)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.bth.opcode = wrong ? 0x18 : p.bth.opcode;
    flowgen_put(g, 0, &p);
}

CASE(PAYLOAD_NONE)
{
    static const uint8_t four[4] = {1, 2, 3, 4};
    struct roce_pkt p;

    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    p = flowgen_resp(g, 1, ROCE_OP_RC_ACK, g->conn.psn[0] - 1, 0);
    p.payload = wrong ? four : NULL;
    p.payload_len = wrong ? 4 : 0;
    flowgen_put(g, 1, &p);
}

CASE(PMTU_SIZE)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 4096);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_FIRST, wrong ? 512 : 1024);
    flowgen_put(g, 0, &p);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_LAST, 8);
    flowgen_put(g, 0, &p);
}

CASE(READ_RESP_SIZE)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 4096);
    p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, 2048);
    flowgen_put(g, 0, &p);
    p = flowgen_resp(g, 1, ROCE_OP_RC_READ_RESP_FIRST, p.bth.psn, wrong ? 512 : 1024);
    flowgen_put(g, 1, &p);
}

CASE(PMTU_VALUE)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_FIRST, wrong ? 1000 : 1024);

    flowgen_put(g, 0, &p);
}

CASE(SOLICITED)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

    p.bth.se = wrong;
    flowgen_put(g, 0, &p);
}

CASE(ACKREQ_UNRELIABLE)
{
    struct roce_pkt p;

    g->svc = ROCE_SVC_UC;
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.bth.ackreq = wrong;
    flowgen_put(g, 0, &p);
}

CASE(ACKREQ_RESPONSE)
{
    struct roce_pkt p;

    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    p = flowgen_resp(g, 1, ROCE_OP_RC_ACK, g->conn.psn[0] - 1, 0);
    p.bth.ackreq = wrong;
    flowgen_put(g, 1, &p);
}

CASE(MIGREQ)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.bth.migreq = !wrong;
    flowgen_put(g, 0, &p);
}

CASE(PKEY_CONSTANT)
{
    struct roce_pkt p;

    flowgen_send(g, 0, 64);
    p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.bth.pkey = wrong ? 0x8001 : 0xFFFF;
    flowgen_put(g, 0, &p);
}

CASE(PKEY_MATCH)
{
    struct roce_pkt p;

    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    flowgen_ack_all(g, 1);
    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    p = flowgen_resp(g, 1, ROCE_OP_RC_ACK, g->conn.psn[0] - 1, 0);
    p.bth.pkey = wrong ? 0x8001 : 0xFFFF;
    flowgen_put(g, 1, &p);
    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    flowgen_put(g, 1, &p);
    if (wrong) { /* also wrong: each side always sends the same P_Key, but the P_Keys of the two
                  * sides do not match */
        g->frame_cnt = 0;
        flowgen_message(g, 0, ROCE_KIND_SEND, 64);
        p = flowgen_resp(g, 1, ROCE_OP_RC_ACK, g->conn.psn[0] - 1, 0);
        p.bth.pkey = 0x8001;
        flowgen_put(g, 1, &p);
        flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    }
}

CASE(DEST_QP0)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_SEND_ONLY, 64);

    p.bth.dest_qp = wrong ? 0 : p.bth.dest_qp;
    flowgen_put(g, 0, &p);
}

CASE(MULTICAST_QP)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_UD_SEND_ONLY, 64);

    p.bth.dest_qp = wrong ? ROCE_QP_MULTICAST : 0x77;
    flowgen_put(g, 0, &p);
}

CASE(FIXED_PAYLOAD)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_ATOMIC_WRITE, wrong ? 4 : 8);

    flowgen_put(g, 0, &p);
}

CASE(COPY)
{
    flowgen_send(g, 0, 64);
    flowgen_send(g, 0, 64);
    flowgen_message(g, 0, ROCE_KIND_SEND, 64);
    if (wrong)
        flowgen_copy(g);
    flowgen_ack_all(g, 1);
}

CASE(CM_MTU)
{
    flowgen_connect(g);
    g->mtu = wrong ? 512 : 1024;
    flowgen_send(g, 0, 4096);
}

const struct rule_case cases_format[] = {
    ROW(IP_OPTIONS),
    ROW(IP_VERSION),
    ROW(DSCP_CONSTANT),
    ROW(IP_LEN),
    ROW(IP_FRAGMENT),
    ROW(IP6_EXT),
    ROW(SPORT_CONSTANT),
    ROW(SPORT_RANGE),
    ROW(UDP_LEN),
    ROW(UDP_CSUM),
    ROW(ICRC_BAD),
    ROW(ICRC_NEVER_GOOD),
    ROW(TVER),
    ROW(RESERVED_BITS),
    ROW(PAD),
    ROW(SHORT),
    ROW(PAD_TOO_LARGE),
    ROW(SERVICE),
    ROW(OPCODE_RESERVED),
    ROW(PAYLOAD_NONE),
    ROW(PMTU_SIZE),
    ROW(READ_RESP_SIZE),
    ROW(PMTU_VALUE),
    ROW(SOLICITED),
    ROW(ACKREQ_UNRELIABLE),
    ROW(ACKREQ_RESPONSE),
    ROW(MIGREQ),
    ROW(PKEY_CONSTANT),
    ROW(PKEY_MATCH),
    ROW(DEST_QP0),
    ROW(MULTICAST_QP),
    ROW(FIXED_PAYLOAD),
    ROW(COPY),
    ROW(CM_MTU),
};
const unsigned cases_format_cnt = sizeof(cases_format) / sizeof(cases_format[0]);

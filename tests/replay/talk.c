/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "talk.h"

#include <stdlib.h>
#include <string.h>
#include "report/verdict.h"
#include "support/suite.h"

#define VA  UINT64_C(0x7f0000001000)
#define CTR (VA + 0x8000)
#define ACK 0x1F

void talk_init(struct talk *t)
{
    *t = (struct talk){.encap = ROCE_ENCAP_V2_IP4,
                       .requester_qp = 0x11,
                       .responder_qp = 0x22,
                       .time = UINT64_C(1700000000) * 1000000000};
}

void talk_free(struct talk *t)
{
    capture_free(&t->capture);
}

/* Returns the UDP source port that Linux computes from the two QPNs (rdma_calc_flow_label). */
static uint16_t udp_sport(uint32_t requester_qp, uint32_t responder_qp)
{
    uint64_t v = (uint64_t)requester_qp * responder_qp;

    v ^= v >> 20;
    v ^= v >> 40;
    v &= 0xFFFFF;
    return (uint16_t)(0xC000 | ((v & 0x3FFF) ^ v >> 14));
}

void talk_packet(const struct talk *t, struct roce_pkt *pkt, uint8_t opcode, uint32_t psn,
                 bool to_responder)
{
    uint8_t from = to_responder ? 1 : 2, to = to_responder ? 2 : 1;
    const uint8_t ip4[4] = {192, 0, 2, 0};
    const uint8_t ip6[16] = {0x20, 0x01, 0x0d, 0xb8};

    roce_pkt_init(pkt, t->encap, opcode);
    memcpy(pkt->eth.src, (const uint8_t[6]){2, 0, 0, 0, 0, from}, 6);
    memcpy(pkt->eth.dst, (const uint8_t[6]){2, 0, 0, 0, 0, to}, 6);
    if (t->vlans) {
        pkt->present |= ROCE_HDR_BIT(ROCE_HDR_VLAN);
        pkt->vlan_cnt = 1;
        pkt->vlan[0] = (struct roce_vlan){.vid = 7, .type = pkt->eth.type};
        pkt->eth.type = ROCE_ETHERTYPE_VLAN;
    }
    memcpy(pkt->ip4.src, ip4, 4);
    memcpy(pkt->ip4.dst, ip4, 4);
    pkt->ip4.src[3] = from;
    pkt->ip4.dst[3] = to;
    memcpy(pkt->ip6.src, ip6, 16);
    memcpy(pkt->ip6.dst, ip6, 16);
    pkt->ip6.src[15] = from;
    pkt->ip6.dst[15] = to;
    memcpy(pkt->grh.sgid, pkt->ip6.src, 16);
    memcpy(pkt->grh.dgid, pkt->ip6.dst, 16);
    pkt->udp.sport = udp_sport(t->requester_qp, t->responder_qp);
    pkt->bth.dest_qp = to_responder ? t->responder_qp : t->requester_qp;
    pkt->bth.psn = psn & ROCE_PSN_MASK;
    pkt->bth.ackreq = to_responder && roce_opcode_ends(roce_opcode(opcode));
}

uint32_t talk_add(struct talk *t, const struct roce_pkt *pkt)
{
    uint8_t buf[ROCE_FRAME_MAX];
    int len = roce_pkt_build(pkt, 0, buf, sizeof(buf));

    if (len < 0)
        abort();
    t->time += 100000;
    capture_add(&t->capture, buf, (size_t)len, t->time);
    return (uint32_t)t->capture.cnt;
}

static const uint8_t *pattern(uint8_t *buf, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < len; i++)
        buf[i] = (uint8_t)(seed + i * 7 + (i >> 8));
    return buf;
}

static uint32_t add_payload(struct talk *t, struct roce_pkt *pkt, uint32_t len, uint8_t seed)
{
    uint8_t buf[4096];

    pkt->payload = len ? pattern(buf, len, seed) : NULL;
    pkt->payload_len = len;
    return talk_add(t, pkt);
}

uint32_t talk_send(struct talk *t, uint8_t opcode, uint32_t psn, uint32_t len, uint8_t seed)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, opcode, psn, true);
    pkt.ieth.rkey = TALK_RKEY;
    return add_payload(t, &pkt, len, seed);
}

uint32_t talk_write(struct talk *t, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                    uint32_t dma_len, uint32_t len, uint8_t seed)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, opcode, psn, true);
    pkt.reth = (struct roce_reth){.va = va, .rkey = rkey, .dma_len = dma_len};
    return add_payload(t, &pkt, len, seed);
}

uint32_t talk_read(struct talk *t, uint32_t psn, uint64_t va, uint32_t rkey, uint32_t len)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_READ_REQUEST, psn, true);
    pkt.reth = (struct roce_reth){.va = va, .rkey = rkey, .dma_len = len};
    return talk_add(t, &pkt);
}

uint32_t talk_atomic(struct talk *t, uint8_t opcode, uint32_t psn, uint64_t va, uint32_t rkey,
                     uint64_t swap_add, uint64_t compare)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, opcode, psn, true);
    pkt.atomiceth =
        (struct roce_atomiceth){.va = va, .rkey = rkey, .swap_add = swap_add, .compare = compare};
    return talk_add(t, &pkt);
}

uint32_t talk_ack(struct talk *t, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_ACK, psn, false);
    pkt.aeth = (struct roce_aeth){.syndrome = syndrome, .msn = msn};
    return talk_add(t, &pkt);
}

uint32_t talk_read_resp(struct talk *t, uint8_t opcode, uint32_t psn, uint32_t msn, uint32_t len,
                        uint8_t seed)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, opcode, psn, false);
    pkt.aeth = (struct roce_aeth){.syndrome = 0x1F, .msn = msn};
    return add_payload(t, &pkt, len, seed);
}

uint32_t talk_atomic_ack(struct talk *t, uint32_t psn, uint32_t msn, uint64_t orig)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_ATOMIC_ACK, psn, false);
    pkt.aeth = (struct roce_aeth){.syndrome = 0x1F, .msn = msn};
    pkt.atomicacketh.orig = orig;
    return talk_add(t, &pkt);
}

void talk_number(struct talk *t, uint32_t lost)
{
    uint16_t next[2] = {100, 500};

    for (uint32_t i = 0; i < t->capture.cnt; i++) {
        const struct capture_frame *f = &t->capture.frame[i];
        uint8_t buf[ROCE_FRAME_MAX];
        struct roce_pkt pkt;
        bool response;

        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) != 0)
            abort();
        response = roce_opcode_is_response(pkt.op);
        next[response] = (uint16_t)(next[response] + (i + 1 == lost ? 2 : 1));
        pkt.ip4.id = next[response];
        capture_put(&t->capture, i, buf,
                    (size_t)roce_pkt_build(&pkt, ROCE_BUILD_KEEP_PAD, buf, sizeof(buf)));
    }
}

int talk_replay(const struct talk *talk, struct replay *replay, const char *peer)
{
    struct error error = {""};
    int rc =
        capture_replay(&talk->capture, &(struct replay_options){.quirks = peer}, replay, &error);

    if (rc != 0)
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    return rc;
}

void talk_expect_diff(const struct talk *talk, const char *peer, uint32_t frame, const char *field)
{
    struct replay r;

    if (talk_replay(talk, &r, peer) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_FAIL);
        if (!capture_differs(&r, frame, field)) {
            suite_fail(__FILE__, __LINE__, "no difference in frame %u, %s", frame, field);
            report_text(stdout, &r, &(struct report_options){.ladder = true});
        }
    }
    replay_free(&r);
}

void talk_whole(struct talk *t, uint32_t psn)
{
    talk_init(t);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 100, 1);                              /* frame 1 */
    talk_ack(t, psn, ACK, 1);                                                     /* frame 2 */
    talk_write(t, ROCE_OP_RC_WRITE_FIRST, psn + 1, VA, TALK_RKEY, 2500, 1024, 2); /* frame 3 */
    talk_write(t, ROCE_OP_RC_WRITE_MIDDLE, psn + 2, 0, 0, 0, 1024, 3);            /* frame 4 */
    talk_write(t, ROCE_OP_RC_WRITE_LAST, psn + 3, 0, 0, 0, 452, 4);               /* frame 5 */
    talk_ack(t, psn + 3, ACK, 2);                                                 /* frame 6 */
    talk_read(t, psn + 4, VA, TALK_RKEY, 2500);                                   /* frame 7 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_FIRST, psn + 4, 3, 1024, 2);           /* frame 8 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_MIDDLE, psn + 5, 3, 1024, 3);          /* frame 9 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_LAST, psn + 6, 3, 452, 4);             /* frame 10 */
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn + 7, CTR, TALK_RKEY, 5, 0);          /* frame 11 */
    talk_atomic_ack(t, psn + 7, 4, 1000);                                         /* frame 12 */
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn + 8, CTR, TALK_RKEY, 7, 0);          /* frame 13 */
    talk_atomic_ack(t, psn + 8, 5, 1005);                                         /* frame 14 */
    talk_atomic(t, ROCE_OP_RC_CMP_SWAP, psn + 9, CTR, TALK_RKEY, 99, 1012);       /* frame 15 */
    talk_atomic_ack(t, psn + 9, 6, 1012);                                         /* frame 16 */
    talk_write(t, ROCE_OP_RC_WRITE_ONLY_IMM, psn + 10, VA, TALK_RKEY, 8, 8, 9);   /* frame 17 */
    talk_ack(t, psn + 10, ACK, 7);                                                /* frame 18 */
    talk_send(t, ROCE_OP_RC_SEND_FIRST, psn + 11, 1024, 1);                       /* frame 19 */
    talk_send(t, ROCE_OP_RC_SEND_LAST_INV, psn + 12, 10, 1);                      /* frame 20 */
    talk_ack(t, psn + 12, ACK, 8);                                                /* frame 21 */
}

void talk_expect_verdict(struct talk *t, enum verdict verdict, uint32_t sides)
{
    struct replay r;

    if (talk_replay(t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), verdict);
        EXPECT_EQ(r.session.dir_cnt, sides);
        if (report_verdict(&r) != verdict)
            report_text(stdout, &r, &(struct report_options){.ladder = true});
    }
    replay_free(&r);
    talk_free(t);
}

void talk_expect_skip(struct talk *t, const char *words)
{
    struct replay r;

    if (talk_replay(t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_SKIPPED);
        if (!strstr(report_skip_reason(&r), words))
            suite_fail(__FILE__, __LINE__, "skipped for \"%s\", not \"%s\"", report_skip_reason(&r),
                       words);
    }
    replay_free(&r);
    talk_free(t);
}

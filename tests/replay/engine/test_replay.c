/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of conversations made by hand: some pass, some differ in a given frame, and some are
 * skipped. */
#include <string.h>
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define CTR  (VA + 0x8000)
#define ACK  0x1F

static void a_clean_conversation_holds(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    struct talk t;

    talk_whole(&t, 5);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
    talk_whole(&t, 0xFFFFFA); /* the PSNs wrap to 0 inside the READ */
    talk_expect_verdict(&t, VERDICT_PASS, 1);
    for (unsigned i = 0; i < sizeof(encaps) / sizeof(encaps[0]); i++)
        for (unsigned vlans = 0; vlans < 2; vlans++) {
            talk_init(&t);
            t.encap = encaps[i];
            t.vlans = vlans;
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 3, 1);
            talk_ack(&t, 9, ACK, 1);
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 10, VA, RKEY, 5, 5, 1);
            talk_ack(&t, 10, ACK, 2);
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        }
}

/* Rebuilds frame number `frame` after `change` altered its packet. With `keep_icrc`, the frame
 * keeps its old ICRC, which is then wrong. */
static void alter(struct talk *t, uint32_t frame, void (*change)(struct roce_pkt *), bool keep_icrc)
{
    struct capture_frame *f = &t->capture.frame[frame - 1];
    uint8_t payload[4096], buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    int len;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0);
    if (pkt.payload_len) {
        memcpy(payload, pkt.payload, pkt.payload_len);
        pkt.payload = payload;
        if (!change)
            payload[17] ^= 0x80;
    }
    if (change)
        change(&pkt);
    len = roce_pkt_build(&pkt, keep_icrc ? ROCE_BUILD_KEEP_ICRC : 0, buf, sizeof(buf));
    CU_ASSERT(len > 0);
    capture_put(&t->capture, frame - 1, buf, (size_t)len);
}

static void to_seq_nak(struct roce_pkt *p)
{
    p->aeth.syndrome = 0x60;
}

static void to_access_nak(struct roce_pkt *p)
{
    p->aeth.syndrome = 0x62;
}

static void to_rnr(struct roce_pkt *p)
{
    p->aeth.syndrome = 0x2C;
}

static void msn_up(struct roce_pkt *p)
{
    p->aeth.msn++;
}

static void psn_up(struct roce_pkt *p)
{
    p->bth.psn = (p->bth.psn + 1) & ROCE_PSN_MASK;
}

static void orig_off(struct roce_pkt *p)
{
    p->atomicacketh.orig ^= 1;
}

static void to_only(struct roce_pkt *p)
{
    p->bth.opcode = ROCE_OP_RC_READ_RESP_ONLY;
}

static void to_plain_ack(struct roce_pkt *p)
{
    p->bth.opcode = ROCE_OP_RC_ACK;
}

static void qp_off(struct roce_pkt *p)
{
    p->bth.dest_qp ^= 0x40;
}

static void pkey_off(struct roce_pkt *p)
{
    p->bth.pkey = 0x8001;
}

static void solicit(struct roce_pkt *p)
{
    p->bth.se = 1;
}

static void every_altered_answer_is_named(void)
{
    static const struct {
        uint32_t frame;
        void (*change)(struct roce_pkt *);
        const char *field;
    } cases[] = {
        {2, to_seq_nak, "aeth.syndrome"},
        {6, to_access_nak, "aeth.syndrome"},
        {6, to_rnr, "aeth.syndrome"},
        {18, to_rnr, "aeth.syndrome"},
        {21, to_access_nak, "aeth.syndrome"},
        {2, msn_up, "aeth.msn"},
        {6, msn_up, "aeth.msn"},
        {10, msn_up, "aeth.msn"},
        {16, msn_up, "aeth.msn"},
        {21, msn_up, "aeth.msn"},
        {6, psn_up, "bth.psn"},
        {9, psn_up, NULL},
        {14, psn_up, NULL},
        {21, psn_up, "bth.psn"},
        {8, NULL, "payload"},
        {9, NULL, "payload"},
        {10, NULL, "payload"},
        {12, orig_off, "atomicacketh.orig"},
        {14, orig_off, "atomicacketh.orig"},
        {16, orig_off, "atomicacketh.orig"},
        {10, to_only, "bth.opcode"},
        {14, to_plain_ack, "bth.opcode"},
        {6, qp_off, "bth.dest_qp"},
        {9, qp_off, "bth.dest_qp"},
        {14, qp_off, "bth.dest_qp"},
        {18, pkey_off, "bth.pkey"},
        {21, solicit, "bth.se"},
    };
    struct talk t;

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        talk_whole(&t, 5);
        alter(&t, cases[i].frame, cases[i].change, false);
        talk_expect_diff(&t, NULL, cases[i].frame, cases[i].field);
        talk_free(&t);
        /* The same alteration with an ICRC that is now wrong: the replay reports the altered field
         * and the ICRC. Exception: it passes if the altered packet is an ACK that a later ACK
         * covers or that no request follows, because a requester may drop such an ACK as damaged.
         */
        talk_whole(&t, 5);
        /* The requester accepted the damaged packet only if it sent requests for two round trips
         * after a later response. */
        if (cases[i].frame == 14 || cases[i].frame == 16)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5 + 13, 100, 1);
        alter(&t, cases[i].frame, cases[i].change, true);
        if (cases[i].frame == 2 || cases[i].frame == 6 || cases[i].frame == 18 ||
            cases[i].frame == 21) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
            continue; /* talk_expect_verdict() has freed the talk */
        }
        if (cases[i].change != qp_off) {
            talk_expect_diff(&t, NULL, cases[i].frame, cases[i].field);
            talk_expect_diff(&t, NULL, cases[i].frame, "icrc");
        }
        talk_free(&t);
    }
}

/* Changes the opcode of a frame in place and corrects the ICRC. */
static void relabel(struct talk *t, uint32_t frame, uint8_t opcode)
{
    struct capture_frame *f = &t->capture.frame[frame - 1];
    struct roce_pkt pkt;
    uint32_t icrc;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0);
    f->data[pkt.off[ROCE_HDR_BTH]] = opcode;
    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0);
    roce_pkt_icrc_check(&pkt, &icrc);
    roce_le32_put(f->data + pkt.icrc_off, icrc);
}

/* The responder itself sent the malformed response, because its ICRC is right. So the replay must
 * report a difference. */
static void a_malformed_answer_differs(void)
{
    struct talk t;

    talk_whole(&t, 5);
    relabel(&t, 6, ROCE_OP_RC_ATOMIC_ACK);
    talk_expect_diff(&t, NULL, 6, "form");
    talk_free(&t);
}

/* A READ response First becomes a Middle. The bytes of its AETH then count as payload, so the
 * packet is longer than the path MTU. */
static void a_read_first_as_middle_differs(void)
{
    struct talk t;

    talk_whole(&t, 5);
    relabel(&t, 8, ROCE_OP_RC_READ_RESP_MIDDLE);
    talk_expect_diff(&t, NULL, 8, "bth.opcode");
    talk_free(&t);
}

/* A key is invalidated twice. The responder's program must have registered the key again in
 * between, so the capture passes. */
static void a_key_may_be_invalidated_twice(void)
{
    struct talk t;

    for (unsigned nak = 0; nak < 2; nak++) {
        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY_INV, 7, 10, 1);
        talk_ack(&t, 7, ACK, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY_INV, 8, 10, 1);
        talk_ack(&t, 8, nak ? 0x62 : ACK, nak ? 1 : 2);
        talk_expect_verdict(&t, VERDICT_PASS, 1);
    }
}

static void loss_and_repetition_hold(void)
{
    struct talk t;

    /* An ACK is lost before the capture point. The requester retransmits the SEND, and the
     * responder acknowledges the duplicate. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* A request is lost before the capture point: sequence NAK, then go-back-N. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 8, 0x60, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* A request is captured, but lost after the capture point: sequence NAK, then go-back-N. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 8, 0x60, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* The first request is lost before the capture point. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 7, 0x60, 0);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* A READ response is lost. The requester requests the remaining bytes again, and the new
     * response begins with a First. */
    talk_init(&t);
    talk_read(&t, 20, VA, RKEY, 3000);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 20, 1, 1024, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 22, 1, 952, 3);
    talk_read(&t, 21, VA + 1024, RKEY, 1976);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 21, 1, 1024, 2);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 22, 1, 952, 3);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* ACKs arrive out of order, one of them twice. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_ack(&t, 7, ACK, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* ACKs are coalesced, with credits. */
    talk_init(&t);
    for (unsigned i = 0; i < 9; i++)
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7 + i, 10, 1);
    talk_ack(&t, 11, 0x05, 5);
    talk_ack(&t, 15, 0x03, 9);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

static void naks_hold(void)
{
    struct talk t;

    /* Twice the SEND finds no receive WQE (RNR NAK), then the third copy finds one. The responder
     * drops the later requests in flight. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 7, 0x2C, 0);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, 0x2C, 0);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* Remote access errors: wrong R_Key, address out of bounds, no permission. */
    for (unsigned i = 0; i < 3; i++) {
        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 1);
        talk_ack(&t, 7, ACK, 1);
        if (i == 0)
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 8, VA, RKEY + 1, 64, 64, 1);
        else if (i == 1)
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 8, VA + 32, RKEY, 64, 64, 1);
        else
            talk_read(&t, 8, VA, RKEY, 64);
        talk_ack(&t, 8, 0x62, 1);
        talk_expect_verdict(&t, VERDICT_PASS, 1);
    }
    /* An R_Key becomes invalid during the connection. */
    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 8, VA, RKEY, 64, 64, 1);
    talk_ack(&t, 8, 0x62, 1);
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    /* Invalid requests: unaligned atomic, opcode out of sequence, READ not enabled, SEND too long.
     */
    for (unsigned i = 0; i < 4; i++) {
        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 1);
        talk_ack(&t, 7, ACK, 1);
        if (i == 0)
            talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 8, VA + 4, RKEY, 1, 0);
        else if (i == 1)
            talk_send(&t, ROCE_OP_RC_SEND_LAST, 8, 64, 1);
        else if (i == 2)
            talk_read(&t, 8, VA, RKEY, 64);
        else
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 64, 1);
        talk_ack(&t, 8, 0x61, 1);
        talk_expect_verdict(&t, VERDICT_PASS, 1);
    }
}

/* A capture point has separate queues for the two directions of a link, so a response may be
 * captured just before its request. This must pass. */
static void response_captured_just_before_its_request_holds(void)
{
    for (unsigned kind = 0; kind < 4; kind++) {
        struct talk t;
        struct replay r;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 4, 10, 1);
        talk_ack(&t, 4, ACK, 1);
        switch (kind) {
        case 0: talk_ack(&t, 5, ACK, 2); break;
        case 1: talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, 2, 64, 1); break;
        case 2: talk_atomic_ack(&t, 5, 2, 7); break;
        default: talk_ack(&t, 5, 0x2C, 1); break;
        }
        t.time -= 95000; /* the next packet follows after 5 us */
        if (kind == 1)
            talk_read(&t, 5, VA, RKEY, 64);
        else if (kind == 2)
            talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 5, CTR, RKEY, 1, 0);
        else
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        if (kind == 3) {
            t.time += 1000000;
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
            talk_ack(&t, 5, ACK, 2);
        }
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
        talk_ack(&t, 6, ACK, 3);
        if (talk_replay(&t, &r, NULL) == 0) {
            EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
            EXPECT_EQ(r.responses.result[0].inconclusive, 0);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

/* A responder sends one sequence NAK for each gap (R068), so a second one is a difference. A copy
 * that the network makes of the NAK follows it soon, and is no difference. */
static void second_sequence_nak_of_a_gap_differs(void)
{
    struct talk t;
    uint32_t frame;

    for (unsigned late = 0; late < 2; late++) {
        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
        talk_ack(&t, 6, ACK, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
        talk_ack(&t, 7, 0x60, 1);
        t.time += late * UINT64_C(2000000);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
        frame = talk_ack(&t, 7, 0x60, 1);
        for (unsigned i = 7; i < 10; i++)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, i, 10, 1);
        talk_ack(&t, 9, ACK, 4);
        if (late) {
            talk_expect_diff(&t, NULL, frame, "answer");
            talk_free(&t);
        } else {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        }
    }
}

/* Linux rxe begins the response to the tail of a READ with Middle or Last (D4). */
static void a_known_deviation_does_not_fail(void)
{
    struct talk t;
    struct replay r;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
    talk_ack(&t, 0, ACK, 1);
    talk_read(&t, 1, VA, RKEY, 2048);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 1, 2, 1024, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 2, 1024, 2);
    talk_read(&t, 2, VA + 1024, RKEY, 1024);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 2, 1024, 2);
    talk_expect_diff(&t, NULL, 7, "bth.opcode");
    if (talk_replay(&t, &r, "linux-rxe-6.1") == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.responses.result[0].known_frames, 1);
    }
    replay_free(&r);
    talk_free(&t);
}

static void a_capture_may_begin_in_the_middle(void)
{
    struct talk t;

    talk_init(&t);
    talk_ack(&t, 98, ACK, 499); /* an ACK of requests sent before the capture began */
    talk_send(&t, ROCE_OP_RC_SEND_MIDDLE, 99, 1024, 1); /* the capture begins inside this message */
    talk_send(&t, ROCE_OP_RC_SEND_LAST, 100, 30, 1);
    talk_ack(&t, 100, ACK, 500);
    for (unsigned i = 1; i <= 4; i++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 100 + i, 10, 1);
        talk_ack(&t, 100 + i, ACK, 500 + i);
    }
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

static void connections_are_told_apart(void)
{
    struct talk t;

    /* Three QPs use the same PSNs at the same time. */
    talk_init(&t);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned qp = 0; qp < 3; qp++) {
            t.requester_qp = 0x11 + qp;
            t.responder_qp = 0x22 + qp;
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7 + i, 10 + qp, 1);
        }
        for (unsigned qp = 0; qp < 3; qp++) {
            t.requester_qp = 0x11 + qp;
            t.responder_qp = 0x22 + qp;
            talk_ack(&t, 7 + i, ACK, 1 + i);
        }
    }
    talk_expect_verdict(&t, VERDICT_PASS, 3);

    /* QP reuse: a new connection uses the responder's QPN with another first PSN. */
    talk_init(&t);
    for (unsigned c = 0; c < 3; c++) {
        t.requester_qp = 0x11 + c;
        for (unsigned i = 0; i < 3; i++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, c * 0x300000 + i, 10, 1);
            talk_ack(&t, c * 0x300000 + i, ACK, 1 + i);
        }
    }
    talk_expect_verdict(&t, VERDICT_PASS, 3);
}

/* ---- captures that lack frames -----------------------------------------------------------------
 */

/* The capture lacks the requests of a second connection, which has the same PSNs as the first.
 * Requests to the requester's QP of the second connection show that this QP exists. So a response
 * to this QP does not have a wrong destination QP. */
static void a_response_to_a_used_qp_may_belong_to_its_connection(void)
{
    struct roce_pkt pkt;
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    t.requester_qp = 0x12;
    talk_packet(&t, &pkt, ROCE_OP_RC_SEND_ONLY, 300, false);
    talk_add(&t, &pkt);
    talk_ack(&t, 8, ACK, 2);
    t.requester_qp = 0x11;
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

static void packets_around_a_gap_are_compared(void)
{
    struct replay r;
    struct talk t;

    /* PSN 8 was acknowledged but not captured. The packets before and after the gap are
     * compared. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    for (uint32_t psn = 9; psn < 12; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
        talk_ack(&t, psn, ACK, psn - 6);
    }
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.session.dir_cnt, 2);
        EXPECT_EQ(r.responses.result[0].compared, 1);
        EXPECT_EQ(r.responses.result[1].compared, 3);
        EXPECT_EQ(r.session.dir[1].setup.recorded->gap_psn, 8);
        EXPECT_EQ(r.session.dir[1].setup.recorded->gap_after_frame, 2);
        EXPECT_EQ(r.session.dir[1].setup.msn, 2);
    }
    replay_free(&r);
    talk_free(&t);
}

static void a_write_that_was_missed_is_no_difference(void)
{
    struct talk t;

    /* The capture lacks the WRITE with PSN 8. The READ returns the bytes of that WRITE. */
    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_read(&t, 9, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 9, 3, 64, 2);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 10, 10, 1);
    talk_ack(&t, 10, ACK, 4);
    talk_expect_verdict(&t, VERDICT_PASS, 2);
}

static void later_copy_replaces_an_uncaptured_one(void)
{
    struct replay r;
    struct talk t;

    /* The capture lacks the first copy of PSN 8, and the ACK for that copy was lost after the
     * capture point. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    t.time += 10000000;
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.session.dir[0].setup.executed_unseen_cnt, 2);
        EXPECT_EQ(r.responses.result[0].compared, 2);
        EXPECT_EQ(r.responses.result[0].inconclusive, 0);
    }
    replay_free(&r);
    talk_free(&t);
}

/* A capture of a busy link lacks most frames. A response to a request that was not captured must
 * cause no difference if its MSN fits its PSN: since the last response, the MSN counts at least one
 * message, and at most one for each PSN. */
static void response_to_an_uncaptured_request_is_no_difference(void)
{
    static const struct {
        uint32_t msn;
        enum verdict verdict;
    } rows[] = {{3, VERDICT_PASS}, {2, VERDICT_PASS}, {1, VERDICT_FAIL}, {7, VERDICT_FAIL}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 5; psn < 8; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, (psn - 6) & 0xFFFFFF); /* MSNs 0xFFFFFF, 0 and 1 */
        }
        talk_ack(&t, 9, ACK, rows[i].msn);
        t.time -= 90000; /* the request follows the response so soon that the capture point may have
                          * exchanged the two packets */
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 11, 10, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 12, 10, 1);
        talk_expect_verdict(&t, rows[i].verdict, 1);
    }
}

/* The MSN of an ACK counts a request that was captured 10 us after the ACK. The responder may have
 * received the request first only if the clocks of two mirror ports differ. Then several ACKs in
 * the capture precede their requests. */
static void msn_counts_no_request_captured_after_the_ack(void)
{
    static const struct {
        unsigned early; /* number of ACKs that were captured before their requests */
        enum verdict verdict;
    } rows[] = {{0, VERDICT_FAIL}, {2, VERDICT_FAIL}, {3, VERDICT_PASS}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct talk t;
        uint32_t psn = 5;

        talk_init(&t);
        for (; psn < 9; psn++) {
            bool early = psn >= 6 && psn - 6 < rows[i].early;

            if (!early)
                talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, psn - 4);
            if (early) {
                t.time -= 90000;
                talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            }
        }
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
        talk_ack(&t, psn, ACK, psn - 3);
        t.time -= 90000;
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn + 1, 10, 1);
        talk_ack(&t, psn + 1, ACK, psn - 3);
        talk_expect_verdict(&t, rows[i].verdict, 1);
    }
}

/* A responder may send a response after it executed later requests. The MSN then counts those
 * requests too, but no request that was not sent. Linux rxe responds to each request first. */
static void msn_of_a_response_may_count_later_requests(void)
{
    static const struct {
        const char *peer;
        uint32_t read_msn, ack_msn;
        uint32_t frame; /* frame that differs, or 0 */
    } rows[] = {
        {NULL, 3, 4, 0},
        {NULL, 4, 5, 0},
        {NULL, 5, 5, 0},
        {NULL, 6, 5, 8},
        {NULL, 5, 4, 8}, /* the MSN decreases */
        {"linux-rxe-6.1", 5, 5, 8},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 5; psn < 7; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, psn - 4);
        }
        talk_read(&t, 7, VA, RKEY, 64);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, rows[i].read_msn, 64, 2);
        talk_ack(&t, 8, ACK, rows[i].ack_msn);
        talk_ack(&t, 9, ACK, 5);
        if (rows[i].frame == 0) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
            continue;
        }
        talk_expect_diff(&t, rows[i].peer, rows[i].frame, "aeth.msn");
        talk_free(&t);
    }
}
SUITE("replay.replay", TEST(a_clean_conversation_holds), TEST(every_altered_answer_is_named),
      TEST(a_malformed_answer_differs), TEST(a_read_first_as_middle_differs),
      TEST(a_key_may_be_invalidated_twice), TEST(loss_and_repetition_hold), TEST(naks_hold),
      TEST(second_sequence_nak_of_a_gap_differs),
      TEST(response_captured_just_before_its_request_holds), TEST(a_known_deviation_does_not_fail),
      TEST(a_capture_may_begin_in_the_middle), TEST(connections_are_told_apart),
      TEST(a_response_to_a_used_qp_may_belong_to_its_connection),
      TEST(packets_around_a_gap_are_compared), TEST(a_write_that_was_missed_is_no_difference),
      TEST(later_copy_replaces_an_uncaptured_one),
      TEST(response_to_an_uncaptured_request_is_no_difference),
      TEST(msn_counts_no_request_captured_after_the_ack),
      TEST(msn_of_a_response_may_count_later_requests))

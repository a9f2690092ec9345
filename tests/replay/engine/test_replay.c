/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of conversations made by hand: some pass, some differ in a given frame, and some are
 * skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/suite.h"
#include "replay/talk.h"
#include "wire/bytes.h"
#include "report/verdict.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define CTR  (VA + 0x8000)
#define ACK  0x1F

static void expect_verdict(struct talk *t, enum verdict verdict, uint32_t sides)
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

static void expect_skip(struct talk *t, const char *words)
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

/* Builds a conversation with every operation. The comments are frame numbers, which tests use. */
static void whole(struct talk *t, uint32_t psn)
{
    talk_init(t);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 100, 1);                         /* frame 1 */
    talk_ack(t, psn, ACK, 1);                                                /* frame 2 */
    talk_write(t, ROCE_OP_RC_WRITE_FIRST, psn + 1, VA, RKEY, 2500, 1024, 2); /* frame 3 */
    talk_write(t, ROCE_OP_RC_WRITE_MIDDLE, psn + 2, 0, 0, 0, 1024, 3);       /* frame 4 */
    talk_write(t, ROCE_OP_RC_WRITE_LAST, psn + 3, 0, 0, 0, 452, 4);          /* frame 5 */
    talk_ack(t, psn + 3, ACK, 2);                                            /* frame 6 */
    talk_read(t, psn + 4, VA, RKEY, 2500);                                   /* frame 7 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_FIRST, psn + 4, 3, 1024, 2);      /* frame 8 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_MIDDLE, psn + 5, 3, 1024, 3);     /* frame 9 */
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_LAST, psn + 6, 3, 452, 4);        /* frame 10 */
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn + 7, CTR, RKEY, 5, 0);          /* frame 11 */
    talk_atomic_ack(t, psn + 7, 4, 1000);                                    /* frame 12 */
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn + 8, CTR, RKEY, 7, 0);          /* frame 13 */
    talk_atomic_ack(t, psn + 8, 5, 1005);                                    /* frame 14 */
    talk_atomic(t, ROCE_OP_RC_CMP_SWAP, psn + 9, CTR, RKEY, 99, 1012);       /* frame 15 */
    talk_atomic_ack(t, psn + 9, 6, 1012);                                    /* frame 16 */
    talk_write(t, ROCE_OP_RC_WRITE_ONLY_IMM, psn + 10, VA, RKEY, 8, 8, 9);   /* frame 17 */
    talk_ack(t, psn + 10, ACK, 7);                                           /* frame 18 */
    talk_send(t, ROCE_OP_RC_SEND_FIRST, psn + 11, 1024, 1);                  /* frame 19 */
    talk_send(t, ROCE_OP_RC_SEND_LAST_INV, psn + 12, 10, 1);                 /* frame 20 */
    talk_ack(t, psn + 12, ACK, 8);                                           /* frame 21 */
}

static void a_clean_conversation_holds(void)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    struct talk t;

    whole(&t, 5);
    expect_verdict(&t, VERDICT_PASS, 1);
    whole(&t, 0xFFFFFA); /* the PSNs wrap to 0 inside the READ */
    expect_verdict(&t, VERDICT_PASS, 1);
    for (unsigned i = 0; i < sizeof(encaps) / sizeof(encaps[0]); i++)
        for (unsigned vlans = 0; vlans < 2; vlans++) {
            talk_init(&t);
            t.encap = encaps[i];
            t.vlans = vlans;
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 3, 1);
            talk_ack(&t, 9, ACK, 1);
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 10, VA, RKEY, 5, 5, 1);
            talk_ack(&t, 10, ACK, 2);
            expect_verdict(&t, VERDICT_PASS, 1);
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
        whole(&t, 5);
        alter(&t, cases[i].frame, cases[i].change, false);
        talk_expect_diff(&t, NULL, cases[i].frame, cases[i].field);
        talk_free(&t);
        /* The same alteration with an ICRC that is now wrong: the replay reports the altered field
         * and the ICRC. Exception: it passes if the altered packet is an ACK that a later ACK
         * covers or that no request follows, because a requester may drop such an ACK as damaged.
         */
        whole(&t, 5);
        alter(&t, cases[i].frame, cases[i].change, true);
        if (cases[i].frame == 2 || cases[i].frame == 6 || cases[i].frame == 18 ||
            cases[i].frame == 21) {
            expect_verdict(&t, VERDICT_PASS, 1);
            continue; /* expect_verdict() has freed the talk */
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

    whole(&t, 5);
    relabel(&t, 6, ROCE_OP_RC_ATOMIC_ACK);
    talk_expect_diff(&t, NULL, 6, "form");
    talk_free(&t);
}

/* A READ response First becomes a Middle. The bytes of its AETH then count as payload, so the
 * packet is longer than the path MTU. */
static void a_read_first_as_middle_differs(void)
{
    struct talk t;

    whole(&t, 5);
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
        expect_verdict(&t, VERDICT_PASS, 1);
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
    expect_verdict(&t, VERDICT_PASS, 1);

    /* A request is lost before the capture point: sequence NAK, then go-back-N. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 8, 0x60, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
    talk_ack(&t, 9, ACK, 3);
    expect_verdict(&t, VERDICT_PASS, 1);

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
    expect_verdict(&t, VERDICT_PASS, 1);

    /* The first request is lost before the capture point. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 7, 0x60, 0);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    expect_verdict(&t, VERDICT_PASS, 1);

    /* A READ response is lost. The requester requests the remaining bytes again, and the new
     * response begins with a First. */
    talk_init(&t);
    talk_read(&t, 20, VA, RKEY, 3000);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 20, 1, 1024, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 22, 1, 952, 3);
    talk_read(&t, 21, VA + 1024, RKEY, 1976);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 21, 1, 1024, 2);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 22, 1, 952, 3);
    expect_verdict(&t, VERDICT_PASS, 1);

    /* ACKs arrive out of order, one of them twice. */
    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
    talk_ack(&t, 8, ACK, 2);
    talk_ack(&t, 7, ACK, 1);
    talk_ack(&t, 8, ACK, 2);
    expect_verdict(&t, VERDICT_PASS, 1);

    /* ACKs are coalesced, with credits. */
    talk_init(&t);
    for (unsigned i = 0; i < 9; i++)
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7 + i, 10, 1);
    talk_ack(&t, 11, 0x05, 5);
    talk_ack(&t, 15, 0x03, 9);
    expect_verdict(&t, VERDICT_PASS, 1);
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
    expect_verdict(&t, VERDICT_PASS, 1);

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
        expect_verdict(&t, VERDICT_PASS, 1);
    }
    /* An R_Key becomes invalid during the connection. */
    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 1);
    talk_ack(&t, 7, ACK, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 8, VA, RKEY, 64, 64, 1);
    talk_ack(&t, 8, 0x62, 1);
    expect_verdict(&t, VERDICT_PASS, 1);

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
        expect_verdict(&t, VERDICT_PASS, 1);
    }
}

/* A capture point has separate queues for the two directions of a link. */
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
            expect_verdict(&t, VERDICT_PASS, 1);
        }
    }
}

/* D4: Linux begins the response to the tail of a READ with Middle or Last. */
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
    expect_verdict(&t, VERDICT_PASS, 1);
}

static void what_the_program_stored_is_no_difference(void)
{
    struct talk t;
    struct replay r;

    talk_init(&t);
    talk_read(&t, 7, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 1, 64, 1);
    talk_read(&t, 8, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 2, 64, 2);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.session.host[0].memory.initial, 64);
        EXPECT_EQ(r.session.host[0].memory.host_stores, 64);
    }
    replay_free(&r);
    talk_free(&t);
}

#define OTHER_RKEY 0x5678u

struct fetch {
    uint32_t rkey;
    uint64_t orig;
};

/* Builds FETCH_ADDs of 1 to one address through two R_Keys. Returns the frame of the last Atomic
 * ACK. */
static uint32_t add_through(struct talk *t, const struct fetch *fetch, uint32_t cnt)
{
    uint32_t frame = 0;

    talk_init(t);
    for (uint32_t i = 0; i < cnt; i++) {
        talk_atomic(t, ROCE_OP_RC_FETCH_ADD, i, CTR, fetch[i].rkey, 1, 0);
        frame = talk_atomic_ack(t, i, i + 1, fetch[i].orig);
    }
    return frame;
}

/* FETCH_ADDs through two R_Keys access one virtual address. The two regions may share their memory
 * or not. The replay must accept original values that fit either case, and report a value that fits
 * neither. */
static void values_through_two_keys_of_one_memory_agree(void)
{
    static const struct fetch same[] = {
        {RKEY, 254}, {RKEY, 255}, {OTHER_RKEY, 256}, {OTHER_RKEY, 257}, {RKEY, 258}};
    static const struct fetch apart[] = {
        {RKEY, 100}, {OTHER_RKEY, 100}, {RKEY, 101}, {OTHER_RKEY, 101}};
    static const struct fetch stale[] = {
        {RKEY, 100}, {OTHER_RKEY, 100}, {RKEY, 101}, {RKEY, 102}, {OTHER_RKEY, 102}};
    struct talk t;
    uint32_t frame;

    add_through(&t, same, 5);
    expect_verdict(&t, VERDICT_PASS, 1);
    add_through(&t, apart, 4);
    expect_verdict(&t, VERDICT_PASS, 1);
    frame = add_through(&t, stale, 5);
    talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
    talk_free(&t);

    /* A READ shows that both keys name the same memory. */
    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, CTR, RKEY, 8, 8, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, CTR, OTHER_RKEY, 8, 8, 2);
    talk_ack(&t, 1, ACK, 2);
    talk_read(&t, 2, CTR, RKEY, 8);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 2, 3, 8, 2);
    talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 3, CTR, RKEY, 1, 0);
    frame = talk_atomic_ack(&t, 3, 4, 77);
    talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
    talk_free(&t);
}

/* Begins with a WRITE of 64 bytes of pattern 1. Returns the next PSN. */
static uint32_t write_first(struct talk *t)
{
    talk_init(t);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 64, 64, 1);
    talk_ack(t, 0, ACK, 1);
    return 1;
}

/* Adds a READ of 64 bytes. Returns the frame of its response. */
static uint32_t read_again(struct talk *t, uint32_t psn, uint8_t seed)
{
    talk_read(t, psn, VA, RKEY, 64);
    return talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 64, seed);
}

static void flip_first_byte(struct talk *t, uint32_t frame)
{
    struct capture_frame *f = &t->capture.frame[frame - 1];
    uint8_t payload[64], buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    int len;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0);
    memcpy(payload, pkt.payload, sizeof(payload));
    payload[0] ^= 1;
    pkt.payload = payload;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    capture_put(&t->capture, frame - 1, buf, (size_t)len);
}

/* The program changes bytes that the peer wrote. */
static void what_the_program_stored_over_a_write_is_no_difference(void)
{
    struct talk t;
    uint32_t psn = write_first(&t);

    read_again(&t, psn, 1);
    flip_first_byte(&t, read_again(&t, psn + 1, 1)); /* the requester polls the memory */
    expect_verdict(&t, VERDICT_PASS, 1);

    psn = write_first(&t);
    flip_first_byte(&t, read_again(&t, psn, 1));
    flip_first_byte(&t, read_again(&t, psn + 1, 1)); /* the next READ agrees */
    expect_verdict(&t, VERDICT_PASS, 1);

    psn = write_first(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1); /* a message reaches the program */
    talk_ack(&t, psn, ACK, psn + 1);
    read_again(&t, psn + 1, 2);
    expect_verdict(&t, VERDICT_PASS, 1);
}

static void a_byte_that_nothing_stored_differs(void)
{
    struct talk t;
    uint32_t psn = write_first(&t), frame;

    flip_first_byte(&t, frame = read_again(&t, psn, 1));
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);

    psn = write_first(&t);
    read_again(&t, psn, 1);
    flip_first_byte(&t, frame = read_again(&t, psn + 1, 1));
    read_again(&t, psn + 2, 1); /* shows the written byte again */
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);
}

/* Adds a READ and a WRITE of pattern 2 in flight, and the READ response with pattern `shown`.
 * Returns the frame of the READ response. */
static uint32_t overtake(struct talk *t, uint32_t psn, uint8_t shown)
{
    uint32_t frame;

    talk_read(t, psn, VA, RKEY, 64);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, psn + 1, VA, RKEY, 64, 64, 2);
    frame = talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 64, shown);
    talk_ack(t, psn + 1, ACK, psn + 2);
    return frame;
}

/* Without a fence, the responder may execute a WRITE that follows a READ while it has not yet read
 * the last bytes for the READ. */
static void a_read_may_show_a_later_write_in_flight(void)
{
    struct talk t;
    uint32_t psn, frame;

    for (uint8_t shown = 1; shown <= 2; shown++) {
        psn = write_first(&t);
        overtake(&t, psn, shown);
        read_again(&t, psn + 2, 2);
        expect_verdict(&t, VERDICT_PASS, 1);
    }

    psn = write_first(&t);
    frame = overtake(&t, psn, 3);
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);

    psn = write_first(&t);
    frame = read_again(&t, psn, 2); /* before the WRITE was sent */
    overtake(&t, psn + 1, 1);
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);
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
    expect_verdict(&t, VERDICT_PASS, 3);

    /* QP reuse: a new connection uses the responder's QPN with another first PSN. */
    talk_init(&t);
    for (unsigned c = 0; c < 3; c++) {
        t.requester_qp = 0x11 + c;
        for (unsigned i = 0; i < 3; i++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, c * 0x300000 + i, 10, 1);
            talk_ack(&t, c * 0x300000 + i, ACK, 1 + i);
        }
    }
    expect_verdict(&t, VERDICT_PASS, 3);
}

static void what_cannot_be_replayed_is_skipped(void)
{
    struct roce_pkt pkt;
    struct talk t;

    talk_init(&t);
    expect_skip(&t, "no RoCE packet");

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    expect_skip(&t, "responses to these requests were not captured");

    talk_init(&t);
    talk_ack(&t, 7, ACK, 1);
    expect_skip(&t, "requests of these responses were not captured");

    talk_init(&t);
    talk_send(&t, ROCE_OP_UC_SEND_LAST, 7, 10, 1);
    expect_skip(&t, "no complete message");

    talk_init(&t);
    talk_packet(&t, &pkt, ROCE_OP_RD_SEND_ONLY, 7, true);
    talk_add(&t, &pkt);
    expect_skip(&t, "RD");
}

/* ---- captures that lack frames -----------------------------------------------------------------
 */

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
    expect_verdict(&t, VERDICT_PASS, 2);
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

/* A capture of a busy link lacks most frames. A response to a request in a gap must cause no
 * difference if its PSN and MSN agree. */
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
        expect_verdict(&t, rows[i].verdict, 1);
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
            expect_verdict(&t, VERDICT_PASS, 1);
            continue;
        }
        talk_expect_diff(&t, rows[i].peer, rows[i].frame, "aeth.msn");
        talk_free(&t);
    }
}

static void the_snap_length_hides_data_only(void)
{
    struct replay r;
    struct talk t;

    for (unsigned wrong = 0; wrong < 2; wrong++) {
        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 512, 512, 1);
        talk_ack(&t, 7, ACK, 1);
        talk_read(&t, 8, VA, RKEY, 512);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 2, 512, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 512, 1);
        talk_ack(&t, 9, ACK, 3 + wrong);
        for (size_t i = 0; i < t.capture.cnt; i++) {
            struct capture_frame *f = &t.capture.frame[i];

            f->wire_len = f->len;
            f->len = f->len > 96 ? 96 : f->len;
        }
        if (talk_replay(&t, &r, NULL) == 0) {
            EXPECT_EQ(report_verdict(&r), wrong ? VERDICT_FAIL : VERDICT_PASS);
            EXPECT_EQ(r.responses.result[0].compared, 3);
            EXPECT_EQ(r.session.dir[0].setup.cut, 3);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

static void headers_that_the_snap_length_cuts_are_skipped(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t i = 0; i < 4; i++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, i, VA, RKEY, 512, 512, 1);
        talk_ack(&t, i, ACK, i + 1);
    }
    for (size_t i = 0; i < t.capture.cnt; i++) {
        struct capture_frame *f = &t.capture.frame[i];

        f->wire_len = f->len;
        f->len = f->len > 64 ? 64 : f->len;
    }
    expect_skip(&t, "cut packet headers");
}

/* ---- files that are not captures ---------------------------------------------------------------
 */

static void expect_fault(const void *bytes, size_t len, const char *words)
{
    char *path = capture_temp(bytes, len);
    struct error error = {""};
    struct replay r;

    CU_ASSERT(replay_run(&r, path, &(struct replay_options){.quirks = NULL}, &error) == -1);
    if (!strstr(error.text, path) || !strstr(error.text, words))
        suite_fail(__FILE__, __LINE__, "error \"%s\" lacks \"%s\"", error.text, words);
    replay_free(&r);
    unlink(path);
    free(path);
}

static void broken_files_are_refused(void)
{
    static const uint32_t head[6] = {0xA1B2C3D4, 2 | 4u << 16, 0, 0, 65535, 1};
    static const uint32_t wifi[6] = {0xA1B2C3D4, 2 | 4u << 16, 0, 0, 65535, 105};
    uint8_t file[512] = {0};
    uint32_t rec[4] = {0, 0, 60, 60};
    struct error error = {""};
    struct replay r;

    CU_ASSERT(replay_run(&r, "/nonexistent.pcap", &(struct replay_options){.quirks = NULL},
                         &error) == -1);
    CU_ASSERT(strstr(error.text, "/nonexistent.pcap") != NULL);
    replay_free(&r);
    expect_fault("", 0, "");
    expect_fault("this is not a capture at all", 28, "not a capture");
    expect_fault(wifi, sizeof(wifi), "is not supported");
    memcpy(file, head, sizeof(head));
    memcpy(file + 24, rec, sizeof(rec));
    expect_fault(file, 24 + 16 + 20, "frame 1");
    rec[2] = 0x7FFFFFFF;
    memcpy(file + 24 + 16 + 60, rec, sizeof(rec));
    expect_fault(file, 300, "frame 2");
}

/* A mirror port rewrote the headers: every frame has another source MAC address, and a UDP source
 * port that makes its ICRC wrong. The capture must be accepted. */
static void headers_rewritten_by_a_mirror_port_are_accepted(void)
{
    struct replay r;
    struct talk t;

    whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i++) {
        roce_be_put(t.capture.frame[i].data + 6, 6, 0x0143c7ee0000 + i * 77);
        roce_be_put(t.capture.frame[i].data + 34, 2, ROCE_UDP_PORT);
    }
    EXPECT_EQ(talk_replay(&t, &r, NULL), 0);
    EXPECT_EQ(r.trace.icrcs_fixed, t.capture.cnt);
    EXPECT_EQ(r.trace.macs_vary, true);
    replay_free(&r);
    expect_verdict(&t, VERDICT_PASS, 1);
}

/* Simulators, FPGAs and hosts with checksum offload leave the IPv4 header checksum 0, so such
 * packets must not count as damaged. */
static void a_checksum_of_0_is_ignored(void)
{
    struct replay r;
    struct talk t;

    whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i++)
        roce_be_put(t.capture.frame[i].data + 24, 2, 0);
    EXPECT_EQ(talk_replay(&t, &r, NULL), 0);
    EXPECT_EQ(r.trace.checksums_filled, t.capture.cnt);
    replay_free(&r);
    expect_verdict(&t, VERDICT_PASS, 1);
}

/* With two routers, the MAC address from which the packets of a host come differs from the one to
 * which packets for the host are sent. */
static void host_behind_two_routers_is_one_host(void)
{
    struct talk t;

    whole(&t, 5);
    for (size_t i = 0; i < t.capture.cnt; i += 3)
        t.capture.frame[i].data[4] ^= 0x5A;
    expect_verdict(&t, VERDICT_PASS, 1);
}

SUITE("replay.replay", TEST(a_clean_conversation_holds), TEST(every_altered_answer_is_named),
      TEST(a_malformed_answer_differs), TEST(a_read_first_as_middle_differs),
      TEST(a_key_may_be_invalidated_twice), TEST(headers_that_the_snap_length_cuts_are_skipped),
      TEST(loss_and_repetition_hold), TEST(naks_hold), TEST(second_sequence_nak_of_a_gap_differs),
      TEST(response_captured_just_before_its_request_holds), TEST(a_known_deviation_does_not_fail),
      TEST(a_capture_may_begin_in_the_middle), TEST(what_the_program_stored_is_no_difference),
      TEST(what_the_program_stored_over_a_write_is_no_difference),
      TEST(values_through_two_keys_of_one_memory_agree), TEST(a_byte_that_nothing_stored_differs),
      TEST(a_read_may_show_a_later_write_in_flight), TEST(connections_are_told_apart),
      TEST(what_cannot_be_replayed_is_skipped), TEST(packets_around_a_gap_are_compared),
      TEST(a_write_that_was_missed_is_no_difference), TEST(later_copy_replaces_an_uncaptured_one),
      TEST(response_to_an_uncaptured_request_is_no_difference),
      TEST(msn_of_a_response_may_count_later_requests), TEST(the_snap_length_hides_data_only),
      TEST(headers_rewritten_by_a_mirror_port_are_accepted), TEST(a_checksum_of_0_is_ignored),
      TEST(host_behind_two_routers_is_one_host), TEST(broken_files_are_refused))

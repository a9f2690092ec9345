/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of conversations in which the responder's program or a local fault decides what the
 * responder does. These conversations pass, and similar ones with an altered packet fail. */
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA        UINT64_C(0x7f0000001000)
#define RKEY      TALK_RKEY
#define ACK       0x1F
#define NAK(code) (uint8_t)(0x60 | (code))
#define RNR(code) (uint8_t)(0x20 | (code))

static void expect_holds(struct talk *t)
{
    struct replay r;

    if (talk_replay(t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        for (size_t i = 0; i < r.session.dir_cnt; i++)
            EXPECT_EQ(r.responses.result[i].inconclusive, 0);
        if (report_verdict(&r) != VERDICT_PASS)
            report_text(stdout, &r, &(struct report_options){.ladder = true});
    }
    replay_free(&r);
    talk_free(t);
}

enum request { SEND, SEND_INVALIDATE, WRITE, WRITE_IMM, READ, ATOMIC, UNALIGNED };

static void add_request(struct talk *t, enum request request, uint32_t psn)
{
    switch (request) {
    case SEND: talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 64, 1); break;
    case SEND_INVALIDATE: talk_send(t, ROCE_OP_RC_SEND_ONLY_INV, psn, 64, 1); break;
    case WRITE: talk_write(t, ROCE_OP_RC_WRITE_ONLY, psn, VA, RKEY, 64, 64, 1); break;
    case WRITE_IMM: talk_write(t, ROCE_OP_RC_WRITE_ONLY_IMM, psn, VA, RKEY, 64, 64, 1); break;
    case READ: talk_read(t, psn, VA, RKEY, 64); break;
    case ATOMIC: talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn, VA, RKEY, 1, 0); break;
    case UNALIGNED: talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn, VA + 4, RKEY, 1, 0); break;
    }
}

/* Builds a conversation that executes a WRITE, a READ and an atomic. The responder then refuses
 * `request`. Returns the frame of the NAK. */
static uint32_t refuse(struct talk *t, enum request request, uint8_t syndrome)
{
    talk_init(t);
    add_request(t, WRITE, 0);
    talk_ack(t, 0, ACK, 1);
    add_request(t, READ, 1);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 64, 1);
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, 2, VA + 64, RKEY, 1, 0);
    talk_atomic_ack(t, 2, 3, 5);
    add_request(t, request, 3);
    return talk_ack(t, 3, syndrome, 3);
}

static void refusals_for_local_reasons_hold(void)
{
    static const struct {
        enum request request;
        uint8_t code;
    } rows[] = {{SEND, 3},   {SEND_INVALIDATE, 3}, {WRITE, 3}, {WRITE_IMM, 3},
                {READ, 3},   {ATOMIC, 3},          {WRITE, 1}, {READ, 1},
                {ATOMIC, 1}, {SEND_INVALIDATE, 2}};
    struct talk t;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        refuse(&t, rows[i].request, NAK(rows[i].code));
        expect_holds(&t);
    }
}

static void refusals_that_no_local_reason_explains_differ(void)
{
    static const struct {
        enum request request;
        uint8_t code;
    } rows[] = {{SEND, 2}, {UNALIGNED, 2}, {UNALIGNED, 3}};
    struct talk t;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t frame = refuse(&t, rows[i].request, NAK(rows[i].code));

        talk_expect_diff(&t, NULL, frame, "aeth.syndrome");
        talk_free(&t);
    }
}

/* No executed request had the R_Key of the refused request, so this R_Key explains the refusal. A
 * NAK for another reason than a remote access error must be a difference. */
static void refusals_of_an_unknown_key_differ(void)
{
    static const uint8_t codes[] = {1, 3};
    struct talk t;

    for (size_t i = 0; i < sizeof(codes); i++) {
        uint32_t frame;

        talk_init(&t);
        add_request(&t, WRITE, 0);
        talk_ack(&t, 0, ACK, 1);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, VA, RKEY + 0x100, 64, 64, 1);
        frame = talk_ack(&t, 1, NAK(codes[i]), 1);
        talk_expect_diff(&t, NULL, frame, "aeth.syndrome");
        talk_free(&t);
    }
}

/* Builds SENDs that find no receive WQE, with these timer codes in the RNR NAKs. Returns the frame
 * of the RNR NAK at index `wanted`. */
static uint32_t refuse_sends(struct talk *t, const uint8_t *code, uint32_t cnt, uint32_t wanted)
{
    uint32_t found = 0;

    talk_init(t);
    for (uint32_t i = 0; i < cnt; i++) {
        uint32_t frame;

        talk_send(t, ROCE_OP_RC_SEND_ONLY, i, 64, 1);
        frame = talk_ack(t, i, RNR(code[i]), i);
        found = i == wanted ? frame : found;
        t->time += UINT64_C(20000000);
        talk_send(t, ROCE_OP_RC_SEND_ONLY, i, 64, 1);
        talk_ack(t, i, ACK, i + 1);
    }
    return found;
}

/* The responder's program may change the RNR timer of its QP, so several RNR NAKs with a new timer
 * code must pass. A single RNR NAK with another code must be a difference. */
static void another_timer_of_several_rnr_naks_holds(void)
{
    struct talk t;
    uint32_t frame;

    refuse_sends(&t, (const uint8_t[]){8, 8, 8, 12, 12}, 5, 0);
    expect_holds(&t);
    frame = refuse_sends(&t, (const uint8_t[]){8, 8, 12, 8, 8}, 5, 2);
    talk_expect_diff(&t, NULL, frame, "aeth.syndrome");
    talk_free(&t);
}

/* After RESET, Linux rxe sends an empty WRITE to address 0, and later another WRITE with the same
 * PSN (D57). The two differ only in their opcodes. The responder received the second one, so its
 * MSN counts one message less than the MSN of our RNIC, and the response is inconclusive. */
static void which_of_two_writes_with_one_psn_was_executed_is_unknown(void)
{
    struct replay r;
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 4; psn++) {
        add_request(&t, SEND, psn);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 4, 0, 0, 0, 0, 1);
    t.time += 100000000;
    talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 4, VA, RKEY, 1088, 1024, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_LAST, 5, 0, 0, 0, 64, 1);
    talk_ack(&t, 5, ACK, 5);
    if (talk_replay(&t, &r, "linux-rxe-6.12") == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.responses.result[0].inconclusive, 1);
    }
    replay_free(&r);
    talk_free(&t);
}

SUITE("replay.program", TEST(refusals_for_local_reasons_hold),
      TEST(refusals_that_no_local_reason_explains_differ), TEST(refusals_of_an_unknown_key_differ),
      TEST(another_timer_of_several_rnr_naks_holds),
      TEST(which_of_two_writes_with_one_psn_was_executed_is_unknown))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Cost of hostile captures: a few packets announce far more packets than the capture contains. The
 * tests limit the work that this causes. They count the packets of the software RNIC, so that they
 * do not depend on the speed of the machine.
 */
#include "engine/dgram/dgram_stream.h"
#include "replay/talk.h"
#include "report/report_loop.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA      UINT64_C(0x1000)
#define RKEY    TALK_RKEY
#define MTU     256u
#define PROMISE 0x7FFFFFFFu /* announced length of a message, bytes; the longest possible */

/* ---- promised lengths -------------------------------------------------------------------------
 */

/* A capture has two packets of a WRITE of 2^31-1 bytes and their ACK. The software RNIC does not
 * send 8 million packets, but the RETH of its WRITE still has the announced length. */
static void a_write_is_played_as_far_as_it_was_captured(void)
{
    const struct requester_run *run;
    struct talk t;
    struct replay r;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 1, VA, RKEY, PROMISE, MTU, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_MIDDLE, 2, 0, 0, 0, MTU, 2);
    talk_ack(&t, 2, 0x1F, 0);
    if (talk_replay(&t, &r, NULL) == 0) {
        run = &r.requester.run[0];
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(run->tx_cnt, 3);
        EXPECT_EQ(run->tx[0].dma_len, PROMISE);
    }
    replay_free(&r);
    talk_free(&t);
}

static const struct dgram_stream *sender_of(const struct dgram_streams *streams)
{
    for (size_t i = 0; i < streams->cnt; i++)
        if (streams->stream[i].role == DGRAM_SENDER)
            return &streams->stream[i];
    suite_fail(__FILE__, __LINE__, "no stream of a sender");
    return NULL;
}

/* Adds many UC messages without their last packets, then a complete message. */
static void add_uc_promises(struct talk *t, unsigned cnt)
{
    uint32_t psn = 0;

    for (unsigned i = 0; i < cnt; i++) {
        talk_write(t, ROCE_OP_UC_WRITE_FIRST, psn++, VA, RKEY, PROMISE, MTU, 1);
        talk_write(t, ROCE_OP_UC_WRITE_MIDDLE, psn++, 0, 0, 0, MTU, 2);
    }
    talk_write(t, ROCE_OP_UC_WRITE_ONLY, psn, VA, RKEY, 8, 8, 3);
}

static void a_uc_write_is_played_as_far_as_it_was_captured(void)
{
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;

    talk_init(&t);
    add_uc_promises(&t, 3);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        s = sender_of(&r.dgrams);
        EXPECT_EQ(s->compared, 7);
        EXPECT_EQ(s->not_captured, 3);
    }
    replay_free(&r);
    talk_free(&t);
}

/* Messages lack packets. The replay plays the missing packets, but only in proportion to the
 * captured packets of the stream. */
static void gaps_in_uc_messages_are_not_paid_for_each(void)
{
    const struct dgram_stream *s;
    struct talk t;
    struct replay r;
    uint32_t psn = 0;

    talk_init(&t);
    for (unsigned i = 0; i < 200; i++, psn += 50000) {
        talk_write(&t, ROCE_OP_UC_WRITE_FIRST, psn & 0xFFFFFF, VA, RKEY, 50000 * MTU, MTU, 1);
        talk_send(&t, ROCE_OP_UC_SEND_FIRST, (psn + 25000) & 0xFFFFFF, MTU, 2);
    }
    if (talk_replay(&t, &r, NULL) == 0) {
        s = sender_of(&r.dgrams);
        CU_ASSERT(s->compared >= 200);
        CU_ASSERT(s->not_captured <= 16 * 400 + 8192);
    }
    replay_free(&r);
    talk_free(&t);
}

static void a_closed_loop_plays_promises_as_far_as_they_were_captured(void)
{
    struct loop_options options = {.sides = REPLAY_BOTH, .seed = 1, .repeat = 1};
    struct error error = {""};
    struct loop_summary sum;
    struct talk t;
    struct replay r;

    talk_init(&t);
    add_uc_promises(&t, 3);
    if (talk_replay(&t, &r, NULL) == 0) {
        options.streams = &r.dgrams;
        CU_ASSERT_EQUAL_FATAL(closed_sum_run(&sum, &r.session, &options, &error), 0);
        EXPECT_EQ(loop_summary_verdict(&sum), VERDICT_PASS);
        EXPECT_EQ(sum.clean.streams.frames, 10);
        loop_summary_free(&sum);
    }
    replay_free(&r);
    talk_free(&t);
}

/* ---- cost of retransmissions -------------------------------------------------------------------
 */

/* Adds `cnt` requests and `cnt` sequence NAKs, each of which makes the requester go back to request
 * 1. */
static void add_naks(struct talk *t, uint32_t cnt)
{
    for (uint32_t i = 0; i < cnt; i++)
        talk_write(t, ROCE_OP_RC_WRITE_ONLY, i, VA, RKEY, 4, 4, 1);
    for (uint32_t i = 0; i < cnt; i++)
        talk_ack(t, i, 0x60, i);
    talk_ack(t, cnt - 1, 0x1F, cnt);
}

static void naks_cost_no_more_than_a_multiple_of_the_capture(void)
{
    const struct requester_run *run;
    struct talk t;
    struct replay r;

    talk_init(&t);
    add_naks(&t, 2000);
    if (talk_replay(&t, &r, NULL) == 0) {
        run = &r.requester.run[0];
        CU_ASSERT(run->tx_cnt <= 16384 + 8 * 6001 + 2000);
        CU_ASSERT_STRING_EQUAL(
            r.requests.result[0].skip ? r.requests.result[0].skip : "",
            "our requester would retransmit far more packets than the capture contains");
    }
    replay_free(&r);
    talk_free(&t);
}

static void some_naks_are_played_in_full(void)
{
    struct talk t;
    struct replay r;

    talk_init(&t);
    add_naks(&t, 100);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.requester.run[0].tx_cnt, 100 + 100 * 101 / 2);
    }
    replay_free(&r);
    talk_free(&t);
}

SUITE("replay.cost", TEST(a_write_is_played_as_far_as_it_was_captured),
      TEST(a_uc_write_is_played_as_far_as_it_was_captured),
      TEST(gaps_in_uc_messages_are_not_paid_for_each),
      TEST(a_closed_loop_plays_promises_as_far_as_they_were_captured),
      TEST(naks_cost_no_more_than_a_multiple_of_the_capture), TEST(some_naks_are_played_in_full))

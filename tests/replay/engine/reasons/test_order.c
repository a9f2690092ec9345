/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests whether the order in which a responder sent its responses proves one of them wrong. Their
 * IPv4 identifications show this order. */
#include "engine/reasons/rc_contradiction.h"
#include "engine/reasons/rc_order.h"
#include "replay/talk.h"
#include "support/suite.h"

#define VA       UINT64_C(0x7f0000001000)
#define RKEY     0x1f2e
#define MTU      1024u
#define ACK      (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define SEQ_NAK  (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define MESSAGES 12u /* number of SENDs at the start; they show increasing identifications */

static void add_messages(struct talk *t)
{
    talk_init(t);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        talk_send(t, ROCE_OP_RC_SEND_ONLY, i, 10, 1);
        talk_ack(t, i, ACK, i + 1);
    }
}

/* Sets the IPv4 identifications (talk_number()) and replays the conversation. Returns the frame of
 * the first response that `proves` shows to be wrong, or 0. */
static uint32_t first_wrong(struct talk *t, uint32_t lost,
                            bool (*proves)(const struct inferred_setup *, uint32_t))
{
    uint32_t frame = 0;
    struct replay r;

    talk_number(t, lost);
    if (talk_replay(t, &r, NULL) == 0) {
        const struct inferred_setup *s = &r.session.dir[0].setup;

        for (uint32_t i = 0; i < s->event_cnt && frame == 0; i++)
            if (s->event[i].response && proves(s, i))
                frame = event_packet(s, i)->frame;
    }
    replay_free(&r);
    talk_free(t);
    return frame;
}

/* Builds a conversation with a READ and its four responses. The second response has PSN 12 +
 * `second`, where 13 is right, and the first one has MSN `first_msn`. Returns the frame of the
 * first response. */
static uint32_t add_read(struct talk *t, uint32_t second, uint32_t first_msn)
{
    uint32_t frame;

    add_messages(t);
    talk_read(t, 12, VA, RKEY, 4 * MTU);
    frame = talk_read_resp(t, ROCE_OP_RC_READ_RESP_FIRST, 12, first_msn, MTU, 1);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_MIDDLE, 12 + second, 0, MTU, 2);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_MIDDLE, 14, 0, MTU, 3);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_LAST, 15, 13, MTU, 4);
    return frame;
}

static void the_responses_to_a_read_follow_each_other(void)
{
    struct talk t;
    uint32_t frame = add_read(&t, 1, 13);

    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), 0);
    add_read(&t, 2, 13);
    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), frame + 1);
    /* The identifications show that the capture lacks one packet before the second response, and
     * none after it. So the third response shows that the PSN of the second response is wrong. */
    add_read(&t, 2, 13);
    EXPECT_EQ(first_wrong(&t, frame + 1, contradicts_order), frame + 1);
    add_read(&t, 0, 13);
    EXPECT_EQ(first_wrong(&t, frame + 1, contradicts_order), frame + 1);
}

static void the_msn_does_not_decrease_after_a_first(void)
{
    struct talk t;
    uint32_t frame = add_read(&t, 1, 12);

    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), 0);
    add_read(&t, 1, 14);
    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), frame);
}

/* Number of SENDs of only_difference(). The report lists fewer differences. */
#define SENDS 60u

/* Returns the frame of the only difference if the ACK of the 40th of 60 SENDs has MSN `msn` instead
 * of 40, or 0 if there is none or more than one. */
static uint32_t only_difference(uint32_t msn)
{
    uint32_t frame = 0;
    struct talk t;
    struct replay r;

    talk_init(&t);
    for (uint32_t i = 0; i < SENDS; i++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, i, 10, 1);
        talk_ack(&t, i, ACK, i == 39 ? msn : i + 1);
    }
    talk_number(&t, 0);
    if (talk_replay(&t, &r, NULL) == 0 && r.responses.diff_cnt == 1 && r.requests.diff_cnt == 0)
        frame = r.trace.pkt[r.responses.diff[0].pkt].frame;
    replay_free(&r);
    talk_free(&t);
    return frame;
}

/* A wrong MSN contradicts many responses with the right MSN, but only the wrong one differs. */
static void a_wrong_msn_is_the_only_difference(void)
{
    static const uint32_t wrong[] = {0, 1, 39, 41, 59, 200};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        EXPECT_EQ(only_difference(wrong[i]), 80);
}

/* Builds a conversation with two atomics. The response to the first one has MSN `msn`. Returns the
 * frame of this response. */
static uint32_t add_atomics(struct talk *t, uint32_t msn)
{
    uint32_t frame;

    add_messages(t);
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, 12, VA, RKEY, 1, 0);
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, 13, VA, RKEY, 1, 0);
    frame = talk_atomic_ack(t, 12, msn, 5);
    talk_atomic_ack(t, 13, 14, 6);
    return frame;
}

/* The response to the first atomic may count both atomics if it answers a duplicate. This is
 * possible only if the capture lacks the first responses to both. */
static void the_first_msn_counts_no_later_atomic(void)
{
    struct talk t;
    uint32_t frame = add_atomics(&t, 13);

    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), 0);
    add_atomics(&t, 14);
    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), frame);
    add_atomics(&t, 14);
    EXPECT_EQ(first_wrong(&t, frame, contradicts_order), 0);
}

/* The first request with PSN 13 is a READ, and the second one is a WRITE. The capture has no
 * response with PSN 13, so the responder may have executed the WRITE, which the ACK with PSN
 * 14 covers. */
static void of_two_requests_with_one_psn_either_was_executed(void)
{
    struct talk t;

    add_messages(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 12, 10, 1);
    talk_read(&t, 13, VA, RKEY, 64);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 13, 0, 0, 0, 0, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 14, 10, 1);
    talk_ack(&t, 12, ACK, 13);
    talk_ack(&t, 14, ACK, 15);
    EXPECT_EQ(first_wrong(&t, 0, contradicts_order), 0);
}

/* Builds a conversation with two sequence NAKs, of which the second has PSN `psn`. Returns the
 * frame of the second one. */
static uint32_t add_naks(struct talk *t, uint32_t psn)
{
    uint32_t frame;

    add_messages(t);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 13, 10, 1);
    talk_ack(t, 12, SEQ_NAK, 12);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 12, 10, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 13, 10, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 14, 10, 1);
    frame = talk_ack(t, psn, SEQ_NAK, psn);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 13, 10, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 14, 10, 1);
    talk_ack(t, 14, ACK, 15);
    return frame;
}

static bool repeats_nak(const struct inferred_setup *s, uint32_t event)
{
    return repeats_sequence_nak(s, event, false);
}

static bool repeats_nak_if_reordered(const struct inferred_setup *s, uint32_t event)
{
    return repeats_sequence_nak(s, event, true);
}

/* After the expected request arrived, the next sequence NAK has a later PSN. */
static void two_sequence_naks_have_two_psns(void)
{
    struct talk t;
    uint32_t frame = add_naks(&t, 13);

    EXPECT_EQ(first_wrong(&t, 0, repeats_nak), 0);
    add_naks(&t, 12);
    EXPECT_EQ(first_wrong(&t, 0, repeats_nak), frame);
    add_naks(&t, 12);
    EXPECT_EQ(first_wrong(&t, 0, repeats_nak_if_reordered), frame);
}

/* Builds a conversation over IPv6, which has no identifications, with two equal sequence NAKs.
 * Returns the frame of the second one, which follows `apart` ns after the first. */
static uint32_t add_equal_naks(struct talk *t, uint64_t apart)
{
    uint32_t frame;

    talk_init(t);
    t->encap = ROCE_ENCAP_V2_IP6;
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 13, 10, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 15, 10, 1);
    talk_ack(t, 13, ACK, 1);
    talk_ack(t, 14, SEQ_NAK, 1);
    t->time += apart;
    frame = talk_ack(t, 14, SEQ_NAK, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 14, 10, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 15, 10, 1);
    talk_ack(t, 15, ACK, 3);
    return frame;
}

/* If the network reorders packets, it may deliver a copy of a packet some milliseconds later. */
static void a_copy_of_a_sequence_nak_may_be_late(void)
{
    struct talk t;
    uint32_t frame = add_equal_naks(&t, 0);

    EXPECT_EQ(first_wrong(&t, 0, repeats_nak), 0);
    add_equal_naks(&t, 2000000);
    EXPECT_EQ(first_wrong(&t, 0, repeats_nak), frame);
    add_equal_naks(&t, 2000000);
    EXPECT_EQ(first_wrong(&t, 0, repeats_nak_if_reordered), 0);
    add_equal_naks(&t, 50000000);
    EXPECT_EQ(first_wrong(&t, 0, repeats_nak_if_reordered), frame);
}

/* The capture ends with a sequence NAK for a request that was not captured. */
static void the_msn_of_a_nak_counts_no_incomplete_message(void)
{
    struct talk t;
    uint32_t frame;

    for (uint32_t more = 0; more < 2; more++) {
        add_messages(&t);
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 12, MTU, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 14, 10, 1);
        frame = talk_ack(&t, 13, SEQ_NAK, 12 + more);
        if (more) {
            talk_expect_diff(&t, NULL, frame, "aeth.msn");
            talk_free(&t);
        } else {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        }
    }
}

/* Without loss, too, a responder never acknowledges a PSN and then an earlier one. Both requests
 * were captured before the first ACK, so each ACK alone is possible. */
static void the_psn_of_an_ack_does_not_decrease_without_loss(void)
{
    for (uint32_t first = 12; first <= 13; first++) {
        struct talk t;
        uint32_t frame;

        add_messages(&t);
        for (uint32_t psn = 12; psn < 14; psn++)
            talk_write(&t, psn == 12 ? ROCE_OP_RC_WRITE_FIRST : ROCE_OP_RC_WRITE_MIDDLE, psn, VA,
                       RKEY, 3 * MTU, MTU, 1);
        frame = talk_ack(&t, first, ACK, 12);
        talk_ack(&t, 12, ACK, 12);
        talk_write(&t, ROCE_OP_RC_WRITE_LAST, 14, 0, 0, 0, MTU, 1);
        talk_ack(&t, 14, ACK, 13);
        talk_number(&t, 0);
        if (first == 12) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
            continue;
        }
        talk_expect_diff(&t, NULL, frame, "answer");
        talk_free(&t);
    }
}

SUITE("replay.order", TEST(a_wrong_msn_is_the_only_difference),
      TEST(the_responses_to_a_read_follow_each_other),
      TEST(the_psn_of_an_ack_does_not_decrease_without_loss),
      TEST(the_msn_does_not_decrease_after_a_first), TEST(the_first_msn_counts_no_later_atomic),
      TEST(of_two_requests_with_one_psn_either_was_executed), TEST(two_sequence_naks_have_two_psns),
      TEST(a_copy_of_a_sequence_nak_may_be_late),
      TEST(the_msn_of_a_nak_counts_no_incomplete_message))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The delayed-ACK policy, at times that the test sets: whether and how long an ACK is delayed, and
 * the effect of useless delays. */
#include "port/live/ack_policy.h"
#include "support/suite.h"

static struct ack_policy policy;
static uint64_t now;

static void begin(void)
{
    policy = (struct ack_policy){0};
    now = 1000000000;
}

/* A program that polls receives a request. `answers`: the program itself has sent a request
 * lately, so an answer is likely. Returns the time until which the ACK is delayed, or 0. */
static uint64_t receive(bool answers)
{
    ack_policy_received(&policy, answers, now);
    return ack_policy_until(&policy, now);
}

static void one_ack_covers_a_stream_of_requests(void)
{
    begin();
    for (unsigned turn = 0; turn < ACK_TURNS_MAX; turn++) {
        EXPECT_EQ(receive(false), now + ACK_NEXT_NS);
        now += ACK_NEXT_NS; /* the next request arrives just before the delay ends */
        CU_ASSERT(ack_policy_until(&policy, now) > 0);
    }
    EXPECT_EQ(receive(false), 0);
    EXPECT_EQ(receive(false), now + ACK_NEXT_NS); /* first request of the next stream */
}

static void ack_is_sent_when_the_stream_ends(void)
{
    begin();
    receive(false);
    now += ACK_NEXT_NS;
    CU_ASSERT(ack_policy_until(&policy, now) > 0);
    now++;
    EXPECT_EQ(ack_policy_until(&policy, now), 0);
}

/* Receives `requests` requests. Each request arrives too late for one ACK to cover it and the
 * previous request. Returns the number of delayed ACKs. */
static unsigned count_waits_in_vain(unsigned requests)
{
    unsigned cnt = 0;

    for (unsigned i = 0; i < requests; i++) {
        if (receive(false)) {
            cnt++;
            now += ACK_NEXT_NS + 1;
            EXPECT_EQ(ack_policy_until(&policy, now), 0);
        }
        ack_policy_done(&policy);
        now += 5000;
    }
    return cnt;
}

/* If no next request arrives in time, ACKs are delayed less and less often. After streams of
 * requests, they are delayed more often again. */
static void useless_delays_make_delayed_acks_rare(void)
{
    unsigned in_vain;

    begin();
    in_vain = count_waits_in_vain(1000);
    CU_ASSERT(in_vain >= 4 && in_vain < 20);
    CU_ASSERT(count_waits_in_vain(300) <= 2);
    for (unsigned turn = 0; turn < 20000; turn++) {
        receive(false);
        now += 100;
    }
    ack_policy_done(&policy);
    now += 1000000;
    CU_ASSERT(count_waits_in_vain(300) >= 4);
}

/* Delays until the peer's next request have failed too often, so the policy skips them. It still
 * delays an ACK until the program answers the request, so that both are sent together. */
static void ack_waits_for_the_answer(void)
{
    begin();
    count_waits_in_vain(1000);
    policy.next.skip = 100;
    EXPECT_EQ(receive(false), 0);
    EXPECT_EQ(receive(true), now + ACK_POLLER_ANSWERS_NS);
    now += 100;
    ack_policy_sent(&policy, now);
    EXPECT_EQ(ack_policy_until(&policy, now), 0);
    now += 1000;
    EXPECT_EQ(receive(true), now + ACK_POLLER_ANSWERS_NS);
    now += ACK_POLLER_ANSWERS_NS + 1;
    EXPECT_EQ(ack_policy_until(&policy, now), 0);
}

/* Receives `requests` requests that the program does not answer. Returns the number of delayed
 * ACKs.
 */
static unsigned count_unanswered(unsigned requests)
{
    unsigned cnt = 0;

    policy.cheap_frames = true;
    for (unsigned i = 0; i < requests; i++) {
        cnt += receive(true) != 0;
        now += ACK_POLLER_ANSWERS_NS + 1;
        EXPECT_EQ(ack_policy_until(&policy, now), 0);
    }
    return cnt;
}

static void acks_rarely_wait_for_a_program_that_does_not_answer(void)
{
    unsigned cnt;

    begin();
    cnt = count_unanswered(1000);
    CU_ASSERT(cnt >= 4 && cnt < 20);
    CU_ASSERT(count_unanswered(300) <= 2);
    while (receive(true) == 0)
        ;
    ack_policy_sent(&policy, now);
    CU_ASSERT(count_unanswered(300) >= 4);
}

/* The ACK was delayed until the program answered. After the answer, the policy delays the ACK
 * further, until the peer's next request. */
static void answer_extends_the_wait_for_the_next_request(void)
{
    begin();
    receive(true);
    now += 5000;
    ack_policy_sent(&policy, now);
    EXPECT_EQ(ack_policy_until(&policy, now), now + ACK_NEXT_NS);
}

static void acks_do_not_wait_for_a_program_that_polls_seldom(void)
{
    unsigned waits = 0;

    begin();
    for (unsigned i = 0; i < 1000; i++) {
        waits += receive(true) != 0;
        now += 1000000;
        ack_policy_polled(&policy, now);
        EXPECT_EQ(ack_policy_until(&policy, now), 0);
    }
    CU_ASSERT(waits >= 4 && waits < 20);
}

static void backoff_doubles_from_the_second_failure_on(void)
{
    static const unsigned skips[] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256};
    struct backoff backoff = {0};

    for (unsigned i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
        unsigned skipped = 0;

        backoff_failed(&backoff);
        while (!backoff_allows(&backoff))
            skipped++;
        EXPECT_EQ(skipped, skips[i]);
    }
    for (unsigned i = 0; i < 10; i++)
        backoff_ease(&backoff);
    CU_ASSERT(backoff_allows(&backoff));
    EXPECT_EQ(backoff.failures, 0);
}

/* If frames are cheap (shared memory), an ACK is delayed only until the program answers, never
 * until the peer's next request. */
static void cheap_frames_wait_only_for_the_answer(void)
{
    struct ack_policy cheap = {.cheap_frames = true};

    ack_policy_received(&cheap, false, 1000);
    EXPECT_EQ(ack_policy_until(&cheap, 1000), 0);
    ack_policy_received(&cheap, true, 1000);
    EXPECT_EQ(ack_policy_until(&cheap, 1000), 1000 + ACK_POLLER_ANSWERS_NS);
    ack_policy_received(&cheap, true, 2000);
    EXPECT_EQ(ack_policy_until(&cheap, 2000), 1000 + ACK_POLLER_ANSWERS_NS);
    ack_policy_sent(&cheap, 3000);
    EXPECT_EQ(ack_policy_until(&cheap, 3000), 0);
}

SUITE("port.ack_policy", TEST(cheap_frames_wait_only_for_the_answer),
      TEST(one_ack_covers_a_stream_of_requests), TEST(ack_is_sent_when_the_stream_ends),
      TEST(useless_delays_make_delayed_acks_rare), TEST(ack_waits_for_the_answer),
      TEST(acks_rarely_wait_for_a_program_that_does_not_answer),
      TEST(answer_extends_the_wait_for_the_next_request),
      TEST(acks_do_not_wait_for_a_program_that_polls_seldom),
      TEST(backoff_doubles_from_the_second_failure_on))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Response queue tests: order (R077), coalescing of ACKs (R064, R069), limits. Syndrome 0x1F is an
 * ACK, 0x20 an RNR NAK, 0x60 a sequence NAK. */
#include <string.h>
#include "support/rng.h"
#include "support/suite.h"
#include "transport/response_queue.h"

static struct rnic_response_queue queue;

static void expect(unsigned idx, rnic_pos pos, uint8_t res, uint8_t syndrome)
{
    CU_ASSERT_FATAL(idx < queue.cnt);
    EXPECT_EQ(queue.entry[idx].pos, pos);
    EXPECT_EQ(queue.entry[idx].res, res);
    if (res == RNIC_RESPONSE_AETH)
        EXPECT_EQ(queue.entry[idx].syndrome, syndrome);
}

static void later_ack_replaces_queued_ack(void)
{
    memset(&queue, 0, sizeof(queue));
    CU_ASSERT(rnic_response_queue_first(&queue) == NULL);
    CU_ASSERT(!rnic_response_queue_is_ack(&queue));
    rnic_response_queue_put_aeth(&queue, 5, 0x1F, 1);
    rnic_response_queue_put_aeth(&queue, 7, 0x1F, 2); /* replaces the earlier ACK (R064) */
    EXPECT_EQ(queue.cnt, 1);
    CU_ASSERT(rnic_response_queue_is_ack(&queue));
    expect(0, 7, RNIC_RESPONSE_AETH, 0x1F);
    rnic_response_queue_put_aeth(&queue, 8, 0x20, 2); /* an RNR NAK acknowledges the earlier
                                                       * request, too (R069) */
    CU_ASSERT(!rnic_response_queue_is_ack(&queue));
    expect(0, 8, RNIC_RESPONSE_AETH, 0x20);
    rnic_response_queue_put_aeth(&queue, 7, 0x1F, 2); /* an older ACK changes nothing */
    expect(0, 8, RNIC_RESPONSE_AETH, 0x20);
    rnic_response_queue_put_aeth(&queue, 8, 0x1F, 3);
    EXPECT_EQ(queue.cnt, 1);
    expect(0, 8, RNIC_RESPONSE_AETH, 0x1F);
    rnic_response_queue_put_resource(&queue, 0, 9, 4);
    rnic_response_queue_put_aeth(&queue, 12, 0x1F, 5); /* ACKs are not coalesced across a READ */
    EXPECT_EQ(queue.cnt, 3);
    CU_ASSERT(!rnic_response_queue_is_ack(&queue));
    rnic_response_queue_pop(&queue);
    expect(0, 9, 0, 0);
    expect(1, 12, RNIC_RESPONSE_AETH, 0x1F);
}

/* A forged request can cause a sequence NAK with a PSN that the requester never sent. The requester
 * ignores this NAK. So a sequence NAK must not replace the queued ACK of the earlier requests. */
static void sequence_nak_leaves_the_ack_before_it(void)
{
    memset(&queue, 0, sizeof(queue));
    rnic_response_queue_put_aeth(&queue, 5, 0x1F, 1);
    rnic_response_queue_put_aeth(&queue, 6, 0x60, 1);
    EXPECT_EQ(queue.cnt, 2);
    expect(0, 5, RNIC_RESPONSE_AETH, 0x1F);
    expect(1, 6, RNIC_RESPONSE_AETH, 0x60);
    rnic_response_queue_put_aeth(&queue, 7, 0x60, 1); /* a later NAK replaces the NAK */
    EXPECT_EQ(queue.cnt, 2);
    expect(1, 7, RNIC_RESPONSE_AETH, 0x60);
    rnic_response_queue_put_aeth(&queue, 7, 0x1F, 2); /* the missing packet arrived */
    EXPECT_EQ(queue.cnt, 1);
    expect(0, 7, RNIC_RESPONSE_AETH, 0x1F);
    rnic_response_queue_put_aeth(&queue, 8, 0x60, 2);
    rnic_response_queue_nak_to_ack(&queue);
    EXPECT_EQ(queue.cnt, 1);
    expect(0, 7, RNIC_RESPONSE_AETH, 0x1F);
}

/* When a queued NAK is obsolete, it becomes an ACK of the earlier requests. Without earlier
 * requests, it is removed. */
static void obsolete_nak_becomes_ack(void)
{
    memset(&queue, 0, sizeof(queue));
    rnic_response_queue_put_aeth(&queue, 0, 0x60, 0);
    rnic_response_queue_nak_to_ack(&queue);
    EXPECT_EQ(queue.cnt, 0);
    rnic_response_queue_put_resource(&queue, 0, 3, 1);
    rnic_response_queue_put_aeth(&queue, 9, 0x60, 2);
    rnic_response_queue_nak_to_ack(&queue);
    expect(0, 3, 0, 0);
    expect(1, 8, RNIC_RESPONSE_AETH, 0x1F);
}

static void responses_keep_request_order(void)
{
    memset(&queue, 0, sizeof(queue));
    rnic_response_queue_put_resource(&queue, 2, 20, 0);
    rnic_response_queue_put_aeth(&queue, 30, 0x1F, 0);
    rnic_response_queue_put_resource(&queue, 3, 31, 0);
    rnic_response_queue_put_resource(&queue, 1, 10,
                                     0); /* repeated response to an older READ: goes to the front */
    expect(0, 10, 1, 0);
    rnic_response_queue_put_resource(&queue, 0, 30, 0); /* response with the PSN of the ACK: goes
                                                         * before the ACK */
    expect(2, 30, 0, 0);
    expect(3, 30, RNIC_RESPONSE_AETH, 0x1F);
    EXPECT_EQ(queue.cnt, 5);
    rnic_response_queue_put_resource(&queue, 3, 32, 0); /* queued a second time: one entry */
    EXPECT_EQ(queue.cnt, 5);
    expect(4, 32, 3, 0);
}

static void same_resource_is_queued_once(void)
{
    memset(&queue, 0, sizeof(queue));
    rnic_response_queue_put_aeth(&queue, 1, 0x1F, 0);
    rnic_response_queue_put_resource(&queue, 0, 2, 0);
    rnic_response_queue_put_aeth(&queue, 5, 0x1F, 0);
    rnic_response_queue_put_resource(&queue, 0, 6, 0);
    EXPECT_EQ(queue.cnt, 2); /* the later ACK also acknowledges the earlier request */
    expect(0, 5, RNIC_RESPONSE_AETH, 0x1F);
    expect(1, 6, 0, 0);
}

/* After any calls the queue is within its limit and sorted. Two acknowledgements can be adjacent
 * only at its front: an ACK, then a sequence NAK. */
static void random_calls_keep_queue_sorted_and_bounded(void)
{
    struct rng rng = rng_seed();
    rnic_pos now = 0;

    memset(&queue, 0, sizeof(queue));
    for (unsigned i = 0; i < 200000; i++) {
        switch (rng_below(&rng, 5)) {
        case 4: rnic_response_queue_put_aeth(&queue, ++now, 0x60, 0); break;
        case 0: rnic_response_queue_put_aeth(&queue, now, 0x1F, 0); break;
        case 1:
            rnic_response_queue_put_resource(&queue, (uint8_t)rng_below(&rng, RNIC_RD_ATOMIC_MAX),
                                             ++now, 0);
            break;
        case 2:
            rnic_response_queue_put_resource(&queue, (uint8_t)rng_below(&rng, RNIC_RD_ATOMIC_MAX),
                                             now > 100 ? now - rng_below(&rng, 100) : now, 0);
            break;
        default:
            if (queue.cnt && rng_below(&rng, 2))
                rnic_response_queue_pop(&queue);
            break;
        }
        if (queue.cnt > RNIC_RESPONSE_QUEUE_MAX)
            suite_fail(__FILE__, __LINE__, "%u entries", queue.cnt);
        for (unsigned k = 1; k < queue.cnt; k++) {
            if (queue.entry[k].pos < queue.entry[k - 1].pos)
                suite_fail(__FILE__, __LINE__, "not sorted at step %u", i);
            if (queue.entry[k].res == RNIC_RESPONSE_AETH &&
                queue.entry[k - 1].res == RNIC_RESPONSE_AETH &&
                (k > 1 || queue.entry[0].syndrome != 0x1F || queue.entry[1].syndrome != 0x60))
                suite_fail(__FILE__, __LINE__, "neighbours at step %u", i);
        }
    }
    CU_ASSERT(now > 0);
}

SUITE("transport.response_queue", TEST(later_ack_replaces_queued_ack),
      TEST(sequence_nak_leaves_the_ack_before_it), TEST(obsolete_nak_becomes_ack),
      TEST(responses_keep_request_order), TEST(same_resource_is_queued_once),
      TEST(random_calls_keep_queue_sorted_and_bounded))

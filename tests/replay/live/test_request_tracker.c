/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Request tracker: a live requester sends requests that all arrive, while in the capture, packets
 * of the recorded requester were lost. Each recorded response must wait until the live requester
 * has gone back to an earlier PSN as the recorded one did. */
#include <stdlib.h>
#include "live/request_tracker.h"
#include "replay/talk.h"
#include "support/suite.h"

#define VA    UINT64_C(0x7f0000001000)
#define RKEY  TALK_RKEY
#define ACK   0x1F
#define NAK   0x60
#define RNR   0x2A
#define FIRST ROCE_OP_RC_WRITE_FIRST
#define MID   ROCE_OP_RC_WRITE_MIDDLE
#define LAST  ROCE_OP_RC_WRITE_LAST

/* Replay of a conversation with one connection, and the request tracker of the connection. Frame
 * number N of the conversation is event N - 1. */
struct heard {
    struct talk talk;
    struct replay replay;
    struct request_tracker tracker;
};

static void listen_to(struct heard *h)
{
    static const struct replay_options requester = {.roles = REPLAY_REQUESTER};
    struct error error = {""};

    CU_ASSERT_EQUAL_FATAL(capture_replay(&h->talk.capture, &requester, &h->replay, &error), 0);
    CU_ASSERT_FATAL(h->replay.requester.run_cnt == 1 && !h->replay.requester.run[0].wrs.skip);
    CU_ASSERT_EQUAL_FATAL(request_tracker_open(&h->tracker, &h->replay.requester.run[0]), 0);
}

static void heard_free(struct heard *h)
{
    request_tracker_close(&h->tracker);
    replay_free(&h->replay);
    talk_free(&h->talk);
}

/* Passes frames of the conversation to the tracker as requests that the live target sent. `frame`
 * is a list of frame numbers that ends with 0. */
static void comes(struct heard *h, const uint32_t *frame)
{
    for (; *frame; frame++) {
        struct roce_pkt pkt;

        trace_parse(event_packet(h->tracker.asker->wrs.setup, *frame - 1), &pkt);
        CU_ASSERT_EQUAL(request_tracker_add(&h->tracker, &pkt), 0);
    }
}
#define COMES(h, ...) comes(h, (const uint32_t[]){__VA_ARGS__, 0})

/* Passes frames `from` to `to` of the conversation to the tracker, as requests of the recorded
 * requester. */
static void recorded(struct heard *h, uint32_t from, uint32_t to)
{
    for (uint32_t frame = from; frame <= to; frame++) {
        h->tracker.step = frame - 1;
        request_tracker_add_recorded(&h->tracker, frame - 1);
    }
}

static bool ready(struct heard *h, uint32_t frame)
{
    return request_tracker_may_proceed(&h->tracker, frame - 1);
}

static void answered(struct heard *h, uint32_t frame)
{
    CU_ASSERT_TRUE(ready(h, frame));
    request_tracker_add_response(&h->tracker, frame - 1);
}

/* Appends a WRITE of four packets with these PSNs. A PSN of 0 means that the packet is lost: it is
 * not appended. */
static void write4(struct talk *t, uint32_t first, uint32_t mid, uint32_t mid2, uint32_t last)
{
    if (first)
        talk_write(t, FIRST, first, VA, RKEY, 4096, 1024, 1);
    if (mid)
        talk_write(t, MID, mid, 0, 0, 0, 1024, 2);
    if (mid2)
        talk_write(t, MID, mid2, 0, 0, 0, 1024, 3);
    if (last)
        talk_write(t, LAST, last, 0, 0, 0, 1024, 4);
}

static void nakked_request_is_answered_after_its_retransmission(void)
{
    struct heard h;

    talk_init(&h.talk);
    write4(&h.talk, 10, 0, 12, 13); /* frames 1 to 3 */
    talk_ack(&h.talk, 11, NAK, 0);  /* frame 4 */
    write4(&h.talk, 0, 11, 12, 13); /* frames 5 to 7 */
    talk_ack(&h.talk, 13, ACK, 1);  /* frame 8 */
    listen_to(&h);
    recorded(&h, 1, 3);
    CU_ASSERT_FALSE(ready(&h, 4));
    COMES(&h, 1, 5, 2);
    answered(&h, 4);
    COMES(&h, 3); /* frame 3 was in flight when the NAK was sent */
    recorded(&h, 5, 7);
    CU_ASSERT_FALSE(ready(&h, 8));
    COMES(&h, 5, 6);
    CU_ASSERT_FALSE(ready(&h, 8));
    COMES(&h, 7);
    answered(&h, 8);
    heard_free(&h);
}

static void response_waits_for_the_timeout_after_a_nak(void)
{
    struct heard h;

    talk_init(&h.talk);
    write4(&h.talk, 10, 0, 12, 13); /* frames 1 to 3 */
    talk_ack(&h.talk, 11, NAK, 0);  /* frame 4 */
    write4(&h.talk, 0, 11, 12, 0);  /* frames 5 to 6 */
    write4(&h.talk, 0, 11, 12, 13); /* frames 7 to 9: after a timeout */
    talk_ack(&h.talk, 13, ACK, 1);  /* frame 10 */
    listen_to(&h);
    recorded(&h, 1, 3);
    COMES(&h, 1, 5, 2, 3);
    answered(&h, 4);
    COMES(&h, 5, 6, 3); /* the live requester has now sent each packet as often as the recorded
                         * requester */
    recorded(&h, 5, 7);
    CU_ASSERT_FALSE(ready(&h, 7));
    COMES(&h, 5);
    CU_ASSERT_TRUE(ready(&h, 7));
    recorded(&h, 8, 9);
    CU_ASSERT_FALSE(ready(&h, 10));
    COMES(&h, 6, 3);
    answered(&h, 10);
    heard_free(&h);
}

static void timeout_replaces_an_ignored_nak(void)
{
    struct heard h;

    talk_init(&h.talk);
    write4(&h.talk, 10, 0, 12, 13); /* frames 1 to 3 */
    talk_ack(&h.talk, 11, NAK, 0);  /* frame 4 */
    write4(&h.talk, 0, 11, 0, 13);  /* frames 5 to 6 */
    talk_ack(&h.talk, 12, NAK, 0);  /* frame 7 */
    write4(&h.talk, 0, 0, 12, 13);  /* frames 8 to 9 */
    talk_ack(&h.talk, 13, ACK, 1);  /* frame 10 */
    listen_to(&h);
    recorded(&h, 1, 3);
    COMES(&h, 1, 5, 2, 3);
    answered(&h, 4);
    COMES(&h, 5, 2, 3);
    recorded(&h, 5, 6);
    answered(&h, 7);
    recorded(&h, 8, 8);
    CU_ASSERT_FALSE(ready(&h, 8));
    CU_ASSERT_FALSE(ready(&h, 10));
    COMES(&h, 2);
    CU_ASSERT_TRUE(ready(&h, 8));
    recorded(&h, 9, 9);
    CU_ASSERT_FALSE(ready(&h, 10));
    COMES(&h, 3);
    answered(&h, 10);
    heard_free(&h);
}

static void second_nak_of_a_psn_need_not_wait(void)
{
    struct heard h;

    talk_init(&h.talk);
    talk_send(&h.talk, ROCE_OP_RC_SEND_ONLY, 10, 8, 1); /* frame 1 */
    talk_send(&h.talk, ROCE_OP_RC_SEND_ONLY, 11, 8, 2); /* frame 2 */
    talk_ack(&h.talk, 10, RNR, 0);                      /* frame 3 */
    talk_ack(&h.talk, 10, NAK, 0);                      /* frame 4: Linux sends this NAK because of
                                                         * PSN 11 */
    talk_send(&h.talk, ROCE_OP_RC_SEND_ONLY, 10, 8, 1); /* frame 5 */
    talk_send(&h.talk, ROCE_OP_RC_SEND_ONLY, 11, 8, 2); /* frame 6 */
    talk_ack(&h.talk, 10, ACK, 1);                      /* frame 7 */
    talk_ack(&h.talk, 11, ACK, 2);                      /* frame 8 */
    listen_to(&h);
    recorded(&h, 1, 2);
    COMES(&h, 1, 2);
    answered(&h, 3);
    answered(&h, 4);
    recorded(&h, 5, 6);
    CU_ASSERT_FALSE(ready(&h, 7));
    COMES(&h, 5);
    answered(&h, 7);
    CU_ASSERT_FALSE(ready(&h, 8));
    COMES(&h, 6);
    answered(&h, 8);
    heard_free(&h);
}

/* The live target retransmits requests that are already acknowledged. Neither the responses nor the
 * recorded requests wait for such retransmissions. */
static void acknowledged_requests_are_not_waited_for(void)
{
    struct heard h;

    talk_init(&h.talk);
    talk_send(&h.talk, ROCE_OP_RC_SEND_ONLY, 10, 8, 1);                  /* frame 1 */
    talk_read(&h.talk, 11, VA, RKEY, 2048);                              /* frame 2 */
    talk_ack(&h.talk, 10, ACK, 1);                                       /* frame 3 */
    talk_read_resp(&h.talk, ROCE_OP_RC_READ_RESP_FIRST, 11, 2, 1024, 1); /* frame 4 */
    talk_read_resp(&h.talk, ROCE_OP_RC_READ_RESP_LAST, 12, 2, 1024, 2);  /* frame 5 */
    listen_to(&h);
    recorded(&h, 1, 2);
    COMES(&h, 1, 2, 1); /* the live target retransmits request 1 before the ACK arrives */
    answered(&h, 3);
    CU_ASSERT_FALSE(ready(&h, 4));
    COMES(&h, 2);
    answered(&h, 4);
    COMES(&h, 1);
    CU_ASSERT_TRUE(ready(&h, 3)); /* frame 3 is an ACK that was already sent */
    CU_ASSERT_FALSE(ready(&h, 5));
    COMES(&h, 2);
    answered(&h, 5);
    heard_free(&h);
}

SUITE("replay.request_tracker", TEST(nakked_request_is_answered_after_its_retransmission),
      TEST(response_waits_for_the_timeout_after_a_nak), TEST(timeout_replaces_an_ignored_nak),
      TEST(second_nak_of_a_psn_need_not_wait), TEST(acknowledged_requests_are_not_waited_for))

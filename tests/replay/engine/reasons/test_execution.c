/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the search for an order in which a conformant responder executed the requests and sent all
 * its responses. The network after the capture point may have delayed, reordered or lost requests.
 */
#include <stdlib.h>
#include "engine/reasons/rc_execution.h"
#include "replay/talk.h"
#include "support/suite.h"

#define VA      UINT64_C(0x7f0000001000)
#define RKEY    0x1f2e
#define ACK     (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK     (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define RNR     (ROCE_SYNDROME_RNR | 14)
#define REFUSED (ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS)

/* Asserts that no order in which requests arrived and were executed explains the response in frame
 * `frame`. If `frame` is 0, asserts that one order explains all responses. `rxe`: the responder is
 * Linux rxe. Frees the conversation. */
static void expect_impossible_for(struct talk *t, bool rxe, uint32_t frame)
{
    struct replay r;

    if (talk_replay(t, &r, NULL) == 0) {
        const struct inferred_setup *s = &r.session.dir[0].setup;
        uint8_t *mark = calloc(s->event_cnt, 1);
        uint32_t impossible;

        EXPECT_EQ(rc_execution_find(s, mark, rxe, false, &impossible), 0);
        EXPECT_EQ(impossible == EVENT_NONE ? 0 : event_packet(s, impossible)->frame, frame);
        free(mark);
    }
    replay_free(&r);
    talk_free(t);
}

static void expect_impossible(struct talk *t, uint32_t frame)
{
    expect_impossible_for(t, true, frame);
}

/* Appends SENDs with PSNs `from` to `to`, of one packet each. */
static void talk_sends(struct talk *t, uint32_t from, uint32_t to)
{
    for (uint32_t psn = from; psn <= to; psn++)
        talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 10, (uint8_t)psn);
}

/* Builds a conversation. Frames 1 to 4 are SENDs with PSNs 5 to 8. Frames 5 and 6 are sequence NAKs
 * with PSNs `first` and `second`. In frames 7 to 10 the requester retransmits the SENDs. */
static void talk_two_naks(struct talk *t, uint32_t first, uint32_t second)
{
    talk_init(t);
    talk_sends(t, 5, 8);
    talk_ack(t, first, NAK, first - 5);
    talk_ack(t, second, NAK, second - 5);
    t->time += 100000000;
    talk_sends(t, 5, 8);
    talk_ack(t, 8, ACK, 4);
}

static void requests_arrive_late(void)
{
    struct talk t;

    talk_two_naks(&t, 6, 7);
    expect_impossible(&t, 0);
    talk_two_naks(&t, 7, 6); /* the SEND with PSN 6 was executed before the first NAK */
    expect_impossible(&t, 6);
    /* Impossible: a responder sends only one sequence NAK until the request arrives (R068). */
    talk_two_naks(&t, 6, 6);
    expect_impossible(&t, 6);
    talk_two_naks(&t, 5, 8); /* no request after PSN 8 was sent, so none could cause this NAK */
    expect_impossible(&t, 6);
}

static void an_ack_needs_its_requests(void)
{
    struct talk t;

    for (uint32_t msn = 2; msn <= 4; msn++) {
        talk_init(&t);
        talk_sends(&t, 5, 7);
        talk_ack(&t, 5, ACK, 1);
        talk_ack(&t, 7, ACK, msn);
        expect_impossible(&t, msn == 3 ? 0 : 5);
    }
    talk_init(&t);
    talk_sends(&t, 5, 6);
    talk_ack(&t, 6, ACK, 2);
    talk_ack(&t, 5, ACK, 1);
    expect_impossible(&t, 4);
}

/* A READ and a SEND are sent twice. The response to the second copy of the READ counts the SEND if
 * its first copy arrived. */
static void a_repeated_read_counts_later_messages(void)
{
    struct talk t;

    for (uint32_t msn = 1; msn <= 3; msn++) {
        talk_init(&t);
        for (unsigned copy = 0; copy < 2; copy++) {
            talk_read(&t, 5, VA, RKEY, 64);
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
            t.time += 100000000;
        }
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, msn, 64, 2);
        talk_ack(&t, 6, ACK, 2);
        expect_impossible(&t, msn == 3 ? 5 : 0);
    }
    talk_init(&t); /* one copy of the READ */
    talk_read(&t, 5, VA, RKEY, 64);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, 2, 64, 2);
    talk_ack(&t, 6, ACK, 2);
    expect_impossible(&t, 3);
}

/* Each response to a READ of three packets needs a request that begins at its PSN (First, Only) or
 * before (Middle, Last). */
static void a_read_response_needs_its_request(void)
{
    struct talk t;

    for (unsigned restarted = 0; restarted < 2; restarted++) {
        talk_init(&t);
        talk_read(&t, 5, VA, RKEY, 2100);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 5, 1, 1024, 2);
        if (restarted)
            talk_read(&t, 6, VA + 1024, RKEY, 1076);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 6, 1, 1024, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 7, 1, 52, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 6, 0, 1024, 2);
        expect_impossible(&t, restarted ? 0 : 3);
    }
}

/* A restarted READ is answered with a Middle, as Linux rxe does (D4). Another responder may send it
 * for an earlier READ request, but not after the last response to that request. */
static void a_middle_read_response_needs_an_unfinished_read(void)
{
    for (unsigned ended = 0; ended < 2; ended++)
        for (unsigned rxe = 0; rxe < 2; rxe++) {
            struct talk t;

            talk_init(&t);
            talk_read(&t, 5, VA, RKEY, 2100);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 5, 1, 1024, 2);
            if (ended)
                talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 7, 1, 52, 2);
            talk_read(&t, 6, VA + 1024, RKEY, 1076);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 6, 0, 1024, 2);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 7, 1, 52, 2);
            expect_impossible_for(&t, rxe, ended && !rxe ? 5 : 0);
        }
}

static void a_fatal_nak_is_the_last_response(void)
{
    struct talk t;

    for (unsigned rnr = 0; rnr < 2; rnr++) {
        talk_init(&t);
        talk_sends(&t, 5, 6);
        talk_ack(&t, 5, ACK, 1);
        talk_ack(&t, 6, rnr ? RNR : REFUSED, 1);
        talk_sends(&t, 6, 6);
        talk_ack(&t, 6, ACK, 2);
        expect_impossible(&t, rnr ? 0 : 6);
    }
}

/* Two requests arrive late, and the connection ends before the requester can retransmit. The second
 * sequence NAK shows that the first request arrived after the first NAK. */
static void two_naks_at_the_end_show_late_requests(void)
{
    struct talk t;

    for (uint32_t msn = 0; msn < 2; msn++) {
        talk_init(&t);
        talk_sends(&t, 5, 8);
        talk_ack(&t, 5, NAK, msn);
        talk_ack(&t, 6, NAK, 1);
        if (msn == 0) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        } else {
            talk_expect_diff(&t, NULL, 5, "aeth.syndrome");
            talk_free(&t);
        }
    }
}

/* The Last packet of a SEND arrives before the First packet, so the responder sends a sequence NAK
 * for the First packet and drops the Last packet. The requester sends its next request instead of
 * going back. This request arrives after the First packet and causes a sequence NAK for the Last
 * packet. A first NAK that counts the SEND is wrong. */
static void a_dropped_last_packet_explains_the_nak_of_the_first(void)
{
    struct talk t;

    for (uint32_t msn = 1; msn <= 2; msn++) {
        uint32_t nak;

        talk_init(&t);
        talk_sends(&t, 5, 5);
        talk_ack(&t, 5, ACK, 1);
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 6, 1024, 1);
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 6, 1024, 1);
        talk_send(&t, ROCE_OP_RC_SEND_LAST, 7, 10, 2);
        nak = talk_ack(&t, 6, NAK, msn);
        talk_sends(&t, 8, 8);
        talk_ack(&t, 7, NAK, 1);
        talk_send(&t, ROCE_OP_RC_SEND_LAST, 7, 10, 2);
        talk_sends(&t, 8, 8);
        talk_ack(&t, 8, ACK, 3);
        if (msn == 1) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        } else {
            talk_expect_diff(&t, NULL, nak, "aeth.syndrome");
            talk_free(&t);
        }
    }
}

SUITE("replay.execution", TEST(requests_arrive_late), TEST(an_ack_needs_its_requests),
      TEST(a_repeated_read_counts_later_messages), TEST(a_read_response_needs_its_request),
      TEST(a_middle_read_response_needs_an_unfinished_read), TEST(a_fatal_nak_is_the_last_response),
      TEST(two_naks_at_the_end_show_late_requests),
      TEST(a_dropped_last_packet_explains_the_nak_of_the_first))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of recorded requesters by our RNIC, with conversations made by hand. Some requesters pass,
 * some violate rules, and some differ from our RNIC in permitted ways. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/base/diff.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA    UINT64_C(0x7f0000001000)
#define RKEY  TALK_RKEY
#define ACK   0x1F
#define NAK   0x60
#define RNR   0x2A
#define MS    UINT64_C(1000000)
#define FIRST ROCE_OP_RC_WRITE_FIRST
#define MID   ROCE_OP_RC_WRITE_MIDDLE
#define LAST  ROCE_OP_RC_WRITE_LAST
#define ONLY  ROCE_OP_RC_SEND_ONLY

static const struct replay_options requester = {.roles = REPLAY_REQUESTER};

/* Replays the conversation into *r and frees the conversation. Fails the test and returns false
 * unless the replay has this verdict and exactly one requester. */
static bool play(struct talk *t, struct replay *r, enum verdict verdict)
{
    struct error error = {""};
    bool ok = capture_replay(&t->capture, &requester, r, &error) == 0;

    if (!ok)
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    else if (report_verdict(r) != verdict || r->requester.run_cnt != 1) {
        suite_fail(__FILE__, __LINE__, "expected %s", verdict_name(verdict));
        report_text(stdout, r, &(struct report_options){.ladder = true});
        ok = false;
    }
    talk_free(t);
    return ok;
}

/* Asserts that the conversation passes, with these numbers of completions, of completions with an
 * error, and of go-back-N restarts. */
static void expect_holds(struct talk *t, unsigned completed, unsigned failed, unsigned restarts)
{
    struct replay r;

    if (play(t, &r, VERDICT_PASS)) {
        EXPECT_EQ(r.requests.result[0].completed, completed);
        EXPECT_EQ(r.requests.result[0].failed, failed);
        EXPECT_EQ(r.requests.result[0].go_backs, restarts);
    }
    replay_free(&r);
}

/* Asserts that the replay fails and that the first difference is in this frame and field. */
static void expect_differs(struct talk *t, uint32_t frame, const char *field)
{
    struct replay r;

    if (play(t, &r, VERDICT_FAIL)) {
        const struct diff *d = &r.requests.diff[0];

        EXPECT_EQ(r.trace.pkt[d->pkt].frame, frame);
        CU_ASSERT_STRING_EQUAL(d->field, field);
    }
    replay_free(&r);
}

static void expect_skip(struct talk *t, const char *words)
{
    struct replay r;

    if (play(t, &r, VERDICT_SKIPPED) && !strstr(report_skip_reason(&r), words))
        suite_fail(__FILE__, __LINE__, "skipped for \"%s\"", report_skip_reason(&r));
    replay_free(&r);
}

/* Appends a WRITE of three packets, from PSN `psn` on. */
static void write3(struct talk *t, uint32_t psn)
{
    talk_write(t, FIRST, psn, VA, RKEY, 2500, 1024, 1);
    talk_write(t, MID, psn + 1, 0, 0, 0, 1024, 2);
    talk_write(t, LAST, psn + 2, 0, 0, 0, 452, 3);
}

/* ---- requesters that pass ----------------------------------------------------------------------
 */

static void every_operation_is_posted_and_completes(void)
{
    struct talk t;

    for (unsigned encap = ROCE_ENCAP_V1; encap <= ROCE_ENCAP_V2_IP6; encap++) {
        talk_init(&t);
        t.encap = (enum roce_encap)encap;
        talk_send(&t, ONLY, 0xFFFFFE, 100, 1);
        talk_ack(&t, 0xFFFFFE, ACK, 1);
        write3(&t, 0xFFFFFF);
        talk_ack(&t, 1, ACK, 2);
        talk_read(&t, 2, VA, RKEY, 2500);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 2, 3, 1024, 1);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 3, 3, 1024, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 4, 3, 452, 3);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 5, VA, RKEY, 5, 0);
        talk_atomic_ack(&t, 5, 4, 1000);
        talk_atomic(&t, ROCE_OP_RC_CMP_SWAP, 6, VA, RKEY, 99, 1005);
        talk_atomic_ack(&t, 6, 5, 1005);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY_IMM, 7, VA, RKEY, 8, 8, 9);
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 8, 1024, 1);
        talk_send(&t, ROCE_OP_RC_SEND_LAST_INV, 9, 10, 1);
        talk_send(&t, ONLY, 10, 0, 1);
        talk_ack(&t, 10, ACK, 8);
        expect_holds(&t, 8, 0, 0);
    }
}

static void sequence_nak_causes_go_back_n(void)
{
    struct talk t;

    talk_init(&t);
    write3(&t, 10);
    talk_ack(&t, 11, NAK, 0);
    talk_write(&t, MID, 11, 0, 0, 0, 1024, 2);
    talk_write(&t, LAST, 12, 0, 0, 0, 452, 3);
    talk_ack(&t, 12, ACK, 1);
    expect_holds(&t, 1, 0, 1);
}

/* Appends a WRITE of three packets from PSN 10 on, and three responses: a sequence NAK with PSN 10,
 * an ACK with PSN 10, and a sequence NAK with PSN 11. A responder sends them if requests in flight
 * overtake each other. Then appends the first two packets that the requester retransmits because of
 * the first NAK. It sends them before the ACK and the second NAK reach it. */
static void start_crossing(struct talk *t)
{
    talk_init(t);
    write3(t, 10);
    talk_ack(t, 10, NAK, 0);
    talk_ack(t, 10, ACK, 0);
    talk_ack(t, 11, NAK, 0);
    t->time += 5 * MS;
    talk_write(t, FIRST, 10, VA, RKEY, 2500, 1024, 1);
    talk_write(t, MID, 11, 0, 0, 0, 1024, 2);
}

/* The requester retransmits from PSN 10 because of the first NAK. During this retransmission, the
 * second NAK arrives, and the requester retransmits from PSN 11. Later it gives up after one retry,
 * so our RNIC may retry only once. */
static void a_nak_that_crosses_the_answer_to_an_earlier_nak_holds(void)
{
    struct talk t;

    start_crossing(&t);
    talk_write(&t, MID, 11, 0, 0, 0, 1024, 2);
    talk_write(&t, LAST, 12, 0, 0, 0, 452, 3);
    talk_ack(&t, 12, ACK, 1);
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_send(&t, ONLY, 13, 8, 1);
        t.time += 70 * MS;
    }
    t.time += 200 * MS;
    t.requester_qp = 0x33; /* another connection shows that the capture continues */
    t.responder_qp = 0x44;
    talk_send(&t, ONLY, 1, 8, 1);
    talk_number(&t, 0);
    expect_holds(&t, 1, 0, 3);
}

/* The ACK and the second NAK never reach the requester, so it retransmits only because of the first
 * NAK. In the second turn, the response to this retransmission is also lost after the capture
 * point, and the ACK timeout expires. */
static void a_nak_lost_after_an_answered_nak_holds(void)
{
    struct talk t;

    for (unsigned timeouts = 0; timeouts < 2; timeouts++) {
        start_crossing(&t);
        talk_write(&t, LAST, 12, 0, 0, 0, 452, 3);
        for (unsigned i = 0; i < timeouts; i++) {
            t.time += 70 * MS;
            write3(&t, 10);
        }
        talk_ack(&t, 12, ACK, 1);
        expect_holds(&t, 1, 0, 1 + timeouts);
    }
}

/* The first packet that the requester retransmits because of the second NAK has another length. */
static void a_wrong_answer_to_a_nak_that_crossed_differs(void)
{
    struct talk t;
    uint32_t frame;

    start_crossing(&t);
    frame = talk_write(&t, MID, 11, 0, 0, 0, 1000, 2);
    talk_write(&t, LAST, 12, 0, 0, 0, 452, 3);
    talk_ack(&t, 12, ACK, 1);
    talk_number(&t, 0);
    expect_differs(&t, frame, "payload length");
}

static void rnr_nak_and_timeout_delay_the_retransmission(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 5, 8, 1);
    talk_ack(&t, 5, RNR, 0);
    t.time += 50 * MS;
    talk_send(&t, ONLY, 5, 8, 1);
    t.time += 500 * MS;
    talk_send(&t, ONLY, 5, 8, 1);
    talk_ack(&t, 5, ACK, 1);
    expect_holds(&t, 1, 0, 2);
}

/* A READ response is lost. The requester repeats only the missing part of the READ (R142). */
static void missing_part_of_a_read_is_requested_again(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, VA, RKEY, 3072);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 0, 1, 1024, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 1, 1024, 3); /* PSN 1 is lost */
    talk_read(&t, 1, VA + 1024, RKEY, 2048);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 1, 1, 1024, 2);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 1, 1024, 3);
    expect_holds(&t, 1, 0, 1);
}

/* The requester retransmits requests although their ACK was captured, so the ACK was lost after the
 * capture point. The replay must not pass this ACK to our requester. */
static void ack_lost_behind_the_capture_point_is_not_injected(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_send(&t, ONLY, 1, 8, 2);
    talk_ack(&t, 1, ACK, 2);
    t.time += 500 * MS;
    talk_send(&t, ONLY, 0, 8, 1);
    talk_send(&t, ONLY, 1, 8, 2);
    talk_ack(&t, 1, ACK, 2);
    expect_holds(&t, 2, 0, 1);
}

static void go_back_n_lost_before_the_capture_point_passes(void)
{
    struct talk t;

    talk_init(&t);
    write3(&t, 10);
    talk_ack(&t, 11, NAK, 0);
    t.time += MS;
    talk_write(&t, LAST, 12, 0, 0, 0, 452, 3);
    talk_ack(&t, 12, ACK, 1);
    expect_holds(&t, 1, 0, 1);
}

static void a_fatal_nak_fails_the_rest(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    write3(&t, 1);
    talk_send(&t, ONLY, 4, 8, 1);
    talk_ack(&t, 1, 0x62, 1);
    expect_holds(&t, 3, 2, 0);
}

/* The network duplicated one packet and delayed another. The requester sent each once and in order,
 * so the conversation must pass. */
static void duplicates_and_late_packets_of_the_network_pass(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_send(&t, ONLY, 2, 8, 3);
    talk_send(&t, ONLY, 1, 8, 2);
    talk_ack(&t, 2, ACK, 3);
    expect_holds(&t, 3, 0, 0);
}

static void a_capture_that_ends_in_a_message_holds(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, ACK, 1);
    talk_send(&t, ROCE_OP_RC_SEND_FIRST, 1, 1024, 1);
    talk_send(&t, ROCE_OP_RC_SEND_MIDDLE, 2, 1024, 1);
    talk_ack(&t, 2, ACK, 1);
    expect_holds(&t, 1, 0, 0);
}

/* Requests that were in flight when the NAK was sent pass the capture point after the NAK. The
 * conversation must pass. */
static void requests_that_cross_a_fatal_nak_hold(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, VA, RKEY, 100);
    talk_ack(&t, 0, 0x62, 0);
    for (uint32_t psn = 1; psn < 5; psn++)
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, VA, RKEY, 10, 10, 1);
    expect_holds(&t, 5, 5, 0);
}

/* The fatal NAK is lost, so the requester retransmits after its timeout. The conversation must
 * pass. */
static void a_lost_fatal_nak_holds(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, ACK, 1);
    talk_send(&t, ONLY, 1, 8, 1);
    talk_ack(&t, 1, 0x63, 1);
    for (unsigned i = 0; i < 3; i++) {
        t.time += 500 * MS;
        talk_send(&t, ONLY, 1, 8, 1);
    }
    expect_holds(&t, 1, 0, 3);
}

/* A requester stops after an RNR NAK. Packets of another connection show that it had time to
 * retransmit, so it had used up its RNR retry count. The conversation must pass. */
static void a_requester_may_give_up_after_an_rnr_nak(void)
{
    struct replay r;
    struct talk t;

    for (unsigned tries = 0; tries < 3; tries++) {
        talk_init(&t);
        talk_send(&t, ONLY, 0, 8, 1);
        for (unsigned i = 0; i < tries; i++) {
            talk_ack(&t, 0, RNR, 0);
            t.time += 5 * MS;
            talk_send(&t, ONLY, 0, 8, 1);
        }
        talk_ack(&t, 0, RNR, 0);
        t.time += 500 * MS;
        t.requester_qp++;
        t.responder_qp++;
        talk_send(&t, ONLY, 77, 8, 1);
        talk_ack(&t, 77, ACK, 1);
        if (talk_replay(&t, &r, NULL) == 0) {
            EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
            EXPECT_EQ(r.requests.result[0].failed, 1);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

/* The network damages the retransmission after the last captured RNR NAK. So the requester had not
 * used up its RNR retry count at that RNR NAK, and its work request is not complete. */
static void a_damaged_retransmission_shows_that_retries_are_left(void)
{
    struct replay r;
    struct talk t;
    uint32_t frame;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, RNR, 0);
    t.time += 5 * MS;
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, RNR, 0);
    t.time += 5 * MS;
    frame = talk_send(&t, ONLY, 0, 8, 1);
    t.capture.frame[frame - 1].data[60] ^= 8; /* payload */
    t.time += 500 * MS;
    t.requester_qp++;
    t.responder_qp++;
    talk_send(&t, ONLY, 77, 8, 1);
    talk_ack(&t, 77, ACK, 1);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.requests.result[0].failed, 0);
    }
    replay_free(&r);
    talk_free(&t);
}

/* The capture lacks a response. The requester continues without a retransmission, so it received
 * that response, and the conversation must pass. */
static void a_response_that_the_capture_lacks_was_received(void)
{
    struct talk t;

    for (unsigned atomic = 0; atomic < 2; atomic++) {
        talk_init(&t);
        if (atomic) {
            talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 0, VA, RKEY, 1, 0);
            talk_send(&t, ONLY, 1, 8, 1);
            talk_send(&t, ONLY, 2, 8, 1);
        } else {
            talk_read(&t, 0, VA, RKEY, 2500);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 0, 1, 1024, 1);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 1, 452, 1);
        }
        for (uint32_t psn = 3; psn < 24; psn++) {
            talk_read(&t, psn, VA, RKEY, 8);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + (atomic ? 1 : -1), 8, 1);
        }
        expect_holds(&t, atomic ? 24 : 22, 0, 0);
    }
}

/* A retransmission has other bytes, because the program has changed the buffer and the requester
 * reads the buffer again. The conversation must pass. */
static void a_retransmission_may_carry_the_newer_buffer(void)
{
    struct replay r;
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 4; psn++) {
        talk_send(&t, ONLY, psn, 8, 1);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 4, VA, RKEY, 64, 64, 1);
    t.time += 20 * MS;
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 4, VA, RKEY, 64, 64, 2);
    talk_ack(&t, 4, ACK, 5);
    talk_read(&t, 5, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, 6, 64, 2);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.requests.result[0].rewritten, 1);
    }
    replay_free(&r);
    talk_free(&t);
}

/* The network delays the response to a READ, so the requester retransmits the READ and the WRITE
 * after it. Linux rxe refuses the retransmitted READ. But the delayed response has completed the
 * READ, so the requester ignores this NAK and retransmits the WRITE. If the requester never
 * retransmits the WRITE, it must be in the error state, and its new SEND is a difference. */
static void a_refusal_of_a_completed_read_is_ignored(void)
{
    for (unsigned goes_on = 0; goes_on < 2; goes_on++) {
        uint32_t frame = 0;
        struct talk t;

        talk_init(&t);
        talk_read(&t, 5, VA, RKEY, 64);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, 1, 64, 3);
        for (unsigned copy = 0; copy < 2; copy++) {
            talk_read(&t, 6, VA, RKEY, 64);
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA + 64, RKEY, 0, 0, 2);
            t.time += 5 * MS;
            if (copy == 0) {
                talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 3);
                talk_ack(&t, 7, ACK, 3);
            } else {
                talk_ack(&t, 6, NAK | ROCE_NAK_REMOTE_ACCESS, 3);
            }
            t.time += 5 * MS;
        }
        for (unsigned copy = 0; copy < 3; copy++) {
            if (goes_on)
                talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA + 64, RKEY, 0, 0, 2);
            frame = talk_send(&t, ONLY, goes_on ? 8 : 8 + copy, 10, 4);
            t.time += 10 * MS;
        }
        if (goes_on)
            expect_holds(&t, 2, 0, 4);
        else
            expect_differs(&t, frame - 2, "request");
    }
}

/* The programs of both hosts send and receive with one buffer. A message of the peer arrives before
 * a SEND is retransmitted, so the retransmission has the bytes of that message. The previous SEND
 * has the same bytes. So without that message, the requester would have retransmitted the wrong
 * SEND. */
static void a_retransmission_may_carry_received_bytes(void)
{
    for (unsigned received = 0; received < 2; received++) {
        struct roce_pkt pkt;
        struct replay r;
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 0; psn < 4; psn++) {
            talk_send(&t, ONLY, psn, 8, psn < 3 ? 1 : 2);
            if (psn < 3)
                talk_ack(&t, psn, ACK, psn + 1);
        }
        if (received) {
            talk_packet(&t, &pkt, ONLY, 70, false);
            pkt.payload = (const uint8_t[8]){1, 8, 15, 22, 29, 36, 43, 50}; /* seed 1 */
            pkt.payload_len = 8;
            talk_add(&t, &pkt);
        }
        t.time += 20 * MS;
        frame = talk_send(&t, ONLY, 3, 8, 1);
        talk_ack(&t, 3, ACK, 4);
        talk_send(&t, ONLY, 4, 8, 3);
        talk_ack(&t, 4, ACK, 5);
        if (!received) {
            expect_differs(&t, frame, "payload");
            continue;
        }
        if (talk_replay(&t, &r, NULL) == 0) {
            EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
            EXPECT_EQ(r.requests.result[0].rewritten, 1);
        }
        replay_free(&r);
        talk_free(&t);
    }
}

/* ---- requesters that violate rules -------------------------------------------------------------
 */

static void requests_after_a_fatal_nak_differ(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, 0x63, 0);
    talk_send(&t, ONLY, 1, 8, 1);
    talk_ack(&t, 1, ACK, 1);
    expect_differs(&t, 3, "request");
}

/* A retransmission of another length must differ: all packets with one PSN must be equal (R153). */
static void retransmission_of_another_length_differs(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ONLY, 0, 8, 1);
    talk_ack(&t, 0, RNR, 0);
    t.time += 50 * MS;
    talk_send(&t, ONLY, 0, 12, 1);
    talk_ack(&t, 0, ACK, 1);
    expect_differs(&t, 3, "payload length");
}

static void a_wrong_address_in_a_repeated_read_differs(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, VA, RKEY, 3072);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 0, 1, 1024, 1);
    t.time += 500 * MS;
    talk_read(&t, 1, VA + 1000, RKEY, 2048);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 1, 1, 1024, 2);
    expect_differs(&t, 3, "reth.va");
}

/* The recorded requester restarts a READ at a PSN inside it. Our RNIC restarts the READ from its
 * first PSN, because the capture lacks the response to the first part. The restart must still
 * request the rest of the READ (R112). */
static void a_restarted_read_requests_the_rest(void)
{
    for (unsigned right = 0; right < 2; right++) {
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 0, 1024, 1); /* shows the path MTU */
        talk_send(&t, ROCE_OP_RC_SEND_LAST, 1, 10, 1);
        talk_ack(&t, 1, ACK, 1);
        talk_read(&t, 2, VA, RKEY, 3072);
        t.time += 500 * MS;
        talk_read(&t, 3, right ? VA + 1024 : VA, RKEY, right ? 2048 : 3072);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 3, 2, 1024, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 4, 2, 1024, 3);
        if (right)
            expect_holds(&t, 2, 0, 1);
        else
            expect_differs(&t, 5, "reth.va");
    }
}

/* ---- work requests that cannot be posted -------------------------------------------------------
 */

static void what_no_requester_sends_is_skipped(void)
{
    struct talk t;

    talk_init(&t);
    talk_write(&t, FIRST, 0, VA, RKEY, 2500, 1024, 1);
    talk_write(&t, LAST, 1, 0, 0, 0, 452,
               3); /* the WRITE ends 1024 bytes short of its DMA length */
    talk_ack(&t, 1, 0x61, 0);
    expect_skip(&t, "lengths that a conformant requester never uses");
}

/* The replay of the requester is skipped, and the replay of the responder passes. The verdict line
 * must count the skipped one. */
static void a_skipped_side_is_in_the_verdict_line(void)
{
    struct replay r;
    struct talk t;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    talk_init(&t);
    talk_write(&t, FIRST, 0, VA, RKEY, 2500, 1024, 1);
    talk_write(&t, LAST, 1, 0, 0, 0, 452,
               3); /* the WRITE ends 1024 bytes short of its DMA length */
    talk_ack(&t, 1, 0x61, 0);
    if (talk_replay(&t, &r, NULL) == 0)
        report_text(out, &r, &(struct report_options){.ladder = false});
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "; 1 side skipped: "));
    free(text);
    replay_free(&r);
    talk_free(&t);
}

/* A hardware requester has more packets in flight than our requester has by default. The replay
 * must pass. */
static void more_packets_in_flight_than_ours_pass(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 1500; psn++)
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, VA, RKEY, 8, 8, (uint8_t)psn);
    talk_ack(&t, 1499, ACK, 1500);
    expect_holds(&t, 1500, 0, 0);
}

static void more_reads_than_ours_can_have_are_skipped(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 17; psn++)
        talk_read(&t, psn, VA, RKEY, 8);
    for (uint32_t psn = 0; psn < 17; psn++)
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 8, 1);
    expect_skip(&t, "more READs and atomics");
}

/* Linux rxe goes back to PSN 0 and sends an empty SEND instead of a retransmission, then the SENDs
 * with lower PSNs (D41). The capture lacks the first copy of PSN 0. So our RNIC takes the empty
 * SEND for the request, and later repeats it where rxe sends a SEND. If the empty SEND was captured
 * before the other requests, it was no retransmission, and the difference is no known one. */
static void an_empty_send_may_replace_a_request_that_was_not_captured(void)
{
    for (unsigned seen = 0; seen < 2; seen++) {
        uint32_t frame;
        struct replay r;
        struct talk t;

        talk_init(&t);
        if (seen)
            talk_send(&t, ONLY, 0, 0, 0);
        for (uint32_t psn = 1; psn < 3; psn++)
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, 0, 0, 0, 0, 0);
        for (uint32_t i = 0; i < 8; i++)
            talk_send(&t, ONLY, 3 + i, 100 + i, (uint8_t)(1 + i));
        talk_ack(&t, 0, NAK, 0);
        t.time += 100 * MS;
        if (!seen)
            talk_send(&t, ONLY, 0, 0, 0);
        frame = talk_send(&t, ONLY, 0, 100, 1);
        talk_send(&t, ONLY, 1, 101, 2);
        talk_ack(&t, 0, ACK, 1);
        talk_number(&t, 0);
        if (talk_replay(&t, &r, "linux-rxe-6.12") == 0) {
            const struct diff *d = r.requests.diff;

            EXPECT_EQ(report_verdict(&r), seen ? VERDICT_FAIL : VERDICT_PASS);
            EXPECT_EQ(d ? r.trace.pkt[d->pkt].frame : 0, frame);
            EXPECT_EQ(d && d->known, !seen);
        }
        replay_free(&r);
        if (seen)
            talk_free(&t);
        else
            expect_differs(&t, frame, "payload length");
    }
}

/* Linux rxe goes back to a WRITE and sends an empty WRITE to its address instead (D41), then the
 * WRITE. The replay counts the packets before the empty WRITE as packets of an earlier use of the
 * QPs. If the WRITE has another address, the difference is no known one. */
static void an_empty_write_may_precede_the_write_to_its_address(void)
{
    for (unsigned other = 0; other < 2; other++) {
        uint32_t frame;
        struct replay r;
        struct talk t;

        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 0, 0, 0);
        frame = talk_write(&t, FIRST, 0, VA + 8 * other, RKEY, 1500, 1024, 1);
        talk_write(&t, LAST, 1, 0, 0, 0, 476, 2);
        talk_ack(&t, 0, ACK, 1);
        if (talk_replay(&t, &r, "linux-rxe-6.12") == 0) {
            const struct diff *d = r.requests.diff;

            EXPECT_EQ(report_verdict(&r), other ? VERDICT_FAIL : VERDICT_PASS);
            EXPECT_EQ(d ? r.trace.pkt[d->pkt].frame : 0, frame);
            EXPECT_EQ(d && d->known, !other);
        }
        replay_free(&r);
        if (other)
            talk_free(&t);
        else
            expect_differs(&t, frame, "bth.opcode");
    }
}

SUITE("replay.requester", TEST(every_operation_is_posted_and_completes),
      TEST(sequence_nak_causes_go_back_n),
      TEST(a_nak_that_crosses_the_answer_to_an_earlier_nak_holds),
      TEST(a_nak_lost_after_an_answered_nak_holds),
      TEST(a_wrong_answer_to_a_nak_that_crossed_differs),
      TEST(rnr_nak_and_timeout_delay_the_retransmission),
      TEST(missing_part_of_a_read_is_requested_again),
      TEST(ack_lost_behind_the_capture_point_is_not_injected), TEST(a_fatal_nak_fails_the_rest),
      TEST(duplicates_and_late_packets_of_the_network_pass),
      TEST(a_capture_that_ends_in_a_message_holds),
      TEST(go_back_n_lost_before_the_capture_point_passes), TEST(requests_after_a_fatal_nak_differ),
      TEST(retransmission_of_another_length_differs),
      TEST(a_wrong_address_in_a_repeated_read_differs), TEST(a_restarted_read_requests_the_rest),
      TEST(requests_that_cross_a_fatal_nak_hold), TEST(a_lost_fatal_nak_holds),
      TEST(a_refusal_of_a_completed_read_is_ignored),
      TEST(a_requester_may_give_up_after_an_rnr_nak),
      TEST(a_damaged_retransmission_shows_that_retries_are_left),
      TEST(a_response_that_the_capture_lacks_was_received),
      TEST(a_retransmission_may_carry_the_newer_buffer),
      TEST(a_retransmission_may_carry_received_bytes), TEST(what_no_requester_sends_is_skipped),
      TEST(a_skipped_side_is_in_the_verdict_line), TEST(more_packets_in_flight_than_ours_pass),
      TEST(more_reads_than_ours_can_have_are_skipped),
      TEST(an_empty_send_may_replace_a_request_that_was_not_captured),
      TEST(an_empty_write_may_precede_the_write_to_its_address))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Captures of Linux rxe behind a network that delays, reorders or damages packets after the capture
 * point: conformant packets are no difference. */
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA      UINT64_C(0x7f0000001000)
#define RKEY    0x1f2e
#define ACK     (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define RNR     (ROCE_SYNDROME_RNR | 1)
#define SEQ_NAK (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define PEER    "linux-rxe-6.1"
#define MS      UINT64_C(1000000)

/* Replays the conversation and frees it. Expects no difference, and these numbers of responses with
 * a known deviation and without a verdict. */
static void expect_holds(struct talk *t, uint32_t known, uint32_t inconclusive)
{
    struct replay r;

    if (talk_replay(t, &r, PEER) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        if (report_verdict(&r) != VERDICT_PASS)
            report_text(stdout, &r, &(struct report_options){.ladder = true});
        EXPECT_EQ(r.responses.result[0].known_frames, known);
        EXPECT_EQ(r.responses.result[0].inconclusive, inconclusive);
    }
    replay_free(&r);
    talk_free(t);
}

/* Before the first captured response, the responder executed all four messages and received copies
 * of the first two. Its ACKs of these copies count all four messages, so the replay must not infer
 * the start MSN from them. */
static void start_msn_is_not_taken_from_acks_of_duplicates(void)
{
    struct talk t;

    talk_init(&t);
    for (unsigned copy = 0; copy < 3; copy++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
        talk_read(&t, 7, VA, RKEY, 64);
        talk_read(&t, 8, VA + 64, RKEY, 64);
    }
    for (unsigned copy = 0; copy < 3; copy++)
        talk_ack(&t, 6, ACK, 4);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 4, 64, 2);
    talk_ack(&t, 5, ACK, 1);
    expect_holds(&t, 3, 0);
}

/* The responses to the first transmissions of a SEND and a READ were lost. Both captured ACKs
 * respond to duplicates of the SEND, and their MSNs also count the READ. The replay must not infer
 * the start MSN from them. */
static void start_msn_is_not_taken_from_two_equal_acks(void)
{
    struct talk t;

    talk_init(&t);
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_read(&t, 6, VA, RKEY, 64);
        t.time += 20000000;
    }
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    talk_ack(&t, 5, ACK, 2);
    talk_ack(&t, 5, ACK, 2);
    expect_holds(&t, 2, 0);
}

/* A READ overtakes a SEND, so the responder sends a sequence NAK for the SEND, and the requester
 * retransmits the SEND. */
static void talk_delayed_send(struct talk *t)
{
    talk_init(t);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_read(t, 6, VA, RKEY, 64);
    talk_ack(t, 5, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 0);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
}

/* A later request overtakes a SEND, so the responder sends a sequence NAK for the SEND. The delayed
 * SEND arrives after its retransmission, and the ACK of this duplicate also counts the READ (D7).
 */
static void a_delayed_request_arrives_as_a_duplicate(void)
{
    struct talk t;

    talk_delayed_send(&t);
    talk_ack(&t, 5, ACK, 1);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    talk_read(&t, 7, VA, RKEY, 64);
    talk_ack(&t, 5, ACK, 2);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 3, 64, 2);
    expect_holds(&t, 1, 0);
}

/* A later request overtakes a SEND, so the responder sends a sequence NAK for the SEND, and the
 * requester retransmits it. When the delayed SEND arrives, the responder has no receive WQE; when
 * the retransmission arrives, it has one. */
static void a_delayed_request_finds_no_receive_wqe(void)
{
    struct talk t;

    talk_delayed_send(&t);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_ack(&t, 5, ROCE_SYNDROME_RNR | 14, 0);
    talk_ack(&t, 5, ACK, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    expect_holds(&t, 0, 1);
}

/* The network damages the response to a READ. The requester then sends `rounds` SENDs, each after
 * the ACK of the previous one. It may send the first SEND before a response shows that the READ
 * response is missing, and the second one before it handles the ACK of the first. It may also never
 * retransmit: Linux rxe never retransmits a READ with the fence flag. The third SEND shows that the
 * requester accepted the damaged response. */
static void a_damaged_response_before_the_next_request_holds(void)
{
    for (unsigned rounds = 1; rounds <= 3; rounds++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_ack(&t, 5, ACK, 1);
        talk_read(&t, 6, VA, RKEY, 64);
        frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
        t.capture.frame[frame - 1].data[70] ^= 8; /* payload */
        for (uint32_t i = 0; i < rounds; i++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7 + i, 10, 1);
            talk_ack(&t, 7 + i, ACK, 3 + i);
        }
        if (rounds < 3) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "icrc");
        talk_free(&t);
    }
}

/* The network damages one of three responses to a READ. The requester sends a WRITE before it
 * handles the last of them, and never retransmits the READ, because it has the fence flag (Linux
 * rxe). */
static void a_damaged_response_inside_a_read_holds(void)
{
    uint32_t frame;
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_ack(&t, 5, ACK, 1);
    talk_read(&t, 6, VA, RKEY, 600);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 6, 2, 256, 2);
    frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 7, 2, 256, 3);
    t.capture.frame[frame - 1].data[70] ^= 8; /* payload */
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 8, 2, 88, 4);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 9, VA + 1024, RKEY, 100, 100, 1);
    talk_ack(&t, 9, ACK, 3);
    expect_holds(&t, 0, 0);
}

/* The network damages the ACK of a SEND, and the program ends while requests are outstanding. The
 * ACK of a later atomic also acknowledges the SEND, so the requester need not retransmit. If the
 * damaged response has the data of a READ, only a requester that accepted it goes on. */
static void a_damaged_ack_that_a_later_response_covers_holds(void)
{
    for (unsigned read = 0; read < 2; read++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_ack(&t, 5, ACK, 1);
        if (read)
            talk_read(&t, 6, VA, RKEY, 64);
        else
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 7, VA + 64, RKEY, 1, 0);
        frame = read ? talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2)
                     : talk_ack(&t, 6, ACK, 2);
        t.capture.frame[frame - 1].data[read ? 70 : 57] ^= 8; /* payload; MSN */
        talk_atomic_ack(&t, 7, 3, 40);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 10, 1);
        talk_ack(&t, 8, ACK, 4);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 9, 10, 1);
        talk_read(&t, 10, VA, RKEY, 64);
        if (!read) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "icrc");
        talk_free(&t);
    }
}

/* The network delays the first message, a WRITE of two packets, so that the next request, a READ,
 * overtakes it. The ACK that counts one message shows where the connection begins. The ACK of a
 * duplicate of the WRITE also counts the READ (D7). */
static void a_first_message_of_several_packets_may_be_late(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 7, VA, RKEY, 64);
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 5, VA + 64, RKEY, 300, 256, 1);
        talk_write(&t, ROCE_OP_RC_WRITE_LAST, 6, 0, 0, 0, 44, 2);
        talk_ack(&t, 6, ACK, 1 + copy);
        if (copy == 0) {
            talk_read(&t, 7, VA, RKEY, 64);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 2, 64, 2);
        }
    }
    expect_holds(&t, 1, 0);
}

/* The responder's program deregisters the memory of a WRITE between two of its packets. The NAK is
 * lost, so the requester retransmits. The responder's QP is in ERR and must not respond. With
 * `responds` it does, so the NAK was wrong: this must be a difference. */
static void a_lost_refusal_inside_a_write_is_inconclusive(void)
{
    for (unsigned responds = 0; responds < 2; responds++) {
        uint32_t frame = 0;
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 5; psn < 7; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, psn - 4);
        }
        for (unsigned copy = 0; copy < 2; copy++) {
            talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 7, VA, RKEY, 600, 256, 1);
            talk_write(&t, ROCE_OP_RC_WRITE_MIDDLE, 8, 0, 0, 0, 256, 2);
            if (copy == 0)
                frame = talk_ack(&t, 8, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 2);
            talk_write(&t, ROCE_OP_RC_WRITE_LAST, 9, 0, 0, 0, 88, 3);
        }
        if (!responds) {
            expect_holds(&t, 0, 1);
            continue;
        }
        talk_ack(&t, 9, ACK, 3);
        talk_expect_diff(&t, PEER, frame, "aeth.syndrome");
        talk_free(&t);
    }
}

/* A READ arrives after a later request, but before its retransmission. The ACK of a duplicate SEND
 * counts the READ (D7). */
static void a_late_read_counts_in_the_ack_of_a_duplicate(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_ack(&t, 6, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 1);
    talk_ack(&t, 5, ACK, 2);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    talk_ack(&t, 7, ACK, 3);
    expect_holds(&t, 1, 0);
}

/* The network delays the first copy of a SEND and loses the response to an atomic. The responder
 * answers the delayed copy with the PSN of the atomic (D7). If the SEND was not retransmitted, the
 * ACK is no response to the atomic. */
static void an_ack_of_a_late_copy_follows_a_lost_response(void)
{
    for (unsigned copies = 1; copies <= 2; copies++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        for (unsigned copy = 0; copy < copies; copy++)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_ack(&t, 5, ACK, 1);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 6, VA, RKEY, 1, 0);
        frame = talk_ack(&t, 6, ACK, 2);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
        talk_ack(&t, 7, ACK, 3);
        if (copies == 2) {
            expect_holds(&t, 0, 1);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "bth.opcode");
        talk_free(&t);
    }
}

/* The responder is slow: the requester retransmits a SEND very often before the response to an
 * atomic is captured. Our RNIC acknowledges each of these duplicates with the PSN of the atomic. */
static void a_response_follows_many_duplicates(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 6, VA, RKEY, 1, 0);
    for (unsigned copy = 0; copy < 100; copy++)
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_ack(&t, 5, ACK, 1);
    talk_atomic_ack(&t, 6, 2, 9);
    talk_ack(&t, 6, ACK, 2);
    expect_holds(&t, 0, 0);
}

/* Appends `copies` copies of one READ. */
static void add_reads(struct talk *t, unsigned copies)
{
    for (unsigned copy = 0; copy < copies; copy++)
        talk_read(t, 6, VA, RKEY, 64);
}

/* The responder is slow, and the requester retransmits a READ many times before and after a WRITE
 * to the same memory. The responder answers the first copies before the WRITE, with the old bytes.
 */
static void a_slow_responder_answers_each_copy_of_a_read(void)
{
    for (unsigned wrong = 0; wrong <= 1; wrong++) {
        uint32_t frame = 0;
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_ack(&t, 5, ACK, 1);
        add_reads(&t, 80);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 3);
        add_reads(&t, 80);
        for (unsigned copy = 0; copy < 160; copy++) {
            unsigned msn = copy < 80 ? 2 : 3;

            if (copy == 80)
                talk_ack(&t, 7, ACK, 3);
            if (copy % 7 != 3)
                frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, msn, 64,
                                       wrong && copy == 159 ? 4 : msn);
        }
        if (!wrong) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "payload");
        talk_free(&t);
    }
}

/* The responder is slow: it answers the second copy of a READ just after the third one was
 * captured. The MSN of this response does not count the WRITE that was sent before the third copy,
 * and does not show that this WRITE was lost. */
static void an_old_msn_after_a_long_time_shows_no_loss(void)
{
    struct replay r;
    struct talk t;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 5, VA, RKEY, 64, 64, 2);
    talk_ack(&t, 5, ACK, 1);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    t.time += 20 * MS;
    talk_read(&t, 6, VA, RKEY, 64);
    t.time += 20 * MS;
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 3);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 3);
    t.time += 20 * MS;
    talk_ack(&t, 7, ACK, 3);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 3, 64, 3);
    talk_ack(&t, 7, ACK, 3);
    if (talk_replay(&t, &r, PEER) == 0) {
        const struct inferred_setup *s = &r.session.dir[0].setup;

        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        for (uint32_t i = 0; i < s->event_cnt; i++)
            EXPECT_EQ(s->event[i].lost, false);
    }
    replay_free(&r);
    talk_free(&t);
}

/* Two SENDs are sent twice, and the network reorders them after the capture point. The responder
 * sends a sequence NAK twice. A second sequence NAK is allowed if an RNR NAK, which is lost, was
 * sent in between. This is possible only if another RNR NAK shows that the receive queue was once
 * empty; otherwise the second sequence NAK must be a difference. */
static void a_sequence_nak_may_follow_a_lost_rnr_nak(void)
{
    for (unsigned refusals = 0; refusals <= 1; refusals++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
        if (refusals > 0) {
            talk_ack(&t, 0, RNR, 0);
            t.time += 10000000;
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
        }
        talk_ack(&t, 0, ACK, 1);
        for (unsigned copy = 0; copy < 2; copy++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 1, 10, 1);
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 2, 10, 1);
            t.time += 5000000;
        }
        talk_ack(&t, 1, SEQ_NAK, 1);
        t.time += 2000000;
        frame = talk_ack(&t, 1, SEQ_NAK, 1);
        if (refusals > 0) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "answer");
        talk_free(&t);
    }
}

/* The network duplicates a WRITE after the capture point. The responder executes the next request,
 * a READ, before the copy of the WRITE arrives, so the ACK of the copy counts the READ. Without the
 * response to the READ, no other packet shows that the READ was executed, and the MSN differs. */
static void an_ack_of_an_unseen_copy_counts_later_messages(void)
{
    for (unsigned executed = 0; executed <= 1; executed++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 5, VA, RKEY, 20, 20, 1);
        talk_read(&t, 6, VA + 64, RKEY, 64);
        talk_ack(&t, 5, ACK, 1);
        if (executed)
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 2, 64, 2);
        frame = talk_ack(&t, 5, ACK, 2);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 10, 1);
        talk_ack(&t, 7, ACK, 3);
        if (executed) {
            expect_holds(&t, 0, 1);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "aeth.msn");
        talk_free(&t);
    }
}

/* The network loses the packets 5 to 7 after the capture point, and then 7 to 9 of the
 * retransmission. The second sequence NAK is captured in the middle of this retransmission. The
 * requester sends the rest of it and then stops. But an ACK of the last packet shows that PSN 7 was
 * not lost, so the second NAK differs. */
static void a_requester_may_finish_its_retransmission_after_a_nak(void)
{
    static const uint8_t opcode[] = {ROCE_OP_RC_SEND_FIRST,  ROCE_OP_RC_SEND_MIDDLE,
                                     ROCE_OP_RC_SEND_LAST,   ROCE_OP_RC_SEND_FIRST,
                                     ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_MIDDLE,
                                     ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST};

    for (unsigned executed = 0; executed <= 1; executed++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        for (uint32_t i = 0; i < 8; i++)
            talk_send(&t, opcode[i], 5 + i, 256, 1);
        talk_ack(&t, 5, SEQ_NAK, 0);
        for (uint32_t i = 0; i < 6; i++)
            talk_send(&t, opcode[i], 5 + i, 256, 1);
        frame = talk_ack(&t, 7, SEQ_NAK, 0);
        for (uint32_t i = 6; i < 8; i++)
            talk_send(&t, opcode[i], 5 + i, 256, 1);
        if (!executed) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_ack(&t, 12, ACK, 2);
        talk_expect_diff(&t, PEER, frame, "aeth.syndrome");
        talk_free(&t);
    }
}

/* The responder executes `reads` READs and then receives the last READ many times and the first one
 * once. The response to one copy of the last READ is lost. Returns the frame of the response to the
 * copy of the first READ, which has this MSN. */
static uint32_t talk_old_read(struct talk *t, uint32_t reads, uint32_t msn)
{
    talk_init(t);
    for (uint32_t i = 0; i < reads; i++)
        talk_read(t, 5 + i, VA, RKEY, 64);
    for (uint32_t i = 0; i < reads; i++)
        talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 5 + i, i + 1, 64, 2);
    for (unsigned copy = 0; copy < 600; copy++) {
        t->time += 20 * MS;
        talk_read(t, 4 + reads, VA, RKEY, 64);
        if (copy > 0)
            talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 4 + reads, reads, 64, 2);
    }
    talk_read(t, 5, VA, RKEY, 64);
    return talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 5, msn, 64, 2);
}

/* Our responder keeps 16 resources, so it drops a copy of a READ before the last 16 ones (R116).
 * The recorded responder keeps more and responds. But its MSN cannot count more messages than were
 * sent. If the READ is one of the last 16, our responder also responds. */
static void a_responder_may_keep_more_resources_than_ours(void)
{
    uint32_t frame;
    struct talk t;

    talk_old_read(&t, 20, 20);
    expect_holds(&t, 0, 1);
    frame = talk_old_read(&t, 20, 21);
    talk_expect_diff(&t, PEER, frame, "aeth.msn");
    talk_free(&t);
    talk_old_read(&t, 16, 16);
    expect_holds(&t, 0, 0);
    frame = talk_old_read(&t, 16, 15);
    talk_expect_diff(&t, PEER, frame, "aeth.msn");
    talk_free(&t);
}

/* As in the previous test, the responder answers a copy of an old READ, and then sends a wrong ACK.
 * So no order of arrival explains all responses, and the replay reports each difference that has no
 * other reason. It must report the wrong ACK only. */
static void a_wrong_ack_after_the_copy_of_an_old_read_is_the_only_difference(void)
{
    struct replay r;
    struct talk t;
    uint32_t frame;

    talk_old_read(&t, 20, 20);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 25, 10, 1);
    frame = talk_ack(&t, 25, ACK, 22);
    if (talk_replay(&t, &r, PEER) == 0 && r.responses.diff_cnt > 0) {
        EXPECT_EQ(r.responses.diff_cnt, 1);
        EXPECT_EQ(r.session.trace->pkt[r.responses.diff[0].pkt].frame, frame);
    }
    EXPECT_EQ(report_verdict(&r), VERDICT_FAIL);
    replay_free(&r);
    talk_free(&t);
}

/* The transmit queue of Linux rxe is full while it sends READ responses. It refuses two SENDs with
 * RNR NAKs, then sends a sequence NAK for the first of them (D8). */
static void a_sequence_nak_may_follow_rnr_naks_of_two_requests(void)
{
    struct talk t;

    for (unsigned twice = 0; twice <= 1; twice++) {
        talk_init(&t);
        talk_read(&t, 0, 0x1000, 7, 3 * 1024);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_FIRST, 0, 1, 1024, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 3, 10, 1);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 4, 10, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_MIDDLE, 1, 1, 1024, 2);
        talk_ack(&t, 3, RNR, 1);
        if (twice)
            talk_ack(&t, 4, RNR, 1);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 2, 1, 1024, 3);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 3);
        talk_ack(&t, 3, SEQ_NAK, 1);
        expect_holds(&t, 1 + twice, 0);
    }
}

/* A WRITE overtakes two requests before it. The requester goes back, and then the first copy of the
 * WRITE arrives between the new copies of the two requests. So the responder sends a second
 * sequence NAK, although no request was lost. The requester goes back once more, and the responder
 * answers both copies of the READ: the first with the data from before the WRITE. A second answer
 * that counts too many messages is a difference. The requester may also go back further than the
 * second NAK demands. */
static void a_late_copy_of_a_later_request_may_cause_a_nak(void)
{
    const struct {
        uint32_t sends; /* number of copies of the SEND */
        uint32_t more;  /* messages that the second answer counts too many */
    } cases[] = {{2, 0}, {3, 0}, {2, 4096}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct talk t;
        uint32_t frame;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
        talk_ack(&t, 5, ACK, 1);
        for (unsigned copy = 0; copy < 3; copy++) {
            if (copy < cases[i].sends)
                talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 10, 1);
            talk_read(&t, 7, VA, RKEY, 64);
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 8, VA, RKEY, 64, 64, 3);
            if (copy == 0)
                talk_ack(&t, 6, SEQ_NAK, 1);
            if (copy == 1) {
                talk_ack(&t, 6, ACK, 2);
                talk_ack(&t, 7, SEQ_NAK, 2);
            }
        }
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 3, 64, 2);
        talk_ack(&t, 8, ACK, 4);
        frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 4 + cases[i].more, 64, 3);
        talk_ack(&t, 8, ACK, 4);
        if (cases[i].more == 0) {
            talk_expect_verdict(&t, VERDICT_PASS, 1);
        } else {
            talk_expect_diff(&t, PEER, frame, "aeth.msn");
            talk_free(&t);
        }
    }
}

/* The capture lacks a READ after a WRITE. The ACK of a duplicate WRITE counts the READ (D7). If the
 * identifications show that the capture has all packets of the requester, or if a later request was
 * captured, the MSN differs. */
static void an_ack_of_a_duplicate_counts_an_uncaptured_read(void)
{
    enum { LACKS, SHOWS_ALL, CONTINUES, FIRST_COPY, CASES };

    for (unsigned i = 0; i < CASES; i++) {
        uint32_t frame, copy = 0;
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 0; psn < 12; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, psn + 1);
        }
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 12, VA, RKEY, 20, 20, 1);
        if (i != FIRST_COPY) {
            talk_ack(&t, 12, ACK, 13);
            copy = talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 12, VA, RKEY, 20, 20, 1);
        }
        frame = talk_ack(&t, 12, ACK, 14);
        if (i == CONTINUES) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 13, 10, 1);
            talk_ack(&t, 13, ACK, 14);
        }
        talk_number(&t, i == SHOWS_ALL || i == CONTINUES ? 0 : copy);
        if (i == LACKS) {
            expect_holds(&t, 0, 1);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "aeth.msn");
        talk_free(&t);
    }
}

/* The capture lacks two READs. The responder answers a duplicate of the first one after the second
 * one, so its MSN counts both. If it counts more messages than the responses show PSNs, it differs.
 */
static void the_answer_to_an_uncaptured_duplicate_counts_later_reads(void)
{
    for (uint32_t msn = 4; msn <= 5; msn++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 5; psn < 7; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
            talk_ack(&t, psn, ACK, psn - 4);
        }
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 3, 64, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 4, 64, 3);
        frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, msn, 64, 2);
        if (msn == 4) {
            expect_holds(&t, 0, 0);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "answer");
        talk_free(&t);
    }
}

/* The first copy of a READ overtakes an earlier request, so the responder drops it. It answers the
 * second copy, executes a WRITE to the memory of the READ, and answers the third copy, faster than
 * any request before. The dropped copy has no response, so the first response has the old data. */
static void an_overtaking_copy_of_a_read_has_no_response(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 4, 10, 1);
    t.time += 3 * MS;
    talk_ack(&t, 4, ACK, 1);
    talk_read(&t, 6, VA, RKEY, 64);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 5, 10, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 9);
    t.time += 3 * MS;
    talk_ack(&t, 6, SEQ_NAK, 2);
    t.time += 1 * MS;
    talk_read(&t, 6, VA, RKEY, 64);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 7, VA, RKEY, 64, 64, 9);
    t.time += 4 * MS;
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 3, 64, 2);
    talk_ack(&t, 7, ACK, 4);
    t.time += 50 * MS;
    talk_read(&t, 6, VA, RKEY, 64);
    t.time += 2 * MS;
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6, 4, 64, 9);
    expect_holds(&t, 0, 0);
}

/* A retransmitted atomic reaches the responder's QP after a reset. The next use of the QPs
 * retransmits each request, and one of its requests has the PSN of the atomic. The atomic does not
 * belong to this use. A third use follows. */
static void a_late_retransmission_does_not_begin_the_next_use(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 18; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 100 + psn, 1);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 18, VA, RKEY, 1, 0);
    talk_atomic_ack(&t, 18, 19, 100);
    t.time += 15 * MS;
    talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 18, VA, RKEY, 1, 0);
    talk_ack(&t, 0, SEQ_NAK, 0);
    for (uint32_t psn = 0, i = 0; i < 60; psn = ++i / 2) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, VA, RKEY, 200 + psn, 200 + psn, 3);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    t.time += 2000 * MS;
    for (unsigned copy = 0; copy < 3; copy++) {
        talk_read(&t, 0, VA, RKEY, 64);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 64, 2);
        t.time += 10 * MS;
    }
    talk_number(&t, 0);
    talk_expect_verdict(&t, VERDICT_PASS, 3);
}

/* The network reorders the responses to READs. The responder's program deregisters the memory, and
 * the responder refuses a duplicate READ. The response to another READ is captured after this NAK,
 * and shows no message as executed that the NAK does not count. Without reordering, the NAK would
 * be the last response. */
static void a_refused_duplicate_may_precede_a_late_response(void)
{
    for (unsigned reordered = 0; reordered <= 1; reordered++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        for (uint32_t psn = 5; psn < 9; psn++)
            talk_read(&t, psn, VA, RKEY, 64);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 5, 1, 64, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 6 + reordered, 2 + reordered, 64, 2);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7 - reordered, 3 - reordered, 64, 2);
        t.time += 5 * MS;
        for (uint32_t psn = 6; psn < 9; psn++)
            talk_read(&t, psn, VA, RKEY, 64);
        frame = talk_ack(&t, 6, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 4);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 4, 64, 2);
        if (reordered) {
            expect_holds(&t, 0, 1);
            continue;
        }
        talk_expect_diff(&t, PEER, frame, "aeth.syndrome");
        talk_free(&t);
    }
}

SUITE("replay.network", TEST(start_msn_is_not_taken_from_acks_of_duplicates),
      TEST(start_msn_is_not_taken_from_two_equal_acks),
      TEST(a_delayed_request_arrives_as_a_duplicate), TEST(a_delayed_request_finds_no_receive_wqe),
      TEST(a_damaged_response_before_the_next_request_holds),
      TEST(a_damaged_response_inside_a_read_holds),
      TEST(a_damaged_ack_that_a_later_response_covers_holds),
      TEST(a_response_follows_many_duplicates), TEST(a_slow_responder_answers_each_copy_of_a_read),
      TEST(an_old_msn_after_a_long_time_shows_no_loss),
      TEST(an_ack_of_a_late_copy_follows_a_lost_response),
      TEST(a_first_message_of_several_packets_may_be_late),
      TEST(a_lost_refusal_inside_a_write_is_inconclusive),
      TEST(a_late_read_counts_in_the_ack_of_a_duplicate),
      TEST(a_sequence_nak_may_follow_a_lost_rnr_nak),
      TEST(a_sequence_nak_may_follow_rnr_naks_of_two_requests),
      TEST(an_ack_of_an_unseen_copy_counts_later_messages),
      TEST(an_ack_of_a_duplicate_counts_an_uncaptured_read),
      TEST(a_refused_duplicate_may_precede_a_late_response),
      TEST(an_overtaking_copy_of_a_read_has_no_response),
      TEST(a_late_retransmission_does_not_begin_the_next_use),
      TEST(the_answer_to_an_uncaptured_duplicate_counts_later_reads),
      TEST(a_requester_may_finish_its_retransmission_after_a_nak),
      TEST(a_responder_may_keep_more_resources_than_ours),
      TEST(a_wrong_ack_after_the_copy_of_an_old_read_is_the_only_difference),
      TEST(a_late_copy_of_a_later_request_may_cause_a_nak))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Uses of a QP pair: replay recognizes that QPs were reset and used again without CM, and begins no
 * use at a retransmission, a reordered packet or a wrong MSN.
 */
#include "infer/qp_uses.h"

#include "replay/checkrun.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

/* Returns how many directions of a capture send requests to a QP. */
static size_t count_directions(const char *path, uint32_t qpn)
{
    struct connections connections = {0};
    struct error error = {""};
    struct trace trace;
    size_t cnt = 0;

    if (trace_read(&trace, path, &error) != 0 ||
        connections_find(&connections, &trace, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    for (size_t i = 0; i < connections.dir_cnt; i++)
        cnt += trace.flow[connections.dir[i].req_flow].dest_qp == qpn;
    connections_free(&connections);
    trace_free(&trace);
    return cnt;
}

#define ACK 0x1F

#define LINUX_CAPTURES TRACES_DIR "/../tests/replay/linux/captures/"

/* A READ restarts inside an earlier READ, after requests that the network reordered. rnic/flow
 * reports a QP reuse there. The replay must assign this READ to the connection of the earlier
 * requests. */
static void a_restarted_read_begins_no_use(void)
{
    EXPECT_EQ(count_directions(LINUX_CAPTURES "reads-restarted-behind-reordering.pcap", 0x18), 1);
}

/* The network delays all ACKs, so the requester retransmits its first request after the responder
 * acknowledged it. The MSN of the responses does not begin at 0 again, so the replay must not
 * assume a QP reuse. */
static void a_late_repetition_of_the_first_request_begins_no_use(void)
{
    EXPECT_EQ(count_directions(LINUX_CAPTURES "first-request-repeated-late.pcap", 0x149), 1);
    EXPECT_EQ(count_directions(LINUX_CAPTURES "first-request-repeated-late.pcap", 0x100), 1);
}

/* Appends a READ of `cnt` response packets and its responses. */
static void add_read(struct talk *t, uint32_t psn, uint32_t cnt, uint32_t msn)
{
    talk_read(t, psn, 0x20000, 7, cnt * 512);
    for (uint32_t i = 0; i < cnt; i++)
        talk_read_resp(t,
                       i == 0         ? ROCE_OP_RC_READ_RESP_FIRST
                       : i == cnt - 1 ? ROCE_OP_RC_READ_RESP_LAST
                                      : ROCE_OP_RC_READ_RESP_MIDDLE,
                       psn + i, msn, 512, 3);
}

/* After RESET, the requester begins again at the first PSN, with an empty WRITE and a READ. Before
 * RESET, a READ restarted and the capture lacks requests, so rnic/flow reports the QP reuse only at
 * the request after the second connection's READ. The replay must begin the second connection at
 * the empty WRITE. */
static void an_empty_write_may_begin_the_next_use(void)
{
    struct talk t;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 0, 0x1000, 7, 1024, 512, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_LAST, 1, 0, 0, 0, 512, 2);
    talk_ack(&t, 1, 0x1F, 1);
    talk_send(&t, ROCE_OP_RC_SEND_MIDDLE, 8, 512, 1);
    talk_send(&t, ROCE_OP_RC_SEND_LAST, 11, 100, 1);
    talk_ack(&t, 11, 0x1F, 3);
    talk_read(&t, 12, 0x20000, 7, 40 * 512);
    talk_read(&t, 32, 0x20000 + 20 * 512, 7, 20 * 512);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 60, 0x3000, 7, 45, 45, 2);
    t.time += UINT64_C(3000000000);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, 0x5000, 7, 0, 0, 0);
    talk_ack(&t, 0, 0x1F, 1);
    add_read(&t, 1, 20, 2);
    for (uint32_t i = 0; i < 3; i++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 21 + i, 0x3000, 7, 200, 200, 2);
        talk_ack(&t, 21 + i, 0x1F, 3 + i);
    }
    capture_keep(&t.capture, checkrun_path("empty-start.pcap"));
    CHECKRUN_EXPECT("$R replay $T/empty-start.pcap", 0, "frames 10..38", "");
    talk_free(&t);
}

/* The requester retransmits from a READ, and an ACK of its earlier WRITE arrives late. The ACK has
 * a lower MSN than the response before the retransmission, but counts more messages than the
 * requester has sent since the retransmission began. This must not count as a QP reuse. */
static void a_late_ack_after_a_retransmission_begins_no_use(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 16, 1);
    for (unsigned copy = 0; copy < 3; copy++) {
        talk_read(&t, 1, 0x20000, 7, 512);
        talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 2, 0x1000, 7, 4 * 512, 512, 1);
        talk_write(&t, ROCE_OP_RC_WRITE_MIDDLE, 3, 0, 0, 0, 512, 2);
        talk_write(&t, ROCE_OP_RC_WRITE_MIDDLE, 4, 0, 0, 0, 512, 3);
        talk_write(&t, ROCE_OP_RC_WRITE_LAST, 5, 0, 0, 0, 512, 4);
        if (copy > 0)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 6, 16, 1);
        if (copy == 0)
            talk_ack(&t, 0, 0x1F, 1);
        talk_ack(&t, 5, 0x1F, 3);
        if (copy > 0)
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 1, 4, 512, 3);
    }
    talk_ack(&t, 6, 0x1F, 4);
    capture_keep(&t.capture, checkrun_path("late-ack.pcap"));
    EXPECT_EQ(count_directions(checkrun_path("late-ack.pcap"), 0x22), 1);
    talk_free(&t);
}

/* Stores the capture of the conversation as $T/NAME. Asserts that its replay has no difference, and
 * returns its number of directions. Frees the conversation. */
static size_t count_passed(struct talk *t, const char *name)
{
    struct replay replay;
    size_t cnt;

    capture_keep(&t->capture, checkrun_path(name));
    talk_replay(t, &replay, NULL);
    EXPECT_EQ(replay.responses.diff_cnt + replay.requests.diff_cnt, 0);
    cnt = replay.session.dir_cnt;
    replay_free(&replay);
    talk_free(t);
    return cnt;
}

/* Appends a use of the QP pair, that is, the packets from its connection to its reset: `cnt` SENDs
 * from PSN 0, each with its ACK. */
static void add_sends(struct talk *t, uint32_t cnt, uint32_t len, uint8_t seed)
{
    for (uint32_t i = 0; i < cnt; i++) {
        talk_send(t, ROCE_OP_RC_SEND_ONLY, i, len + i, (uint8_t)(seed + i));
        talk_ack(t, i, 0x1F, i + 1);
    }
}

/* Builds a conversation in which the QPs are reset twice and begin at PSN 0 again. Between the two
 * resets they exchange one message of 800 bytes. The first request after the second reset is a
 * WRITE, or a SEND of another length. */
static void add_short_use(struct talk *t, bool write)
{
    talk_init(t);
    add_sends(t, 12, 100, 1);
    talk_send(t, ROCE_OP_RC_SEND_ONLY, 0, 800, 5);
    talk_ack(t, 0, 0x1F, 1);
    t->time += UINT64_C(200000000);
    if (write)
        talk_write(t, ROCE_OP_RC_WRITE_ONLY, 0, 0x1000, 7, 16, 16, 2);
    else
        talk_send(t, ROCE_OP_RC_SEND_ONLY, 0, 799, 5);
    talk_ack(t, 0, 0x1F, 1);
    talk_read(t, 1, 0x2000, 7, 16);
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 16, 2);
}

/* The program resets the QPs before a response arrives. Then it begins with another request at the
 * same PSN. The requests before the reset cannot be replayed, and must not cause a difference. */
static void a_use_may_follow_a_use_without_responses(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_FIRST, 0, 1024, 1);
    talk_send(&t, ROCE_OP_RC_SEND_LAST, 1, 133, 2);
    t.time += 11000000;
    for (uint32_t psn = 0; psn < 3; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 23 + psn, (uint8_t)(7 + psn));
        talk_ack(&t, psn, 0x1F, psn + 1);
    }
    EXPECT_EQ(count_passed(&t, "no-response.pcap"), 1);
}

/* The last packet of a capture is a request with the first PSN of the use. It begins a new use if
 * it follows a pause, in which both QPs may have been reset. Otherwise its PSN is wrong. */
static void a_lone_request_begins_a_use_after_a_pause(void)
{
    struct talk t;

    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    t.time += 5000000;
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, 0x1000, 7, 16, 16, 2);
    EXPECT_EQ(count_passed(&t, "lone-request.pcap"), 1);
    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, 0x1000, 7, 16, 16, 2);
    talk_expect_verdict(&t, VERDICT_FAIL, 1);
}

/* The requester sends the same atomics before and after a reset of the QPs. After the reset, the
 * Atomic ACKs have other original values, and their MSNs count from 0 again. */
static void other_original_values_show_a_new_use(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t i = 0; i < 8; i++) {
        t.time += i == 4 ? 5000000 : 0;
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, i % 4, 0x1000, 7, 1, 0);
        talk_atomic_ack(&t, i % 4, i % 4 + 1, 100 + i);
    }
    EXPECT_EQ(count_passed(&t, "equal-atomics.pcap"), 2);
}

/* The program repeats its first atomic after a pause, and the responder executes it again. This is
 * a new use, or the responder executed a retransmission. If the original value cannot come from
 * another execution, the value is wrong. */
static void an_atomic_that_is_executed_again_is_inconclusive(void)
{
    struct replay replay;
    struct talk t;

    for (uint64_t second = 107; second <= 108; second++) {
        talk_init(&t);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 0, 0x1000, 7, 7, 0);
        talk_atomic_ack(&t, 0, 1, 100);
        t.time += 5000000;
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 0, 0x1000, 7, 7, 0);
        talk_atomic_ack(&t, 0, 1, second);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 1, 0x1000, 7, 7, 0);
        talk_atomic_ack(&t, 1, 2, 114);
        talk_replay(&t, &replay, NULL);
        EXPECT_EQ(replay.responses.diff_cnt > 0, second == 108);
        EXPECT_EQ(replay.session.dir_cnt, second == 107 ? 2 : 1);
        EXPECT_EQ(replay.responses.result[replay.session.dir_cnt - 1].inconclusive, second == 107);
        replay_free(&replay);
        talk_free(&t);
    }
}

/* After a reset of the QPs, the requester sends only one READ, which equals its first request
 * before the reset. Only the MSN of the response, which counts from 0 again, shows the reset. */
static void a_read_that_counts_from_0_shows_a_new_use(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, 0x1000, 7, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 64, 3);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 1, 16, 1);
    talk_ack(&t, 1, 0x1F, 2);
    t.time += 5000000;
    talk_read(&t, 0, 0x1000, 7, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 64, 3);
    EXPECT_EQ(count_passed(&t, "read-counts.pcap"), 2);
}

/* The network delays ACKs of retransmitted requests behind the response to a later READ. The MSN of
 * these ACKs is lower, but the QPs are reset only in the pause of 100 ms that follows. */
static void delayed_acks_begin_no_use(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 16, 1);
    talk_ack(&t, 0, 0x1F, 1);
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 1, 16, 2);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 2, 16, 3);
        if (copy == 1)
            talk_read(&t, 3, 0x1000, 7, 64);
        talk_ack(&t, 2, 0x1F, 3);
        t.time += 6000000;
    }
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 3, 4, 64, 3);
    talk_ack(&t, 2, 0x1F, 3);
    talk_ack(&t, 2, 0x1F, 3);
    t.time += 100000000;
    for (uint32_t psn = 0; psn < 8; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 23 + psn, (uint8_t)(7 + psn));
        talk_ack(&t, psn, 0x1F, psn + 1);
    }
    EXPECT_EQ(count_passed(&t, "delayed-acks.pcap"), 2);
}

/* Between two resets, the QPs exchange one message. Only the first request after the second reset
 * shows that reset. It shows the reset if it differs from the message in opcode and length. If only
 * its length differs, it may be an altered retransmission. */
static void a_use_of_one_message_is_a_use(void)
{
    struct replay replay;
    struct talk t;

    add_short_use(&t, true);
    EXPECT_EQ(count_passed(&t, "short-use.pcap"), 3);
    add_short_use(&t, false);
    talk_replay(&t, &replay, NULL);
    EXPECT_EQ(replay.session.dir_cnt, 2);
    EXPECT_EQ(replay.requests.diff_cnt, 1);
    replay_free(&replay);
    talk_free(&t);
}

/* The network delays the first request after a reset of the QPs. So the first captured packets
 * after the reset are the second request and the sequence NAK for the first one. */
static void a_use_may_begin_with_a_reordered_request(void)
{
    struct talk t;

    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, 0x1000, 7, 300, 300, 2);
    talk_ack(&t, 0, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 0);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, 0x2000, 7, 200, 200, 3);
    talk_ack(&t, 0, 0x1F, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, 0x1000, 7, 300, 300, 2);
    talk_ack(&t, 1, 0x1F, 2);
    EXPECT_EQ(count_passed(&t, "reordered-start.pcap"), 2);
}

/* Appends a use of the QP pair that begins with a READ at PSN 0. The READ has two responses if
 * `len` is greater than 512. They are not captured if `seen` is false. */
static void add_read_use(struct talk *t, uint32_t len, bool seen, bool restarts)
{
    uint32_t cnt = len > 512 ? 2 : 1;

    talk_read(t, 0, 0x20000, 7, len);
    for (uint32_t psn = 0; psn < cnt && seen; psn++)
        talk_read_resp(t,
                       cnt == 1   ? ROCE_OP_RC_READ_RESP_ONLY
                       : psn == 0 ? ROCE_OP_RC_READ_RESP_FIRST
                                  : ROCE_OP_RC_READ_RESP_LAST,
                       psn, 1, len / cnt, 3);
    if (restarts) {
        talk_read(t, 1, 0x20000 + len / 2, 7, len / 2);
        talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, 1, 1, len / 2, 3);
    }
    for (uint32_t psn = cnt; psn < 12; psn++) {
        talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 100 + psn, (uint8_t)psn);
        talk_ack(t, psn, 0x1F, psn + 2 - cnt);
    }
}

/* The capture lacks the first request after a reset of the QPs. Before the reset, PSN 1 was inside
 * a READ, as its length or its responses show. So the request with PSN 1 begins the new use, unless
 * it restarts the READ. */
static void a_request_inside_a_read_shows_a_new_use(void)
{
    const uint32_t len[] = {1024, 8192};
    struct talk t;

    for (unsigned i = 0; i < 4; i++) {
        talk_init(&t);
        add_read_use(&t, len[i % 2], i % 2 == 0, false);
        t.time += UINT64_C(2000000000);
        for (unsigned copy = 0; copy < 2; copy++) {
            if (copy == 1)
                talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, 0x2000, 7, 200, 200, 3);
            if (i < 2)
                talk_read(&t, 1, 0x3000, 7, 100);
            else
                talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, 0x3000, 7, 100, 100, 4);
            t.time += copy == 0 ? 70000000 : 0;
        }
        talk_ack(&t, 0, 0x1F, 1);
        if (i < 2)
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 100, 4);
        else
            talk_ack(&t, 1, 0x1F, 2);
        for (uint32_t psn = 2; psn < 8; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 300 + psn, (uint8_t)psn);
            talk_ack(&t, psn, 0x1F, psn + 1);
        }
        EXPECT_EQ(count_passed(&t, "inside-read.pcap"), 2);
        CHECKRUN_EXPECT("$R replay $T/inside-read.pcap", 0,
                        i % 2 == 0 ? "frames 24..40" : "frames 22..38", "");
    }
    for (unsigned i = 0; i < 2; i++) {
        talk_init(&t);
        add_read_use(&t, i == 0 ? 1024 : 300, true, i == 0);
        EXPECT_EQ(count_passed(&t, "one-read.pcap"), 1);
    }
}

/* The network reorders the first four requests of a connection: the request with PSN 3 is captured
 * first. The first response has PSN 1 and MSN 2, so the connection begins with PSN 0, and replay
 * must not take PSN 3 for its first PSN. */
static void the_msn_shows_the_first_of_reordered_requests(void)
{
    const uint32_t psn[] = {3, 0, 1, 2, 3};
    struct replay replay;
    struct talk t;

    talk_init(&t);
    for (uint32_t i = 0; i < 5; i++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn[i], 0x1000 * psn[i], 7, 100, 100, 2);
        if (i > 1)
            talk_ack(&t, psn[i], 0x1F, psn[i] + 1);
    }
    talk_replay(&t, &replay, NULL);
    EXPECT_EQ(replay.session.dir[0].setup.first, -3);
    EXPECT_EQ(replay.responses.diff_cnt + replay.requests.diff_cnt, 0);
    replay_free(&replay);
    talk_free(&t);
}

/* A program runs twice and sends the same messages. Only the MSN shows that the QPs were reset. */
static void equal_uses_are_told_apart_by_the_msn(void)
{
    struct talk t;

    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    t.time += UINT64_C(1000000000);
    add_sends(&t, 12, 100, 1);
    EXPECT_EQ(count_passed(&t, "equal-uses.pcap"), 2);
}

/* The requester retransmits a READ until its retries are used up, and the QPs are reset. The replay
 * must begin the second connection after these retransmissions, at an earlier PSN. */
static void a_use_begins_after_the_last_retries_of_the_use_before(void)
{
    struct replay replay;
    struct talk t;
    uint32_t first;

    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    talk_read(&t, 12, 0x1000, 7, 100);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 12, 13, 100, 1);
    for (uint32_t i = 0; i < 6; i++) {
        t.time += 20000000;
        first = talk_read(&t, 12, 0x1000, 7, 100) + 1;
    }
    add_sends(&t, 12, 200, 3);
    talk_replay(&t, &replay, NULL);
    CU_ASSERT_EQUAL_FATAL(replay.session.dir_cnt, 2);
    EXPECT_EQ(event_packet(&replay.session.dir[1].setup, 0)->frame, first);
    replay_free(&replay);
    talk_free(&t);
}

/* Builds a conversation in which the last request before a reset has no response. The responder is
 * reset first. It then receives this request and sends a sequence NAK. The IPv4 identifications
 * show that it sent the NAK after the responses with higher MSNs. Returns the frame of the response
 * to the second request after the reset, which has MSN `msn`. */
static uint32_t add_stale_request(struct talk *t, uint32_t msn)
{
    uint32_t frame;

    talk_init(t);
    add_sends(t, 12, 100, 1);
    for (uint32_t copy = 0; copy < 3; copy++)
        talk_send(t, ROCE_OP_RC_SEND_ONLY, 12, 100, 1);
    talk_ack(t, 0, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 0);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 0, 0x2000, 7, 200, 200, 3);
    talk_ack(t, 0, 0x1F, 1);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 1, 0x1000, 7, 300, 300, 2);
    frame = talk_ack(t, 1, 0x1F, msn);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 2, 0x1000, 7, 400, 400, 2);
    talk_ack(t, 2, 0x1F, 3);
    talk_number(t, 0);
    return frame;
}

/* A request from before the reset is retransmitted, and reaches the responder's QP after the reset.
 * This must pass. A wrong MSN of a later response must still be a difference. */
static void a_request_may_arrive_in_the_next_use(void)
{
    struct talk t;
    uint32_t frame;

    add_stale_request(&t, 2);
    EXPECT_EQ(count_passed(&t, "stale-request.pcap"), 2);
    frame = add_stale_request(&t, 9);
    talk_expect_diff(&t, NULL, frame, "aeth.msn");
    talk_free(&t);
}

/* Appends the packets of a WRITE of four path MTUs at PSN 10, from packet `from`. */
static void add_long_write(struct talk *t, uint32_t from)
{
    for (uint32_t i = from; i < 4; i++)
        talk_write(t,
                   i == 0   ? ROCE_OP_RC_WRITE_FIRST
                   : i == 3 ? ROCE_OP_RC_WRITE_LAST
                            : ROCE_OP_RC_WRITE_MIDDLE,
                   10 + i, 0x3000, 7, 4 * 512, 512, (uint8_t)i);
}

/* Builds a conversation in which the responder is reset first, then receives a retransmission from
 * before the reset, and sends a sequence NAK. The NAK is captured after all requests of the first
 * use and before those of the next one. Both uses begin at PSN 0, the first one with a READ. The
 * NAK has MSN `msn`. If `later` is true, the responder acknowledges the last message of the first
 * use once more after the NAK. Returns the frame of the NAK. */
static uint32_t add_early_nak(struct talk *t, uint32_t msn, bool later)
{
    uint32_t frame;

    talk_init(t);
    add_read(t, 0, 4, 1);
    for (uint32_t psn = 4; psn < 10; psn++) {
        talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 100, (uint8_t)psn);
        talk_ack(t, psn, ACK, psn - 2);
    }
    add_long_write(t, 0);
    talk_ack(t, 11, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 7);
    add_long_write(t, 1);
    talk_ack(t, 13, ACK, 8);
    talk_ack(t, 13, ACK, 8);
    frame = talk_ack(t, 0, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, msn);
    if (later)
        talk_ack(t, 13, ACK, 8);
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, 0, 0x1000, 7, 1, 0);
    talk_atomic_ack(t, 0, 1, 100);
    for (uint32_t psn = 1; psn < 4; psn++) {
        talk_send(t, ROCE_OP_RC_SEND_ONLY, psn, 200 + psn, (uint8_t)psn);
        talk_ack(t, psn, ACK, psn + 1);
    }
    talk_number(t, 0);
    return frame;
}

/* The responder's sequence NAK for a retransmission from before the reset belongs to the next use.
 * It is a difference if it counts a message, or if the responder continues the use before. */
static void a_nak_with_msn_0_may_begin_the_next_use(void)
{
    struct talk t;
    uint32_t frame;

    add_early_nak(&t, 0, false);
    EXPECT_EQ(count_passed(&t, "early-nak.pcap"), 2);
    frame = add_early_nak(&t, 1, false);
    talk_expect_diff(&t, NULL, frame, "aeth.syndrome");
    talk_free(&t);
    frame = add_early_nak(&t, 0, true);
    talk_expect_diff(&t, NULL, frame, "aeth.msn");
    talk_free(&t);
}

/* After the reset, the responder received and executed copies of the first two requests from before
 * the reset. So the first two requests from after the reset are duplicates, and their ACKs count
 * two messages. A response that counts a third message must still be a difference. */
static void a_request_may_be_executed_in_the_next_use(void)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct talk t;
        uint32_t frame = 0;

        talk_init(&t);
        for (uint32_t copy = 0; copy < 2; copy++)
            for (uint32_t psn = 0; psn < 2; psn++)
                talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 100 + psn, (uint8_t)(1 + psn));
        talk_ack(&t, 1, 0x1F, 2);
        for (uint32_t psn = 2; psn < 12; psn++) {
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 100 + psn, (uint8_t)(1 + psn));
            talk_ack(&t, psn, 0x1F, psn + 1);
        }
        for (uint32_t psn = 0; psn < 8; psn++) {
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, 0x1000, 7, 300 + psn, 300 + psn, 2);
            frame = talk_ack(&t, psn < 2 ? 1 : psn, 0x1F,
                             (psn < 2 ? 2 : psn + 1) + (psn == 7 ? more : 0));
        }
        talk_number(&t, 0);
        if (more) {
            talk_expect_diff(&t, NULL, frame, "aeth.msn");
            talk_free(&t);
        } else {
            EXPECT_EQ(count_passed(&t, "stale-executed.pcap"), 2);
        }
    }
}

/* After RESET, Linux rxe sends two empty WRITEs, and retransmits the later requests with lower
 * PSNs, as if an empty WRITE had not been sent (D57). The capture lacks the first transmission of
 * the READ, so no packet shows the PSN that the READ had first. */
static void shifted_psns_after_empty_writes_begin_no_use(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 2; psn++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, 0, 0, 0, 0, 0);
        talk_ack(&t, psn, 0x1F, psn + 1);
    }
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 2, 100, 1);
    for (unsigned copy = 0; copy < 6; copy++) {
        t.time += 20000000;
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 1, 100, 1);
        talk_read(&t, 2, 0x1000, 7, 100);
    }
    talk_ack(&t, 2, 0x1F, 3);
    capture_keep(&t.capture, checkrun_path("shifted.pcap"));
    EXPECT_EQ(count_directions(checkrun_path("shifted.pcap"), 0x22), 1);
    talk_free(&t);
}

/* After RESET, Linux rxe sends three empty WRITEs and six SENDs. It retransmits the SENDs with
 * lower PSNs, without the empty WRITEs (D57). Then the requester sends new requests with PSNs that
 * SENDs had before. The replay must not assume a QP reuse, because no request was sent with two
 * contents. But if the requester retransmits only three SENDs, the new requests replace the others,
 * and one use does not explain them. */
static void new_requests_after_shifted_psns_begin_no_use(void)
{
    for (uint32_t cnt = 3; cnt <= 6; cnt += 3) {
        struct talk t;

        talk_init(&t);
        for (uint32_t i = 0; i < 3; i++)
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, i, 0, 0, 0, 0, 0);
        for (uint32_t i = 0; i < 6; i++)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, 3 + i, 100 + i, (uint8_t)(1 + i));
        talk_ack(&t, 0, 0x60, 0);
        t.time += 100000000;
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 0, 0);
        for (uint32_t i = 0; i < cnt; i++)
            talk_send(&t, ROCE_OP_RC_SEND_ONLY, i, 100 + i, (uint8_t)(1 + i));
        talk_ack(&t, 0, 0x1F, 1);
        for (uint32_t i = 0; i < 3; i++)
            talk_write(&t, ROCE_OP_RC_WRITE_ONLY, cnt + i, 0x1000, 7, 200 + i, 200 + i,
                       (uint8_t)(10 + i));
        capture_keep(&t.capture, checkrun_path("new-shifted.pcap"));
        EXPECT_EQ(count_directions(checkrun_path("new-shifted.pcap"), 0x22), cnt == 6 ? 1 : 2);
        talk_free(&t);
    }
}

/* One request has a wrong, lower PSN. The replay must not assume a QP reuse, although the MSN is
 * still low. */
static void one_wrong_psn_begins_no_use(void)
{
    struct talk t;

    talk_init(&t);
    add_sends(&t, 2, 100, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 102, 3);
    talk_ack(&t, 2, 0x1F, 3);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 3, 103, 4);
    talk_ack(&t, 3, 0x1F, 4);
    capture_keep(&t.capture, checkrun_path("wrong-psn.pcap"));
    EXPECT_EQ(count_directions(checkrun_path("wrong-psn.pcap"), 0x22), 1);
    talk_free(&t);
}

/* One MSN after a retransmission is wrong, and the QPs are reset soon afterwards. The replay must
 * not assume another reset at the wrong MSN. */
static void one_wrong_msn_before_a_use_begins_no_other_use(void)
{
    struct talk t;
    uint32_t frame;

    talk_init(&t);
    add_sends(&t, 12, 100, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 8, 108, 9);
    talk_read(&t, 12, 0x1000, 7, 3000);
    frame = talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 12, 13 + 4096, 3000, 1);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 13, 100, 9);
    talk_ack(&t, 13, 0x1F, 14);
    add_sends(&t, 6, 300, 1);
    talk_expect_diff(&t, NULL, frame, "aeth.msn");
    talk_free(&t);
}

/* Adds a SEND from the responder's host, without a response. */
static void send_back(struct talk *t)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_SEND_ONLY, 500, false);
    talk_add(t, &pkt);
}

/* Builds a conversation of one SEND or READ of one packet, and seven WRITEs of eight packets.
 * Response number `wrong`, counted from 0, has MSN `msn`; the MSNs of the others are right. After
 * response `wrong`, the responder's host also sends a SEND. Returns the frame of response `wrong`.
 */
static uint32_t add_wrong_msn(struct talk *t, bool read, uint32_t wrong, uint32_t msn)
{
    uint32_t frame = 0;

    talk_init(t);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t psn = 8 * i, at, counted = i == wrong ? msn : i + 1;

        if (i == 0 && read)
            talk_read(t, psn + 7, 0x20000, 7, 64);
        else if (i == 0)
            talk_send(t, ROCE_OP_RC_SEND_ONLY, psn + 7, 64, 1);
        for (uint32_t k = 0; i > 0 && k < 8; k++)
            talk_write(t,
                       k == 0   ? ROCE_OP_RC_WRITE_FIRST
                       : k == 7 ? ROCE_OP_RC_WRITE_LAST
                                : ROCE_OP_RC_WRITE_MIDDLE,
                       psn + k, 0x1000, 7, 8 * 512, 512, (uint8_t)(i + k));
        at = i == 0 && read ? talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn + 7, counted, 64, 3)
                            : talk_ack(t, psn + 7, ACK, counted);
        if (i != wrong)
            continue;
        frame = at;
        send_back(t);
    }
    return frame;
}

/* One response has a wrong MSN, and the responses after it have lower MSNs. Right after the wrong
 * response, the responder's host sends its first request. The PSNs show that the QPs were not reset
 * there. */
static void one_wrong_msn_before_lower_ones_begins_no_use(void)
{
    const struct {
        bool read;
        uint32_t wrong, msn;
    } cases[] = {{false, 0, 9}, {true, 0, 9}, {true, 0, 99}, {false, 3, 12}, {false, 5, 16}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct talk t;
        uint32_t frame = add_wrong_msn(&t, cases[i].read, cases[i].wrong, cases[i].msn);

        talk_expect_diff(&t, NULL, frame, "aeth.msn");
        talk_free(&t);
    }
}

/* The first response has a wrong MSN, and RNR NAKs with the right MSN follow. */
static void one_wrong_msn_before_rnr_naks_begins_no_use(void)
{
    struct talk t;
    uint32_t frame;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 7, 64, 1);
    frame = talk_ack(&t, 7, ACK, 9);
    send_back(&t);
    for (uint32_t copy = 0; copy < 4; copy++) {
        t.time += 1000000;
        talk_send(&t, ROCE_OP_RC_SEND_FIRST, 8, 1024, 2);
        talk_send(&t, ROCE_OP_RC_SEND_MIDDLE, 9, 1024, 3);
        talk_send(&t, ROCE_OP_RC_SEND_LAST, 10, 64, 4);
        if (copy < 3)
            talk_ack(&t, 8, ROCE_SYNDROME_RNR | 1, 1);
    }
    talk_ack(&t, 10, ACK, 2);
    talk_expect_diff(&t, NULL, frame, "aeth.msn");
    talk_free(&t);
}

/* The first response has a wrong MSN. The QPs are reset later, but no response before that shows an
 * earlier reset of the responder. */
static void one_wrong_msn_long_before_a_use_shows_no_reset(void)
{
    struct talk t;
    uint32_t frame = add_wrong_msn(&t, false, 0, 9);

    t.time += UINT64_C(1000000000);
    add_sends(&t, 12, 100, 1);
    talk_expect_diff(&t, NULL, frame, "aeth.msn");
    talk_free(&t);
}

SUITE("replay.qp_uses", TEST(a_restarted_read_begins_no_use),
      TEST(a_late_repetition_of_the_first_request_begins_no_use),
      TEST(an_empty_write_may_begin_the_next_use),
      TEST(a_late_ack_after_a_retransmission_begins_no_use),
      TEST(a_use_may_begin_with_a_reordered_request), TEST(a_request_inside_a_read_shows_a_new_use),
      TEST(equal_uses_are_told_apart_by_the_msn),
      TEST(the_msn_shows_the_first_of_reordered_requests), TEST(one_wrong_psn_begins_no_use),
      TEST(a_use_of_one_message_is_a_use), TEST(a_use_may_follow_a_use_without_responses),
      TEST(a_lone_request_begins_a_use_after_a_pause),
      TEST(an_atomic_that_is_executed_again_is_inconclusive),
      TEST(other_original_values_show_a_new_use), TEST(a_read_that_counts_from_0_shows_a_new_use),
      TEST(delayed_acks_begin_no_use), TEST(a_use_begins_after_the_last_retries_of_the_use_before),
      TEST(shifted_psns_after_empty_writes_begin_no_use),
      TEST(a_nak_with_msn_0_may_begin_the_next_use),
      TEST(new_requests_after_shifted_psns_begin_no_use),
      TEST(a_request_may_arrive_in_the_next_use), TEST(a_request_may_be_executed_in_the_next_use),
      TEST(one_wrong_msn_before_a_use_begins_no_other_use),
      TEST(one_wrong_msn_before_lower_ones_begins_no_use),
      TEST(one_wrong_msn_before_rnr_naks_begins_no_use),
      TEST(one_wrong_msn_long_before_a_use_shows_no_reset))

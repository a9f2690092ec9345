/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that the replay orders packets by their IPv4 identifications, which show the order in which
 * an endpoint sent packets that the network reordered before the capture point. */
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define ACK      (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define RNR      (ROCE_SYNDROME_RNR | 31)
#define SEQ_NAK  (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define MESSAGES 12u /* number of SENDs at the start; they show increasing identifications */

static void add_send(struct talk *t, uint16_t id, uint32_t psn)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_SEND_ONLY, psn, true);
    pkt.ip4.id = id;
    talk_add(t, &pkt);
}

static void add_ack(struct talk *t, uint16_t id, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_ACK, psn, false);
    pkt.ip4.id = id;
    pkt.aeth = (struct roce_aeth){.syndrome = syndrome, .msn = msn};
    talk_add(t, &pkt);
}

static void add_messages(struct talk *t)
{
    talk_init(t);
    for (uint16_t i = 0; i < MESSAGES; i++) {
        add_send(t, i, i);
        add_ack(t, i, i, ACK, i + 1);
    }
}

/* Expects no difference, and `known` responses with a known deviation of Linux 6.1. */
static void expect_holds(struct talk *t, uint32_t known)
{
    struct replay r;

    if (talk_replay(t, &r, "linux-rxe-6.1") == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        if (report_verdict(&r) != VERDICT_PASS)
            report_text(stdout, &r, &(struct report_options){.ladder = true});
        EXPECT_EQ(r.responses.result[0].known_frames, known);
        EXPECT_EQ(r.responses.result[0].inconclusive, 0);
    }
    replay_free(&r);
    talk_free(t);
}

/* The request with PSN 13 finds no receive WQE, and the one with PSN 14 causes a sequence NAK (D8).
 * The NAK overtakes the ACK of PSN 12 and the RNR NAK. */
static void responses_are_compared_in_the_order_sent(void)
{
    struct talk t;

    add_messages(&t);
    add_send(&t, 12, 12);
    add_send(&t, 13, 13);
    add_send(&t, 14, 14);
    add_ack(&t, 14, 13, SEQ_NAK, 13);
    add_send(&t, 15, 13);
    add_send(&t, 16, 14);
    add_ack(&t, 12, 12, ACK, 13);
    add_ack(&t, 13, 13, RNR, 13);
    add_ack(&t, 15, 13, ACK, 14);
    add_ack(&t, 16, 14, ACK, 15);
    expect_holds(&t, 1);
}

/* The network copies a request, and the copy arrives 3 ms later, after a response. The requester
 * did not retransmit it. */
static void a_late_copy_by_the_network_is_no_retransmission(void)
{
    struct replay r;
    struct talk t;

    add_messages(&t);
    add_send(&t, 12, 12);
    add_ack(&t, 12, 12, ACK, 13);
    t.time += 3000000;
    add_send(&t, 12, 12);
    add_send(&t, 13, 13);
    add_ack(&t, 13, 12, ACK, 13);
    add_ack(&t, 14, 13, ACK, 14);
    CU_ASSERT_EQUAL_FATAL(talk_replay(&t, &r, NULL), 0);
    EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
    EXPECT_EQ(r.requests.result[0].go_backs, 0);
    EXPECT_EQ(r.requests.result[0].wire_duplicates, 1);
    replay_free(&r);
    talk_free(&t);
}

static void add_write(struct talk *t, uint32_t psn)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_WRITE_ONLY, psn, true);
    pkt.ip4.id = (uint16_t)psn;
    pkt.bth.ackreq = true;
    pkt.reth = (struct roce_reth){.va = 0x1000, .rkey = 7};
    talk_add(t, &pkt);
}

/* The capture lacks the requests that the NAKs name. So the replay splits the direction into the
 * packets before this gap and those after it. The WRITE with PSN 171 was sent first, so the part
 * after the gap begins with it, and has the same gap again. A second split would not divide this
 * part, so the replay must add it only once. */
static void rest_behind_a_gap_that_cannot_be_divided_is_added_once(void)
{
    static const uint16_t before[] = {85, 713, 100, 101}, after[] = {163, 170, 171, 172, 173};
    struct replay r;
    struct talk t;

    talk_init(&t);
    add_ack(&t, 72, 72, SEQ_NAK, 72);
    add_write(&t, 269);
    for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        add_ack(&t, before[i], before[i], SEQ_NAK, before[i]);
    add_write(&t, 171);
    for (unsigned i = 0; i < sizeof(after) / sizeof(after[0]); i++)
        add_ack(&t, after[i], after[i], SEQ_NAK, after[i]);
    talk_replay(&t, &r, NULL);
    EXPECT_EQ(r.session.dir_cnt, 2);
    replay_free(&r);
    talk_free(&t);
}

SUITE("replay.sent_order", TEST(responses_are_compared_in_the_order_sent),
      TEST(rest_behind_a_gap_that_cannot_be_divided_is_added_once),
      TEST(a_late_copy_by_the_network_is_no_retransmission))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The requester oracle predicts the counters of a requester from its packets. If the cause of an
 * event is not certain, the oracle leaves the count open, as a range. These tests show that counts
 * with a certain cause are exact, so that the comparison in test_scenario.c can find errors (R137,
 * R139, R144, R149, R152, R156, R161).
 */
#include "support/pktgen.h"
#include "support/requester_oracle.h"
#include "support/suite.h"
#include "wire/codes.h"

#define FIRST 0xFFFFFEu /* first PSN, just below the wrap (R062) */
#define MTU   256u
#define T     UINT64_C(1000)

static struct requester_oracle w;
static struct pktgen gen;

static void begin(void)
{
    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    oracle_free(&w);
    oracle_init(&w, FIRST, MTU, T);
}

static void writes(uint32_t at, uint64_t now)
{
    struct roce_pkt pkt =
        pktgen_write(&gen, ROCE_OP_RC_WRITE_ONLY, (FIRST + at) & ROCE_PSN_MASK, 0, 1, 0, NULL, 0);

    oracle_sent(&w, &pkt, now);
}

static void reads(uint32_t at, uint32_t packets, uint64_t now)
{
    struct roce_pkt pkt = pktgen_read(&gen, (FIRST + at) & ROCE_PSN_MASK, 0, 1, packets * MTU);

    oracle_sent(&w, &pkt, now);
}

static void acks(uint32_t at, uint8_t syndrome, uint64_t now, bool behind)
{
    struct roce_pkt pkt = pktgen_pkt(&gen, ROCE_OP_RC_ACK, (FIRST + at) & ROCE_PSN_MASK);

    pkt.aeth.syndrome = syndrome;
    oracle_got(&w, &pkt, now, behind);
}

static void answers(uint32_t at, uint64_t now)
{
    struct roce_pkt pkt =
        pktgen_pkt(&gen, ROCE_OP_RC_READ_RESP_MIDDLE, (FIRST + at) & ROCE_PSN_MASK);

    oracle_got(&w, &pkt, now, false);
}

static void expect(enum oracle_count what, uint64_t least, uint64_t most)
{
    struct oracle_range range = oracle_count(&w, what);

    EXPECT_EQ(range.least, least);
    EXPECT_EQ(range.most, most);
}

#define ACK     (ROCE_SYNDROME_ACK | 31u) /* ACK syndrome without credits */
#define NAK_SEQ (ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ)
#define RNR     (ROCE_SYNDROME_RNR | 1u)

static void counters_equal_the_known_causes(void)
{
    uint64_t now = 0;

    begin();
    for (uint32_t i = 0; i < 2; i++)
        writes(i, now);
    acks(1, NAK_SEQ, now += 10, false); /* the sequence NAK acknowledges request 0 */
    acks(1, NAK_SEQ, now += 10, false); /* a duplicate NAK is not counted (R161) */
    expect(ORACLE_packet_seq_err, 1, 1);
    writes(1, now);
    acks(1, NAK_SEQ, now += 10, false);
    expect(ORACLE_packet_seq_err, 1, 1);
    acks(0, ACK, now += 10, false);
    expect(ORACLE_duplicate_response, 1, 1);
    writes(1, now += T); /* a retransmission after a timeout (R149) */
    expect(ORACLE_local_ack_timeout_err, 1, 1);
    acks(1, RNR, now += 10, false);
    acks(1, RNR, now += 10, false);
    expect(ORACLE_rnr_nak_retry_err, 1, 1);
    writes(1, now += roce_rnr_ns(1));
    acks(1, ACK, now += 10, false);
    reads(2, 3, now);
    writes(5, now);
    answers(2, now += 10);
    acks(5, ACK, now += 10, false); /* implied NAK for READ responses 3 and 4 */
    expect(ORACLE_implied_nak_seq_err, 1, 1);
    reads(3, 2, now);
    answers(4, now += 10); /* the READ responses arrive a second time and are not counted (R161) */
    expect(ORACLE_implied_nak_seq_err, 1, 1);
    expect(ORACLE_local_ack_timeout_err, 1, 1);
    expect(ORACLE_packet_seq_err, 1, 1);
}

/* The NAK arrives at time T, so the timer may have fired just before. Later packets do not show
 * which of the two the requester counts. So the oracle must leave the counts open. */
static void nak_at_the_timeout_leaves_the_cause_open(void)
{
    begin();
    writes(0, 0);
    writes(1, 0);
    acks(0, NAK_SEQ, T, true);
    writes(0, 2 * T);
    writes(1, 2 * T);
    acks(1, ACK, 2 * T + 1, false);
    expect(ORACLE_packet_seq_err, 0, 1);
    expect(ORACLE_local_ack_timeout_err, 0, 1);
}

/* The NAK arrives before time T, or the link was free at time T. So the timer cannot have fired
 * before the NAK, and the count must be exact. */
static void nak_before_the_timeout_excludes_the_timer(void)
{
    begin();
    writes(0, 0);
    acks(0, NAK_SEQ, T - 1, true);
    writes(0, T);
    acks(0, NAK_SEQ, 3 * T, false);
    writes(0, 4 * T);
    expect(ORACLE_packet_seq_err, 1, 1);
    expect(ORACLE_local_ack_timeout_err, 1, 1);
}

static void next_request_shows_whether_the_timer_fired(void)
{
    for (uint32_t next = 1; next <= 2; next++) {
        begin();
        writes(0, 0);
        writes(1, 0);
        acks(0, ACK, T, true);
        expect(ORACLE_local_ack_timeout_err, 0, 1);
        writes(next, T + 1);
        expect(ORACLE_local_ack_timeout_err, next == 1, next == 1);
    }
}

static void exhausted_retries_count_the_last_cause(void)
{
    begin();
    writes(0, 0);
    oracle_ended(&w, ORACLE_END_RETRIES, T);
    expect(ORACLE_local_ack_timeout_err, 1, 1);
    begin();
    writes(0, 0);
    acks(0, NAK_SEQ, T, false);
    oracle_ended(&w, ORACLE_END_RETRIES, T);
    expect(ORACLE_local_ack_timeout_err, 0, 0);
    expect(ORACLE_packet_seq_err, 1, 1);
    oracle_free(&w);
}

SUITE("sim.witness", TEST(counters_equal_the_known_causes),
      TEST(nak_at_the_timeout_leaves_the_cause_open),
      TEST(nak_before_the_timeout_excludes_the_timer),
      TEST(next_request_shows_whether_the_timer_fired),
      TEST(exhausted_retries_count_the_last_cause))

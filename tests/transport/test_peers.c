/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Unusual peers that obey the rules. Responders: acknowledge very rarely or every packet, never
 * grant a credit, or repeat every response late. Requesters: never request an acknowledgement, or
 * retransmit without need. R numbers are rules of rnic/rules.md.
 */
#include "support/requester_fixture.h"
#include "support/responder_fixture.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

#define OK     RNIC_WC_SUCCESS
#define ACK    (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK(n) (ROCE_SYNDROME_NAK | (n))
#define FIRST  ROCE_OP_RC_READ_RESP_FIRST
#define MIDDLE ROCE_OP_RC_READ_RESP_MIDDLE
#define LAST   ROCE_OP_RC_READ_RESP_LAST

static struct requester_fixture req;
static struct responder_fixture resp;
static const uint8_t data[RESPONDER_MTU];

/* ---- unusual responders ---------------------------------------------------------------------- */

/* The peer acknowledges every packet, with or without AckReq, and sends each ACK twice (R064,
 * R099). */
static void ack_for_each_packet_is_accepted(void)
{
    requester_init(&req);
    requester_post(&req, 1, RNIC_WR_WRITE, 0, 4 * REQUESTER_MTU);
    requester_post(&req, 2, RNIC_WR_SEND, 0, 0);
    EXPECT_EQ(requester_out_all(&req), 5);
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT_EQ(requester_ack(&req, i), RNIC_COMP_ACKNOWLEDGE);
        EXPECT_EQ(requester_ack(&req, i), RNIC_COMP_DUPLICATE);
        EXPECT_EQ(req.wc_cnt, i < 3 ? 0 : i - 2);
    }
    requester_expect_wc(&req, 1, OK);
    requester_expect_wc(&req, 2, OK);
    EXPECT_EQ(req.req.retry.deadline, RNIC_RETRY_NEVER);
    EXPECT_EQ(req.counters.duplicate_response, 5);
    requester_free(&req);
}

/*
 * The maximum number of PSNs is unanswered: half of the PSN space. A SEND has the first of these
 * PSNs, a READ has all later ones. The response to the last PSN also acknowledges all earlier
 * requests. A response one PSN later is a ghost ACK, which must be ignored (R060, R064, R137).
 */
static void half_the_circle_unanswered(void)
{
    const uint32_t span = (uint32_t)RNIC_PSN_SPAN;

    requester_init(&req);
    requester_post(&req, 1, RNIC_WR_SEND, 0, 8);
    requester_post(&req, 2, RNIC_WR_READ, 0, (span - 1) * REQUESTER_MTU);
    requester_post(&req, 3, RNIC_WR_SEND, 0, 8);
    requester_expect(&req, ROCE_OP_RC_SEND_ONLY, 0);
    requester_expect(&req, ROCE_OP_RC_READ_REQUEST, 1);
    requester_expect_gate(&req, RNIC_REQ_WINDOW);
    EXPECT_EQ(requester_ack(&req, span), RNIC_COMP_GHOST); /* half of the PSN space away, so this
                                                            * PSN counts as earlier */
    EXPECT_EQ(requester_ack(&req, span - 1), RNIC_COMP_IMPLIED_NAK); /* the farthest valid PSN */
    requester_expect_wc(&req, 1, OK);
    requester_expect_no_wc(&req);
    /* The requester retransmits the READ, but not the SEND before it. */
    requester_expect(&req, ROCE_OP_RC_READ_REQUEST, 1);
    requester_expect(&req, ROCE_OP_RC_SEND_ONLY,
                     span); /* allowed now, because the SEND with PSN 0 is complete */
    EXPECT_EQ(req.counters.implied_nak_seq_err, 1);
    EXPECT_EQ(req.failed_cnt, 0);
    requester_free(&req);
}

/* The responder never grants a credit. Each SEND requests an ACK with its first packet and
 * continues after that ACK, so all SENDs complete. A WRITE between the SENDs does not wait (R134,
 * R135). */
static void sends_complete_without_any_credit(void)
{
    uint32_t answered = 0;
    uint32_t msn = 0;

    requester_init(&req);
    for (unsigned i = 0; i < 6; i++)
        requester_post(&req, i, i == 3 ? RNIC_WR_WRITE : RNIC_WR_SEND, 0, 2 * REQUESTER_MTU + 1);
    for (unsigned round = 0; round < 40 && req.wc_cnt < 6; round++) {
        struct roce_pkt pkt;
        uint32_t newest = answered;

        while ((pkt = requester_out(&req)).bth.opcode != 0xFF) {
            newest = ((pkt.bth.psn - REQUESTER_PSN) & ROCE_PSN_MASK) + 1;
            msn += roce_opcode_ends(pkt.op);
        }
        CU_ASSERT(newest > answered); /* each iteration makes progress */
        answered = newest;
        requester_aeth(&req, answered - 1, ROCE_SYNDROME_ACK | 0, msn);
    }
    EXPECT_EQ(answered, 18);
    for (unsigned i = 0; i < 6; i++)
        requester_expect_wc(&req, i, OK);
    EXPECT_EQ(req.counters.tx_retransmitted, 0);
    requester_free(&req);
}

/* Ten copies of one NAK cause one retransmission. After progress, the next NAK causes another one
 * (R152, R161). */
static void repeated_nak_goes_back_once(void)
{
    requester_init(&req);
    for (unsigned i = 0; i < 4; i++)
        requester_post(&req, i, RNIC_WR_WRITE, 0, 8);
    EXPECT_EQ(requester_out_all(&req), 4);
    EXPECT_EQ(requester_aeth(&req, 1, NAK(ROCE_NAK_PSN_SEQ), 1), RNIC_COMP_NAK_PSN_SEQ);
    requester_expect_wc(&req, 0, OK); /* the NAK acknowledges the earlier request (R069) */
    for (unsigned i = 0; i < 10; i++) {
        if (i == 5)
            EXPECT_EQ(requester_out_all(&req), 3); /* one retransmission, however many NAKs arrive
                                                    * before and after */
        EXPECT_EQ(requester_aeth(&req, 1, NAK(ROCE_NAK_PSN_SEQ), 1), RNIC_COMP_IGNORE);
    }
    requester_expect_gate(&req, RNIC_REQ_EMPTY);
    EXPECT_EQ(requester_aeth(&req, 2, NAK(ROCE_NAK_PSN_SEQ), 2), RNIC_COMP_NAK_PSN_SEQ);
    requester_expect_wc(&req, 1, OK);
    EXPECT_EQ(requester_out_all(&req), 2);
    EXPECT_EQ(req.counters.packet_seq_err, 2);
    EXPECT_EQ(req.counters.tx_retransmitted, 5);
    requester_free(&req);
}

/* A responder sends 100 RNR NAKs with the longest RNR timer. With rnr_retry 7 the request does not
 * fail, and a later ACK completes it (R097, R156, R157). */
static void rnr_retry_of_7_waits_without_end(void)
{
    struct rnic_requester_attr attr = requester_attr();

    requester_init(&req);
    attr.rnr_retry = RNIC_RNR_RETRY_FOREVER;
    requester_restart(&req, &attr);
    requester_post(&req, 1, RNIC_WR_SEND, 0, 8);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_EQ(requester_out_all(&req), 1);
        EXPECT_EQ(requester_aeth(&req, 0, ROCE_SYNDROME_RNR | 0, 0), RNIC_COMP_NAK_RNR);
        requester_expect_gate(&req, RNIC_REQ_RNR_WAIT);
        requester_pass(&req, UINT64_C(655360000) - 1);
        requester_expect_gate(&req, RNIC_REQ_RNR_WAIT);
        requester_pass(&req, 1);
    }
    /* RNR waits do not count for retry_cnt (R158) */
    EXPECT_EQ(req.req.retry.retries_left, attr.retry_cnt);
    EXPECT_EQ(requester_out_all(&req), 1);
    requester_ack(&req, 0);
    requester_expect_wc(&req, 1, OK);
    EXPECT_EQ(req.counters.rnr_nak_retry_err, 100);
    requester_free(&req);
}

/* READ responses and their copies arrive in any order and number, and the responder answers the
 * retransmitted requests in between. Unless the retries are exhausted, every byte is correct, and
 * each READ completes once without an error (R139-R141, R144). */
static void read_responses_shuffled(void)
{
    enum { READS = 3, PACKETS = 4 };
    unsigned whole = 0;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_of(seed);
        uint32_t asked[READS * PACKETS]; /* first PSN of each READ request that was sent,
                                          * relative to the start of the connection */
        unsigned cnt = 0;
        struct rnic_requester_attr attr = requester_attr();

        requester_init(&req);
        attr.retry_cnt = 7;
        requester_restart(&req, &attr);
        for (unsigned i = 0; i < READS; i++)
            requester_post(&req, i, RNIC_WR_READ, i * PACKETS * REQUESTER_MTU,
                           PACKETS * REQUESTER_MTU);
        for (unsigned round = 0; round < 2000 && req.wc_cnt < READS; round++) {
            struct roce_pkt pkt;
            uint32_t start, at, end;

            while ((pkt = requester_out(&req)).bth.opcode != 0xFF) {
                uint32_t pos = (pkt.bth.psn - REQUESTER_PSN) & ROCE_PSN_MASK;
                unsigned known = 0;

                while (known < cnt && asked[known] != pos)
                    known++;
                if (known == cnt)
                    asked[cnt++] = pos;
            }
            /* Choose any response packet that the responder may send now. */
            start = asked[rng_below(&rng, cnt)];
            end = (start / PACKETS + 1) * PACKETS;
            at = start + rng_below(&rng, end - start);
            requester_read(&req,
                           at == start     ? (at + 1 == end ? ROCE_OP_RC_READ_RESP_ONLY : FIRST)
                           : at + 1 == end ? LAST
                                           : MIDDLE,
                           at, (uint8_t)(0x10 + at), REQUESTER_MTU);
            if (rng_below(&rng, 40) == 0)
                requester_pass(&req, rng_below(&rng, 3) * REQUESTER_T);
            if (req.failed_cnt) /* the request must not fail unless its retries are exhausted */
                break;
        }
        if (req.failed_cnt) {
            EXPECT_EQ(req.wc[req.wc_cnt_at_failure - 1].status, RNIC_WC_RETRY_EXC_ERR);
        } else {
            whole++;
            EXPECT_EQ(req.wc_cnt, READS);
            for (unsigned i = 0; i < READS * PACKETS * REQUESTER_MTU; i++)
                if (req.mem[i] != (uint8_t)(0x10 + i / REQUESTER_MTU)) {
                    suite_fail(__FILE__, __LINE__, "seed %llu: byte %u", (unsigned long long)seed,
                               i);
                    break;
                }
        }
        for (unsigned i = 0; i < req.wc_cnt && req.wc[i].status == OK; i++)
            EXPECT_EQ(req.wc[i].wr_id, i);
        EXPECT_EQ(req.counters.bad_resp_err, 0);
        requester_free(&req);
    }
    CU_ASSERT(whole > 200);
}

/* ---- unusual requesters ---------------------------------------------------------------------- */

static enum rnic_resp_step write_at(uint32_t psn, bool ackreq)
{
    struct roce_pkt pkt = pktgen_write(&resp.gen, ROCE_OP_RC_WRITE_ONLY, psn & ROCE_PSN_MASK,
                                       RESPONDER_VA, RESPONDER_KEY, 4, data, 4);

    pkt.bth.ackreq = ackreq;
    return responder_in(&resp, pkt);
}

static void restart_at(uint32_t psn)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&resp);
    attr.rq_psn = roce_psn_of(psn & ROCE_PSN_MASK);
    responder_restart(&resp, &attr);
}

/* The responder sends no ACK for a request without AckReq. A duplicate without AckReq is
 * acknowledged only if it is the newest request; this ACK covers all requests (R099, R109,
 * R110). */
static void no_ack_without_ackreq(void)
{
    restart_at(RESPONDER_PSN);
    for (uint32_t i = 0; i < 1000; i++)
        EXPECT_EQ(write_at(RESPONDER_PSN + i, false), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_nothing(&resp);
    for (uint32_t i = 0; i < 999; i++)
        write_at(RESPONDER_PSN + i, false);
    responder_expect_nothing(&resp);
    write_at(RESPONDER_PSN + 999, false);
    responder_expect_aeth(&resp, RESPONDER_PSN + 999, ACK, 1000);
    /* A gap causes a NAK with or without AckReq (R067). */
    EXPECT_EQ(write_at(RESPONDER_PSN + 1001, false), RNIC_RESP_NAK_PSN_SEQ);
    responder_expect_aeth(&resp, RESPONDER_PSN + 1000, NAK(ROCE_NAK_PSN_SEQ), 1000);
    EXPECT_EQ(resp.counters.rx_write_requests, 1000);
    EXPECT_EQ(resp.counters.duplicate_request, 1000);
    responder_free(&resp);
}

/* At the start of a connection, a PSN after the expected PSN is a gap. A PSN before the first PSN
 * of the connection is dropped. Both also apply across the PSN wrap (R061, R062, R252). */
static void r061_every_psn_is_sorted_right(void)
{
    static const uint32_t starts[] = {0, 0x7FFFFF, 0x800000, 0xFFFFFF};

    for (unsigned s = 0; s < 4; s++) {
        uint32_t first = starts[s];

        restart_at(first);
        write_at(first, true);
        responder_expect_aeth(&resp, first, ACK, 1);
        EXPECT_EQ(write_at(first + 1 + 0x7FFFFF, true), RNIC_RESP_NAK_PSN_SEQ); /* the farthest PSN
                                                                                 * ahead */
        responder_expect_aeth(&resp, (first + 1) & ROCE_PSN_MASK, NAK(ROCE_NAK_PSN_SEQ), 1);
        EXPECT_EQ(write_at(first + 1 - 0x800000, true), RNIC_RESP_DROP); /* counts as earlier than
                                                                          * the first PSN (R252) */
        EXPECT_EQ(write_at(first - 1, true), RNIC_RESP_DROP);
        responder_expect_nothing(&resp);
        EXPECT_EQ(write_at(first, true), RNIC_RESP_DUPLICATE_ACK);
        responder_expect_aeth(&resp, first, ACK, 1);
        EXPECT_EQ(write_at(first + 1, true), RNIC_RESP_ACKNOWLEDGE);
        responder_expect_aeth(&resp, (first + 1) & ROCE_PSN_MASK, ACK, 2);
        EXPECT_EQ(resp.counters.out_of_sequence, 1);
        EXPECT_EQ(resp.failed_cnt, 0);
        responder_free(&resp);
    }
}

/* An RNR NAK waits in the response queue. Meanwhile the SEND arrives again and finds a receive WQE.
 * The responder executes and acknowledges the SEND, and does not send the RNR NAK (R070, R093). */
static void ready_before_the_rnr_left(void)
{
    struct roce_pkt send;

    responder_init(&resp);
    send = pktgen_data(&resp.gen, ROCE_OP_RC_SEND_ONLY, RESPONDER_PSN, data, 4);
    send.bth.ackreq = 1;
    EXPECT_EQ(responder_in(&resp, send), RNIC_RESP_NAK_RNR);
    EXPECT_EQ(write_at(RESPONDER_PSN + 1, true), RNIC_RESP_DROP);
    responder_post(&resp, 1, 0, 64);
    EXPECT_EQ(responder_in(&resp, send), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&resp, RESPONDER_PSN, ACK, 1);
    responder_expect_nothing(&resp);
    EXPECT_EQ(resp.counters.resp_rnr_nak, 0); /* the RNR NAK was never sent */
    EXPECT_EQ(resp.counters.out_of_buffer, 1);
    responder_free(&resp);
}

SUITE("transport.peers", TEST(ack_for_each_packet_is_accepted), TEST(half_the_circle_unanswered),
      TEST(sends_complete_without_any_credit), TEST(repeated_nak_goes_back_once),
      TEST(rnr_retry_of_7_waits_without_end), TEST(read_responses_shuffled),
      TEST(no_ack_without_ackreq), TEST(r061_every_psn_is_sorted_right),
      TEST(ready_before_the_rnr_left))

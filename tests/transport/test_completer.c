/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Completer tests: processing of responses (R137-R148, R152, R155-R161, R198, R199 of
 * rnic/rules.md). */
#include "support/requester_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define OK     RNIC_WC_SUCCESS
#define NAK(n) (ROCE_SYNDROME_NAK | (n))
#define RNR(n) (ROCE_SYNDROME_RNR | (n))
#define FIRST  ROCE_OP_RC_READ_RESP_FIRST
#define MIDDLE ROCE_OP_RC_READ_RESP_MIDDLE
#define LAST   ROCE_OP_RC_READ_RESP_LAST
#define ONLY   ROCE_OP_RC_READ_RESP_ONLY

static struct requester_fixture fake;

/* Sends three single-packet SENDs at positions 0, 1 and 2. */
static void three_sends(void)
{
    requester_init(&fake);
    for (unsigned i = 0; i < 3; i++)
        requester_post(&fake, i, RNIC_WR_SEND, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 3);
}

/* Sends a READ of four packets (positions 0 to 3) and a SEND (position 4). */
static void read_and_send(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_READ, 4096, 1000);
    requester_post(&fake, 2, RNIC_WR_SEND, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 2);
}

static void expect_end(uint64_t wr_id, enum rnic_wc_status status)
{
    requester_expect_wc(&fake, wr_id, status);
    EXPECT_EQ(fake.failed_cnt, 1);
    EXPECT_EQ(fake.wc_cnt_at_failure, fake.wc_seen);
    while (fake.wc_seen < fake.wc_cnt)
        requester_expect_wc(&fake, ++wr_id, RNIC_WC_WR_FLUSH_ERR);
    CU_ASSERT(rnic_sq_empty(&fake.req.sq));
    requester_expect_gate(&fake, RNIC_REQ_STOPPED);
    requester_free(&fake);
}

/* One ACK completes three SENDs, in order (R138, R064). */
static void r138_one_ack_completes_three_sends(void)
{
    three_sends();
    EXPECT_EQ(requester_ack(&fake, 2), RNIC_COMP_ACKNOWLEDGE);
    for (unsigned i = 0; i < 3; i++)
        requester_expect_wc(&fake, i, OK);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_SEND);
    EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
    requester_free(&fake);
}

/* Responses to PSNs that were never sent or are already answered have no effect (R137, R144; D7 and
 * D12 of traces/linux-rxe.md). */
static void r137_ghost_responses_have_no_effect(void)
{
    requester_init(&fake);
    EXPECT_EQ(requester_ack(&fake, 0), RNIC_COMP_GHOST);
    /* PSN before the first PSN of the connection (D7 of traces/linux-rxe.md) */
    EXPECT_EQ(requester_ack(&fake, 0xFFFFFF), RNIC_COMP_GHOST);
    requester_free(&fake);
    three_sends();
    requester_post(&fake, 3, RNIC_WR_SEND, 0, 8); /* this SEND is posted but not sent */
    EXPECT_EQ(requester_ack(&fake, 3), RNIC_COMP_GHOST);
    EXPECT_EQ(requester_ack(&fake, 0x60), RNIC_COMP_GHOST);
    EXPECT_EQ(requester_ack(&fake, 0x7FFFFF), RNIC_COMP_GHOST);
    EXPECT_EQ(requester_ack(&fake, 0x800000), RNIC_COMP_GHOST);
    EXPECT_EQ(requester_aeth(&fake, 3, NAK(1), 0), RNIC_COMP_GHOST);
    EXPECT_EQ(requester_read(&fake, ONLY, 3, 1, 8), RNIC_COMP_GHOST);
    requester_expect_no_wc(&fake);
    requester_ack(&fake, 0);
    requester_expect_wc(&fake, 0, OK);
    EXPECT_EQ(requester_ack(&fake, 0), RNIC_COMP_DUPLICATE);
    EXPECT_EQ(requester_aeth(&fake, 0, NAK(0), 0), RNIC_COMP_DUPLICATE); /* the PSN was already
                                                                          * acknowledged (R161) */
    EXPECT_EQ(requester_aeth(&fake, 0, RNR(1), 0), RNIC_COMP_DUPLICATE);
    EXPECT_EQ(requester_aeth(&fake, 0, NAK(2), 0), RNIC_COMP_DUPLICATE);
    EXPECT_EQ(requester_atomic(&fake, 0, 1), RNIC_COMP_DUPLICATE);
    requester_expect_no_wc(&fake);
    EXPECT_EQ(fake.failed_cnt, 0);
    EXPECT_EQ(fake.counters.rx_no_request, 6);
    EXPECT_EQ(fake.counters.duplicate_response, 5);
    requester_free(&fake);
}

/* A READ response acknowledges earlier requests, and its bytes are written to the right place
 * (R063, R141, R145). */
static void r145_read_completes(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 8);
    requester_post(&fake, 2, RNIC_WR_READ, 4096, 1000);
    requester_out_all(&fake);
    EXPECT_EQ(requester_read(&fake, FIRST, 1, 0xA1, 256), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 1, OK);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 2, 0xA2, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 3, 0xA3, 256), RNIC_COMP_PLACE_READ);
    requester_expect_no_wc(&fake);
    EXPECT_EQ(requester_read(&fake, LAST, 4, 0xA4, 232), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 2, OK);
    EXPECT_EQ(fake.wc[1].opcode, RNIC_WC_RDMA_READ);
    EXPECT_EQ(fake.wc[1].byte_len, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        EXPECT_EQ(fake.mem[4096 + i], 0xA1 + i / 256);
    EXPECT_EQ(fake.mem[4095], (uint8_t)(4095 * 5 + 4095 / 256));
    EXPECT_EQ(fake.mem[5096], (uint8_t)(5096 * 5 + 5096 / 256));
    /* An empty packet answers a READ of length 0 (R086). */
    requester_post(&fake, 3, RNIC_WR_READ, 0, 0);
    requester_out_all(&fake);
    EXPECT_EQ(requester_read(&fake, ONLY, 5, 0, 0), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 3, OK);
    requester_free(&fake);
}

/* The original value of an atomic is written once (R122, R125). */
static void r125_atomic_completes(void)
{
    uint64_t value;

    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_FETCH_ADD, 64, 8);
    requester_post(&fake, 2, RNIC_WR_CMP_SWAP, 72, 8);
    requester_out_all(&fake);
    EXPECT_EQ(requester_atomic(&fake, 0, 0x1122334455667788u), RNIC_COMP_PLACE_ATOMIC);
    memcpy(&value, fake.mem + 64, 8);
    EXPECT_EQ(value, 0x1122334455667788u);
    requester_expect_wc(&fake, 1, OK);
    EXPECT_EQ(fake.wc[0].byte_len, 8);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_FETCH_ADD);
    requester_pass(&fake, REQUESTER_T); /* the response to the second atomic is lost, and an equal
                                         * packet is retransmitted */
    requester_expect(&fake, ROCE_OP_RC_CMP_SWAP, 1);
    EXPECT_EQ(requester_atomic(&fake, 1, 5), RNIC_COMP_PLACE_ATOMIC);
    EXPECT_EQ(requester_atomic(&fake, 1, 6), RNIC_COMP_DUPLICATE);
    memcpy(&value, fake.mem + 72, 8);
    EXPECT_EQ(value, 5);
    requester_expect_wc(&fake, 2, OK);
    EXPECT_EQ(fake.wc[1].opcode, RNIC_WC_COMP_SWAP);
    requester_expect_no_wc(&fake);
    requester_free(&fake);
}

/* An ACK, a NAK or data of a later request arrives while a READ has no response. This is an implied
 * NAK, so the requester retransmits from the READ (R139). */
static void r139_skipped_read_is_retransmitted(void)
{
    for (unsigned how = 0; how < 4; how++) {
        read_and_send();
        requester_post(&fake, 3, RNIC_WR_FETCH_ADD, 64, 8);
        requester_out_all(&fake);
        switch (how) {
        case 0: EXPECT_EQ(requester_ack(&fake, 4), RNIC_COMP_IMPLIED_NAK); break;
        case 1: EXPECT_EQ(requester_aeth(&fake, 4, NAK(0), 0), RNIC_COMP_IMPLIED_NAK); break;
        case 2: EXPECT_EQ(requester_aeth(&fake, 4, RNR(1), 0), RNIC_COMP_IMPLIED_NAK); break;
        default: EXPECT_EQ(requester_atomic(&fake, 5, 1), RNIC_COMP_IMPLIED_NAK); break;
        }
        EXPECT_EQ(fake.counters.implied_nak_seq_err, 1);
        EXPECT_EQ(requester_ack(&fake, 4), RNIC_COMP_IGNORE); /* a second implied NAK is ignored
                                                               * (R161) */
        requester_expect_no_wc(&fake);
        requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 0);
        requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 4);
        requester_expect(&fake, ROCE_OP_RC_FETCH_ADD, 5);
        EXPECT_EQ(requester_ack(&fake, 4), RNIC_COMP_IGNORE);
        EXPECT_EQ(fake.req.retry.retries_left, 2);
        for (uint32_t i = 0; i < 4; i++)
            requester_read(&fake,
                           i == 0   ? FIRST
                           : i == 3 ? LAST
                                    : MIDDLE,
                           i, 1, i == 3 ? 232 : 256);
        requester_expect_wc(&fake, 1, OK);
        EXPECT_EQ(fake.req.retry.retries_left, 3); /* progress resets the retries (R155) */
        requester_ack(&fake, 4);
        requester_expect_wc(&fake, 2, OK);
        requester_free(&fake);
    }
}

/* After a gap in READ responses the READ is retransmitted from the first missing packet (R140,
 * R112). */
static void r140_read_restarts_at_the_gap(void)
{
    struct roce_pkt pkt;

    read_and_send();
    EXPECT_EQ(requester_read(&fake, FIRST, 0, 0xB1, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 2, 0xEE, 256), RNIC_COMP_IMPLIED_NAK);
    EXPECT_EQ(requester_read(&fake, LAST, 3, 0xEE, 232), RNIC_COMP_IGNORE);
    EXPECT_EQ(fake.counters.implied_nak_seq_err, 1);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_READ_REQUEST);
    EXPECT_EQ(pkt.bth.psn, (REQUESTER_PSN + 1) & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.reth.va, REQUESTER_RVA + 256);
    EXPECT_EQ(pkt.reth.dma_len, 1000 - 256);
    EXPECT_EQ(pkt.reth.rkey, REQUESTER_RKEY);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 4);
    EXPECT_EQ(requester_read(&fake, FIRST, 1, 0xB2, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 2, 0xB3, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, LAST, 3, 0xB4, 232), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 1, OK);
    for (uint32_t i = 0; i < 1000; i++)
        EXPECT_EQ(fake.mem[4096 + i], 0xB1 + i / 256);
    requester_free(&fake);

    /* After the READ is retransmitted, a Middle packet is accepted in place of First. The Middle
     * packet can belong to the earlier response, or the responder is Linux rxe, which answers a
     * retransmitted READ with it (D4 of traces/linux-rxe.md). */
    read_and_send();
    requester_read(&fake, FIRST, 0, 1, 256);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 2, 1, 256), RNIC_COMP_IMPLIED_NAK);
    EXPECT_EQ(requester_out_all(&fake), 2);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 1, 2, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, FIRST, 1, 2, 256), RNIC_COMP_DUPLICATE);
    EXPECT_EQ(requester_read(&fake, MIDDLE, 2, 2, 256), RNIC_COMP_PLACE_READ);
    EXPECT_EQ(requester_read(&fake, LAST, 3, 2, 232), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 1, OK);
    requester_free(&fake);

    /* Only the last response packet is missing. So the requester retransmits the READ for this
     * packet alone, and gets one response. */
    read_and_send();
    for (uint32_t i = 0; i < 3; i++)
        requester_read(&fake, i ? MIDDLE : FIRST, i, 1, 256);
    requester_pass(&fake, REQUESTER_T);
    EXPECT_EQ(requester_out(&fake).reth.dma_len, 232);
    EXPECT_EQ(requester_read(&fake, ONLY, 3, 2, 232), RNIC_COMP_PLACE_READ);
    requester_expect_wc(&fake, 1, OK);
    requester_free(&fake);
}

/* READ responses in wrong order fail the request: Middle or Last without First, and First or Only
 * in the middle (R141). */
static void r141_wrong_order_fails_the_read(void)
{
    static const struct {
        unsigned before; /* number of valid responses before the invalid one */
        uint8_t opcode;
        uint32_t len;
    } rows[] = {{0, MIDDLE, 256}, {0, LAST, 232}, {1, FIRST, 256}, {3, ONLY, 232}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_and_send();
        for (uint32_t k = 0; k < rows[i].before; k++)
            requester_read(&fake, k ? MIDDLE : FIRST, k, 1, 256);
        EXPECT_EQ(requester_read(&fake, rows[i].opcode, rows[i].before, 1, rows[i].len),
                  RNIC_COMP_BAD_RESPONSE);
        EXPECT_EQ(fake.counters.bad_resp_err, 1);
        expect_end(1, RNIC_WC_BAD_RESP_ERR);
    }
}

/* READ responses fail the request if they are too short or too long, or if Last comes too early or
 * not at the end (R142). */
static void r142_wrong_length_fails_the_read(void)
{
    static const struct {
        unsigned before;
        uint8_t opcode;
        uint32_t len;
    } rows[] = {{0, FIRST, 255}, {0, FIRST, 257}, {0, ONLY, 232}, {1, LAST, 232},
                {1, MIDDLE, 0},  {3, LAST, 231},  {3, LAST, 233}, {3, MIDDLE, 256}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_and_send();
        for (uint32_t k = 0; k < rows[i].before; k++)
            requester_read(&fake, k ? MIDDLE : FIRST, k, 1, 256);
        EXPECT_EQ(requester_read(&fake, rows[i].opcode, rows[i].before, 1, rows[i].len),
                  RNIC_COMP_BAD_LENGTH);
        expect_end(1, RNIC_WC_LOC_LEN_ERR);
    }
}

/* Responses of the wrong kind fail the request: data for a request that returns none, or data of
 * another kind (R143). */
static void r143_wrong_kind_fails_the_request(void)
{
    three_sends();
    EXPECT_EQ(requester_read(&fake, ONLY, 0, 1, 8), RNIC_COMP_BAD_RESPONSE);
    expect_end(0, RNIC_WC_BAD_RESP_ERR);
    three_sends(); /* earlier requests are acknowledged (R145) */
    EXPECT_EQ(requester_atomic(&fake, 1, 1), RNIC_COMP_BAD_RESPONSE);
    requester_expect_wc(&fake, 0, OK);
    expect_end(1, RNIC_WC_BAD_RESP_ERR);
    read_and_send();
    EXPECT_EQ(requester_atomic(&fake, 0, 1), RNIC_COMP_BAD_RESPONSE);
    expect_end(1, RNIC_WC_BAD_RESP_ERR);
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_FETCH_ADD, 0, 8);
    requester_out_all(&fake);
    EXPECT_EQ(requester_read(&fake, ONLY, 0, 1, 8), RNIC_COMP_BAD_RESPONSE);
    expect_end(1, RNIC_WC_BAD_RESP_ERR);
}

/* After a fatal NAK, the request with its PSN must fail, earlier requests must succeed, and later
 * requests must be flushed (R146). */
static void r146_fatal_nak_fails_its_request(void)
{
    static const enum rnic_wc_status status[] = {OK, RNIC_WC_REM_INV_REQ_ERR,
                                                 RNIC_WC_REM_ACCESS_ERR, RNIC_WC_REM_OP_ERR};

    for (uint8_t code = 1; code <= 3; code++) {
        three_sends();
        EXPECT_EQ(requester_aeth(&fake, 1, NAK(code), 1), RNIC_COMP_NAK_FATAL);
        requester_expect_wc(&fake, 0, OK);
        expect_end(1, status[code]);
        /* A NAK can have the PSN of any packet of a READ in progress. */
        read_and_send();
        requester_read(&fake, FIRST, 0, 1, 256);
        EXPECT_EQ(requester_aeth(&fake, 2, NAK(code), 1), RNIC_COMP_NAK_FATAL);
        expect_end(1, status[code]);
    }
    EXPECT_EQ(fake.counters.req_remote_operational_errors, 1);
}

/* An ACK packet with a reserved syndrome, or with NAK code "invalid RD request", is ignored (R147,
 * R108). */
static void r147_reserved_syndromes_are_ignored(void)
{
    for (unsigned syndrome = 0; syndrome < 256; syndrome++) {
        enum roce_syndrome_kind kind = roce_syndrome_kind((uint8_t)syndrome);

        if (kind != ROCE_SYN_RESERVED && syndrome != NAK(ROCE_NAK_INVALID_RD_REQ))
            continue;
        three_sends();
        EXPECT_EQ(requester_aeth(&fake, 1, (uint8_t)syndrome, 0), RNIC_COMP_IGNORE);
        requester_expect_no_wc(&fake);
        EXPECT_EQ(fake.failed_cnt, 0);
        requester_free(&fake);
    }
}

/* If the local buffer of a READ or atomic is not writable, the request fails (R148). */
static void r148_bad_local_buffer(void)
{
    read_and_send();
    fake.key_gone = true;
    EXPECT_EQ(requester_read(&fake, FIRST, 0, 1, 256), RNIC_COMP_BAD_MEMORY);
    expect_end(1, RNIC_WC_LOC_PROT_ERR);
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_CMP_SWAP, REQUESTER_MEM_LEN - 4, 8);
    requester_out_all(&fake);
    EXPECT_EQ(requester_atomic(&fake, 0, 1), RNIC_COMP_BAD_MEMORY);
    expect_end(1, RNIC_WC_LOC_PROT_ERR);
}

/* retry_cnt limits the number of retransmissions after sequence NAKs and timeouts together
 * (R154). */
static void r154_retry_cnt_limits_nak_retries(void)
{
    three_sends();
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(requester_aeth(&fake, 0, NAK(0), 0),
                  i ? RNIC_COMP_IGNORE : RNIC_COMP_NAK_PSN_SEQ);
        EXPECT_EQ(requester_out_all(&fake), i ? 0 : 3);
    }
    requester_pass(&fake, REQUESTER_T);
    /* ignored, because the retransmission is already pending */
    EXPECT_EQ(requester_aeth(&fake, 0, NAK(0), 0), RNIC_COMP_IGNORE);
    EXPECT_EQ(requester_out_all(&fake), 3);
    EXPECT_EQ(requester_aeth(&fake, 0, NAK(0), 0), RNIC_COMP_NAK_PSN_SEQ);
    EXPECT_EQ(requester_out_all(&fake), 3);
    EXPECT_EQ(fake.req.retry.retries_left, 0);
    /* the timeout doubled, because the timer expired once without progress */
    requester_pass(&fake, 2 * REQUESTER_T);
    expect_end(0, RNIC_WC_RETRY_EXC_ERR);
}

/* Progress resets the retry counters (R155). */
static void r155_progress_reloads(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_WRITE, 0, 16000);
    for (uint32_t i = 0; i < 60; i++) {
        requester_out_all(&fake);
        EXPECT_EQ(requester_aeth(&fake, i + 1, NAK(0), 0), RNIC_COMP_NAK_PSN_SEQ);
    }
    EXPECT_EQ(fake.failed_cnt, 0);
    EXPECT_EQ(fake.counters.packet_seq_err, 60);
    requester_free(&fake);
}

/* The requester sends nothing until the RNR wait ends. Then it retransmits from the PSN of the NAK.
 * A request, also a READ, fails after rnr_retry waits (R156-R159). */
static void r156_rnr_nak_delays_the_requester(void)
{
    three_sends();
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(requester_aeth(&fake, 1, RNR(8), 1), RNIC_COMP_NAK_RNR);
        EXPECT_EQ(fake.req.retry.deadline, fake.now + roce_rnr_ns(8));
        requester_expect_gate(&fake, RNIC_REQ_RNR_WAIT);
        EXPECT_EQ(requester_aeth(&fake, 1, RNR(8), 1), RNIC_COMP_IGNORE);
        /* rxe sends a sequence NAK with the RNR NAK (D8 of traces/linux-rxe.md) */
        EXPECT_EQ(requester_aeth(&fake, 1, NAK(0), 1), RNIC_COMP_IGNORE);
        requester_pass(&fake, roce_rnr_ns(8) - 1);
        requester_expect_gate(&fake, RNIC_REQ_RNR_WAIT);
        requester_pass(&fake, 1);
        requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 1);
        requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 2);
    }
    requester_expect_wc(&fake, 0, OK);
    EXPECT_EQ(fake.req.retry.retries_left, 3); /* RNR waits do not count for retry_cnt (R158) */
    EXPECT_EQ(fake.counters.packet_seq_err, 0);
    requester_aeth(&fake, 1, RNR(8), 1);
    EXPECT_EQ(fake.counters.rnr_nak_retry_err, 3);
    EXPECT_EQ(fake.counters.rnr_retry_exceeded_err, 1);
    expect_end(1, RNIC_WC_RNR_RETRY_EXC_ERR);
    read_and_send(); /* an RNR NAK for a READ delays it, too (R159) */
    EXPECT_EQ(requester_aeth(&fake, 0, RNR(1), 0), RNIC_COMP_NAK_RNR);
    requester_pass(&fake, roce_rnr_ns(1));
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 0);
    requester_free(&fake);
}

/* An RNR NAK that arrives after a timeout and before the retransmission also starts a wait. An RNR
 * NAK for a later PSN that arrives during a wait starts a new wait (R156). */
static void r156_before_it_goes_again(void)
{
    three_sends();
    requester_pass(&fake, fake.req.retry.timeout_ns);
    EXPECT_EQ(fake.req.nxt, fake.req.una);
    EXPECT_EQ(requester_aeth(&fake, 0, RNR(8), 0), RNIC_COMP_NAK_RNR);
    requester_expect_gate(&fake, RNIC_REQ_RNR_WAIT);
    EXPECT_EQ(fake.req.retry.deadline, fake.now + roce_rnr_ns(8));
    requester_free(&fake);
    three_sends();
    EXPECT_EQ(requester_aeth(&fake, 0, RNR(1), 0), RNIC_COMP_NAK_RNR);
    EXPECT_EQ(requester_aeth(&fake, 1, RNR(8), 1), RNIC_COMP_NAK_RNR);
    requester_expect_wc(&fake, 0, OK);
    requester_expect_gate(&fake, RNIC_REQ_RNR_WAIT);
    EXPECT_EQ(fake.req.retry.deadline, fake.now + roce_rnr_ns(8));
    requester_free(&fake);
}

/* With rnr_retry 7 the number of RNR waits has no limit (R157). */
static void r157_rnr_for_ever(void)
{
    struct rnic_requester_attr attr = requester_attr();

    attr.rnr_retry = 7;
    requester_init(&fake);
    requester_restart(&fake, &attr);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 8);
    for (unsigned i = 0; i < 100; i++) {
        requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 0);
        requester_aeth(&fake, 0, RNR(1), 0);
        requester_pass(&fake, roce_rnr_ns(1));
    }
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 0);
    requester_ack(&fake, 0);
    requester_expect_wc(&fake, 1, OK);
    requester_free(&fake);
}

/* An RNR wait ends early if the request that caused the RNR NAK is acknowledged. */
static void rnr_wait_ends_with_progress(void)
{
    three_sends();
    requester_aeth(&fake, 0, RNR(0), 0);
    EXPECT_EQ(requester_ack(&fake, 0), RNIC_COMP_ACKNOWLEDGE);
    requester_expect_wc(&fake, 0, OK);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 1);
    requester_free(&fake);
}

SUITE("transport.completer", TEST(r138_one_ack_completes_three_sends),
      TEST(r137_ghost_responses_have_no_effect), TEST(r145_read_completes),
      TEST(r125_atomic_completes), TEST(r139_skipped_read_is_retransmitted),
      TEST(r140_read_restarts_at_the_gap), TEST(r141_wrong_order_fails_the_read),
      TEST(r142_wrong_length_fails_the_read), TEST(r143_wrong_kind_fails_the_request),
      TEST(r146_fatal_nak_fails_its_request), TEST(r147_reserved_syndromes_are_ignored),
      TEST(r148_bad_local_buffer), TEST(r154_retry_cnt_limits_nak_retries),
      TEST(r155_progress_reloads), TEST(r156_rnr_nak_delays_the_requester),
      TEST(r156_before_it_goes_again), TEST(r157_rnr_for_ever), TEST(rnr_wait_ends_with_progress))

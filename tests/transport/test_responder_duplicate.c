/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Duplicate requests (rules R109-R119 and R252 of rnic/rules.md), and the order of responses
 * (R077). */
#include "support/responder_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define PSN RESPONDER_PSN

#define FIRST  ROCE_OP_RC_READ_RESP_FIRST
#define MIDDLE ROCE_OP_RC_READ_RESP_MIDDLE
#define LAST   ROCE_OP_RC_READ_RESP_LAST
#define ONLY   ROCE_OP_RC_READ_RESP_ONLY

static struct responder_fixture fake;
static const uint8_t data[1024] = {0xD0, 0xD1, 0xD2, 0xD3};

static enum rnic_resp_step send(uint8_t opcode, uint32_t psn, uint32_t len, bool ackreq)
{
    struct roce_pkt pkt = pktgen_data(&fake.gen, opcode, psn, data, len);

    pkt.bth.ackreq = ackreq;
    return responder_in(&fake, pkt);
}

static enum rnic_resp_step write_only(uint32_t psn, uint32_t off, uint32_t len, bool ackreq)
{
    struct roce_pkt pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY, psn, RESPONDER_VA + off,
                                       RESPONDER_KEY, len, data, len);

    pkt.bth.ackreq = ackreq;
    return responder_in(&fake, pkt);
}

static enum rnic_resp_step read_req(uint32_t psn, uint32_t off, uint32_t len)
{
    return responder_in(&fake, pktgen_read(&fake.gen, psn, RESPONDER_VA + off, RESPONDER_KEY, len));
}

static enum rnic_resp_step atomic(uint8_t opcode, uint32_t psn, uint64_t swap_add, uint64_t compare)
{
    return responder_in(&fake, pktgen_atomic(&fake.gen, opcode, psn, RESPONDER_VA, RESPONDER_KEY,
                                             swap_add, compare));
}

static void expect_atomic(uint32_t psn, uint64_t orig, uint32_t msn)
{
    struct roce_pkt pkt = responder_out(&fake);

    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ATOMIC_ACK);
    EXPECT_EQ(pkt.bth.psn, psn);
    EXPECT_EQ(pkt.aeth.syndrome, ACK);
    EXPECT_EQ(pkt.aeth.msn, msn);
    EXPECT_EQ(pkt.atomicacketh.orig, orig);
}

static void put_value(uint64_t value)
{
    memcpy(fake.mem, &value, sizeof(value));
}

static uint64_t value(void)
{
    uint64_t v;

    memcpy(&v, fake.mem, sizeof(v));
    return v;
}

/* A duplicate SEND or WRITE with AckReq is acknowledged. The ACK has the PSN of the newest request.
 * An older duplicate without AckReq is not acknowledged (R109, R110, R104). */
static void r109_duplicate_gets_the_newest_ack(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 0, 64);
    responder_post(&fake, 2, 64, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_only(PSN + 1, 512, 4, false), RNIC_RESP_ACKNOWLEDGE);
    memset(fake.mem, 0xEE, 1024);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 1, ACK, 2);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, false), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_nothing(&fake);
    EXPECT_EQ(write_only(PSN + 1, 512, 4, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 1, ACK, 2);
    for (unsigned i = 0; i < 1024; i++)
        EXPECT_EQ(fake.mem[i], 0xEE); /* a duplicate is not executed again (R078) */
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(rnic_rq_cnt(&fake.resp.rq), 1);
    EXPECT_EQ(fake.counters.duplicate_request, 3);
    responder_free(&fake);
}

/* A duplicate of the newest packet is acknowledged even without AckReq (R109). Otherwise the
 * requester could retransmit forever if a full queue drops each packet with AckReq. */
static void r109_newest_duplicate_is_acked_without_ackreq(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_only(PSN + 1, 0, 4, false), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_nothing(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, false), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_nothing(&fake); /* an older duplicate without AckReq gets no ACK (R110) */
    EXPECT_EQ(write_only(PSN + 1, 0, 4, false), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 1, ACK, 2);
    responder_free(&fake);
}

/* If the responder has executed only READs, the ACK of a duplicate has the last PSN of the newest
 * READ (R109). Linux rxe sends PSN 0xFFFFFF (D7 of traces/linux-rxe.md). */
static void r109_after_read(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, 3 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    for (unsigned i = 0; i < 3; i++)
        responder_out(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 1, 0, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 2, ACK, 1);
    responder_free(&fake);
}

/* PSNs from before the connection are not duplicates and get no response, not even an ACK (R252).
 */
static void r252_before_the_connection(void)
{
    responder_init(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN - 1, 4, true), RNIC_RESP_DROP);
    EXPECT_EQ(write_only(PSN, 0, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_only(PSN - 1, 0, 4, true), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN - 5, 0, 4), RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    responder_free(&fake);
}

/* An error in a duplicate causes no NAK. A SEND or WRITE with an invalid length or key is
 * acknowledged like a valid one. A READ or atomic with the PSN of another request is dropped
 * (R117). */
static void r117_faulty_duplicate_is_dropped(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(responder_in(&fake, pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_FIRST, PSN, 1, 0xBAD, 9,
                                               data, 12)),
              RNIC_RESP_DUPLICATE_ACK);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_LAST, PSN, 0, false), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_DROP); /* no READ had this PSN */
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN, 1, 2), RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.failed_cnt, 0);
    responder_free(&fake);
}

static void r118_duplicate_does_not_disturb_a_message(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 0, 64);
    responder_post(&fake, 2, 1024, 1024);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(read_req(PSN + 1, 0, 16), RNIC_RESP_ADVANCE);
    responder_out(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN + 2, RESPONDER_MTU, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_DUPLICATE_ACK);
    EXPECT_EQ(write_only(PSN, 0, 8, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 2, ACK, 2);
    EXPECT_EQ(read_req(PSN + 1, 0, 16), RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, ONLY, PSN + 1, 0, 16);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN + 2, RESPONDER_MTU, false), RNIC_RESP_DUPLICATE_ACK);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_LAST, PSN + 3, 10, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 3, ACK, 3);
    EXPECT_EQ(fake.wc_cnt, 2);
    EXPECT_EQ(fake.wc[1].byte_len, RESPONDER_MTU + 10);
    CU_ASSERT(memcmp(fake.mem + 1024, data, RESPONDER_MTU) == 0);
    CU_ASSERT(memcmp(fake.mem + 1024 + RESPONDER_MTU, data, 10) == 0);
    responder_free(&fake);
}

/* A duplicate READ can request all packets of the response, or those from any packet on. The
 * responder sends exactly the requested packets (R111, R112; D4 and D5 of traces/linux-rxe.md). */
static void r112_duplicate_read_restarts_anywhere(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 100, 3 * RESPONDER_MTU + 10), RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, FIRST, PSN, 100, RESPONDER_MTU);
    responder_expect_read(&fake, MIDDLE, PSN + 1, 100 + RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_read(&fake, MIDDLE, PSN + 2, 100 + 2 * RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_read(&fake, LAST, PSN + 3, 100 + 3 * RESPONDER_MTU, 10);
    responder_expect_nothing(&fake);
    for (int k = 3; k >= 0; k--) {
        EXPECT_EQ(read_req(PSN + (uint32_t)k, 100 + (uint32_t)k * RESPONDER_MTU,
                           (3 - (uint32_t)k) * RESPONDER_MTU + 10),
                  RNIC_RESP_DUPLICATE_READ);
        for (uint32_t i = (uint32_t)k; i < 4; i++) {
            bool first = i == (uint32_t)k;
            uint8_t opcode = i == 3 ? (first ? ONLY : LAST) : first ? FIRST : MIDDLE;

            responder_expect_read(&fake, opcode, PSN + i, 100 + i * RESPONDER_MTU,
                                  i == 3 ? 10 : RESPONDER_MTU);
        }
        responder_expect_nothing(&fake);
    }
    /* duplicate of a part of the READ (R111) */
    EXPECT_EQ(read_req(PSN + 1, 100 + RESPONDER_MTU, 20), RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, ONLY, PSN + 1, 100 + RESPONDER_MTU, 20);
    EXPECT_EQ(fake.resp.msn, 1);
    responder_free(&fake);
}

/* A duplicate READ with another key, another address or a longer range is dropped (R111). */
static void r111_not_that_read(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 512, 3 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    for (unsigned i = 0; i < 3; i++)
        responder_out(&fake);
    EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, PSN, RESPONDER_VA + 512, RESPONDER_KEY_RO,
                                              3 * RESPONDER_MTU)),
              RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 511, 16), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 513, 16), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 512 + RESPONDER_MTU, 16), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN + 1, 512, 2 * RESPONDER_MTU), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 512, 3 * RESPONDER_MTU + 1), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN + 2, 512 + 2 * RESPONDER_MTU, RESPONDER_MTU + 1), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 512, UINT32_MAX), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN, 512, 0), RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.failed_cnt, 0);
    responder_free(&fake);
}

/* A duplicate READ of length 0 is answered again (R086). */
static void r111_duplicate_empty_read_is_answered(void)
{
    responder_init(&fake);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, PSN, 0, 0, 0)),
                  i ? RNIC_RESP_DUPLICATE_READ : RNIC_RESP_ADVANCE);
        responder_expect_read(&fake, ONLY, PSN, 0, 0);
    }
    EXPECT_EQ(read_req(PSN, 0, 4), RNIC_RESP_DROP);
    responder_free(&fake);
}

/* A duplicate READ arrives while the responder sends the first response. The response restarts at
 * the requested packet, and skips no packet that the peer lacks. */
static void duplicate_read_restarts_running_response(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, 5 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, FIRST, PSN, 0, RESPONDER_MTU);
    responder_expect_read(&fake, MIDDLE, PSN + 1, RESPONDER_MTU, RESPONDER_MTU);
    /* The current response has not yet reached the first packet of this READ, so it will answer
     * this READ. */
    EXPECT_EQ(read_req(PSN + 3, 3 * RESPONDER_MTU, 2 * RESPONDER_MTU), RNIC_RESP_DROP);
    /* This READ requests fewer packets than the current response still has to send, so the current
     * response continues. */
    EXPECT_EQ(read_req(PSN + 1, RESPONDER_MTU, RESPONDER_MTU), RNIC_RESP_DROP);
    responder_expect_read(&fake, MIDDLE, PSN + 2, 2 * RESPONDER_MTU, RESPONDER_MTU);
    /* The response restarts at its next packet, and then at an earlier one. */
    EXPECT_EQ(read_req(PSN + 3, 3 * RESPONDER_MTU, 2 * RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, FIRST, PSN + 3, 3 * RESPONDER_MTU, RESPONDER_MTU);
    EXPECT_EQ(read_req(PSN, 0, 5 * RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
    EXPECT_EQ(fake.resp.responses.cnt, 1);
    responder_expect_read(&fake, FIRST, PSN, 0, RESPONDER_MTU);
    for (uint32_t i = 1; i < 4; i++)
        responder_expect_read(&fake, MIDDLE, PSN + i, i * RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_read(&fake, LAST, PSN + 4, 4 * RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* The R_Key is deregistered after the READ was answered. The responder answers a duplicate READ
 * neither with data nor with a NAK (R113, R208). */
static void r113_replay_without_key(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, 2 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    responder_out(&fake);
    responder_out(&fake);
    EXPECT_EQ(read_req(PSN, 0, 2 * RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, FIRST, PSN, 0, RESPONDER_MTU);
    fake.key_gone = true;
    EXPECT_EQ(responder_out(&fake).bth.opcode, 0xFF);
    responder_expect_nothing(&fake);
    EXPECT_EQ(read_req(PSN, 0, 2 * RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
    EXPECT_EQ(responder_out(&fake).bth.opcode, 0xFF);
    EXPECT_EQ(fake.failed_cnt, 0);
    EXPECT_EQ(fake.event_cnt, 0);
    responder_free(&fake);
}

/* The R_Key is deregistered while the READ is being answered. A NAK replaces the next packet, and
 * later requests get no response. The receive WQE in use is flushed as usual (R208). */
static void r208_answer_without_key(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 8192, 1024);
    EXPECT_EQ(read_req(PSN, 0, 3 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN + 3, RESPONDER_MTU, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_read(&fake, FIRST, PSN, 0, RESPONDER_MTU);
    fake.key_gone = true;
    responder_expect_aeth(&fake, PSN + 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 1);
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.failed_cnt, 1);
    EXPECT_EQ(fake.event_cnt, 1);
    EXPECT_EQ(fake.event[0], RNIC_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(fake.wc[0].status, RNIC_WC_WR_FLUSH_ERR);
    responder_free(&fake);
}

/* While a READ response waits, a later request fails the connection and causes a NAK. Then the
 * R_Key of the READ is deregistered. The responder sends a NAK of the READ instead of the NAK of
 * the later request (R208). */
static void r208_after_failure(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_ADVANCE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_LAST, PSN + 1, 4, true), RNIC_RESP_NAK_INVALID_REQ);
    fake.key_gone = true;
    responder_expect_aeth(&fake, PSN, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 1);
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.failed_cnt, 1);
    EXPECT_EQ(fake.event_cnt, 1);
    responder_free(&fake);
}

/* The R_Key is deregistered in the middle of a WRITE. The next packet gets a NAK (R208). */
static void r208_write_without_key(void)
{
    struct roce_pkt pkt;

    responder_init(&fake);
    pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_FIRST, PSN, RESPONDER_VA, RESPONDER_KEY,
                       RESPONDER_MTU + 4, data, RESPONDER_MTU);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_ACKNOWLEDGE);
    fake.key_gone = true;
    EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST, PSN + 1, 4, true), RNIC_RESP_NAK_ACCESS);
    responder_expect_aeth(&fake, PSN + 1, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 0);
    EXPECT_EQ(fake.event[0], RNIC_EVENT_QP_ACCESS_ERR);
    responder_free(&fake);
}

/* A duplicate atomic gets the stored value, and the memory does not change (R114, R122). */
static void r114_duplicate_atomic_gets_the_stored_value(void)
{
    responder_init(&fake);
    put_value(UINT64_MAX - 1);
    EXPECT_EQ(atomic(ROCE_OP_RC_FETCH_ADD, PSN, 5, 0), RNIC_RESP_ADVANCE);
    EXPECT_EQ(value(), 3); /* addition is modulo 2^64 */
    expect_atomic(PSN, UINT64_MAX - 1, 1);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN + 1, 77, 3), RNIC_RESP_ADVANCE);
    expect_atomic(PSN + 1, 3, 2);
    EXPECT_EQ(value(), 77);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN + 2, 88, 3), RNIC_RESP_ADVANCE);
    expect_atomic(PSN + 2, 77, 3); /* compare value differs: nothing is written */
    EXPECT_EQ(value(), 77);
    EXPECT_EQ(atomic(ROCE_OP_RC_FETCH_ADD, PSN, 5, 0), RNIC_RESP_DUPLICATE_ATOMIC);
    expect_atomic(PSN, UINT64_MAX - 1, 3);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN + 1, 1, 77), RNIC_RESP_DUPLICATE_ATOMIC);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN + 1, 1, 77), RNIC_RESP_DUPLICATE_ATOMIC);
    expect_atomic(PSN + 1, 3, 3);
    responder_expect_nothing(&fake);
    EXPECT_EQ(value(), 77);
    EXPECT_EQ(fake.counters.rx_atomic_requests, 3);
    responder_free(&fake);
}

/* A duplicate must have the PSN and operation of the stored atomic (R115; D6 of
 * traces/linux-rxe.md). */
static void r115_not_that_atomic(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_ADVANCE);
    EXPECT_EQ(atomic(ROCE_OP_RC_FETCH_ADD, PSN + 1, 5, 0), RNIC_RESP_ADVANCE);
    responder_out(&fake);
    responder_out(&fake);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN, 1, 2), RNIC_RESP_DROP);
    EXPECT_EQ(atomic(ROCE_OP_RC_CMP_SWAP, PSN + 1, 1, 2), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN + 1, 0, 16), RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* The responder must store the results of the newest max_dest_rd_atomic READs and atomics, and
 * forget older ones (R116, R119). */
static void r116_oldest_resource_is_forgotten(void)
{
    responder_init(&fake);
    for (uint32_t i = 0; i < 6; i++) {
        EXPECT_EQ(i % 2 ? atomic(ROCE_OP_RC_FETCH_ADD, PSN + i, 1, 0) : read_req(PSN + i, i, 8),
                  RNIC_RESP_ADVANCE);
        responder_out(&fake);
    }
    for (uint32_t i = 0; i < 6; i++) {
        enum rnic_resp_step step =
            i % 2 ? atomic(ROCE_OP_RC_FETCH_ADD, PSN + i, 1, 0) : read_req(PSN + i, i, 8);

        if (i < 2)
            EXPECT_EQ(step, RNIC_RESP_DROP);
        else
            EXPECT_EQ(step, i % 2 ? RNIC_RESP_DUPLICATE_ATOMIC : RNIC_RESP_DUPLICATE_READ);
    }
    EXPECT_EQ(fake.resp.responses.cnt, 4);
    responder_free(&fake);
}

/* All responder resources are in use, one of them for the repeated response to a duplicate READ. A
 * new READ is accepted and replaces this response (R119). */
static void new_read_replaces_queued_replay(void)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&fake);
    attr.max_dest_rd_atomic = 1;
    responder_restart(&fake, &attr);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, ONLY, PSN, 0, 16);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_DUPLICATE_READ);
    EXPECT_EQ(read_req(PSN + 1, 16, 16), RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, ONLY, PSN + 1, 16, 16);
    responder_expect_nothing(&fake);
    EXPECT_EQ(read_req(PSN, 0, 16), RNIC_RESP_DROP);
    responder_free(&fake);
}

/* The responder must send responses in the order of the requests. A repeated response must precede
 * the responses to later requests (R077). */
static void r077_responses_follow_the_request_order(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(read_req(PSN + 1, 0, 2 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    EXPECT_EQ(write_only(PSN + 3, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_only(PSN + 4, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(atomic(ROCE_OP_RC_FETCH_ADD, PSN + 5, 0, 0), RNIC_RESP_ADVANCE);
    EXPECT_EQ(write_only(PSN + 7, 0, 4, true), RNIC_RESP_NAK_PSN_SEQ);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    responder_expect_read(&fake, FIRST, PSN + 1, 0, RESPONDER_MTU);
    responder_expect_read(&fake, LAST, PSN + 2, RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_aeth(&fake, PSN + 4, ACK, 4); /* one ACK for both WRITEs */
    EXPECT_EQ(responder_out(&fake).bth.opcode, ROCE_OP_RC_ATOMIC_ACK);
    responder_expect_aeth(&fake, PSN + 6, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 5);
    responder_expect_nothing(&fake);

    EXPECT_EQ(write_only(PSN + 6, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(read_req(PSN + 7, 64, 16), RNIC_RESP_ADVANCE);
    EXPECT_EQ(atomic(ROCE_OP_RC_FETCH_ADD, PSN + 5, 0, 0), RNIC_RESP_DUPLICATE_ATOMIC);
    EXPECT_EQ(read_req(PSN + 2, RESPONDER_MTU, RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, ONLY, PSN + 2, RESPONDER_MTU, RESPONDER_MTU);
    EXPECT_EQ(responder_out(&fake).bth.psn, PSN + 5);
    responder_expect_aeth(&fake, PSN + 6, ACK, 6);
    responder_expect_read(&fake, ONLY, PSN + 7, 64, 16);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* The ACK of a duplicate does not replace a queued RNR NAK, and later packets still get no response
 * (R070). */
static void duplicate_does_not_replace_rnr_nak(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 1, 4, true), RNIC_RESP_NAK_RNR);
    EXPECT_EQ(write_only(PSN, 0, 4, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 1, ROCE_SYNDROME_RNR | 12, 1);
    responder_expect_nothing(&fake);
    EXPECT_EQ(write_only(PSN, 0, 4, true), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    EXPECT_EQ(write_only(PSN + 2, 0, 4, true), RNIC_RESP_DROP);
    responder_free(&fake);
}

/* The queue of pending responses is bounded, however many duplicates arrive while nothing can be
 * sent. */
static void response_queue_stays_bounded(void)
{
    struct rnic_responder_attr attr = responder_attr();
    uint32_t psn = PSN;

    responder_init(&fake);
    attr.max_dest_rd_atomic = RNIC_RD_ATOMIC_MAX;
    responder_restart(&fake, &attr);
    for (unsigned i = 0; i < RNIC_RD_ATOMIC_MAX; i++) {
        EXPECT_EQ(write_only(psn++, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
        EXPECT_EQ(read_req(psn, 0, 4 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
        psn += 4;
    }
    EXPECT_EQ(write_only(psn++, 0, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(fake.resp.responses.cnt, RNIC_RESPONSE_QUEUE_MAX);
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < RNIC_RD_ATOMIC_MAX; i++) {
            EXPECT_EQ(read_req(PSN + 5 * i + 1, 0, 4 * RESPONDER_MTU), RNIC_RESP_DUPLICATE_READ);
            EXPECT_EQ(write_only(PSN + 5 * i, 0, 4, true), RNIC_RESP_DUPLICATE_ACK);
        }
        CU_ASSERT(fake.resp.responses.cnt <= RNIC_RESPONSE_QUEUE_MAX);
    }
    EXPECT_EQ(fake.ready_cnt, 1);
    responder_free(&fake);
}

SUITE("transport.responder_duplicate", TEST(r109_duplicate_gets_the_newest_ack),
      TEST(r109_newest_duplicate_is_acked_without_ackreq), TEST(r109_after_read),
      TEST(r252_before_the_connection), TEST(r117_faulty_duplicate_is_dropped),
      TEST(r118_duplicate_does_not_disturb_a_message), TEST(r112_duplicate_read_restarts_anywhere),
      TEST(r111_not_that_read), TEST(r111_duplicate_empty_read_is_answered),
      TEST(duplicate_read_restarts_running_response), TEST(r113_replay_without_key),
      TEST(r208_answer_without_key), TEST(r208_after_failure), TEST(r208_write_without_key),
      TEST(r114_duplicate_atomic_gets_the_stored_value), TEST(r115_not_that_atomic),
      TEST(r116_oldest_resource_is_forgotten), TEST(new_read_replaces_queued_replay),
      TEST(r077_responses_follow_the_request_order), TEST(duplicate_does_not_replace_rnr_nak),
      TEST(response_queue_stays_bounded))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Responder tests: the checks in their order, and every NAK (rules R030-R031, R061-R085, R089-R108,
 * R120, R121, R126 of rnic/rules.md). */
#include "support/responder_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK    (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK(n) (ROCE_SYNDROME_NAK | (n))
#define RNR    (ROCE_SYNDROME_RNR | 12u)
#define PSN    RESPONDER_PSN

static struct responder_fixture fake;
static const uint8_t data[4096] = {1, 2, 3, 4, 5, 6, 7, 8};

static enum rnic_resp_step send(uint8_t opcode, uint32_t psn, uint32_t len, bool ackreq)
{
    struct roce_pkt pkt = pktgen_data(&fake.gen, opcode, psn, data, len);

    pkt.bth.ackreq = ackreq;
    return responder_in(&fake, pkt);
}

static enum rnic_resp_step write_first(uint8_t opcode, uint32_t psn, uint64_t off, uint32_t dma_len,
                                       uint32_t len)
{
    struct roce_pkt pkt =
        pktgen_write(&fake.gen, opcode, psn, RESPONDER_VA + off, RESPONDER_KEY, dma_len, data, len);

    pkt.bth.ackreq = 1;
    return responder_in(&fake, pkt);
}

static enum rnic_resp_step read_req(uint32_t psn, uint64_t off, uint32_t key, uint32_t len)
{
    return responder_in(&fake, pktgen_read(&fake.gen, psn, RESPONDER_VA + off, key, len));
}

/* Expects that a request failed the connection: the responder sends a NAK with this code and PSN,
 * and then no more responses. */
static void expect_fatal(uint32_t psn, uint8_t code, uint32_t msn)
{
    EXPECT_EQ(fake.failed_cnt, 1);
    responder_expect_aeth(&fake, psn, NAK(code), msn);
    responder_expect_nothing(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, psn, 0, true), RNIC_RESP_DROP);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, psn + 1, 0, true), RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
}

static void expect_event(enum rnic_event_type type)
{
    EXPECT_EQ(fake.event_cnt, 1);
    EXPECT_EQ(fake.event[0], type);
}

/* Expects that the current receive WQE completed with this error before all other WQEs were
 * flushed, and that no event was raised. */
static void expect_wqe_error(uint64_t wr_id, enum rnic_wc_status status)
{
    EXPECT_EQ(fake.event_cnt, 0);
    EXPECT_EQ(fake.wc_cnt_at_failure, 1);
    EXPECT_EQ(fake.wc[0].wr_id, wr_id);
    EXPECT_EQ(fake.wc[0].status, status);
    for (unsigned i = 1; i < fake.wc_cnt; i++)
        EXPECT_EQ(fake.wc[i].status, RNIC_WC_WR_FLUSH_ERR);
}

/* A gap causes one NAK, which has the expected PSN. After that PSN arrives, the next gap causes a
 * new NAK (R067, R068, R069). */
static void r067_one_nak_per_gap(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 0, 64);
    responder_post(&fake, 2, 0, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 1, 4, true), RNIC_RESP_NAK_PSN_SEQ);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 2, 4, true), RNIC_RESP_DROP);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 0x7FFFFF, 4, true), RNIC_RESP_DROP);
    responder_expect_aeth(&fake, PSN, NAK(ROCE_NAK_PSN_SEQ), 0);
    responder_expect_nothing(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 2, 4, true), RNIC_RESP_NAK_PSN_SEQ);
    responder_expect_aeth(&fake, PSN + 1, NAK(ROCE_NAK_PSN_SEQ), 1);
    EXPECT_EQ(fake.failed_cnt, 0);
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(fake.counters.out_of_sequence, 4);
    EXPECT_EQ(fake.counters.packet_seq_nak, 2);
    responder_free(&fake);
}

/* The missing request arrives while the NAK is queued. The NAK then has the new expected PSN, and
 * remains the only NAK (R067, R068). Packets after the gap were dropped, so the requester must
 * retransmit them. */
static void r067_queued_nak_is_updated(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 4, 4), RNIC_RESP_NAK_PSN_SEQ);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN, 0, 4, 4), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 4, 4), RNIC_RESP_DROP);
    EXPECT_EQ(read_req(PSN + 1, 0, RESPONDER_KEY, 8), RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, PSN + 1, 0, 8);
    responder_expect_aeth(&fake, PSN + 2, NAK(ROCE_NAK_PSN_SEQ), 2);
    responder_expect_nothing(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 4, 4), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 2, ACK, 3);
    EXPECT_EQ(fake.counters.packet_seq_nak, 1);
    responder_free(&fake);
}

/* The gap is filled before the NAK is sent: the NAK becomes an ACK of all earlier requests (R067,
 * R069). */
static void r067_gap_filled_in_time(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN, 0, 4, 4), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 4, 4), RNIC_RESP_NAK_PSN_SEQ);
    EXPECT_EQ(read_req(PSN + 1, 0, RESPONDER_KEY, 2 * RESPONDER_MTU), RNIC_RESP_ADVANCE);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_FIRST, PSN + 1, 0, RESPONDER_MTU);
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_LAST, PSN + 2, RESPONDER_MTU, RESPONDER_MTU);
    responder_expect_nothing(&fake);
    /* The first gap has no effect on the next gap. */
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 4, 0, 4, 4), RNIC_RESP_NAK_PSN_SEQ);
    responder_expect_aeth(&fake, PSN + 3, NAK(ROCE_NAK_PSN_SEQ), 2);
    EXPECT_EQ(fake.counters.packet_seq_nak, 1);
    responder_free(&fake);
}

/* A packet with the farthest PSN ahead shows a gap. The next PSN counts as earlier than the
 * first PSN of the connection, so the packet is dropped (R061). */
static void r061_psn_beyond_half_the_space_is_not_ahead(void)
{
    responder_init(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 0x800000, 0, true), RNIC_RESP_DROP);
    EXPECT_EQ(fake.counters.duplicate_request, 1);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 0x7FFFFF, 0, true), RNIC_RESP_NAK_PSN_SEQ);
    responder_free(&fake);
}

/* After an RNR NAK the later packets are dropped without a response until the NAKed request is
 * retransmitted (R070). */
static void r070_silence_after_rnr(void)
{
    responder_init(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_NAK_RNR);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 1, 4, true), RNIC_RESP_DROP);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 2, 4, true), RNIC_RESP_DROP);
    responder_expect_aeth(&fake, PSN, RNR, 0);
    responder_expect_nothing(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_NAK_RNR);
    responder_expect_aeth(&fake, PSN, RNR, 0);
    responder_post(&fake, 1, 0, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    EXPECT_EQ(fake.counters.out_of_buffer, 2);
    EXPECT_EQ(fake.counters.resp_rnr_nak, 2);
    responder_free(&fake);
}

/* A SEND First without a receive WQE causes an RNR NAK with the configured timer code, and no other
 * change (R093, R096, R097). */
static void r093_rnr_send_first(void)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&fake);
    for (uint8_t code = 0; code < ROCE_RNR_CODES; code++) {
        attr.min_rnr_timer = code;
        responder_restart(&fake, &attr);
        EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, RESPONDER_MTU, false), RNIC_RESP_NAK_RNR);
        responder_expect_aeth(&fake, PSN, ROCE_SYNDROME_RNR | code, 0);
    }
    EXPECT_EQ(fake.failed_cnt, 0);
    EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, PSN);
    responder_free(&fake);
}

/* A WRITE with immediate needs its receive WQE only at the last packet (R094). */
static void r094_rnr_write_last_imm(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, 0, RESPONDER_MTU + 4, RESPONDER_MTU),
              RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 0);
    EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST_IMM, PSN + 1, 4, true), RNIC_RESP_NAK_RNR);
    responder_expect_aeth(&fake, PSN + 1, RNR, 0);
    responder_post(&fake, 9, 0, 0);
    EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST_IMM, PSN + 1, 4, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 1, ACK, 1);
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(fake.wc[0].byte_len, RESPONDER_MTU + 4); /* length of the whole WRITE (R202) */
    responder_free(&fake);
}

/* A WRITE Only with immediate needs a receive WQE (R094). WRITEs without immediate, READ and
 * atomics need none (R095). */
static void r095_no_wqe_needed(void)
{
    responder_init(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY_IMM, PSN, 0, 4, 4), RNIC_RESP_NAK_RNR);
    responder_expect_aeth(&fake, PSN, RNR, 0);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN, 0, 4, 4), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    EXPECT_EQ(read_req(PSN + 1, 0, RESPONDER_KEY, 4), RNIC_RESP_ADVANCE);
    EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, ROCE_OP_RC_FETCH_ADD, PSN + 2,
                                                RESPONDER_VA, RESPONDER_KEY, 1, 0)),
              RNIC_RESP_ADVANCE);
    responder_free(&fake);
}

/* Each opcode Middle or Last is refused if no First packet precedes it (R072). */
static void r072_middle_without_first_is_nakked(void)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_SEND_MIDDLE,   ROCE_OP_RC_SEND_LAST,
                                      ROCE_OP_RC_SEND_LAST_IMM, ROCE_OP_RC_SEND_LAST_INV,
                                      ROCE_OP_RC_WRITE_MIDDLE,  ROCE_OP_RC_WRITE_LAST,
                                      ROCE_OP_RC_WRITE_LAST_IMM};

    for (unsigned i = 0; i < sizeof(opcodes); i++) {
        responder_init(&fake);
        responder_post(&fake, 1, 0, 1024);
        EXPECT_EQ(send(opcodes[i], PSN, RESPONDER_MTU, true), RNIC_RESP_NAK_INVALID_REQ);
        expect_event(RNIC_EVENT_QP_REQ_ERR); /* the WQE was not in use yet, so it is flushed */
        EXPECT_EQ(fake.wc_cnt, 1);
        EXPECT_EQ(fake.wc[0].status, RNIC_WC_WR_FLUSH_ERR);
        expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
    }
}

/* A First or Only packet while a message is open is refused (R073). */
static void r073_first_inside_a_message_is_nakked(void)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_SEND_FIRST,     ROCE_OP_RC_SEND_ONLY,
                                      ROCE_OP_RC_SEND_ONLY_IMM,  ROCE_OP_RC_SEND_ONLY_INV,
                                      ROCE_OP_RC_WRITE_FIRST,    ROCE_OP_RC_WRITE_ONLY,
                                      ROCE_OP_RC_WRITE_ONLY_IMM, ROCE_OP_RC_READ_REQUEST,
                                      ROCE_OP_RC_CMP_SWAP,       ROCE_OP_RC_FETCH_ADD};

    for (unsigned i = 0; i < sizeof(opcodes); i++) {
        bool payload = roce_opcode(opcodes[i])->payload != ROCE_PAYLOAD_NONE;

        responder_init(&fake);
        responder_post(&fake, 1, 0, 1024);
        responder_post(&fake, 2, 0, 1024);
        EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, RESPONDER_MTU, false), RNIC_RESP_ACKNOWLEDGE);
        EXPECT_EQ(send(opcodes[i], PSN + 1, payload ? RESPONDER_MTU : 0, true),
                  RNIC_RESP_NAK_INVALID_REQ);
        /* the WQE in use completes with an error (R089) */
        expect_wqe_error(1, RNIC_WC_LOC_QP_OP_ERR);
        EXPECT_EQ(fake.wc_cnt, 2);
        expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);

        responder_init(&fake);
        EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, 0, 600, RESPONDER_MTU),
                  RNIC_RESP_ACKNOWLEDGE);
        responder_expect_aeth(&fake, PSN, ACK, 0);
        EXPECT_EQ(send(opcodes[i], PSN + 1, payload ? RESPONDER_MTU : 0, true),
                  RNIC_RESP_NAK_INVALID_REQ);
        expect_event(RNIC_EVENT_QP_REQ_ERR);
        expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
    }
}

static void r074_middle_of_another_operation_is_nakked(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 0, 1024);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, RESPONDER_MTU, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST, PSN + 1, 4, true), RNIC_RESP_NAK_INVALID_REQ);
    expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
    responder_free(&fake);

    responder_init(&fake);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, 0, 600, RESPONDER_MTU),
              RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 0);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_MIDDLE, PSN + 1, RESPONDER_MTU, true),
              RNIC_RESP_NAK_INVALID_REQ);
    expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
    responder_free(&fake);
}

/* Operations that the QP does not allow are refused (R075, R121). */
static void r075_operation_without_access_is_nakked(void)
{
    static const struct {
        uint8_t opcode;
        unsigned access;
    } rows[] = {
        {ROCE_OP_RC_WRITE_ONLY, RNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_RC_WRITE_FIRST, RNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_RC_WRITE_ONLY_IMM, RNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_RC_READ_REQUEST, RNIC_ACCESS_REMOTE_READ},
        {ROCE_OP_RC_CMP_SWAP, RNIC_ACCESS_REMOTE_ATOMIC},
        {ROCE_OP_RC_FETCH_ADD, RNIC_ACCESS_REMOTE_ATOMIC},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_responder_attr attr = responder_attr();
        bool payload = roce_opcode(rows[i].opcode)->payload != ROCE_PAYLOAD_NONE;
        struct roce_pkt pkt;

        responder_init(&fake);
        attr.access = RNIC_ACCESS_ALL & ~rows[i].access;
        responder_restart(&fake, &attr);
        pkt = pktgen_write(&fake.gen, rows[i].opcode, PSN, RESPONDER_VA, RESPONDER_KEY,
                           RESPONDER_MTU, payload ? data : NULL, payload ? RESPONDER_MTU : 0);
        pkt.atomiceth = (struct roce_atomiceth){.va = RESPONDER_VA, .rkey = RESPONDER_KEY};
        EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_INVALID_REQ);
        expect_event(RNIC_EVENT_QP_REQ_ERR);
        expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
    }
}

/* Reserved opcodes are refused. FLUSH and ATOMIC WRITE are refused if their header fields are 0
 * (R031, R126). */
static void r031_unknown_or_wrong_opcodes(void)
{
    static const uint8_t opcodes[] = {
        0x15, 0x18, 0x19, 0x1A, 0x1B, 0x1E, 0x1F, ROCE_OP_RC_FLUSH, ROCE_OP_RC_ATOMIC_WRITE};

    for (unsigned i = 0; i < sizeof(opcodes); i++) {
        responder_init(&fake);
        EXPECT_EQ(send(opcodes[i], PSN, opcodes[i] == ROCE_OP_RC_ATOMIC_WRITE ? 8 : 0, true),
                  RNIC_RESP_NAK_INVALID_REQ);
        expect_event(RNIC_EVENT_QP_REQ_ERR);
        expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
        /* a duplicate with an unknown or wrong opcode is dropped (R117) */
        responder_init(&fake);
        responder_post(&fake, 1, 0, 64);
        EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, false), RNIC_RESP_ACKNOWLEDGE);
        EXPECT_EQ(send(opcodes[i], PSN, 8, true), RNIC_RESP_DROP);
        responder_expect_nothing(&fake);
        responder_free(&fake);
    }
}

/* While max_dest_rd_atomic responses are unsent, another READ or atomic is refused (R076). */
static void r076_read_above_the_limit_is_nakked(void)
{
    struct rnic_responder_attr attr = responder_attr();

    for (uint8_t max = 0; max <= RNIC_RD_ATOMIC_MAX; max++) {
        uint32_t psn = PSN;

        responder_init(&fake);
        attr.max_dest_rd_atomic = max;
        responder_restart(&fake, &attr);
        for (uint8_t i = 0; i < max; i++) {
            if (i % 2)
                EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, ROCE_OP_RC_FETCH_ADD, psn++,
                                                            RESPONDER_VA, RESPONDER_KEY, 1, 0)),
                          RNIC_RESP_ADVANCE);
            else
                EXPECT_EQ(read_req(psn++, 0, RESPONDER_KEY, 16), RNIC_RESP_ADVANCE);
        }
        if (max) { /* one response sent, so one resource is free */
            responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, PSN, 0, 16);
            EXPECT_EQ(read_req(psn++, 16, RESPONDER_KEY, 16), RNIC_RESP_ADVANCE);
        }
        EXPECT_EQ(read_req(psn, 0, RESPONDER_KEY, 16), RNIC_RESP_NAK_INVALID_REQ);
        expect_event(RNIC_EVENT_QP_REQ_ERR);
        for (uint8_t i = 0; i < max; i++) /* the queued responses are sent before the NAK (R077) */
            CU_ASSERT(responder_out(&fake).bth.opcode != ROCE_OP_RC_ACK);
        expect_fatal(psn, ROCE_NAK_INVALID_REQ, max ? max + 1u : 0);
        responder_free(&fake);
    }
}

/* A SEND packet is refused if its payload length does not fit its position in the message (R079).
 */
static void r079_wrong_send_payload_is_nakked(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t len;
        bool good;
    } rows[] = {
        {ROCE_OP_RC_SEND_FIRST, RESPONDER_MTU, true},
        {ROCE_OP_RC_SEND_FIRST, RESPONDER_MTU - 4, false},
        {ROCE_OP_RC_SEND_FIRST, RESPONDER_MTU + 4, false},
        {ROCE_OP_RC_SEND_FIRST, 0, false},
        {ROCE_OP_RC_SEND_FIRST, 512, false},
        {ROCE_OP_RC_SEND_MIDDLE, RESPONDER_MTU, true},
        {ROCE_OP_RC_SEND_MIDDLE, 4, false},
        {ROCE_OP_RC_SEND_MIDDLE, 512, false},
        {ROCE_OP_RC_SEND_LAST, 0, false},
        {ROCE_OP_RC_SEND_LAST, 1, true},
        {ROCE_OP_RC_SEND_LAST, RESPONDER_MTU, true},
        {ROCE_OP_RC_SEND_LAST, RESPONDER_MTU + 1, false},
        {ROCE_OP_RC_SEND_LAST_IMM, 0, false},
        {ROCE_OP_RC_SEND_ONLY, 0, true},
        {ROCE_OP_RC_SEND_ONLY, RESPONDER_MTU, true},
        {ROCE_OP_RC_SEND_ONLY, RESPONDER_MTU + 1, false},
        {ROCE_OP_RC_SEND_ONLY_IMM, 512, false},
        {ROCE_OP_RC_SEND_LAST_INV, 0, false},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool starts = roce_opcode_starts(roce_opcode(rows[i].opcode));
        uint32_t psn = PSN;

        responder_init(&fake);
        responder_post(&fake, 1, 0, 4096);
        if (!starts)
            EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, psn++, RESPONDER_MTU, false),
                      RNIC_RESP_ACKNOWLEDGE);
        if (rows[i].good) {
            EXPECT_EQ(send(rows[i].opcode, psn, rows[i].len, false), RNIC_RESP_ACKNOWLEDGE);
        } else {
            EXPECT_EQ(send(rows[i].opcode, psn, rows[i].len, false), RNIC_RESP_NAK_INVALID_REQ);
            expect_wqe_error(1, RNIC_WC_LOC_QP_OP_ERR);
            expect_fatal(psn, ROCE_NAK_INVALID_REQ, 0);
        }
        responder_free(&fake);
    }
}

/* A WRITE packet is refused if its payload length does not fit its position in the message, or if
 * the sum of the payloads differs from DMALen (R079, R080, R081). */
static void r080_wrong_write_length_is_nakked(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t dma_len;
        uint32_t len;
        bool good;
    } first[] = {
        {ROCE_OP_RC_WRITE_ONLY, 8, 8, true},
        {ROCE_OP_RC_WRITE_ONLY, 8, 7, false},
        {ROCE_OP_RC_WRITE_ONLY, 8, 9, false},
        {ROCE_OP_RC_WRITE_ONLY, 0, 4, false},
        {ROCE_OP_RC_WRITE_ONLY, 4, 0, false},
        {ROCE_OP_RC_WRITE_ONLY, RESPONDER_MTU, RESPONDER_MTU, true},
        {ROCE_OP_RC_WRITE_ONLY, RESPONDER_MTU + 1, RESPONDER_MTU + 1, false},
        {ROCE_OP_RC_WRITE_FIRST, RESPONDER_MTU + 1, RESPONDER_MTU, true},
        {ROCE_OP_RC_WRITE_FIRST, RESPONDER_MTU - 4, RESPONDER_MTU, false},
        {ROCE_OP_RC_WRITE_FIRST, 600, RESPONDER_MTU - 4, false},
        {ROCE_OP_RC_WRITE_FIRST, RNIC_MESSAGE_MAX + 1, RESPONDER_MTU, false},
        {ROCE_OP_RC_WRITE_FIRST, UINT32_MAX, RESPONDER_MTU, false},
    };
    static const struct {
        uint32_t last;
        bool good;
    } last[] = {{44, true}, {43, false}, {45, false}, {0, false}, {RESPONDER_MTU, false}};

    for (unsigned i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        responder_init(&fake);
        EXPECT_EQ(write_first(first[i].opcode, PSN, 0, first[i].dma_len, first[i].len),
                  first[i].good ? RNIC_RESP_ACKNOWLEDGE : RNIC_RESP_NAK_INVALID_REQ);
        if (!first[i].good)
            expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
    }
    for (unsigned i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
        responder_init(&fake);
        EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, 0, 300, RESPONDER_MTU),
                  RNIC_RESP_ACKNOWLEDGE);
        responder_expect_aeth(&fake, PSN, ACK, 0);
        EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST, PSN + 1, last[i].last, true),
                  last[i].good ? RNIC_RESP_ACKNOWLEDGE : RNIC_RESP_NAK_INVALID_REQ);
        if (!last[i].good)
            expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
        responder_free(&fake);
    }
}

/* A READ of more than 2^31 bytes is refused (R081). A READ of 2^31 bytes fails only because the
 * region is smaller. */
static void r081_too_long_read_is_nakked(void)
{
    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, RESPONDER_KEY, RNIC_MESSAGE_MAX + 1), RNIC_RESP_NAK_INVALID_REQ);
    expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
    responder_free(&fake);

    responder_init(&fake);
    EXPECT_EQ(read_req(PSN, 0, RESPONDER_KEY, RNIC_MESSAGE_MAX), RNIC_RESP_NAK_ACCESS);
    expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
    responder_free(&fake);
}

/* A SEND longer than its receive WQE is refused, at a SEND Only or at the first packet that does
 * not fit (R082). */
static void r082_send_too_long(void)
{
    responder_init(&fake);
    responder_post(&fake, 5, 0, 64);
    responder_post(&fake, 6, 0, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 100, true), RNIC_RESP_NAK_TOO_LONG);
    expect_wqe_error(5, RNIC_WC_LOC_LEN_ERR);
    EXPECT_EQ(fake.wc_cnt, 2);
    EXPECT_EQ(fake.wc[1].wr_id, 6);
    expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
    EXPECT_EQ(fake.counters.resp_invalid_request, 1);
    responder_free(&fake);

    responder_init(&fake);
    responder_post(&fake, 5, 0, RESPONDER_MTU + 3);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, RESPONDER_MTU, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 0);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_LAST, PSN + 1, 4, true), RNIC_RESP_NAK_TOO_LONG);
    expect_wqe_error(5, RNIC_WC_LOC_LEN_ERR);
    expect_fatal(PSN + 1, ROCE_NAK_INVALID_REQ, 0);
    responder_free(&fake);
}

/* WRITE and READ with an unknown key, a missing right or an invalid range are refused (R083, R084,
 * R088). */
static void r083_access_without_right_is_nakked(void)
{
    static const struct {
        uint64_t off;
        uint32_t key;
        uint32_t len;
        bool write_good;
        bool read_good;
    } rows[] = {
        {0, RESPONDER_KEY, 16, true, true},
        {RESPONDER_MEM_LEN - 16, RESPONDER_KEY, 16, true, true},
        {RESPONDER_MEM_LEN - 15, RESPONDER_KEY, 16, false, false},
        {RESPONDER_MEM_LEN, RESPONDER_KEY, 1, false, false},
        {UINT64_MAX, RESPONDER_KEY, 16, false, false}, /* range begins one byte
                                                        * before the region */
        {UINT64_MAX - RESPONDER_VA - 7, RESPONDER_KEY, 16, false,
         false}, /* va + len exceeds 2^64 */
        {0, RESPONDER_KEY + 0x100, 16, false, false},
        {0, RESPONDER_KEY_RO, 16, false, true},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        responder_init(&fake);
        EXPECT_EQ(responder_in(&fake, pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY, PSN,
                                                   RESPONDER_VA + rows[i].off, rows[i].key,
                                                   rows[i].len, data, rows[i].len)),
                  rows[i].write_good ? RNIC_RESP_ACKNOWLEDGE : RNIC_RESP_NAK_ACCESS);
        if (!rows[i].write_good) {
            expect_event(RNIC_EVENT_QP_ACCESS_ERR);
            expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
            EXPECT_EQ(fake.counters.resp_remote_access_errors, 1);
        }
        responder_free(&fake);

        responder_init(&fake);
        EXPECT_EQ(read_req(PSN, rows[i].off, rows[i].key, rows[i].len),
                  rows[i].read_good ? RNIC_RESP_ADVANCE : RNIC_RESP_NAK_ACCESS);
        if (!rows[i].read_good) {
            expect_event(RNIC_EVENT_QP_ACCESS_ERR);
            expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
        }
        responder_free(&fake);
    }
}

/* A WRITE First with a range partly outside the region is refused at once, and nothing is written
 * (R084). */
static void r084_whole_range_at_first(void)
{
    uint8_t before;

    responder_init(&fake);
    before = fake.mem[RESPONDER_MEM_LEN - RESPONDER_MTU];
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, RESPONDER_MEM_LEN - RESPONDER_MTU,
                          RESPONDER_MTU + 1, RESPONDER_MTU),
              RNIC_RESP_NAK_ACCESS);
    EXPECT_EQ(fake.mem[RESPONDER_MEM_LEN - RESPONDER_MTU], before);
    expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
    responder_free(&fake);
}

/* A WRITE with immediate uses a receive WQE. The completion of this WQE reports the error, so no
 * event is raised (R088, R089). */
static void r089_access_with_wqe(void)
{
    struct roce_pkt pkt;

    responder_init(&fake);
    responder_post(&fake, 3, 0, 64);
    pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY_IMM, PSN, RESPONDER_VA, 0xBAD, 4, data, 4);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_ACCESS);
    expect_wqe_error(3, RNIC_WC_LOC_ACCESS_ERR);
    expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
    responder_free(&fake);
}

/* A SEND is refused with NAK 0x63 if the receive WQE names an invalid key (R090). */
static void r090_bad_receive_buffer(void)
{
    struct rnic_sge sge[2] = {{RESPONDER_VA, 8, RESPONDER_KEY}, {RESPONDER_VA + 8, 8, 0xBAD}};
    struct rnic_recv_wr wr = {.wr_id = 7, .sge = sge, .sge_cnt = 2};

    responder_init(&fake);
    EXPECT_EQ(rnic_rq_post(&fake.resp.rq, &wr), RNIC_RQ_POSTED);
    responder_post(&fake, 8, 0, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 16, true), RNIC_RESP_NAK_OPERATIONAL);
    expect_wqe_error(7, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(fake.wc_cnt, 2);
    expect_fatal(PSN, ROCE_NAK_REMOTE_OP, 0);
    EXPECT_EQ(fake.counters.resp_operational_errors, 1);
    responder_free(&fake);

    /* SGEs that receive no bytes are not checked. */
    responder_init(&fake);
    EXPECT_EQ(rnic_rq_post(&fake.resp.rq, &wr), RNIC_RQ_POSTED);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 8, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 1);
    responder_free(&fake);
}

/* Alignment of an atomic is checked before its key (R120); the region must allow atomics (R121). */
static void r120_atomic_refused(void)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_CMP_SWAP, ROCE_OP_RC_FETCH_ADD};

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned off = 1; off < 8; off++) {
            responder_init(&fake);
            EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, opcodes[i], PSN,
                                                        RESPONDER_VA + off, 0xBAD, 1, 0)),
                      RNIC_RESP_NAK_INVALID_REQ);
            expect_fatal(PSN, ROCE_NAK_INVALID_REQ, 0);
            responder_free(&fake);
        }
        responder_init(&fake);
        EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, opcodes[i], PSN, RESPONDER_VA,
                                                    RESPONDER_KEY_RO, 1, 0)),
                  RNIC_RESP_NAK_ACCESS);
        expect_event(RNIC_EVENT_QP_ACCESS_ERR);
        expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
        responder_free(&fake);
        responder_init(&fake);
        EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, opcodes[i], PSN,
                                                    RESPONDER_VA + RESPONDER_MEM_LEN, RESPONDER_KEY,
                                                    1, 0)),
                  RNIC_RESP_NAK_ACCESS);
        expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
        responder_free(&fake);
    }
}

/* Packets with several faults show the order of the checks (R071). */
static void r071_checks_follow_the_order(void)
{
    struct rnic_responder_attr attr = responder_attr();
    struct roce_pkt pkt;

    responder_init(&fake);
    attr.access = 0;
    responder_restart(&fake, &attr);
    /* the PSN is checked before everything else */
    pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_MIDDLE, PSN + 1, 1, 0xBAD, 3, data, 4);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_PSN_SEQ);
    responder_expect_aeth(&fake, PSN, NAK(ROCE_NAK_PSN_SEQ), 0);
    /* the opcode sequence is checked before the resources: a SEND Last without First and without a
     * receive WQE causes no RNR NAK */
    EXPECT_EQ(send(ROCE_OP_RC_SEND_LAST, PSN, 0, true), RNIC_RESP_NAK_INVALID_REQ);

    /* the resources are checked before the length: a SEND First of wrong length without a receive
     * WQE causes an RNR NAK */
    responder_restart(&fake, &attr);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, 4, true), RNIC_RESP_NAK_RNR);

    /* the validity is checked before the resources: a WRITE with immediate that the QP does not
     * allow causes no RNR NAK */
    responder_restart(&fake, &attr);
    pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY_IMM, PSN, 1, 0xBAD, 3, data, 4);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_INVALID_REQ);

    /* the length is checked before the R_Key */
    attr.access = RNIC_ACCESS_ALL;
    responder_restart(&fake, &attr);
    pkt = pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY, PSN, 1, 0xBAD, 3, data, 4);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_INVALID_REQ);
    pkt.reth.dma_len = 4;
    responder_restart(&fake, &attr);
    EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_ACCESS);
    responder_free(&fake);
}

/* Invalidation of an unknown or protected key is refused, and the receive WQE completes with a
 * remote access error (error class J, R204). */
static void r204_invalidate_refused(void)
{
    static const uint32_t keys[] = {RESPONDER_KEY, 0xBAD};
    struct roce_pkt pkt;

    for (unsigned i = 0; i < 2; i++) {
        responder_init(&fake);
        responder_post(&fake, 4, 0, 64);
        pkt = pktgen_data(&fake.gen, ROCE_OP_RC_SEND_ONLY_INV, PSN, data, 4);
        pkt.ieth.rkey = keys[i];
        EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_NAK_INVALIDATE);
        expect_wqe_error(4, RNIC_WC_REM_ACCESS_ERR);
        expect_fatal(PSN, ROCE_NAK_REMOTE_ACCESS, 0);
        responder_free(&fake);
    }
}

/* An ACK is sent only for AckReq; unsent ACKs are coalesced into one (R099, R064). Their credit
 * code is 31, which sets no limit (R105, R106). */
static void r099_ack_is_sent_only_for_ackreq(void)
{
    responder_init(&fake);
    for (unsigned i = 0; i < 8; i++)
        responder_post(&fake, i, 0, 64);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN, 4, false), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_nothing(&fake);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 1, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 2, 4, false), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(fake.ready_cnt, 1);
    responder_expect_aeth(&fake, PSN + 1, ACK, 2);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 3, 4, true), RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_ONLY, PSN + 4, 4, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 4, ACK, 5);
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.ready_cnt, 2);
    EXPECT_EQ(fake.wc_cnt, 5);
    responder_free(&fake);
}

/* The MSN counts messages, wraps at 2^24, and starts at the configured value (R102, R104). */
static void r102_msn_counts_messages(void)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&fake);
    attr.rq_msn = 0xFFFFFF;
    responder_restart(&fake, &attr);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_FIRST, PSN, 0, RESPONDER_MTU + 4, RESPONDER_MTU),
              RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN, ACK, 0xFFFFFF);
    EXPECT_EQ(send(ROCE_OP_RC_WRITE_LAST, PSN + 1, 4, true), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 1, ACK, 0);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 0, 0), RNIC_RESP_ACKNOWLEDGE);
    responder_expect_aeth(&fake, PSN + 2, ACK, 1);
    EXPECT_EQ(write_first(ROCE_OP_RC_WRITE_ONLY, PSN + 2, 0, 0, 0), RNIC_RESP_DUPLICATE_ACK);
    responder_expect_aeth(&fake, PSN + 2, ACK, 1);
    responder_free(&fake);
}

/* rnic_responder_stop() drops pending responses. rnic_responder_flush() completes the WQE in use
 * before the others (R189). */
static void stop_drops_responses_and_flush_completes(void)
{
    responder_init(&fake);
    responder_post(&fake, 1, 0, 1024);
    responder_post(&fake, 2, 0, 1024);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_FIRST, PSN, RESPONDER_MTU, true), RNIC_RESP_ACKNOWLEDGE);
    rnic_responder_stop(&fake.resp);
    responder_expect_nothing(&fake);
    rnic_responder_flush(&fake.resp);
    EXPECT_EQ(fake.wc_cnt, 2);
    EXPECT_EQ(fake.wc[0].wr_id, 1);
    EXPECT_EQ(fake.wc[0].status, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(fake.wc[1].wr_id, 2);
    EXPECT_EQ(fake.event_cnt, 0);
    EXPECT_EQ(send(ROCE_OP_RC_SEND_MIDDLE, PSN + 1, RESPONDER_MTU, true), RNIC_RESP_DROP);
    responder_free(&fake);
}

SUITE("transport.responder", TEST(r067_one_nak_per_gap), TEST(r067_queued_nak_is_updated),
      TEST(r067_gap_filled_in_time), TEST(r061_psn_beyond_half_the_space_is_not_ahead),
      TEST(r070_silence_after_rnr), TEST(r093_rnr_send_first), TEST(r094_rnr_write_last_imm),
      TEST(r095_no_wqe_needed), TEST(r072_middle_without_first_is_nakked),
      TEST(r073_first_inside_a_message_is_nakked), TEST(r074_middle_of_another_operation_is_nakked),
      TEST(r075_operation_without_access_is_nakked), TEST(r031_unknown_or_wrong_opcodes),
      TEST(r076_read_above_the_limit_is_nakked), TEST(r079_wrong_send_payload_is_nakked),
      TEST(r080_wrong_write_length_is_nakked), TEST(r081_too_long_read_is_nakked),
      TEST(r082_send_too_long), TEST(r083_access_without_right_is_nakked),
      TEST(r084_whole_range_at_first), TEST(r089_access_with_wqe), TEST(r090_bad_receive_buffer),
      TEST(r120_atomic_refused), TEST(r071_checks_follow_the_order), TEST(r204_invalidate_refused),
      TEST(r099_ack_is_sent_only_for_ackreq), TEST(r102_msn_counts_messages),
      TEST(stop_drops_responses_and_flush_completes))

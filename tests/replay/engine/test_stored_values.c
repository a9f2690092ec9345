/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Values in the responder's memory that READs and atomics show: those that remote writes stored,
 * and those that only the responder's program can have stored. */
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define CTR  (VA + 0x8000)
#define ACK  0x1F

static void what_the_program_stored_is_no_difference(void)
{
    struct talk t;
    struct replay r;

    talk_init(&t);
    talk_read(&t, 7, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 7, 1, 64, 1);
    talk_read(&t, 8, VA, RKEY, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 8, 2, 64, 2);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        EXPECT_EQ(r.session.host[0].memory.initial, 64);
        EXPECT_EQ(r.session.host[0].memory.host_stores, 64);
    }
    replay_free(&r);
    talk_free(&t);
}

#define OTHER_RKEY 0x5678u

struct fetch {
    uint32_t rkey;
    uint64_t orig;
};

/* Builds FETCH_ADDs of 1 to one address through two R_Keys. Returns the frame of the last Atomic
 * ACK. */
static uint32_t add_through(struct talk *t, const struct fetch *fetch, uint32_t cnt)
{
    uint32_t frame = 0;

    talk_init(t);
    for (uint32_t i = 0; i < cnt; i++) {
        talk_atomic(t, ROCE_OP_RC_FETCH_ADD, i, CTR, fetch[i].rkey, 1, 0);
        frame = talk_atomic_ack(t, i, i + 1, fetch[i].orig);
    }
    return frame;
}

/* FETCH_ADDs through two R_Keys access one virtual address. The two regions may share their memory
 * or not. The replay must accept original values that fit either case, and report a value that fits
 * neither. */
static void values_through_two_keys_of_one_memory_agree(void)
{
    static const struct fetch same[] = {
        {RKEY, 254}, {RKEY, 255}, {OTHER_RKEY, 256}, {OTHER_RKEY, 257}, {RKEY, 258}};
    static const struct fetch apart[] = {
        {RKEY, 100}, {OTHER_RKEY, 100}, {RKEY, 101}, {OTHER_RKEY, 101}};
    static const struct fetch stale[] = {
        {RKEY, 100}, {OTHER_RKEY, 100}, {RKEY, 101}, {RKEY, 102}, {OTHER_RKEY, 102}};
    struct talk t;
    uint32_t frame;

    add_through(&t, same, 5);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
    add_through(&t, apart, 4);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
    frame = add_through(&t, stale, 5);
    talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
    talk_free(&t);

    /* A READ shows that both R_Keys refer to the same memory. */
    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, CTR, RKEY, 8, 8, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 1, CTR, OTHER_RKEY, 8, 8, 2);
    talk_ack(&t, 1, ACK, 2);
    talk_read(&t, 2, CTR, RKEY, 8);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 2, 3, 8, 2);
    talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 3, CTR, RKEY, 1, 0);
    frame = talk_atomic_ack(&t, 3, 4, 77);
    talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
    talk_free(&t);
}

/* Begins with a WRITE of 64 bytes of pattern 1. Returns the next PSN. */
static uint32_t write_first(struct talk *t)
{
    talk_init(t);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 64, 64, 1);
    talk_ack(t, 0, ACK, 1);
    return 1;
}

/* Adds a READ of 64 bytes. Returns the frame of its response. */
static uint32_t read_again(struct talk *t, uint32_t psn, uint8_t seed)
{
    talk_read(t, psn, VA, RKEY, 64);
    return talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 64, seed);
}

static void flip_first_byte(struct talk *t, uint32_t frame)
{
    struct capture_frame *f = &t->capture.frame[frame - 1];
    uint8_t payload[64], buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    int len;

    CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0);
    memcpy(payload, pkt.payload, sizeof(payload));
    payload[0] ^= 1;
    pkt.payload = payload;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    capture_put(&t->capture, frame - 1, buf, (size_t)len);
}

/* The responder's program changes bytes that the peer wrote. READs that return the new bytes must
 * pass. */
static void what_the_program_stored_over_a_write_is_no_difference(void)
{
    struct talk t;
    uint32_t psn = write_first(&t);

    read_again(&t, psn, 1);
    flip_first_byte(&t, read_again(&t, psn + 1, 1)); /* the requester polls the memory */
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    psn = write_first(&t);
    flip_first_byte(&t, read_again(&t, psn, 1));
    flip_first_byte(&t, read_again(&t, psn + 1, 1)); /* the next READ agrees */
    talk_expect_verdict(&t, VERDICT_PASS, 1);

    psn = write_first(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1); /* a message reaches the program */
    talk_ack(&t, psn, ACK, psn + 1);
    read_again(&t, psn + 1, 2);
    talk_expect_verdict(&t, VERDICT_PASS, 1);
}

static void a_byte_that_nothing_stored_differs(void)
{
    struct talk t;
    uint32_t psn = write_first(&t), frame;

    flip_first_byte(&t, frame = read_again(&t, psn, 1));
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);

    psn = write_first(&t);
    read_again(&t, psn, 1);
    flip_first_byte(&t, frame = read_again(&t, psn + 1, 1));
    read_again(&t, psn + 2, 1); /* shows the written byte again */
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);
}

/* Adds a READ and a WRITE of pattern 2 in flight, and the READ response with pattern `shown`.
 * Returns the frame of the READ response. */
static uint32_t overtake(struct talk *t, uint32_t psn, uint8_t shown)
{
    uint32_t frame;

    talk_read(t, psn, VA, RKEY, 64);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, psn + 1, VA, RKEY, 64, 64, 2);
    frame = talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, psn + 1, 64, shown);
    talk_ack(t, psn + 1, ACK, psn + 2);
    return frame;
}

/* Without a fence, the responder may execute a WRITE that follows a READ while it has not yet read
 * the last bytes for the READ. */
static void a_read_may_show_a_later_write_in_flight(void)
{
    struct talk t;
    uint32_t psn, frame;

    for (uint8_t shown = 1; shown <= 2; shown++) {
        psn = write_first(&t);
        overtake(&t, psn, shown);
        read_again(&t, psn + 2, 2);
        talk_expect_verdict(&t, VERDICT_PASS, 1);
    }

    psn = write_first(&t);
    frame = overtake(&t, psn, 3);
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);

    psn = write_first(&t);
    frame = read_again(&t, psn, 2); /* before the WRITE was sent */
    overtake(&t, psn + 1, 1);
    talk_expect_diff(&t, NULL, frame, "payload");
    talk_free(&t);
}

static void use_connection(struct talk *t, uint32_t number)
{
    t->requester_qp = 0x11 + 0x20 * number;
    t->responder_qp = 0x22 + 0x20 * number;
}

/* Two connections add to one word. A later request overtakes the last FETCH_ADD of the second one,
 * as the sequence NAK shows, and the response to this FETCH_ADD is lost. So a FETCH_ADD of the
 * first connection may return the sum with this FETCH_ADD. If the second connection did not send
 * it, this value must be a difference. */
static void a_late_atomic_of_another_connection_may_count(void)
{
    for (unsigned late = 0; late <= 1; late++) {
        struct talk t;
        uint32_t frame;

        talk_init(&t);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 0, CTR, RKEY, 1, 0);
        talk_atomic_ack(&t, 0, 1, 100);
        use_connection(&t, 1);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 0, CTR, RKEY, 2, 0);
        talk_atomic_ack(&t, 0, 1, 101);
        if (late) {
            talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 1, CTR, RKEY, 3, 0);
            talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 2, CTR, RKEY, 4, 0);
            talk_ack(&t, 1, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 1);
        }
        use_connection(&t, 0);
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 1, CTR, RKEY, 1, 0);
        frame = talk_atomic_ack(&t, 1, 2, 106);
        if (late) {
            talk_expect_verdict(&t, VERDICT_PASS, 2);
            continue;
        }
        talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
        talk_free(&t);
    }
}

/* Returns the word that a WRITE of 8 bytes of pattern `seed` stores. */
static uint64_t word_of(uint8_t seed)
{
    uint8_t byte[8];
    uint64_t word;

    for (unsigned i = 0; i < 8; i++)
        byte[i] = (uint8_t)(seed + i * 7);
    memcpy(&word, byte, sizeof(word));
    return word;
}

static void write_word(struct talk *t, uint32_t connection, uint32_t psn, uint64_t va, uint8_t seed)
{
    use_connection(t, connection);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, psn, va, RKEY, 8, 8, seed);
}

static void add_nothing(struct talk *t, uint32_t connection, uint32_t psn, uint64_t va)
{
    use_connection(t, connection);
    talk_atomic(t, ROCE_OP_RC_FETCH_ADD, psn, va, RKEY, 0, 0);
}

#define WRITERS 3u /* connections that only write to the last word */
#define WRITES  5u

/* Connection 0 writes to words 0 and 1, and connection 1 to words 1 and 0. The last atomic shows
 * that connection 1 wrote to word 0 first. Before this atomic, other connections write to word 2,
 * in one of many orders with the same result. The search must not try all of these orders before it
 * changes the order of the first writes. A value that no order explains must be a difference. */
static void many_equal_orders_hide_no_other_order(void)
{
    for (unsigned wrong = 0; wrong <= 1; wrong++) {
        struct talk t;
        uint32_t frame;

        talk_init(&t);
        write_word(&t, 0, 0, CTR, 1);
        write_word(&t, 0, 1, CTR + 8, 3);
        write_word(&t, 1, 0, CTR + 8, 3);
        write_word(&t, 1, 1, CTR, 2);
        for (uint32_t i = 0; i < WRITES; i++)
            for (uint32_t c = 2; c < 2 + WRITERS; c++)
                write_word(&t, c, i, CTR + 16, 4);
        add_nothing(&t, 2, WRITES, CTR + 16);
        add_nothing(&t, 0, 2, CTR + 8);
        add_nothing(&t, 1, 2, CTR);
        frame = talk_atomic_ack(&t, 2, 3, word_of(wrong ? 5 : 1));
        use_connection(&t, 0);
        talk_atomic_ack(&t, 2, 3, word_of(3));
        for (uint32_t c = 2; c < 2 + WRITERS; c++) {
            use_connection(&t, c);
            if (c == 2)
                talk_atomic_ack(&t, WRITES, WRITES + 1, word_of(4));
            else
                talk_ack(&t, WRITES - 1, ACK, WRITES);
        }
        if (!wrong) {
            talk_expect_verdict(&t, VERDICT_PASS, 2 + WRITERS);
            continue;
        }
        talk_expect_diff(&t, NULL, frame, "atomicacketh.orig");
        talk_free(&t);
    }
}

SUITE("replay.stored_values", TEST(what_the_program_stored_is_no_difference),
      TEST(what_the_program_stored_over_a_write_is_no_difference),
      TEST(values_through_two_keys_of_one_memory_agree), TEST(a_byte_that_nothing_stored_differs),
      TEST(a_read_may_show_a_later_write_in_flight),
      TEST(a_late_atomic_of_another_connection_may_count),
      TEST(many_equal_orders_hide_no_other_order))

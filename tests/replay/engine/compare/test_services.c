/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay of RC operations other than SEND, WRITE, READ and atomics: conversations that pass, and
 * differences that are found in a given frame. */
#include <string.h>
#include "engine/diff_rule.h"
#include "replay/talk.h"
#include "report/verdict.h"
#include "support/suite.h"
#include "wire/crc32.h"

#define VA   UINT64_C(0x7f0000001000)
#define RKEY TALK_RKEY
#define ACK  0x1F
#define MS   UINT64_C(1000000)

static void expect_holds(struct talk *t, const char *quirks, uint32_t known)
{
    struct replay r;

    if (talk_replay(t, &r, quirks) == 0) {
        uint32_t cnt = 0;

        EXPECT_EQ(report_verdict(&r), VERDICT_PASS);
        for (size_t i = 0; i < r.session.dir_cnt; i++) {
            EXPECT_EQ(r.responses.result[i].verdict, VERDICT_PASS);
            EXPECT_EQ(r.requests.result[i].verdict, VERDICT_PASS);
            cnt += r.responses.result[i].known_frames + r.requests.result[i].known_frames;
        }
        EXPECT_EQ(cnt, known);
        if (report_verdict(&r) != VERDICT_PASS)
            report_text(stdout, &r, &(struct report_options){.ladder = true});
    }
    replay_free(&r);
    talk_free(t);
}

static void expect_differs(struct talk *t, uint32_t frame, const char *field)
{
    talk_expect_diff(t, NULL, frame, field);
    talk_free(t);
}

/* ---- FLUSH and ATOMIC WRITE (annex A19) --------------------------------------------------------
 */

static struct roce_pkt flush(const struct talk *t, uint32_t psn, uint32_t len, uint8_t type,
                             uint8_t level)
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_FLUSH, psn, true);
    pkt.bth.ackreq = true;
    pkt.feth = (struct roce_feth){.plt = type, .sel = level};
    pkt.reth = (struct roce_reth){.va = VA, .rkey = RKEY, .dma_len = len};
    return pkt;
}

static uint32_t atomic_write(struct talk *t, uint32_t psn, uint64_t va, const uint8_t bytes[8])
{
    struct roce_pkt pkt;

    talk_packet(t, &pkt, ROCE_OP_RC_ATOMIC_WRITE, psn, true);
    pkt.bth.ackreq = true;
    pkt.reth = (struct roce_reth){.va = va, .rkey = RKEY, .dma_len = 8};
    pkt.payload = bytes;
    pkt.payload_len = 8;
    return talk_add(t, &pkt);
}

static void done(struct talk *t, uint32_t psn, uint32_t msn)
{
    talk_read_resp(t, ROCE_OP_RC_READ_RESP_ONLY, psn, msn, 0, 0);
}

static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static uint32_t read_back(struct talk *t, uint32_t psn, uint32_t msn, const uint8_t seen[8])
{
    struct roce_pkt pkt;

    talk_read(t, psn, VA, RKEY, 8);
    talk_packet(t, &pkt, ROCE_OP_RC_READ_RESP_ONLY, psn, false);
    pkt.aeth = (struct roce_aeth){.syndrome = ACK, .msn = msn};
    pkt.payload = seen;
    pkt.payload_len = 8;
    return talk_add(t, &pkt);
}

static void whole(struct talk *t)
{
    struct roce_pkt pkt;

    talk_init(t);
    talk_write(t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 100, 100, 1); /* frame 1 */
    talk_ack(t, 0, ACK, 1);
    pkt = flush(t, 1, 100, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE);
    talk_add(t, &pkt); /* frame 3 */
    done(t, 1, 2);
    pkt = flush(t, 2, 0, RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT, RNIC_FLUSH_MR);
    talk_add(t, &pkt); /* frame 5 */
    done(t, 2, 3);
    atomic_write(t, 3, VA, bytes); /* frame 7 */
    done(t, 3, 4);
}

static void flush_and_atomic_write_hold(void)
{
    struct talk t;

    whole(&t);
    read_back(&t, 4, 5, bytes);
    expect_holds(&t, NULL, 0);
}

static void an_atomic_write_that_did_not_store_differs(void)
{
    static const uint8_t other[8] = {1, 2, 3, 4, 5, 6, 7, 9};
    struct talk t;

    whole(&t);
    expect_differs(&t, read_back(&t, 4, 5, other), "payload");
}

static void a_flush_answered_by_an_ack_differs(void)
{
    struct talk t;
    struct roce_pkt pkt;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 100, 100, 1);
    talk_ack(&t, 0, ACK, 1);
    pkt = flush(&t, 1, 100, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE);
    talk_add(&t, &pkt);
    expect_differs(&t, talk_ack(&t, 1, ACK, 2), "bth.opcode");
}

static void a_flush_that_counts_no_message_differs(void)
{
    struct talk t;
    uint32_t frame;

    whole(&t);
    frame = talk_read(&t, 4, VA, RKEY, 8);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 4, 4, 8, 1);
    expect_differs(&t, frame + 1, "aeth.msn");
}

static void a_refused_flush_holds(void)
{
    struct talk t;
    struct roce_pkt pkt;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 0, VA, RKEY, 100, 100, 1);
    talk_ack(&t, 0, ACK, 1);
    pkt = flush(&t, 1, 100, RNIC_FLUSH_PERSISTENT, RNIC_FLUSH_RANGE);
    talk_add(&t, &pkt);
    talk_ack(&t, 1, 0x62, 1);
    expect_holds(&t, NULL, 0);
}

static void an_unaligned_atomic_write_served_differs(void)
{
    struct talk t;

    whole(&t);
    atomic_write(&t, 4, VA + 4, bytes);
    done(&t, 4, 5);
    expect_differs(&t, 10, "bth.opcode");
}

/* Replaces the ICRC of a FLUSH frame by the wrong one that Linux 6.12 computes (D15). */
static void seal_as_linux(struct talk *t, size_t at)
{
    struct capture_frame *frame = &t->capture.frame[at];
    struct roce_pkt pkt;
    uint32_t bth;

    roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len);
    bth = pkt.payload_off - pkt.op->len;
    pkt.icrc = roce_crc32(pkt.icrc, frame->data + bth, pkt.icrc_off - bth);
    for (unsigned i = 0; i < 4; i++)
        frame->data[pkt.icrc_off + i] = (uint8_t)(pkt.icrc >> 8 * i);
}

static void deviations_of_linux_hold_with_its_profile(void)
{
    struct talk t;
    struct replay r;

    whole(&t);
    seal_as_linux(&t, 2);
    seal_as_linux(&t, 4);
    /* These requests advance the PSN. Near the first PSN, the next retransmission would look like
     * QP reuse, because it differs from the original. */
    for (uint32_t psn = 4; psn < 70; psn++) {
        talk_write(&t, ROCE_OP_RC_WRITE_ONLY, psn, VA, RKEY, 8, 8, 1);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    atomic_write(&t, 70, VA, bytes);
    done(&t, 70, 71);
    t.time += 100 * MS;
    atomic_write(&t, 70, 0, bytes); /* the deviation D17: a retransmission has virtual address 0 */
    done(&t, 70, 71);
    if (talk_replay(&t, &r, NULL) == 0)
        EXPECT_EQ(report_verdict(&r), VERDICT_FAIL); /* without a profile, D17 counts as a
                                                      * difference */
    replay_free(&r);
    if (talk_replay(&t, &r, "linux-rxe-6.12") == 0)
        EXPECT_EQ(r.responses.result[0].compared, 4 + 66 + 2);
    replay_free(&r);
    expect_holds(&t, "linux-rxe-6.12", 1);
    /* A FLUSH with a wrong ICRC must be dropped, unless the ICRC is wrong as in deviation D15. */
    whole(&t);
    t.capture.frame[2].data[t.capture.frame[2].len - 1] ^= 1;
    if (talk_replay(&t, &r, "linux-rxe-6.12") == 0)
        EXPECT_EQ(r.trace.pkt[2].dropped, true);
    replay_free(&r);
    talk_free(&t);
}

/* The network changed the opcode of a READ to FLUSH, which has longer headers. */
static void a_flush_that_ends_in_its_headers_is_dropped(void)
{
    struct capture_frame *frame;
    struct roce_pkt pkt;
    struct replay r;
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, VA, RKEY, 8);
    frame = &t.capture.frame[0];
    roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len);
    frame->data[pkt.off[ROCE_HDR_BTH]] = ROCE_OP_RC_FLUSH;
    talk_read(&t, 0, VA, RKEY, 8);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 8, 1);
    if (talk_replay(&t, &r, "linux-rxe-6.12") == 0)
        EXPECT_EQ(r.trace.pkt[0].dropped, true);
    replay_free(&r);
    expect_holds(&t, "linux-rxe-6.12", 0);
}

/* ---- Deviations of Linux rxe that any operation can show ---------------------------------------
 */

/* Linux rxe retries without end if the retry count is 7 (D11). */
static void an_eighth_retry_holds_for_linux_only(void)
{
    struct replay r;
    struct talk t;

    talk_init(&t);
    for (unsigned retries = 0; retries < 12; retries++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 8, 1);
        t.time += 100 * MS;
    }
    talk_ack(&t, 0, ACK, 1);
    if (talk_replay(&t, &r, NULL) == 0) {
        EXPECT_EQ(report_verdict(&r), VERDICT_FAIL);
        EXPECT_EQ(r.requests.diff_cnt, 1);
        if (r.requests.diff_cnt == 1)
            CU_ASSERT_STRING_EQUAL(r.requests.diff[0].field, "retries");
    }
    replay_free(&r);
    expect_holds(&t, "linux-rxe-6.12", 1);
}

/* Linux rxe sends an RNR NAK for a READ if its transmit queue is full (S12). */
static void an_rnr_nak_of_a_read_holds_for_linux_only(void)
{
    struct talk t;

    talk_init(&t);
    talk_read(&t, 0, VA, RKEY, 100);
    talk_ack(&t, 0, 0x21, 1);
    t.time += 5 * MS;
    talk_read(&t, 0, VA, RKEY, 100);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 100, 7);
    talk_expect_diff(&t, NULL, 2, "bth.opcode");
    expect_holds(&t, "linux-rxe-6.12", 1);
}

/* The transmit queue of Linux is full. Linux executes an atomic and a READ, and their responses are
 * lost. Then it drops the next copy of the atomic, and refuses it with an RNR NAK. The MSN of the
 * NAK counts both requests (S12). */
static void an_rnr_nak_of_an_executed_atomic_holds_for_linux_only(void)
{
    struct talk t;

    talk_init(&t);
    for (uint32_t psn = 0; psn < 2; psn++) {
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, psn, 10, 1);
        talk_ack(&t, psn, ACK, psn + 1);
    }
    for (unsigned copy = 0; copy < 2; copy++) {
        talk_atomic(&t, ROCE_OP_RC_FETCH_ADD, 2, VA, RKEY, 1, 0);
        talk_read(&t, 3, VA + 64, RKEY, 100);
    }
    talk_ack(&t, 2, 0x21, 4);
    talk_expect_diff(&t, NULL, 9, "bth.opcode");
    expect_holds(&t, "linux-rxe-6.12", 1);
}

/* The transmit queue of Linux is full. Linux sends the response to a READ only after it refused the
 * WRITE after the READ with an RNR NAK (S12, D19). The capture may lack the RNR NAK of the READ, or
 * have responses that the full queue then dropped. Without the READ response, nothing shows that
 * the queue was full. */
static void an_rnr_nak_before_a_read_response_holds_for_linux_only(void)
{
    for (unsigned variant = 0; variant <= 2; variant++) {
        uint32_t frame;
        struct talk t;

        talk_init(&t);
        talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
        talk_ack(&t, 0, ACK, 1);
        talk_read(&t, 1, VA, RKEY, 100);
        talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 2, VA + 2000, RKEY, 257, 256, 1);
        talk_write(&t, ROCE_OP_RC_WRITE_LAST, 3, 0, 0, 0, 1, 1);
        if (variant == 1) {
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 100, 7);
            talk_ack(&t, 1, 0x21, 2);
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 1, 2, 100, 7);
        }
        frame = talk_ack(&t, 2, 0x21, 2);
        if (variant < 2)
            talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 1, 2, 100, 7);
        t.time += 5 * MS;
        talk_read(&t, 1, VA, RKEY, 100);
        talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 1, 2, 100, 7);
        talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 2, VA + 2000, RKEY, 257, 256, 1);
        talk_write(&t, ROCE_OP_RC_WRITE_LAST, 3, 0, 0, 0, 1, 1);
        talk_ack(&t, 3, ACK, 3);
        if (variant == 2) {
            talk_expect_diff(&t, "linux-rxe-6.12", frame, "answer");
            talk_free(&t);
            continue;
        }
        talk_expect_diff(&t, NULL, frame, "answer");
        expect_holds(&t, "linux-rxe-6.12", variant == 0 ? 2 : 4);
    }
}

/* After its transmit queue was full, Linux begins a READ response with Last (D19). */
static void a_first_read_answered_with_last_holds_for_linux_only(void)
{
    struct talk t;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_FIRST, 0, VA, RKEY, 1124, 1024, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_LAST, 1, VA, RKEY, 1124, 100, 1);
    talk_ack(&t, 1, ACK, 1);
    for (uint32_t psn = 2; psn < 4; psn++) {
        talk_read(&t, psn, VA + 2000, RKEY, 100);
        if (psn == 3) /* sent again: for the first copy, Linux's transmit queue was full */
            talk_read(&t, psn, VA + 2000, RKEY, 100);
        talk_read_resp(&t, psn == 2 ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_READ_RESP_LAST, psn,
                       psn, 100, 7);
    }
    talk_expect_diff(&t, NULL, 8, "bth.opcode");
    expect_holds(&t, "linux-rxe-6.12", 1);
}

/* As in D19, the response to a READ begins with Last. The capture lacks the retransmitted READ that
 * it answers. But the requester had gone back to an earlier request, so it retransmitted the READ.
 */
static void a_lost_copy_of_a_read_answered_with_last_holds(void)
{
    struct talk t;

    talk_init(&t);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
    talk_read(&t, 1, VA, RKEY, 100);
    talk_send(&t, ROCE_OP_RC_SEND_ONLY, 0, 10, 1);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_LAST, 1, 2, 100, 7);
    talk_ack(&t, 0, ACK, 2);
    expect_holds(&t, "linux-rxe-6.12", 2);
}

static void difference_of_an_acknowledgement_names_its_rule(void)
{
    static const struct {
        uint8_t recorded, replayed;
        const char *rule;
    } cases[] = {
        {0x1F, 0x25, "RC-RSP-093"}, /* ACK without valid credits, RNR NAK */
        {0x05, 0x25, "RC-RSP-093"}, /* ACK with credits, RNR NAK */
        {0x25, 0x05, "RC-RSP-093"}, {0x25, 0x26, "RC-RSP-097"},
        {0x05, 0x1F, "RC-RSP-105"}, {0x60, 0x25, "RC-RSP-067"},
    };
    struct trace_packet ack = {.opcode = 0x11};
    struct trace trace = {.pkt = &ack};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diff d = {.pkt = 0};
        struct field_diffs fields;

        field_diffs_clear(&fields);
        field_diff_add_num(&fields, "aeth.syndrome", FIELD_SYNDROME, cases[i].recorded,
                           cases[i].replayed);
        field_diff_report(&fields.at[0], "", &d);
        CU_ASSERT_STRING_EQUAL(diff_rule(&trace, &d), cases[i].rule);
    }
}

SUITE("replay.services", TEST(difference_of_an_acknowledgement_names_its_rule),
      TEST(flush_and_atomic_write_hold), TEST(an_atomic_write_that_did_not_store_differs),
      TEST(a_flush_answered_by_an_ack_differs), TEST(a_flush_that_counts_no_message_differs),
      TEST(a_refused_flush_holds), TEST(an_unaligned_atomic_write_served_differs),
      TEST(deviations_of_linux_hold_with_its_profile),
      TEST(a_flush_that_ends_in_its_headers_is_dropped), TEST(an_eighth_retry_holds_for_linux_only),
      TEST(an_rnr_nak_of_a_read_holds_for_linux_only),
      TEST(an_rnr_nak_of_an_executed_atomic_holds_for_linux_only),
      TEST(an_rnr_nak_before_a_read_response_holds_for_linux_only),
      TEST(a_first_read_answered_with_last_holds_for_linux_only),
      TEST(a_lost_copy_of_a_read_answered_with_last_holds))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests violations that are known deviations of Linux rxe: the finding must name the deviation. The
 * same violation in another situation must still be an ERROR. */
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* A responder sends a sequence NAK twice for one gap, which must be an ERROR, also if the network
 * copied other packets. Linux sends such a second NAK for a SEND or after an RNR NAK: then the
 * finding must be marked as a known deviation. */
static void second_sequence_nak_is_reported(void)
{
    static const struct {
        bool send, rnr, copy, known;
    } rows[] = {{false, false, false, false},
                {true, false, false, true},
                {false, true, false, true},
                {false, false, true, false}};
    const struct roce_flow_opts linux_rxe = {.profile = ROCE_PROFILE_LINUX_RXE_6_1};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t op = rows[i].send ? ROCE_OP_RC_SEND_ONLY : ROCE_OP_RC_WRITE_ONLY;
        const struct roce_finding *f = NULL;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_write(&g, 0, 64);
        flowgen_write(&g, 0, 64);
        if (rows[i].copy)
            flowgen_copy(&g);
        if (rows[i].rnr) {
            p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 0, &p);
            g.conn.msn[0]--;
            flowgen_ack(&g, 1, p.bth.psn, RNR_1MS);
            flowgen_wait(&g, 1400000);
            flowgen_put(&g, 0, &p);
            g.conn.msn[0]++;
            flowgen_ack_all(&g, 1);
        } else {
            flowgen_write(&g, 0, 64);
        }
        p = flowgen_req(&g, 0, op, 64);
        p.reth.dma_len = 64;
        flowgen_put(&g, 0, &p);
        flowgen_put_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 0);
        g.conn.msn[0] -= 2;
        flowgen_ack(&g, 1, p.bth.psn, NAK_SEQ);
        flowgen_ack(&g, 1, p.bth.psn, NAK_SEQ);
        judge(&g, &linux_rxe, NULL, &v);
        flowgen_free(&g);
        for (uint32_t k = 0; k < v.finding_cnt; k++)
            if (v.finding[k].rule == ROCE_RULE_NAK_TWICE)
                f = &v.finding[k];
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        EXPECT_EQ(f->severity, ROCE_SEV_ERROR); /* the two NAKs have different IPv4 identifications,
                                                 * so they are not copies */
        EXPECT_EQ(f->known != NULL, rows[i].known);
    }
}

/* Returns the finding of `rule`, or fails the test. */
static const struct roce_finding *finding_of(enum roce_rule rule)
{
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == rule)
            return &v.finding[i];
    CU_FAIL_FATAL("the finding is missing");
    return NULL;
}

/* If the transmit queue of Linux is full, Linux also sends an RNR NAK for a request that it
 * executed before, with the current MSN. This must be reported as a known deviation. An RNR NAK
 * for a new request must not count this request in its MSN: that is a violation. */
static void rnr_nak_of_a_duplicate_is_a_known_deviation(void)
{
    static const struct {
        bool acked;
        enum roce_profile profile;
        const char *known;
    } rows[] = {{true, ROCE_PROFILE_LINUX_RXE_6_1, "S12"},
                {true, ROCE_PROFILE_LINUX_RXE_6_12, "S12"},
                {true, ROCE_PROFILE_NONE, NULL},
                {false, ROCE_PROFILE_LINUX_RXE_6_1, NULL}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_flow_opts opts = {.profile = rows[i].profile};
        const struct roce_finding *f;
        struct flowgen g;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        psn = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64).bth.psn;
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        if (rows[i].acked)
            flowgen_ack_all(&g, 1);
        flowgen_ack(&g, 1, psn, RNR_1MS);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        f = finding_of(ROCE_RULE_RNR_MSN);
        EXPECT_EQ(f->severity, ROCE_SEV_ERROR);
        CU_ASSERT_STRING_EQUAL(f->known ? f->known : "", rows[i].known ? rows[i].known : "");
    }
}

/* If the transmit queue of Linux is full, Linux does not send the response to a READ and drops the
 * requests after it. Later it sends an RNR NAK with the PSN of a later request and the MSN of the
 * READ. This must be reported as a known deviation. */
static void rnr_nak_beyond_a_read_is_a_known_deviation(void)
{
    static const struct {
        enum roce_profile profile;
        const char *known;
    } rows[] = {{ROCE_PROFILE_LINUX_RXE_6_1, "S12"},
                {ROCE_PROFILE_LINUX_RXE_6_12, "S12"},
                {ROCE_PROFILE_NONE, NULL}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_flow_opts opts = {.profile = rows[i].profile};
        const struct roce_finding *f;
        struct flowgen g;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 0);
        flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 0);
        flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 0);
        psn = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 0).bth.psn;
        g.conn.msn[0] -= 3;
        flowgen_ack(&g, 1, psn, RNR_1MS);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        f = finding_of(ROCE_RULE_MSN);
        CU_ASSERT_STRING_EQUAL(f->known ? f->known : "", rows[i].known ? rows[i].known : "");
    }
}

/* After a go-back, Linux may send an empty Only packet instead of a retransmission, and then its
 * later requests with higher PSNs than before. The finding must be marked as a known deviation, but
 * only if the packet is empty. */
static void empty_only_that_shifts_psns_is_a_known_deviation(void)
{
    static const struct {
        uint16_t len; /* payload of the packet that replaces the first retransmission, bytes */
        enum roce_profile profile;
        const char *known;
    } rows[] = {{0, ROCE_PROFILE_LINUX_RXE_6_1, "D41"},
                {0, ROCE_PROFILE_LINUX_RXE_6_12, "D41"},
                {0, ROCE_PROFILE_NONE, NULL},
                {32, ROCE_PROFILE_LINUX_RXE_6_12, NULL}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_flow_opts opts = {.profile = rows[i].profile};
        struct flowgen g;
        struct roce_pkt first, second;
        unsigned cnt = 0;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        first = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &first);
        second = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 48);
        second.reth.dma_len = 48;
        flowgen_put(&g, 0, &second);
        flowgen_wait(&g, 5000000);
        first.payload_len = rows[i].len;
        flowgen_put(&g, 0, &first);
        first.payload_len = 64;
        first.bth.psn = second.bth.psn; /* the PSN that another request had before */
        flowgen_put(&g, 0, &first);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        for (uint32_t k = 0; k < v.finding_cnt; k++) {
            if (v.finding[k].rule != ROCE_RULE_RETRY_DIFFERS)
                continue;
            cnt++;
            CU_ASSERT_STRING_EQUAL(v.finding[k].known ? v.finding[k].known : "",
                                   rows[i].known ? rows[i].known : "");
        }
        EXPECT_EQ(cnt, 2);
    }
}

/* The empty Only packet that Linux sends in place of a retransmission may have the PSN of an
 * acknowledged request, and come after a long ACK timeout. The responder may still answer the
 * acknowledged request. */
static void empty_only_after_an_idle_time_is_no_qp_reuse(void)
{
    const struct roce_flow_opts opts = {.profile = ROCE_PROFILE_LINUX_RXE_6_12};
    struct roce_pkt atomic, ack, empty;
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    atomic = flowgen_req(&g, 0, ROCE_OP_RC_FETCH_ADD, 0);
    flowgen_put(&g, 0, &atomic);
    ack = flowgen_resp(&g, 1, ROCE_OP_RC_ATOMIC_ACK, atomic.bth.psn, 0);
    flowgen_put(&g, 1, &ack);
    flowgen_silence(&g, UINT64_C(2000000000));
    empty = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 0);
    empty.bth.psn = atomic.bth.psn;
    flowgen_put(&g, 0, &empty);
    flowgen_put(&g, 1, &ack);
    judge(&g, &opts, NULL, &v);
    flowgen_free(&g);
    for (uint32_t k = 0; k < v.finding_cnt; k++)
        CU_ASSERT(v.finding[k].rule != ROCE_RULE_QP_REUSED &&
                  v.finding[k].rule != ROCE_RULE_ATOMIC_ACK_KIND);
    CU_ASSERT_STRING_EQUAL(finding_of(ROCE_RULE_RETRY_DIFFERS)->known, "D41");
}

/* After Linux has sent an empty Only packet in place of a retransmission, findings about this
 * direction are doubtful. Findings about the opposite direction, which has its own PSNs, must still
 * be ERRORs. */
static void after_an_empty_only_findings_on_the_other_direction_are_errors(void)
{
    for (int side = 0; side < 2; side++) {
        const struct roce_flow_opts opts = {.profile = ROCE_PROFILE_LINUX_RXE_6_12};
        struct roce_pkt lost, next;
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_connect(&g);
        for (int i = 0; i < 6; i++)
            flowgen_send(&g, i % 2, 64);
        lost = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &lost);
        lost.payload_len = 0;
        flowgen_put(&g, 0, &lost);
        next = flowgen_req(&g, side, ROCE_OP_RC_WRITE_FIRST, g.mtu);
        next.reth.dma_len = g.mtu + 64;
        flowgen_put(&g, side, &next);
        next = flowgen_req(&g, side, ROCE_OP_RC_WRITE_LAST, 60);
        flowgen_put(&g, side, &next);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        EXPECT_EQ(finding_of(ROCE_RULE_DMA_LEN)->severity, side ? ROCE_SEV_ERROR : ROCE_SEV_WARN);
    }
}

/* If Linux cannot send the response to a READ of 0 bytes, it later sends a Last without payload.
 * The analysis engine must report the Last as a known deviation. An empty First is a violation, but
 * not a known deviation. */
static void empty_last_read_response_is_a_known_deviation(void)
{
    static const struct {
        uint8_t opcode;
        enum roce_profile profile;
        const char *known;
    } rows[] = {{ROCE_OP_RC_READ_RESP_LAST, ROCE_PROFILE_LINUX_RXE_6_1, "D19"},
                {ROCE_OP_RC_READ_RESP_LAST, ROCE_PROFILE_LINUX_RXE_6_12, "D19"},
                {ROCE_OP_RC_READ_RESP_LAST, ROCE_PROFILE_NONE, NULL},
                {ROCE_OP_RC_READ_RESP_FIRST, ROCE_PROFILE_LINUX_RXE_6_1, NULL}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_flow_opts opts = {.profile = rows[i].profile};
        const struct roce_finding *f;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 4096);
        p = flowgen_resp(&g, 1, rows[i].opcode,
                         flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 0).bth.psn, 0);
        flowgen_put(&g, 1, &p);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        f = finding_of(ROCE_RULE_READ_RESP_SIZE);
        EXPECT_EQ(f->severity, ROCE_SEV_ERROR);
        CU_ASSERT_STRING_EQUAL(f->known ? f->known : "", rows[i].known ? rows[i].known : "");
    }
}

SUITE("flow.known_deviations", TEST(second_sequence_nak_is_reported),
      TEST(rnr_nak_of_a_duplicate_is_a_known_deviation),
      TEST(rnr_nak_beyond_a_read_is_a_known_deviation),
      TEST(empty_only_that_shifts_psns_is_a_known_deviation),
      TEST(empty_only_after_an_idle_time_is_no_qp_reuse),
      TEST(after_an_empty_only_findings_on_the_other_direction_are_errors),
      TEST(empty_last_read_response_is_a_known_deviation))

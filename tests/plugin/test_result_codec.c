/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests plugin/result_codec.h: records that are empty, full or random are encoded and decoded, and
 * must not change. */
#include "result_codec.h"

#include <string.h>
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

/* Encodes and decodes a record. Checks that the result equals the record; members that are not
 * encoded must have their default values. */
static void check_same(const struct roce_result_record *in, uint32_t frame)
{
    uint8_t buf[ROCE_RESULT_LEN_MAX + 1];
    struct roce_result_record out, want = *in;
    size_t len;

    memset(buf, 0xA5, sizeof(buf));
    len = roce_result_encode(in, frame, buf);
    CU_ASSERT(len >= 1 && len <= ROCE_RESULT_LEN_MAX);
    CU_ASSERT_EQUAL(buf[len], 0xA5);
    CU_ASSERT_EQUAL(roce_result_decode(&out, frame, buf), len);
    want.result.findings = 0;
    want.result.src_qpn = roce_result_record_empty.result.src_qpn;
    want.result.msg_bytes = 0;
    want.result.cm_service = 0;
#define SAME(member) CU_ASSERT_EQUAL(out.member, want.member)
    SAME(delta);
    SAME(notes);
    SAME(msn_step);
    SAME(result.conn_index);
    SAME(result.side);
    SAME(result.qp_use);
    SAME(result.flags);
    SAME(result.findings);
    SAME(result.src_qpn);
    SAME(result.rel_psn);
    SAME(result.next_psn);
    SAME(result.gap);
    SAME(result.cause);
    SAME(result.repeats_frame);
    SAME(result.rto);
    SAME(result.timeout);
    SAME(result.trigger_frame);
    SAME(result.request_frame);
    SAME(result.acked_packets);
    SAME(result.rtt);
    SAME(result.response_time);
    SAME(result.message_time);
    SAME(result.done_bytes);
    SAME(result.dup_ack_num);
    SAME(result.dup_ack_frame);
    SAME(result.psns_in_flight);
    SAME(result.requests_in_flight);
    SAME(result.reads_in_flight);
    SAME(result.read_bytes_in_flight);
    SAME(result.bytes_in_flight);
    SAME(result.msg_number);
    SAME(result.msg_first_frame);
    SAME(result.msg_offset);
    SAME(result.msg_bytes);
    SAME(result.msg_total);
    SAME(result.rkey);
    SAME(result.va);
    SAME(result.credits);
    SAME(result.rnr_wait);
    SAME(result.rnr_waited);
    SAME(result.ce_frame);
    SAME(result.cnp_delay);
    SAME(result.cm_conn_index);
    SAME(result.cm_frame);
#undef SAME
}

static void empty_frame_takes_one_byte(void)
{
    uint8_t buf[ROCE_RESULT_LEN_MAX];

    check_same(&roce_result_record_empty, 1);
    CU_ASSERT_EQUAL(roce_result_encode(&roce_result_record_empty, 1, buf), 1);
}

/* The record of a request packet in the middle of a WRITE must need at most 24 bytes. */
static void ordinary_frame_is_small(void)
{
    struct roce_result_record record = roce_result_record_empty;
    uint8_t buf[ROCE_RESULT_LEN_MAX];

    record.delta = 1000;
    record.result.conn_index = 63;
    record.result.flags = ROCE_AN_REQUEST | ROCE_AN_REL_PSN | ROCE_AN_REGION;
    record.result.rel_psn = 60000;
    record.result.msg_number = 15000;
    record.result.psns_in_flight = 3;
    record.result.bytes_in_flight = 3072;
    record.result.msg_offset = 2048;
    record.result.msg_first_frame = 999872;
    record.result.msg_total = 4096;
    check_same(&record, 1000000);
    CU_ASSERT(roce_result_encode(&record, 1000000, buf) <= 24);
}

/* Fills the whole record with random bytes, so that all members are set, most of them to large
 * values. The decoded record must be equal. */
static void random_frames_come_back(void)
{
    struct rng rng = rng_of(20);
    struct roce_result_record record;

    for (int round = 0; round < 2000; round++) {
        rng_fill(&rng, &record, sizeof(record));
        record.result.cause = (enum roce_cause)rng_below(&rng, ROCE_CAUSE_CNT);
        if (round % 2)
            record.result.rtt = record.result.rto = ROCE_NEVER_NS;
        check_same(&record, (uint32_t)rng_u64(&rng));
    }
}

SUITE("plugin.result_codec", TEST(empty_frame_takes_one_byte), TEST(ordinary_frame_is_small),
      TEST(random_frames_come_back))

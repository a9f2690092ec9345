/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result_codec.h"

#include "wire/codes.h"

/*
 * Members of a record. P(member, default): the member is encoded if its value differs from the
 * default. F(member): number of an earlier frame, encoded as the distance to this frame; its
 * default is 0. The members that most frames set come first, so that the varint of the presence
 * bits is short.
 */
/* clang-format off */
#define MEMBERS(P, F)                          \
    P(result.conn_index,             ROCE_NO_CONN) \
    P(result.flags,              0)              \
    P(result.rel_psn,            0)              \
    P(delta,                     ROCE_NEVER_NS)  \
    P(result.side,               0)              \
    P(result.msg_number,         0)              \
    P(result.psns_in_flight,     0)              \
    P(result.bytes_in_flight,    0)              \
    P(result.requests_in_flight, 0)              \
    P(result.msg_offset,         0)              \
    F(result.msg_first_frame)                    \
    P(result.msg_total,          0)              \
    P(result.next_psn,           0)              \
    F(result.request_frame)                      \
    P(result.acked_packets,      0)              \
    P(result.rtt,                ROCE_NEVER_NS)  \
    P(result.message_time,       ROCE_NEVER_NS)  \
    P(result.done_bytes,         0)              \
    P(result.response_time,      ROCE_NEVER_NS)  \
    P(result.reads_in_flight,    0)              \
    P(result.read_bytes_in_flight, 0)            \
    P(result.va,                 0)              \
    P(result.rkey,               0)              \
    P(result.credits,            ROCE_CREDITS_UNLIMITED) \
    P(result.qp_use,              0)              \
    P(result.gap,                0)              \
    P(result.cause,              ROCE_CAUSE_NONE) \
    F(result.go_back_frame)                      \
    F(result.repeats_frame)                      \
    P(result.rto,                ROCE_NEVER_NS)  \
    P(result.timeout,            ROCE_NEVER_NS)  \
    F(result.trigger_frame)                      \
    P(result.dup_ack_num,        0)              \
    F(result.dup_ack_frame)                      \
    P(result.rnr_wait,           ROCE_NEVER_NS)  \
    P(result.rnr_waited,         ROCE_NEVER_NS)  \
    F(result.ce_frame)                           \
    P(result.cnp_delay,          ROCE_NEVER_NS)  \
    P(result.cm_conn_index,          ROCE_NO_CONN) \
    F(result.cm_frame)                           \
    P(notes,                     0)              \
    P(msn_step,                  0)
/* clang-format on */

enum {
#define P(member, none) +1
#define F(member)       +1
    MEMBER_CNT = 0 MEMBERS(P, F)
#undef P
#undef F
};
/* A varint of 64 bits has at most ten bytes. A record has one for the presence bits and one for
 * each member. */
_Static_assert((MEMBER_CNT + 1) * 10 <= ROCE_RESULT_LEN_MAX,
               "ROCE_RESULT_LEN_MAX holds every member");
_Static_assert(MEMBER_CNT <= 64, "a 64-bit number has a bit for each member");

const struct roce_result_record roce_result_record_empty = {
    .result = ROCE_FLOW_RESULT_NONE,
    .delta = ROCE_NEVER_NS,
};

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static const uint8_t *get_varint(const uint8_t *p, uint64_t *v)
{
    unsigned shift = 0;

    *v = 0;
    do
        *v |= (uint64_t)(*p & 0x7F) << shift;
    while (shift += 7, *p++ & 0x80);
    return p;
}

size_t roce_result_encode(const struct roce_result_record *in, uint32_t frame, uint8_t *buf)
{
    uint64_t present = 0, bit = 1;
    uint8_t *p;

#define P(member, none)                                                                            \
    present |= in->member != (none) ? bit : 0;                                                     \
    bit <<= 1;
#define F(member) P(member, 0)
    MEMBERS(P, F)
#undef P
#undef F
    p = put_varint(buf, present);
    bit = 1;
#define P(member, none)                                                                            \
    if (present & bit)                                                                             \
        p = put_varint(p, (uint64_t)in->member);                                                   \
    bit <<= 1;
#define F(member)                                                                                  \
    if (present & bit)                                                                             \
        p = put_varint(p, frame - in->member);                                                     \
    bit <<= 1;
    MEMBERS(P, F)
#undef P
#undef F
    return (size_t)(p - buf);
}

size_t roce_result_decode(struct roce_result_record *out, uint32_t frame, const uint8_t *buf)
{
    uint64_t present, v, bit = 1;
    const uint8_t *p = get_varint(buf, &present);

    *out = roce_result_record_empty;
#define P(member, none)                                                                            \
    if (present & bit) {                                                                           \
        p = get_varint(p, &v);                                                                     \
        out->member = (__typeof__(out->member))v;                                                  \
    }                                                                                              \
    bit <<= 1;
#define F(member)                                                                                  \
    if (present & bit) {                                                                           \
        p = get_varint(p, &v);                                                                     \
        out->member = frame - (uint32_t)v;                                                         \
    }                                                                                              \
    bit <<= 1;
    MEMBERS(P, F)
#undef P
#undef F
    return (size_t)(p - buf);
}

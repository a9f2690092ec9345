/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/names.h"

const char *export_side(unsigned side)
{
    return side & 1 ? "b" : "a";
}

const char *export_oper(enum roce_oper oper)
{
    static const char *const names[ROCE_OPER_CNT] = {"send", "write", "read", "atomic", "other"};

    return names[oper];
}

enum roce_oper export_oper_of(enum roce_kind kind)
{
    switch (kind) {
    case ROCE_KIND_SEND: return ROCE_OPER_SEND;
    case ROCE_KIND_WRITE: return ROCE_OPER_WRITE;
    case ROCE_KIND_READ: return ROCE_OPER_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return ROCE_OPER_ATOMIC;
    default: return ROCE_OPER_OTHER;
    }
}

const char *export_cause(enum roce_cause cause)
{
    static const char *const names[ROCE_CAUSE_CNT] = {"none",    "sequence_nak",    "rnr_nak",
                                                      "timeout", "implied_nak",     "read_gap",
                                                      "unknown", "spurious_timeout"};

    return names[cause];
}

const char *export_severity(enum roce_severity severity)
{
    static const char *const names[ROCE_SEV_CNT] = {"note", "warning", "error"};

    return names[severity];
}

const char *const export_flags[EXPORT_FLAGS] = {"request",
                                                "response",
                                                "retransmission",
                                                "duplicate_request",
                                                "copy",
                                                "out_of_order",
                                                "psn_gap",
                                                "ack_unseen",
                                                "duplicate_ack",
                                                "duplicate_response",
                                                "rnr_nak",
                                                "nak",
                                                "implied_nak",
                                                "zero_credit",
                                                "credit_update",
                                                "credits_exhausted",
                                                "keep_alive",
                                                "qp_reused",
                                                "ce",
                                                "cnp",
                                                "message_start",
                                                "message_end",
                                                "dropped",
                                                "cm"};
_Static_assert(ROCE_AN_CM == 1u << (EXPORT_FLAGS - 1), "each flag up to ROCE_AN_CM has a name");

struct roce_flow_owner export_owner(const struct roce_flow *flow, uint32_t conn_index,
                                    unsigned side)
{
    struct roce_flow_owner owner = roce_flow_owner(flow, conn_index, (uint8_t)side);

    /* The direction has become a part of another connection. Side 0 of its former connection is
     * side 1 of the other connection, and side 1 is side 0. */
    if (owner.conn_index != conn_index)
        owner.side = !side;
    return owner;
}

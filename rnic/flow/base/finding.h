/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Finding: what one rule says about one packet: the field, what was expected, what was there, and
 * the earlier frame it contradicts or explains.
 */
#ifndef FLOW_BASE_FINDING_H
#define FLOW_BASE_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include "flow/base/rules.h"

/* How `expected` and `actual` are to be read. */
enum roce_value {
    ROCE_VALUE_DEC,
    ROCE_VALUE_HEX,
    ROCE_VALUE_OPCODE,
    ROCE_VALUE_SYNDROME,
    ROCE_VALUE_NS,
    ROCE_VALUE_NONE, /* the text of the rule says it all */
};

/* How `actual` should stand to `expected`. */
enum roce_relation { ROCE_REL_EQ, ROCE_REL_NE, ROCE_REL_AT_LEAST, ROCE_REL_AT_MOST };

struct roce_finding {
    enum roce_rule rule;
    enum roce_severity severity; /* the rule's, or less where the capture does not prove it */
    uint32_t frame;      /* the packet judged; the connection's last at roce_flow_finish() */
    uint64_t time;       /* ns, of that frame */
    uint32_t conn_index; /* ROCE_NO_CONN where no connection is concerned */
    uint8_t side;        /* who sent it: index of the connection's sides */
    const char *field;   /* "bth.psn", static */
    enum roce_value value;
    enum roce_relation relation;
    uint64_t expected;
    uint64_t actual;
    uint32_t other_frame; /* the frame it contradicts or explains; 0 for none */
    const char *known;    /* id of the known deviation ("D4"), or NULL */
};

/*
 * One line for people: "aeth.msn: expected 3, found 5 (frame 12): ...". Without frame number and
 * rule id, which callers print in their own columns. Writes at most `cap` bytes with the final
 * zero; returns `buf`.
 */
const char *roce_finding_text(const struct roce_finding *finding, char *buf, size_t cap);

#endif

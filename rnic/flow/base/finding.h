/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Finding: a statement of one rule about one packet. It names the field, the expected and the
 * actual value, and the earlier frame that the packet contradicts or explains.
 */
#ifndef FLOW_BASE_FINDING_H
#define FLOW_BASE_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include "flow/base/rules.h"

/* Format of `expected` and `actual`. */
enum roce_value {
    ROCE_VALUE_DEC,
    ROCE_VALUE_HEX,
    ROCE_VALUE_OPCODE,
    ROCE_VALUE_SYNDROME,
    ROCE_VALUE_NS,
    ROCE_VALUE_NONE, /* no values: the text of the rule is complete */
};

/* Required relation of `actual` to `expected`. */
enum roce_relation { ROCE_REL_EQ, ROCE_REL_NE, ROCE_REL_AT_LEAST, ROCE_REL_AT_MOST };

struct roce_finding {
    enum roce_rule rule;
    enum roce_severity
        severity;   /* severity of the rule, or less if the capture does not prove it */
    uint32_t frame; /* packet concerned; at roce_flow_finish() the last one of the connection */
    uint64_t time;  /* time of that frame, ns */
    uint32_t conn_index; /* connection, or ROCE_NO_CONN */
    uint8_t side;        /* sender: index into the sides of the connection */
    const char *field;   /* "bth.psn", a static string */
    enum roce_value value;
    enum roce_relation relation;
    uint64_t expected;
    uint64_t actual;
    uint32_t other_frame; /* frame that it contradicts or explains; 0 for none */
    const char *known;    /* id of the known deviation ("D4"), or NULL */
};

/* Writes one line of text: "aeth.msn: expected 3, found 5; ... (see frame 12)". Frame number and
 * rule id are not in it: callers print them in columns. Writes at most `cap` bytes with the final
 * zero. Returns `buf`. */
const char *roce_finding_text(const struct roce_finding *finding, char *buf, size_t cap);

#endif

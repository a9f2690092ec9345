/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Finding: a report that one packet violates a rule or shows an event. A finding names the field,
 * its expected and actual value, and, if there is one, an earlier frame that the packet contradicts
 * or refers to.
 */
#ifndef FLOW_BASE_FINDING_H
#define FLOW_BASE_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include "flow/base/rules.h"

/* Display format of a finding's expected and actual value. */
enum roce_value {
    ROCE_VALUE_DEC,
    ROCE_VALUE_HEX,
    ROCE_VALUE_OPCODE,
    ROCE_VALUE_SYNDROME,
    ROCE_VALUE_NS,
    ROCE_VALUE_NONE,    /* no values: the text of the rule is sufficient */
    ROCE_VALUE_SERVICE, /* enum roce_svc */
};

/* Required relation of `actual` to `expected`. */
enum roce_relation { ROCE_REL_EQ, ROCE_REL_NE, ROCE_REL_AT_LEAST, ROCE_REL_AT_MOST };

struct roce_finding {
    enum roce_rule rule;
    enum roce_severity severity; /* severity of the rule, or a lower one if the capture does not
                                  * prove the violation */
    uint32_t frame; /* frame number of the packet that the finding is about; for a finding at the
                     * end of a connection, the number of its last frame */
    uint64_t time;  /* time of `frame`, ns */
    uint32_t conn_index; /* connection index, or ROCE_NO_CONN */
    uint8_t side;        /* sender of the packet that the finding is about: 0 or 1, index into the
                          * sides of the connection */
    uint8_t loss;      /* enum roce_loss: the loss that led to the timeout, if the finding reports a
                          timeout */
    const char *field; /* field name, for example "bth.psn"; static string */
    enum roce_value value;
    enum roce_relation relation;
    uint64_t expected;
    uint64_t actual;
    uint32_t other_frame; /* earlier frame that the packet contradicts or refers to; 0 if none */
    const char *known;    /* id of the known deviation that the finding shows
                           * (known_deviations.def), for example "D4", or NULL */
};

/* Writes the finding as one line of text: "aeth.msn: expected 3, found 5; ... (see frame 12)". The
 * line does not contain the frame number of the finding or the rule id. Writes at most `cap` bytes,
 * including the final zero. Returns `buf`. */
const char *roce_finding_text(const struct roce_finding *finding, char *buf, size_t cap);

#endif

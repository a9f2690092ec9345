/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Names: the words of all exports for sides, operations, causes and packet flags. check --json uses
 * the same words. */
#ifndef REPLAY_EXPORT_NAMES_H
#define REPLAY_EXPORT_NAMES_H

#include "flow/flow.h"
#include "wire/codes.h"

/* Returns "a" or "b". */
const char *export_side(unsigned side);

/* Returns "send", "write", "read", "atomic" or "other". */
const char *export_oper(enum roce_oper oper);
enum roce_oper export_oper_of(enum roce_kind kind);

/* Returns the word for a cause of retransmissions: "sequence_nak", "timeout" and so on. */
const char *export_cause(enum roce_cause cause);

/* Returns "note", "warning" or "error". */
const char *export_severity(enum roce_severity severity);

/* Names of the bits of roce_flow_result.flags, from bit 0 on: "request", "retransmission". */
#define EXPORT_FLAGS 24u
extern const char *const export_flags[EXPORT_FLAGS];

/* Returns the final number of a connection and the final index of its side `side`. Also works for a
 * side that sent no packets. The analysis may replace numbers until the end of the capture, so call
 * this function in check_watch.on_end(). */
struct roce_flow_owner export_owner(const struct roce_flow *flow, uint32_t conn_index,
                                    unsigned side);

#endif

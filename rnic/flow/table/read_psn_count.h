/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Number of PSNs of a READ request: the number of its responses, which depends on the path MTU.
 * While the path MTU is unknown, the number is a guess: the lowest possible value. Used only in
 * rnic/flow.
 */
#ifndef FLOW_TABLE_READ_PSN_COUNT_H
#define FLOW_TABLE_READ_PSN_COUNT_H

#include "flow/base/state.h"

/* Returns the number of PSNs of the current READ request. If it is only the lowest possible number,
 * sets *guess to true. */
uint32_t roce_read_psn_count(const struct roce_ctx *ctx, bool *guess);

/* Corrects the number of PSNs of READ `e` with the current response to `e`: if the opcode of the
 * response is Only, the number is 1. */
void roce_read_psn_count_confirm(const struct roce_ctx *ctx, struct roce_req *req,
                                 struct roce_sent_packet *e);

/* Returns whether PSN counts are computed with the path MTU in the CM messages, which no packet has
 * confirmed yet: the QPs may use another path MTU. */
static inline bool roce_read_psn_count_is_agreed(const struct roce_conn *conn)
{
    return conn->facts.mtu_sure && !conn->mtu_seen && roce_conn_cm_seen(conn);
}

/* Computes the guessed PSN counts of a connection again, when its path MTU has become known. `all`:
 * also corrects the counts that were computed with another path MTU. */
void roce_read_psn_count_update(struct roce_conn *conn, bool all);

#endif

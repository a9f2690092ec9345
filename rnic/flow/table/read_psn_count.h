/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Number of PSNs of a READ request: depends on the path MTU. While the path MTU is unknown, the
 * count is a guess, the least possible value. Private to flow/.
 */
#ifndef FLOW_TABLE_READ_PSN_COUNT_H
#define FLOW_TABLE_READ_PSN_COUNT_H

#include "flow/base/state.h"

/* Returns the number of PSNs of the current READ request. Sets *guess if the number is a lower
 * bound. */
uint32_t roce_read_psn_count(const struct roce_ctx *ctx, bool *guess);

/* Confirms the PSN count of READ `e` by the current response: a response with opcode Only shows
 * that the count is 1. */
void roce_read_psn_count_confirm(const struct roce_ctx *ctx, struct roce_req *req,
                                 struct roce_sent_packet *e);

/* Recomputes guessed PSN counts of a connection whose path MTU became known. */
void roce_read_psn_count_update(struct roce_conn *conn);

#endif

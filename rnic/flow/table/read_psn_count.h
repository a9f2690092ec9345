/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The number of PSNs of a READ request depends on the path MTU. Until that is known it is a guess:
 * the least there can be. Private to flow/.
 */
#ifndef FLOW_TABLE_READ_PSN_COUNT_H
#define FLOW_TABLE_READ_PSN_COUNT_H

#include "flow/base/state.h"

/* Returns how many PSNs the READ request at hand takes. *guess: at least so many. */
uint32_t roce_read_psn_count(const struct roce_ctx *ctx, bool *guess);

/* The response at hand answers `e`: if it is the only one, `e` takes one PSN whatever the MTU. */
void roce_read_psn_count_confirm(const struct roce_ctx *ctx, struct roce_req *req,
                                 struct roce_sent_packet *e);

/* Recomputes the guesses of a connection whose path MTU is known now. */
void roce_read_psn_count_update(struct roce_conn *conn);

#endif

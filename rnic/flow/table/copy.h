/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Copies: a packet that was captured twice, which is no retransmission. Where the IPv4
 * identification is in use it tells the two apart; a frame with the same one and the same ICRC left
 * its sender once. Private to flow/.
 */
#ifndef FLOW_TABLE_COPY_H
#define FLOW_TABLE_COPY_H

#include "flow/base/state.h"

/* Reports that the packet at hand is a copy of frame `of`, 0 unknown. */
void roce_report_copy(struct roce_ctx *ctx, uint32_t of);

/* Returns whether the request at hand is a copy of one with this ICRC, identification and time. */
bool roce_request_is_copy(const struct roce_ctx *ctx, uint32_t icrc, uint16_t id, uint64_t time);

/* Returns whether the response at hand is a copy of the latest one, or of a recent NAK: others may
 * come between where each packet passes two capture points. Reports the copy. */
bool roce_response_is_copy(struct roce_ctx *ctx);

/* Notes the NAK at hand, so that a copy of it is recognised. */
void roce_copy_note_nak(struct roce_ctx *ctx);

/* Returns whether a copy of the NAK in `frame` would be recognised. */
bool roce_copy_is_detectable(const struct roce_ctx *ctx, uint32_t frame);

/* Returns whether packets of this connection seem to pass two capture points, so that some are
 * captured late. */
bool roce_conn_has_copies(const struct roce_ctx *ctx);

#endif

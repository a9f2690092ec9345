/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Copies: two captures of one transmission, as opposed to a retransmission. Two frames with the
 * same IPv4 identification and ICRC are copies if the sender uses a new identification for each
 * packet. Otherwise (also with IPv6), two requests with the same ICRC are copies if the time
 * between them is short and the requester did not go back in between. If most packets have a copy,
 * and all after about the same time, this time tells copies from retransmissions. Used only in
 * rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_COPY_H
#define FLOW_RETRANSMIT_COPY_H

#include "flow/base/state.h"

/* Reports that the current packet is a copy, a second capture of the transmission in frame `of`.
 * `of` is 0 if that frame is unknown. */
void roce_report_copy(struct roce_ctx *ctx, uint32_t of);

/* Records that the current request is a copy (second capture) of a packet that was captured `ns`
 * nanoseconds earlier. */
void roce_copy_time(struct roce_ctx *ctx, uint64_t ns);

/* Returns whether the current request is a second capture of a transmission of `e`, the request
 * with the same PSN. Compares with the latest transmission of `e` and with earlier ones. */
bool roce_request_is_copy(const struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Returns whether the current response is a second capture of the latest response, or of a recent
 * one that roce_copy_note_response() remembered. If it is, reports the copy. Several recent
 * responses are compared, because at a second capture point other responses may be captured before
 * the copy. */
bool roce_response_is_copy(struct roce_ctx *ctx);

/* Returns whether the current datagram is a second capture of one of the latest datagrams of its
 * sender, and reports that. Otherwise remembers the datagram. */
bool roce_datagram_is_copy(struct roce_ctx *ctx);

/* Remembers the current response if it is a NAK, or if most packets of the connection were captured
 * twice. */
void roce_copy_note_response(struct roce_ctx *ctx);

/* If most packets of the connection were captured twice, remembers the latest transmission of
 * request `e`, before a retransmission replaces it. The copy of that transmission may be captured
 * after the retransmission. */
void roce_copy_note_superseded(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Remembers the current packet, so that a second capture of it is detected. */
void roce_copy_note(struct roce_ctx *ctx);

/* Returns whether a copy of the NAK in `frame` would be detected. */
bool roce_copy_is_detectable(const struct roce_ctx *ctx, uint32_t frame);

/* Returns whether packets of this connection seem to pass two capture points, so that the capture
 * order may be wrong. */
bool roce_conn_has_copies(const struct roce_ctx *ctx);

#endif

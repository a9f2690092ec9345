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

/* Reports that the current packet is a copy of frame `of`, or of an unknown frame if `of` is 0. */
void roce_report_copy(struct roce_ctx *ctx, uint32_t of);

/* Records that the current request is a copy of a packet that was captured `ns` nanoseconds
 * earlier. */
void roce_copy_time(struct roce_ctx *ctx, uint64_t ns);

/* Returns whether the current request is a copy of the latest transmission of `e`, a request with
 * the same PSN, or of an earlier one. */
bool roce_request_is_copy(const struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Returns whether the current response is a copy of the latest response or of a recent one that
 * roce_copy_note_response() remembered, and reports the copy. It compares several recent responses,
 * because at a second capture point other responses may be captured before the copy. */
bool roce_response_is_copy(struct roce_ctx *ctx);

/* Returns whether the current datagram is a copy of one of the latest datagrams of its sender, and
 * reports the copy. Otherwise remembers the datagram. */
bool roce_datagram_is_copy(struct roce_ctx *ctx);

/* Remembers the current response if it is a NAK, or if most packets of the connection were captured
 * twice. */
void roce_copy_note_response(struct roce_ctx *ctx);

/* Remembers the latest transmission of request `e`, before a retransmission replaces it, if most
 * packets of the connection were captured twice: its copy may follow the retransmission. */
void roce_copy_note_superseded(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Remembers the current packet, so that a later copy of it is detected. */
void roce_copy_note(struct roce_ctx *ctx);

/* Returns whether a copy of the NAK in `frame` would be detected. */
bool roce_copy_is_detectable(const struct roce_ctx *ctx, uint32_t frame);

/* Returns whether packets of this connection seem to pass two capture points, so that the capture
 * order may be wrong. */
bool roce_conn_has_copies(const struct roce_ctx *ctx);

#endif

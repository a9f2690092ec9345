/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Late ACKs: an ACK was captured before a timeout, and the requester went back although this ACK
 * covers the first packet of the go-back. Either the ACK was lost after the capture point, or it
 * reached the requester after the timer had expired, because the ACK timeout is shorter than the
 * round-trip time.
 *
 * The ACK was late if the requester sent nothing during its whole wait, but sent a new request
 * directly after the go-back, before the next response was captured. Something that the requester
 * received must have caused the new request. A program that sends at its own pace could do the
 * same by chance, so the go-backs count as spurious only if this happened LATE_MIN times, and if
 * the requester retransmitted far more than a path loses. Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_LATE_ACK_H
#define FLOW_RETRANSMIT_LATE_ACK_H

#include "flow/base/state.h"

/* Returns whether a captured ACK covers `e`, the request that the current packet retransmits. `psn`
 * is the PSN of the packet. `e` may be NULL. */
bool roce_late_ack_covers(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                          uint32_t psn);

/* Records the go-back that begins with the current packet because of a timeout: later packets may
 * show that the ACK was only late. `e` is the window entry of its first PSN `psn`, or NULL.
 * `stalled` and `waited` are the times, ns, by which this go-back increased stalled_ns and
 * waited_ns of roce_retx_summary. */
void roce_late_ack_watch(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint32_t psn,
                         uint64_t stalled, uint64_t waited);

/* Called for a new request after a go-back that roce_late_ack_watch() recorded. Counts this go-back
 * as spurious if the ACK was late. */
void roce_late_ack_request(struct roce_ctx *ctx);

#endif

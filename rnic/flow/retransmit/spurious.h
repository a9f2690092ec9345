/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Spurious timeouts: retransmissions by timeout that were not needed, because the responder had
 * received the first transmission and only its response was late. TCP names this a spurious
 * retransmission timeout (RFC 5682).
 *
 * A go-back is first counted as caused by a timeout. It is then watched: it was spurious if the
 * capture shows, after its start, a response to an earlier transmission. There are five signs:
 *
 *   1. A responder sends at most one response for each transmission. So if more responses than
 *      retransmissions are captured since the go-back began, one of them answers an earlier
 *      transmission.
 *   2. A go-back of SENDs and WRITEs gets one group of equal ACKs, however many packets it has. A
 *      second group, more than half the requester's wait later, answers an earlier transmission.
 *   3. An ACK of an earlier packet of the go-back shows that the responder had not accepted the
 *      last packet at that time. If the responder then accepts the retransmission of the last
 *      packet, it sends one ACK for this packet. More ACKs for the last packet answer duplicates,
 *      so the responder had accepted an earlier transmission.
 *   4. A response cannot answer the go-back if the time between them is less than half the shortest
 *      round trip.
 *   5. The responder or the path was slow: the first response after a go-back of many packets was
 *      captured long after the latest request. If some of the first packets had been lost, a
 *      sequence NAK would follow. The loss of the whole go-back is less likely than a timer that
 *      expired too early.
 *
 * If a go-back was spurious, the earlier go-backs over the same packets were spurious too, as far
 * as no response was captured between them. Otherwise all packets of the first transmission would
 * have been lost without a sequence NAK.
 *
 * The first and the last retransmitted request are watched: the response to the last one shows that
 * the responder had received all of them. If a request was lost, or a response was lost before the
 * capture point, responses are missing and none of the five signs appears. Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_SPURIOUS_H
#define FLOW_RETRANSMIT_SPURIOUS_H

#include "flow/base/state.h"

/* Watches the go-back that began with the current packet because of a timeout. `e` is the window
 * entry of the first PSN `psn` of the go-back, with its values before the go-back. `waited` and
 * `stalled` are the times, ns, by which this go-back increased waited_ns and stalled_ns of
 * roce_retx_summary. `relost`: the go-back is counted in roce_timeout_losses.relost. */
void roce_spurious_watch(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint32_t psn,
                         uint64_t stalled, uint64_t waited, bool relost);

/* Counts the current request, a retransmission or a copy of `psn_cnt` PSNs, which the responder may
 * answer. `counted`: the go-back in progress counts this request. */
void roce_spurious_request(struct roce_ctx *ctx, uint32_t psn_cnt, bool counted);

/* Compares the current response with the recorded go-backs of requester `req`
 * (roce_spurious_watch()). Reports each go-back that the response shows to be spurious, and counts
 * it as spurious. */
void roce_spurious_response(struct roce_ctx *ctx, struct roce_req *req);

/* Subtracts `part` from the counters of retransmissions after timeouts, and adds it to the counters
 * of retransmissions after spurious timeouts. `late` is the time from a request to its late
 * response, ns. */
void roce_spurious_move(struct roce_cold_counters *cold, const struct roce_retx_summary *part,
                        uint64_t late);

/* Notes that the go-back that begins with the current packet is counted in
 * roce_timeout_losses.unanswered. */
void roce_spurious_note_unanswered(struct roce_ctx *ctx);

#endif

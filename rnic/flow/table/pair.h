/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pairing: infers which two directions between two hosts are one connection, if the capture has no
 * CM messages of the connection.
 *
 * A response contains a PSN that the requester of the other direction must have sent. For each pair
 * of hosts, the unpaired directions are in a list, the most recent sender first. A response follows
 * soon after its request, so the requester is near the front of the list, even if there are many
 * connections.
 *
 * Many programs start every QP at the same PSN, so a match of PSNs alone may be a coincidence.
 * Linux derives the UDP source port from both QPNs, and both directions use the same port
 * (include/rdma/ib_verbs.h rdma_calc_flow_label, rdma_flow_label_to_udp_sport). If the ports prove
 * nothing and the PSNs are small, several responses must match the same direction. Further
 * evidence: the MSN counts the messages of a connection captured from its start, the length of READ
 * responses matches, or both directions use the same port. At the end of the capture, two unpaired
 * directions are joined if they are the only ones between their hosts.
 *
 * Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_PAIR_H
#define FLOW_TABLE_PAIR_H

#include "flow/base/state.h"

/* Looks for the requester that sent `psn`, the PSN of the current response. ctx->sender sent the
 * response and is not paired yet. Joins the two directions if the evidence for one requester is
 * strong enough. */
void roce_pair_response(struct roce_ctx *ctx, uint32_t psn);

/* Looks for the opposite direction of the UC sender ctx->sender by the UDP source port, because UC
 * has no responses. Joins the two directions if the opposite one is found. */
void roce_pair_uc(struct roce_ctx *ctx);

/* Checks that the current response fits a request of its peer. If the response fits none and the
 * pairing is a guess, the connection becomes inconsistent. If it fits none and the pairing is
 * certain, a QP reuse is suspected. */
void roce_pair_check_response(struct roce_ctx *ctx);

/* Returns true if the two directions of ctx->conn no longer belong together: the current packet
 * belongs to a new connection that uses the destination QPN again. */
bool roce_pair_has_ended(struct roce_ctx *ctx);

/* At the end of the capture, joins two unpaired directions if their hosts have no other
 * directions. */
void roce_pair_finish(struct roce_flow *flow);

#endif

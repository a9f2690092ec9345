/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pairing: infers which two directions between two hosts are one connection, if the capture has no
 * CM messages of the connection.
 *
 * A response contains a PSN that the other direction must have sent. The unpaired directions of two
 * hosts are in one list, the most recent sender first. A response follows soon after its request,
 * so the matching direction is near the front even if there are many connections.
 *
 * Many programs start every QP at the same PSN, so a match of PSNs alone may be a coincidence.
 * Linux derives the UDP source port from both QPNs, and both directions use the same port
 * (include/rdma/ib_verbs.h rdma_calc_flow_label, rdma_flow_label_to_udp_sport). Without matching
 * ports, several small PSNs must match one direction only. Further evidence is the MSN of a
 * connection captured from its start, the bytes of READ responses, and a port that both directions
 * use. At the end of the capture, two unpaired directions are joined if they are the only ones
 * between their hosts.
 *
 * Private to flow/.
 */
#ifndef FLOW_TABLE_PAIR_H
#define FLOW_TABLE_PAIR_H

#include "flow/base/state.h"

/* Searches the requester of a response for `psn`, sent by ctx->sender on an unpaired connection.
 * Joins the two directions if there is one. */
void roce_pair_response(struct roce_ctx *ctx, uint32_t psn);

/* Searches the other direction of a UC sender by its UDP source port. UC has no responses. */
void roce_pair_uc(struct roce_ctx *ctx);

/* Checks that the current response fits the requests of its peer. If not, a guessed pair becomes
 * inconsistent and a QP reuse is suspected. */
void roce_pair_check_response(struct roce_ctx *ctx);

/* Returns whether the pair of ctx->conn has ended: the destination QPN of the current packet is now
 * paired with a newer direction. */
bool roce_pair_has_ended(struct roce_ctx *ctx);

/* Joins directions that are the only ones between their hosts, at the end of the capture. */
void roce_pair_finish(struct roce_flow *flow);

#endif

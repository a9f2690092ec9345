/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pairing: which two directions between two hosts are one connection, when no CM message told.
 *
 * A response names a PSN that the other direction must have sent. A direction that waits for its
 * partner stands in a list of its pair of hosts, the one that sent last first: a response comes
 * soon after its request, so that the partner is near the front however many connections there are.
 *
 * Many programs start every QP at the same PSN, so a match of PSNs alone may be chance. The UDP
 * source port helps: Linux derives it from both QPNs, the same for both directions
 * (include/rdma/ib_verbs.h rdma_calc_flow_label, rdma_flow_label_to_udp_sport). Without it small
 * PSNs have to match one direction alone several times; the MSN of a connection that is seen from
 * its start, the bytes of READ responses and a port that both directions use tell candidates apart.
 * What is left when the capture ends is joined if there is nothing else between the two hosts.
 *
 * Private to flow/.
 */
#ifndef FLOW_TABLE_PAIR_H
#define FLOW_TABLE_PAIR_H

#include "flow/base/state.h"

/* `ctx->sender` of an unpaired connection sent a response for `psn`: looks for its requester, and
 * joins the two if there is one. */
void roce_pair_response(struct roce_ctx *ctx, uint32_t psn);

/* `ctx->sender` sent a request on a service without responses (UC): looks for its other direction
 * by the source port. */
void roce_pair_uc(struct roce_ctx *ctx);

/* `ctx->sender` sent a response. Where it does not fit what the other direction asked for, a
 * guessed pair becomes inconsistent, and a reuse of the QPs is suspected. */
void roce_pair_check_response(struct roce_ctx *ctx);

/* Returns whether the packet at hand goes to a QPN that is now the partner of another direction,
 * which began since: the pair of ctx->conn has ended. */
bool roce_pair_has_ended(struct roce_ctx *ctx);

/* At the end of the capture: joins the directions that are alone between their hosts. */
void roce_pair_finish(struct roce_flow *flow);

#endif

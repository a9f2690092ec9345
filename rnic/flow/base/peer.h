/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recognises Linux Soft-RoCE (rxe) by its packets, if the profile of known deviations is
 * ROCE_PROFILE_AUTO. The checks of rnic/flow call these functions; rocedrill replay also calls
 * roce_linux_sport() and roce_rxe_ud_sport(). No function returns an error.
 *
 * rxe always sends MigReq 0, and derives its UDP source port from QP numbers. An endpoint that does
 * both is rxe: other devices send MigReq 1, or choose their source ports in another way. If an
 * application set a flow label for the connection, rxe uses another source port. The endpoint is
 * then recognised by CM messages or another connection of its host.
 */
#ifndef FLOW_BASE_PEER_H
#define FLOW_BASE_PEER_H

#include <stdbool.h>
#include <stdint.h>

struct roce_flow;
struct roce_ctx;
struct roce_endpoint;

#define ROCE_PEER_HOSTS 64u /* maximum number of hosts that are remembered as rxe */

/* Returns the UDP source port that Linux derives from the two QP numbers of a connection. Their
 * order does not matter. */
uint16_t roce_linux_sport(uint32_t qpn, uint32_t other);

/* Returns the UDP source port that rxe derives from the QP number of a UD QP. */
uint16_t roce_rxe_ud_sport(uint32_t qpn);

/* Records that `ctx->sender` sent the current packet with MigReq 0. */
void roce_peer_note_migreq(struct roce_ctx *ctx);

/* Returns whether endpoint `side` is Linux Soft-RoCE (rxe). If it is, remembers that its host is
 * rxe. */
bool roce_peer_is_rxe(struct roce_flow *flow, const struct roce_endpoint *side);

/* Returns whether the host with this address was recognised as rxe. */
bool roce_peer_host_is_rxe(struct roce_flow *flow, const uint8_t addr[16]);

/* Called at the end of the capture, before the connections end: remembers the host of every
 * endpoint whose packets prove that it is rxe. */
void roce_peer_learn_all(struct roce_flow *flow);

#endif

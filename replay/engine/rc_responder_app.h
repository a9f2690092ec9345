/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* prepare.h - what the responder's user did before a packet came, as the recorded answers imply: it
 * posted a receive, stored to memory, registered or withdrew a key. */
#ifndef REPLAY_ENGINE_RC_RESPONDER_APP_H
#define REPLAY_ENGINE_RC_RESPONDER_APP_H

#include "engine/rc_responder_dev.h"

/* The SRQ that an XRC request names (R179, R180), made when it is named first. NULL without memory,
 * or if our RNIC cannot have it. */
struct responder_srq *rc_responder_app_srq(struct rc_responder_dev *dev,
                                           const struct trace_packet *p);

/* Whether a message takes its receive WQE at this packet. */
bool rc_responder_app_takes_recv(const struct roce_opcode *op);

/* A receive WQE for a message that needs one at the packet of `step`, unless the recorded one had
 * none; `in_place`: it is played at its own step. `shared`: the SRQ of an XRC request, else NULL.
 * 0 or -1. */
int rc_responder_app_post_recv(struct rc_responder_dev *dev, struct rc_direction *dir,
                               struct rnic_qp *qp, struct responder_srq *srq, uint32_t event,
                               bool in_place, const struct rnic_qp_view *view);

/* Registers a key again or withdraws it, for the device and whoever watches. 0 or -1. */
int rc_responder_app_set_key(struct rc_responder_dev *dev, struct shadow_region *region,
                             bool valid);

/* What the recorded answers to the READ or atomic at `step` show was in memory then; `fresh`: our
 * RNIC has not executed it before. 0 or -1. */
int rc_responder_app_set_memory(struct rc_responder_dev *dev, uint32_t dir_idx, uint32_t event,
                                bool fresh);

/* The responder's program, or its initial image, puts a byte there; `ctx` is the stage. A
 * memory_reader's `store`. 0 or -1. */
int rc_responder_app_store_byte(void *ctx, const struct shadow_region *region, uint64_t va,
                                uint8_t byte, bool initial);

#endif

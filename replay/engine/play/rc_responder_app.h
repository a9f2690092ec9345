/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Responder app: repeats, before each request, the actions that the recorded responder's program
 * must have done by then. The recorded responses imply these actions: posting a receive WQE,
 * storing bytes, registering or invalidating an R_Key. */
#ifndef REPLAY_ENGINE_PLAY_RC_RESPONDER_APP_H
#define REPLAY_ENGINE_PLAY_RC_RESPONDER_APP_H

#include "engine/play/rc_responder_dev.h"

/* Returns the SRQ that an XRC request names by its number (R179, R180). Creates the SRQ if
 * necessary. Returns NULL if our RNIC cannot create the SRQ. */
struct responder_srq *rc_responder_app_srq(struct rc_responder_dev *dev,
                                           const struct trace_packet *p);

/* Returns whether the receive WQE of a message is consumed at its packet with opcode `op`. */
bool rc_responder_app_takes_recv(const struct roce_opcode *op);

/* Posts a receive WQE if request `event` needs one and the recorded responder had one. `in_place`
 * is false if the request is replayed earlier than at its capture time (struct executed_unseen).
 * `srq` is the SRQ of an XRC request, otherwise NULL. Returns 0, or -1 if out of memory. */
int rc_responder_app_post_recv(struct rc_responder_dev *dev, struct rc_direction *dir,
                               struct rnic_qp *qp, struct responder_srq *srq, uint32_t event,
                               bool in_place, const struct rnic_qp_view *view);

/* Registers or deregisters an R_Key, and passes the change to the session's observer (struct
 * session_watch). Returns 0, or -1 if out of memory. */
int rc_responder_app_set_key(struct rc_responder_dev *dev, struct shadow_region *region,
                             bool valid);

/* Stores in memory the bytes that the recorded responses to the READ or atomic with event index
 * `event` show. `fresh` is true if our RNIC has not executed the request yet. Returns 0, or -1 if
 * out of memory. */
int rc_responder_app_set_memory(struct rc_responder_dev *dev, uint32_t dir_idx, uint32_t event,
                                bool fresh);

/* Records a byte written to the shadow memory in the session's memory log, and passes it to the
 * session's observer (struct session_watch). The function is the `store` callback of struct
 * shadow_reader; `ctx` is the struct rc_responder_dev. Returns 0, or -1 if out of memory. */
int rc_responder_app_store_byte(void *ctx, const struct shadow_region *region, uint64_t va,
                                uint8_t byte, bool initial);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent setup: prepares and operates the target's device through its agent. The agent registers
 * memory, connects QPs and posts receives as the recorded program did on the recorded device.
 *
 * live_responder.c, live_requester.c and the dgram_*.c files call these functions after
 * live_open():
 *
 *   1. agent_setup_all() registers the memory and connects all QPs of a target that is the
 *      responder; agent_setup_connect() connects the QP of a target that is the requester;
 *      agent_setup_dgram_qp() and agent_setup_dgram_connect() prepare the QP of a datagram stream.
 *   2. agent_setup_event() carries out one event of the script.
 *   3. agent_setup_call() sends any other request to the agent.
 *
 * If the agent refuses a request, the connection is skipped with the agent's reason; the session
 * owns this text. A broken TCP connection to the agent is an error.
 */
#ifndef REPLAY_LIVE_AGENT_SETUP_H
#define REPLAY_LIVE_AGENT_SETUP_H

#include "base/error.h"
#include "engine/dgram/dgram_stream.h"
#include "live/live.h"

/* Sends a request and returns the reply. Releases the caller's reference to `request`; the caller
 * releases the reply with json_decref(). Returns NULL and sets *why to the reason if the agent
 * refuses the request. Returns NULL and leaves *why unchanged after an error. */
json_t *agent_setup_call(struct live *live, json_t *request, const char **why, struct error *error);

/* Creates and connects the target's QP of direction `dir`. Returns true on success. Returns false
 * and sets *why to the reason if the agent refuses. Returns false and leaves *why unchanged after
 * an error. */
bool agent_setup_connect(struct live *live, uint32_t dir, uint32_t max_send, unsigned access,
                         bool we_request, const char **why, struct error *error);

/* Sets up memory and QPs of a target that is the responder. Returns 0, or -1 and an error. */
int agent_setup_all(struct live *live, struct error *error);

/* Carries out an event of the live script (live_script.h) at the target. Returns 0, or -1 and an
 * error. */
int agent_setup_event(struct live *live, const struct live_event *event, struct error *error);

/* Creates a QP of the stream's service (UC or UD) at the target. Sets *qp to the number by which
 * the agent knows the QP, and *qpn to its QPN. If the agent refuses, sets stream->skip. Returns 0,
 * or -1 and an error. */
int agent_setup_dgram_qp(struct live *live, struct dgram_stream *stream, uint32_t max_send,
                         uint32_t max_recv, uint32_t *qp, uint32_t *qpn, struct error *error);

/* Connects the target's QP `qp` to our QPN `ours`. `rq_psn` and `sq_psn` are the initial PSNs of
 * its receive queue and send queue. If the agent refuses, sets stream->skip. Returns 0, or -1 and
 * an error. */
int agent_setup_dgram_connect(struct live *live, struct dgram_stream *stream, uint32_t qp,
                              uint32_t ours, uint32_t rq_psn, uint32_t sq_psn, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent RPC: converts one line of the agent protocol (docs/agent.md), which is a JSON object, to a
 * call of a function in agent_verbs.h or agent_objects.h. Converts the result of the call to the
 * reply. Clients are not trusted: every field is checked.
 *
 * agent_session.c calls agent_rpc_answer() for each line of a session.
 */
#ifndef REPLAY_AGENT_AGENT_RPC_H
#define REPLAY_AGENT_AGENT_RPC_H

#include <jansson.h>
#include "agent/agent_verbs.h"

#define AGENT_PROTOCOL 1          /* version of the protocol */
#define AGENT_LINE_MAX (1u << 20) /* limit of a request line, bytes */
#define AGENT_POLL_MAX 256u       /* limit of completions in one reply */

/* Returns the reply to `line`, or NULL if out of memory. The caller releases the reply with
 * json_decref(). A reply with the member "end" is the last one of the session. */
json_t *agent_rpc_answer(struct agent_device *dev, const char *line, size_t len);

#endif

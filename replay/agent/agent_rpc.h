/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent operations: a request of the protocol in agent.md, one JSON object, becomes a call of
 * agent_dev.h, and its result the reply. Nothing a client sends is trusted.
 */
#ifndef REPLAY_AGENT_AGENT_RPC_H
#define REPLAY_AGENT_AGENT_RPC_H

#include <jansson.h>
#include "agent/agent_verbs.h"

#define AGENT_PROTOCOL 1
#define AGENT_LINE_MAX (1u << 20)    /* bytes of a request */
#define AGENT_DATA_MAX (256u * 1024) /* bytes of memory in one request or reply */
#define AGENT_POLL_MAX 256u          /* completions in one reply */

/* The reply to `line`, for json_decref(); NULL without memory. */
json_t *agent_rpc_answer(struct agent_device *dev, const char *line, size_t len);

#endif

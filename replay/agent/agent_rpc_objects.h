/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent RPC of objects: the operations of agent_objects.h as requests and replies. agent_rpc.c
 * calls these functions. Each returns the reply, or NULL if out of memory.
 */
#ifndef REPLAY_AGENT_AGENT_RPC_OBJECTS_H
#define REPLAY_AGENT_AGENT_RPC_OBJECTS_H

#include <jansson.h>
#include "agent/agent_verbs.h"

json_t *agent_op_query(struct agent_device *dev, const json_t *in);
json_t *agent_op_modify(struct agent_device *dev, const json_t *in);
json_t *agent_op_srq(struct agent_device *dev, const json_t *in);
json_t *agent_op_mw(struct agent_device *dev, const json_t *in);
json_t *agent_op_bind(struct agent_device *dev, const json_t *in);
json_t *agent_op_pd(struct agent_device *dev, const json_t *in);
json_t *agent_op_cq(struct agent_device *dev, const json_t *in);
json_t *agent_op_arm(struct agent_device *dev, const json_t *in);

/* agent_rpc_events() returns the list of the asynchronous events since the last call.
 * agent_rpc_notified() returns the list of the CQs that raised a notification since the last call.
 * */
json_t *agent_rpc_events(struct agent_device *dev);
json_t *agent_rpc_notified(struct agent_device *dev);

/* agent_read_gid() reads the destination GID of a QP's connection. agent_read_connect() reads all
 * other attributes. Return true, or false if a member is out of range. */
bool agent_read_gid(const json_t *in, union ibv_gid *out);
bool agent_read_connect(const json_t *in, struct agent_connect *to);

#endif

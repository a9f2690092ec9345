/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent objects: libibverbs objects that only drills use, not replays. These are protection
 * domains, CQs with notifications, SRQs, memory windows, states and attributes of QPs, and
 * asynchronous events. agent_rpc_objects.c and agent_rpc.c call these functions. Functions that
 * return int return 0, or -1 and set agent_device.error. Objects are numbered from 0 in the order
 * of creation; the functions with a parameter `out` set *out to the new number.
 */
#ifndef REPLAY_AGENT_AGENT_OBJECTS_H
#define REPLAY_AGENT_AGENT_OBJECTS_H

#include "agent/agent_verbs.h"

int agent_pd_new(struct agent_device *dev, uint32_t *out);
int agent_pd_del(struct agent_device *dev, uint32_t pd);

int agent_cq_new(struct agent_device *dev, uint32_t depth, uint32_t *out);
int agent_cq_del(struct agent_device *dev, uint32_t cq);
int agent_cq_resize(struct agent_device *dev, uint32_t cq, uint32_t depth);
/* Requests a notification of the next completion, or if `solicited`, of the next solicited
 * completion. */
int agent_cq_arm(struct agent_device *dev, uint32_t cq, bool solicited);
/* Returns whether a notification of a CQ is waiting. If so, removes it and sets *cq to the number
 * of the CQ. Never blocks. */
bool agent_notified(struct agent_device *dev, uint32_t *cq);

struct agent_srq_attr {
    uint32_t depth, limit;
    struct ibv_pd *pd; /* NULL: the session's protection domain */
};
int agent_srq_new(struct agent_device *dev, const struct agent_srq_attr *attr, uint32_t *out);
int agent_srq_del(struct agent_device *dev, uint32_t srq);

/* Sets the depth and the limit of an SRQ. NULL leaves the value unchanged. */
int agent_srq_modify(struct agent_device *dev, uint32_t srq, const uint32_t *depth,
                     const uint32_t *limit);

int agent_mw_new(struct agent_device *dev, enum ibv_mw_type type, uint32_t *out);
int agent_mw_del(struct agent_device *dev, uint32_t mw);

struct agent_bind {
    uint32_t qp, mw;
    uint64_t id;
    struct ibv_mw_bind_info info;
    uint32_t rkey; /* type 2 window: its new R_Key */
    bool unsignaled;
};
/* Posts the bind of a memory window. For a window of type 2, also stores the new R_Key in its
 * struct ibv_mw, before the bind completes. */
int agent_mw_bind(struct agent_device *dev, const struct agent_bind *bind);

int agent_qp_state(struct agent_device *dev, uint32_t qp, enum ibv_qp_state *out);

/* Modifies the attributes `mask` (enum ibv_qp_attr_mask). With only IBV_QP_STATE, also sets all
 * attributes that the transition requires. */
int agent_qp_modify(struct agent_device *dev, uint32_t qp, const struct agent_connect *to,
                    enum ibv_qp_state state, int mask);

struct agent_event {
    enum ibv_event_type type;
    bool has_qp, has_srq, has_cq;
    uint32_t qp, srq, cq;
};
/* Removes the oldest asynchronous event. Returns true and fills *out, or false if there is no
 * event. Never blocks. */
bool agent_event_get(struct agent_device *dev, struct agent_event *out);

#endif

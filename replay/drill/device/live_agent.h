/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live agent: creates the objects of a drill and calls its verbs on a remote host, by requests to
 * `rocedrill agent` (docs/agent.md). device_live.c calls these functions.
 *
 *   1. live_agent_check() refuses a drill if the agent lacks a capability that the drill needs.
 *   2. live_agent_open() connects, and creates all objects of the script.
 *   3. the other functions
 *   4. live_agent_close() ends the session: the agent destroys the objects.
 *
 * An error of the connection sets `failed`, and later calls do nothing.
 */
#ifndef REPLAY_DRILL_DEVICE_LIVE_AGENT_H
#define REPLAY_DRILL_DEVICE_LIVE_AGENT_H

#include "drill/device.h"
#include "live/agent_client.h"
#include "live/live_port.h"

/* A posted receive. Its buffer is a range of a memory region. */
struct live_recv {
    int object; /* index of the QP or SRQ */
    uint64_t id;
    bool readable;
    uint32_t mr; /* number that the agent chose for the region */
    uint64_t off, len;
};

struct live_agent {
    const struct script *script;
    const struct drill_net *net;
    struct agent_client client;
    unsigned timeout; /* default timeout code */
    uint64_t stalled; /* sum of the delays of replies beyond the usual delay, ns */
    bool failed;
    bool no_route; /* the device cannot resolve or reach the address of the drill */
    struct error error;
    struct {
        uint32_t number; /* number that the agent chose for the object */
        uint32_t rkey, lkey, qpn;
        uint64_t address, len;
        bool destroyed;
    } at[SCRIPT_OBJECTS_MAX];
    uint32_t recv_mr, recv_lkey; /* region for receives without a named memory */
    uint64_t recv_address, recv_len, recv_used;
    struct live_recv *recv;
    size_t recv_cnt, recv_cap;
    json_t *comps, *events, *notified; /* items of replies that the engine has not fetched */
    size_t comp_at, event_at, notified_at;
    uint8_t *copy; /* copy of the whole region `copied`, or NULL */
    int copied;    /* index of the region that was copied */
};

bool live_agent_supports(const char *need);

/* Checks that the agent supports all objects and events of a script. Returns 0, or -1 and an error
 * that begins with DRILL_UNSUPPORTED_TEXT. */
int live_agent_check(const struct script *script, struct error *error);

/* Connects and creates the objects. `mtu` is the path MTU of the interface. Set client.fd to -1 and
 * client.idle before the call. Returns 0, or -1 and an error. Call live_agent_close() in both
 * cases. */
int live_agent_open(struct live_agent *agent, const char *where, unsigned timeout, uint32_t mtu,
                    const struct script *script, const struct drill_net *net, struct error *error);
void live_agent_close(struct live_agent *agent);

/* Fetches completions and events from the agent. */
void live_agent_poll(struct live_agent *agent);
bool live_agent_comp(struct live_agent *agent, struct drill_comp *out);
bool live_agent_event(struct live_agent *agent, struct drill_async *out);
bool live_agent_notified(struct live_agent *agent, int *cq);

unsigned live_agent_state(struct live_agent *agent, int object);
bool live_agent_read(struct live_agent *agent, int object, uint64_t off, void *buf, size_t len);
bool live_agent_read_recv(struct live_agent *agent, const struct drill_comp *comp, void *buf,
                          size_t len);

/* Sends a request and frees it. Returns the reply, or NULL. If the agent refused the request,
 * client.code is the errno of the refusal. If the connection failed, `failed` is set. */
json_t *live_agent_call(struct live_agent *agent, json_t *request);

/* Returns a request with all attributes of a QP of the script. */
json_t *live_agent_qp_request(const struct live_agent *agent, int object, const char *op);

/* Writes the bytes of `fill` to a memory region of the device. Returns false after an error. */
bool live_agent_store(struct live_agent *agent, int object, uint64_t off,
                      const struct script_fill *fill, uint64_t len);

/* Discards the copy that live_agent_read() made of a region. Call it when a packet or a verb may
 * have changed the memory. */
void live_agent_forget(struct live_agent *agent);

#endif

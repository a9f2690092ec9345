/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent client: sends the requests of the agent protocol (docs/agent.md) over TCP and reads the
 * replies.
 *
 *   1. agent_client_open() connects and reads the properties of the device.
 *   2. agent_client_call() sends any request; agent_client_poll() and agent_client_read() send two
 *      common ones.
 *   3. agent_client_close()
 */
#ifndef REPLAY_LIVE_AGENT_CLIENT_H
#define REPLAY_LIVE_AGENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

struct agent_client {
    int fd;    /* socket, or -1 if not connected */
    char *buf; /* bytes received after the last complete line */
    size_t len, cap;
    char name[128]; /* address of the agent: HOST:PORT or unix:PATH */
    /* Called every few milliseconds while the client waits for a reply. May be NULL. */
    void (*idle)(void *ctx);
    void *idle_ctx;
    /* Properties of the target's device, from the agent's reply to "hello". */
    char device[64];
    uint32_t mtu;
    uint32_t rd_atomic;
    bool atomic;
    bool uc, ud;   /* `uc`: the device supports UC QPs; `ud`: UD QPs */
    bool drills;   /* the agent supports the requests that drills (replay/drill) need */
    int code;      /* errno value in the agent's latest refusal of a request; 0: no refusal */
    int gid_index; /* GID index of the target's address */
};

/* Connects to the agent at `where` (HOST:PORT or unix:PATH). If the environment variable
 * ROCEDRILL_TOKEN_FILE is set, sends the access token in the file that it names. The agent's device
 * must have a RoCEv2 GID for the address `target`. Returns 0, or -1 and an error. Call
 * agent_client_close() in both cases. */
int agent_client_open(struct agent_client *agent, const char *where, const uint8_t target[16],
                      struct error *error);
void agent_client_close(struct agent_client *agent);

/* Sends a request and returns the reply. Releases the caller's reference to `request`; the
 * caller releases the reply with json_decref(). Returns NULL and an error if there is no reply.
 * If the agent refuses the request, also sets *refused. */
json_t *agent_client_call(struct agent_client *agent, json_t *request, bool *refused,
                          struct error *error);

/* Polls the target's CQ once and passes each completion to `take`, which returns 0, or -1 and an
 * error. Sets *cnt to the number of completions, unless `cnt` is NULL. Returns 0, or -1 and an
 * error. */
int agent_client_poll(struct agent_client *agent,
                      int (*take)(void *ctx, const json_t *completion, struct error *error),
                      void *ctx, size_t *cnt, struct error *error);

/* Reads `len` bytes at offset `off` of memory region `mr` of the target. Returns 0, or -1 and an
 * error. */
int agent_client_read(struct agent_client *agent, uint32_t mr, uint64_t off, uint8_t *bytes,
                      size_t len, struct error *error);

/* Writes a description of a completion to `out`, such as "success, 10 bytes, CRC-32 0x00000000". */
void agent_client_describe(char *out, size_t cap, const char *status, uint32_t len, uint32_t crc32,
                           bool has_imm, uint32_t imm);

#endif

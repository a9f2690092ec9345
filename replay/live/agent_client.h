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
    int fd;    /* -1: not connected */
    char *buf; /* bytes received after the last complete line */
    size_t len, cap;
    char name[128];          /* HOST:PORT */
    void (*idle)(void *ctx); /* called every few milliseconds while a reply is awaited, or NULL */
    void *idle_ctx;
    /* Properties of the device, from the reply to "hello". */
    char device[64];
    uint32_t mtu;
    uint32_t rd_atomic;
    bool atomic;
    bool uc, ud;   /* the device makes UC and UD QPs */
    int gid_index; /* GID index of the target's address */
};

/* Connects to HOST:PORT. The device must have a RoCEv2 GID for `target`. Returns 0, or -1 and an
 * error; agent_client_close() is needed in both cases. */
int agent_client_open(struct agent_client *agent, const char *where, const uint8_t target[16],
                      struct error *error);
void agent_client_close(struct agent_client *agent);

/* Sends a request, whose reference it takes, and returns the reply for json_decref(). Returns
 * NULL and an error if there is no reply, or, with *refused set, if the agent refuses. */
json_t *agent_client_call(struct agent_client *agent, json_t *request, bool *refused,
                          struct error *error);

/* Polls completions and passes each to `take`, which returns 0, or -1 and an error. Sets *cnt,
 * unless it is NULL, to their number. Returns 0, or -1 and an error. */
int agent_client_poll(struct agent_client *agent,
                      int (*take)(void *ctx, const json_t *completion, struct error *error),
                      void *ctx, size_t *cnt, struct error *error);

/* Reads `len` bytes at offset `off` of a region of the target. Returns 0, or -1 and an error. */
int agent_client_read(struct agent_client *agent, uint32_t mr, uint64_t off, uint8_t *bytes,
                      size_t len, struct error *error);

/* Writes a completion as text: "success, 10 bytes, CRC-32 0x00000000" and so on. */
void agent_client_describe(char *out, size_t cap, const char *status, uint32_t len, uint32_t crc32,
                           bool has_imm, uint32_t imm);

#endif

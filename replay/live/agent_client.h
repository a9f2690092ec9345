/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live agent: the client of the protocol in agent.md.
 */
#ifndef REPLAY_LIVE_AGENT_CLIENT_H
#define REPLAY_LIVE_AGENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

struct agent_client {
    int fd;    /* -1: not connected */
    char *buf; /* what was received after the last whole line */
    size_t len, cap;
    char name[128];          /* HOST:PORT */
    void (*idle)(void *ctx); /* called again and again while a reply is waited for, or NULL */
    void *idle_ctx;
    /* Of its hello. */
    char device[64];
    uint32_t mtu;
    uint32_t rd_atomic;
    bool atomic;
    bool uc, ud;   /* it makes QPs of these services too */
    int gid_index; /* of the target's address */
};

/* Connects to HOST:PORT and says hello: the device must have RoCEv2 at `target`. 0, or -1 and a
 * error; agent_client_close() is wanted in both cases. */
int agent_client_open(struct agent_client *agent, const char *where, const uint8_t target[16],
                      struct error *error);
void agent_client_close(struct agent_client *agent);

/* Sends a request, which is given over, and waits for the reply, for json_decref(). NULL and a
 * error if there is none; NULL also, with *refused set, if the agent says no: the error says why.
 */
json_t *agent_client_call(struct agent_client *agent, json_t *request, bool *refused,
                          struct error *error);

/* Asks what completed and gives each to `take`, which returns 0, or -1 and an error. *cnt, if not
 * NULL, receives how many there were. 0, or -1 and an error. */
int agent_client_poll(struct agent_client *agent,
                      int (*take)(void *ctx, const json_t *completion, struct error *error),
                      void *ctx, size_t *cnt, struct error *error);

/* Reads `len` bytes at `off` of a far memory region. 0, or -1 and an error. */
int agent_client_read(struct agent_client *agent, uint32_t mr, uint64_t off, uint8_t *bytes,
                      size_t len, struct error *error);

/* A completion in words: "success, 10 bytes, CRC-32 0x00000000" and so on. */
void agent_client_describe(char *out, size_t cap, const char *status, uint32_t len, uint32_t crc32,
                           bool has_imm, uint32_t imm);

#endif

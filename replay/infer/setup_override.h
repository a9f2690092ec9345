/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Setup override: values of a --setup file that replace inferred ones. The file has the format of
 * --dump-setup (docs/replay.md); values that it omits are inferred. A response that contradicts
 * memory bytes of the file is a difference. The file may state that the responder's program stored
 * other bytes later.
 */
#ifndef REPLAY_INFER_SETUP_OVERRIDE_H
#define REPLAY_INFER_SETUP_OVERRIDE_H

#include "base/error.h"
#include "infer/shadow_memory.h"

struct session;
struct inferred_setup;

/* Bits of dir_override.has: members that the --setup file has for a direction. */
enum {
    OVERRIDE_MTU = 1 << 0,
    OVERRIDE_PKEY = 1 << 1,
    OVERRIDE_RQ_PSN = 1 << 2,
    OVERRIDE_MSN = 1 << 3,
    OVERRIDE_ACCESS = 1 << 4,
    OVERRIDE_RNR_TIMER = 1 << 5,
    OVERRIDE_RECEIVE_LENGTH = 1 << 6,
    OVERRIDE_RECEIVES = 1 << 7,
    OVERRIDE_WITHDRAWN = 1 << 8,
    OVERRIDE_RESOURCES = 1 << 9,
    OVERRIDE_SQ_PSN = 1 << 10,
    OVERRIDE_TIMEOUT = 1 << 11,
    OVERRIDE_RETRY_CNT = 1 << 12,
    OVERRIDE_RNR_RETRY = 1 << 13,
    OVERRIDE_RD_ATOMIC = 1 << 14,
    OVERRIDE_PEER_QPN = 1 << 15,
    OVERRIDE_QPN = 1 << 16,
    OVERRIDE_REGIONS = 1 << 17
};

struct recv_override {
    uint32_t psn;
    uint32_t absent; /* number of RNR NAKs sent before the receive WQE was posted */
    uint32_t len;    /* length of the receive WQE in bytes, or RECV_FULL */
};

/* Values that the --setup file has for one rc_direction. */
struct dir_override {
    size_t index;    /* index of the direction's object in the --setup file */
    uint32_t number; /* number of the direction in the report, from 1 */
    unsigned has;
    uint32_t mtu, pkey, rq_psn, msn, access, rnr_timer, receive_len, resources;
    bool mtu_fits; /* `mtu` is a guess: the smallest MTU that fits the packets */
    uint32_t sq_psn, timeout, retry_cnt, rnr_retry, rd_atomic;
    uint32_t peer_qpn, qpn;
    struct recv_override *receive;
    size_t receive_cnt, receive_cap;
    uint32_t *withdrawn; /* PSNs of requests whose R_Key is invalid */
    size_t withdrawn_cnt, withdrawn_cap;
};

struct bytes_override {
    uint64_t va;
    uint8_t *bytes;
    uint32_t len;
    uint32_t at, request; /* frame numbers, as before_frame and request of struct logged_store; 0
                           * for the initial contents */
};

struct region_override {
    uint32_t rkey;
    uint64_t low, span;
    unsigned access;
    bool invalidate;
    struct bytes_override *image, *store;
    size_t image_cnt, image_cap, store_cnt, store_cap;
    size_t stored; /* number of stores already played */
};

struct host_override {
    uint8_t addr[16];
    unsigned has;
    struct region_override *region;
    size_t region_cnt, region_cap;
};

struct setup_override {
    char *path;
    struct dir_override *dir;
    size_t dir_cnt, dir_cap;
    struct host_override *host;
    size_t host_cnt, host_cap;
};

/* Reads a --setup file (setup_parse.c). Returns 0, or -1 and an error that names the file, the
 * path of the value and the value. Call setup_override_free() in both cases. */
int setup_override_read(struct setup_override *override, const char *path, struct error *error);
void setup_override_free(struct setup_override *override);

/* Returns the values that the --setup file has for direction `run`, or NULL. `override` may be
 * NULL. */
const struct dir_override *setup_override_dir(const struct setup_override *override, size_t run);

/* Set values of the file in a setup. infer_setup() calls the first function before it reads the
 * requests, and the second before it reads the responses. `conn` may be NULL. */
void setup_override_packets(const struct dir_override *conn, struct inferred_setup *setup);
void setup_override_responses(const struct dir_override *conn, struct inferred_setup *setup);

/* Applies the values of the file that need all setups. Call after all setups are inferred and
 * before they are played. Returns 0, or -1 and an error. */
int setup_override_apply(const struct setup_override *override, struct session *session,
                         struct error *error);

/* Returns the values that the --setup file has for a host, or NULL. */
struct host_override *setup_override_host(struct setup_override *override,
                                          const struct session *session, uint32_t host);

/* Stores the initial contents from the --setup file in memory. Call after the regions are
 * mapped. Returns 0, or -1 if too much memory is used. */
int setup_override_image(const struct host_override *device, struct shadow_memory *memory);

/* Stores the bytes that the responder's program stored before the request of frame `request`, which
 * is played at frame `at`. Returns 0, or -1 if too much memory is used. */
int setup_override_stores(struct host_override *device, struct shadow_memory *memory, uint32_t at,
                          uint32_t request);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Given: what a --setup file says that the devices of a capture had, in place of what infer_setup.h
 * and shadow_memory.h make of the packets. The file has the form of --dump-setup (replay.md); what
 * it leaves out is derived. Bytes that it gives are an obligation: a response that shows others is
 * a difference, unless the file says that the responder's program stored them.
 */
#ifndef REPLAY_INFER_SETUP_OVERRIDE_H
#define REPLAY_INFER_SETUP_OVERRIDE_H

#include "base/error.h"
#include "infer/shadow_memory.h"

struct session;
struct inferred_setup;

/* What an object of the file has, by the members of the structs below. */
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
    uint32_t absent; /* RNR NAKs before there was one */
    uint32_t len;    /* bytes, or RECV_FULL */
};

/* A direction of the drive. */
struct dir_override {
    size_t index;    /* in the file */
    uint32_t number; /* of the direction, from 1 */
    unsigned has;
    uint32_t mtu, pkey, rq_psn, msn, access, rnr_timer, receive_len, resources;
    bool mtu_fits; /* the path MTU is not known, but this one fits */
    uint32_t sq_psn, timeout, retry_cnt, rnr_retry, rd_atomic;
    uint32_t peer_qpn, qpn;
    struct recv_override *receive;
    size_t receive_cnt, receive_cap;
    uint32_t *withdrawn; /* PSNs */
    size_t withdrawn_cnt, withdrawn_cap;
};

struct bytes_override {
    uint64_t va;
    uint8_t *bytes;
    uint32_t len;
    uint32_t at, request; /* frames, as of struct logged_store; 0 for the initial image */
};

struct region_override {
    uint32_t rkey;
    uint64_t low, span;
    unsigned access;
    bool invalidate;
    struct bytes_override *image, *store;
    size_t image_cnt, image_cap, store_cnt, store_cap;
    size_t stored; /* how many of `store` were played */
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

/* Reads a file: setup_override_read.c. Returns 0, or -1 and an error that names the file, where in
 * it, and the value. setup_override_free() is to be called in both cases. */
int setup_override_read(struct setup_override *override, const char *path, struct error *error);
void setup_override_free(struct setup_override *override);

/* What is given of a direction, or NULL; `given` may be NULL. */
const struct dir_override *setup_override_dir(const struct setup_override *override, size_t run);

/* While a setup is derived: what has to be known before requests are read, and before answers are.
 * `conn` may be NULL. */
void setup_override_packets(const struct dir_override *conn, struct inferred_setup *setup);
void setup_override_responses(const struct dir_override *conn, struct inferred_setup *setup);

/* All the rest, when all setups are derived and nothing is played. Returns 0, or -1 and an error.
 */
int setup_override_apply(const struct setup_override *override, struct session *session,
                         struct error *error);

/* The part of a device; NULL where nothing is given. */
struct host_override *setup_override_host(struct setup_override *override,
                                          const struct session *session, uint32_t host);

/* The initial image, once the regions are mapped. 0, or -1 if too much memory is touched. */
int setup_override_image(const struct host_override *device, struct shadow_memory *memory);

/* What the program had stored before the request of frame `request` is played at frame `at`. The
 * same. */
int setup_override_stores(struct host_override *device, struct shadow_memory *memory, uint32_t at,
                          uint32_t request);

#endif

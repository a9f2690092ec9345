/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Given: what a --setup file says that the devices of a capture had, in place of what derive.h and
 * memory.h make of the packets. The file has the form of --dump-setup (replay.md); what it leaves
 * out is derived. Bytes that it gives are an obligation: an answer that shows others is a
 * difference, unless the file says that the responder's program stored them.
 */
#ifndef REPLAY_INFER_SETUP_OVERRIDE_H
#define REPLAY_INFER_SETUP_OVERRIDE_H

#include "infer/shadow_memory.h"

struct drive;
struct setup;

/* What an object of the file has, by the members of the structs below. */
enum {
    GIVEN_MTU = 1 << 0,
    GIVEN_PKEY = 1 << 1,
    GIVEN_RQ_PSN = 1 << 2,
    GIVEN_MSN = 1 << 3,
    GIVEN_ACCESS = 1 << 4,
    GIVEN_RNR_TIMER = 1 << 5,
    GIVEN_RECEIVE_LENGTH = 1 << 6,
    GIVEN_RECEIVES = 1 << 7,
    GIVEN_WITHDRAWN = 1 << 8,
    GIVEN_RESOURCES = 1 << 9,
    GIVEN_SQ_PSN = 1 << 10,
    GIVEN_TIMEOUT = 1 << 11,
    GIVEN_RETRY_CNT = 1 << 12,
    GIVEN_RNR_RETRY = 1 << 13,
    GIVEN_RD_ATOMIC = 1 << 14,
    GIVEN_PEER_QPN = 1 << 15,
    GIVEN_QPN = 1 << 16,
    GIVEN_REGIONS = 1 << 17
};

struct given_receive {
    uint32_t psn;
    uint32_t absent; /* RNR NAKs before there was one */
    uint32_t len;    /* bytes, or RECV_FULL */
};

/* A run of the drive. */
struct given_conn {
    size_t index;    /* in the file */
    uint32_t number; /* of the run, from 1 */
    unsigned has;
    uint32_t mtu, pkey, rq_psn, msn, access, rnr_timer, receive_len, resources;
    bool mtu_fits; /* the path MTU is not known, but this one fits */
    uint32_t sq_psn, timeout, retry_cnt, rnr_retry, rd_atomic;
    uint32_t peer_qpn, qpn;
    struct given_receive *receive;
    size_t receive_cnt, receive_cap;
    uint32_t *withdrawn; /* PSNs */
    size_t withdrawn_cnt, withdrawn_cap;
};

struct given_bytes {
    uint64_t va;
    uint8_t *bytes;
    uint32_t len;
    uint32_t at, request; /* frames, as of struct store; 0 for the initial image */
};

struct given_region {
    uint32_t rkey;
    uint64_t low, span;
    unsigned access;
    bool invalidate;
    struct given_bytes *image, *store;
    size_t image_cnt, image_cap, store_cnt, store_cap;
    size_t stored; /* how many of `store` were played */
};

struct given_device {
    uint8_t addr[16];
    unsigned has;
    struct given_region *region;
    size_t region_cnt, region_cap;
};

struct given {
    char *path;
    struct given_conn *conn;
    size_t conn_cnt, conn_cap;
    struct given_device *device;
    size_t device_cnt, device_cap;
};

/* Reads a file: given_read.c. 0, or -1 and an error that names the file, where in it, and the
 * value. given_free() is wanted in both cases. */
int given_read(struct given *given, const char *path, struct error *error);
void given_free(struct given *given);

/* What is given of a run, or NULL; `given` may be NULL. */
const struct given_conn *given_conn(const struct given *given, size_t run);

/* While a setup is derived: what has to be known before requests are read, and before answers are.
 * `conn` may be NULL. */
void given_packets(const struct given_conn *conn, struct setup *setup);
void given_answers(const struct given_conn *conn, struct setup *setup);

/* All the rest, when all setups are derived and nothing is played. 0, or -1 and an error. */
int given_apply(const struct given *given, struct drive *drive, struct error *error);

/* The part of a device; NULL where nothing is given. */
struct given_device *given_device(struct given *given, const struct drive *drive, uint32_t device);

/* The initial image, once the regions are mapped. 0, or -1 if too much memory is touched. */
int given_image(const struct given_device *device, struct memory *memory);

/* What the program had stored before the request of frame `request` is played at frame `at`. The
 * same. */
int given_stores(struct given_device *device, struct memory *memory, uint32_t at, uint32_t request);

#endif

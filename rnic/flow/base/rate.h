/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rate: how fast an endpoint sends, and how CNPs (Annex A17.9.3) change it. A meter measures the
 * rate in windows. The first CNP that an endpoint receives begins an episode: the rate before it is
 * kept, and the lowest rate after it and the time of recovery are measured. Private to flow/.
 *
 * The rate counts all bytes of the endpoint's captured packets, retransmissions included. A window
 * in which packets are missing in the capture gives no rate.
 */
#ifndef FLOW_BASE_RATE_H
#define FLOW_BASE_RATE_H

#include "flow/base/summary.h"

/* A window is at least this long and has at least this many packets. */
#define ROCE_RATE_WINDOW_NS UINT64_C(100000)
#define ROCE_RATE_PACKETS   16u

struct roce_meter {
    uint64_t time;         /* start of the window; 0: it starts with the next packet */
    uint64_t last;         /* time of the latest packet */
    uint32_t bytes;        /* byte count of the endpoint at the start, mod 2^32 */
    uint32_t packets;      /* packet count of the endpoint at the start, mod 2^32 */
    uint32_t pause_ns;     /* longest time between two packets of the window */
    uint32_t before_ns;    /* length of the latest window that gave a rate; 0: none */
    uint32_t before_bytes; /* bytes of that window */
    bool holed;            /* packets of the window are missing in the capture */
};

/* An open episode. */
struct roce_slowdown {
    struct roce_cnp_episode sum;
    uint64_t cnp_time; /* time of the latest CNP */
    uint32_t windows;  /* windows measured since that CNP */
    uint32_t marked;   /* CE-marked packets of the endpoint when the episode began, mod 2^32 */
    bool open;
};

struct roce_ctx;
struct roce_endpoint;

/* Updates the meter of the sender after the packet at hand was judged. */
void roce_rate_step(struct roce_ctx *ctx);

/* Notes that packets of `side` are missing in the capture. */
void roce_rate_hole(struct roce_endpoint *side);

/* Notes the CNP at hand, which `side` receives. */
void roce_rate_cnp(struct roce_ctx *ctx, struct roce_endpoint *side);

/* Ends an open episode when the connection ends. */
void roce_rate_end(struct roce_ctx *ctx, struct roce_endpoint *side);

void roce_spread_add(struct roce_spread *spread, uint64_t v);

#endif

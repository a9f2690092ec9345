/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rate: measures how fast an endpoint sends, and how CNPs (Annex A17.9.3) change its rate. A meter
 * (struct roce_meter) measures the rate in time windows. The first CNP that an endpoint receives
 * begins a congestion episode. The episode records the rate before the CNP, the lowest rate after
 * it, and the recovery time. Used only in rnic/flow.
 *
 * The rate counts all bytes of the endpoint's captured packets, retransmissions included. If
 * packets of a window are missing in the capture, or one pause takes more than half of the window,
 * the window yields no rate.
 */
#ifndef FLOW_BASE_RATE_H
#define FLOW_BASE_RATE_H

#include "flow/base/summary.h"

/* A window ends when it is at least this long (ns) and contains at least this number of packets. */
#define ROCE_RATE_WINDOW_NS UINT64_C(100000)
#define ROCE_RATE_PACKETS   16u

struct roce_meter {
    uint64_t time;         /* start of the window; 0: the window starts with the next packet */
    uint64_t last;         /* time of the latest packet */
    uint32_t bytes;        /* byte count of the endpoint at the start of the window, mod 2^32 */
    uint32_t packets;      /* packet count of the endpoint at the start of the window, mod 2^32 */
    uint32_t pause_ns;     /* longest time between two packets of the window, ns */
    uint32_t before_ns;    /* length of the latest window that yielded a rate, ns; 0 if none */
    uint32_t before_bytes; /* bytes of the latest window that yielded a rate */
    bool holed;            /* packets of the window are missing in the capture, so the window yields
                            * no rate */
};

/* A congestion episode that has not ended. */
struct roce_slowdown {
    struct roce_cnp_episode sum;
    uint64_t cnp_time; /* time of the latest CNP, ns */
    uint32_t windows;  /* number of windows measured since the latest CNP */
    uint32_t marked;   /* number of CE-marked packets that the endpoint had sent when the episode
                        * began, mod 2^32 */
    bool open;
};

struct roce_ctx;
struct roce_endpoint;

/* Updates the rate meter of the sender after the packet in `ctx` was judged. */
void roce_rate_step(struct roce_ctx *ctx);

/* Records that packets of `side` are missing in the capture, so that the rate in its current window
 * is unknown. */
void roce_rate_hole(struct roce_endpoint *side);

/* Adds the CNP in `ctx` to the congestion episode of its receiver `side`; the first CNP begins an
 * episode. */
void roce_rate_cnp(struct roce_ctx *ctx, struct roce_endpoint *side);

/* Ends the congestion episode of `side`, if one is open, because the connection ends. */
void roce_rate_end(struct roce_ctx *ctx, struct roce_endpoint *side);

void roce_spread_add(struct roce_spread *spread, uint64_t v);

#endif

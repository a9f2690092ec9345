/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rate: how fast a side sends, and what CNPs (Annex A17.9.3) did to it. A meter runs all the time,
 * in windows; the first CNP that a side receives begins an episode: the rate before it is kept, the
 * lowest after it looked for, and the time until the rate is back. Private to flow/.
 *
 * The rate is that of the wire: all bytes of the side's captured packets, repetitions included. A
 * window in which packets are not in the capture says nothing.
 */
#ifndef FLOW_BASE_RATE_H
#define FLOW_BASE_RATE_H

#include "flow/base/summary.h"

/* A window is as long as both: some RTTs of a data centre, and packets enough for a rate. */
#define ROCE_RATE_WINDOW_NS UINT64_C(100000)
#define ROCE_RATE_PACKETS   16u

struct roce_meter {
    uint64_t time;         /* when the window at hand began; 0: with the next packet */
    uint64_t last;         /* of the side's latest packet */
    uint32_t bytes;        /* of the side's count when it began, mod 2^32 */
    uint32_t packets;      /* likewise */
    uint32_t pause_ns;     /* longest time between two packets in it */
    uint32_t before_ns;    /* the latest window that told a rate; 0: none did */
    uint32_t before_bytes; /* likewise */
    bool holed;            /* packets of the window at hand are not in the capture */
};

/* An episode under way. */
struct roce_slowdown {
    struct roce_cnp_episode sum;
    uint64_t cnp_time; /* of its latest CNP */
    uint32_t windows;  /* measured since that */
    uint32_t marked;   /* the side's CE-marked packets when it began, mod 2^32 */
    bool open;
};

struct roce_ctx;
struct roce_endpoint;

/* The packet at hand has been judged: the meter of its sender goes on. */
void roce_rate_step(struct roce_ctx *ctx);

/* `side` sent packets that are not in the capture. */
void roce_rate_hole(struct roce_endpoint *side);

/* The packet at hand is a CNP to `side`. */
void roce_rate_cnp(struct roce_ctx *ctx, struct roce_endpoint *side);

/* The last word: an episode that is not over ends open. */
void roce_rate_end(struct roce_ctx *ctx, struct roce_endpoint *side);

void roce_spread_add(struct roce_spread *spread, uint64_t v);

#endif

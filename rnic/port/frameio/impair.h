/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impair: a port in front of another that loses, doubles, delays, reorders, corrupts and marks
 * frames, as netem does for the kernel's own sockets, which it cannot for RDMA. The same seed and
 * the same frames give the same impairments.
 *
 *   SPEC    = item *("," item)
 *   item    = "loss="    P       the frame vanishes
 *           | "dup="     P       it is sent twice
 *           | "corrupt=" P       one bit of it, after the Ethernet header, is inverted
 *           | "ecn="     P       an ECN-capable IP packet is marked "congestion experienced"
 *           | "reorder=" P       1 to 4 later frames overtake it; it waits 1 ms at most for them
 *           | "delay="   T [".." T]   it is held back, for a time drawn evenly from the range
 *           | "dir=" ("out" | "in" | "both")   frames sent (as by default), received, or both
 *   P       = a percentage "3%", "0.1%", or a fraction of 1: "0.03"
 *   T       = a number with "ns", "us", "ms" or "s"
 *
 * Each frame is drawn for each kind by itself, with the probability P. Frames with different delays
 * overtake each other; with one fixed delay they keep their order.
 */
#ifndef PORT_FRAMEIO_IMPAIR_H
#define PORT_FRAMEIO_IMPAIR_H

#include "port/frameio/port.h"

#define RNIC_IMPAIR_ONE UINT32_MAX /* the probability of what is certain */

enum { RNIC_IMPAIR_OUT = 1u << 0, RNIC_IMPAIR_IN = 1u << 1 };

struct rnic_impair_spec {
    /* Probabilities as parts of RNIC_IMPAIR_ONE. */
    uint32_t loss;
    uint32_t dup;
    uint32_t corrupt;
    uint32_t ecn;
    uint32_t reorder;
    uint64_t delay_min; /* ns, both 0: none; up to an hour */
    uint64_t delay_max;
    unsigned dirs; /* RNIC_IMPAIR_OUT, RNIC_IMPAIR_IN */
};

/* 0, or -EINVAL with what is wrong where. An empty text impairs nothing. */
int rnic_impair_parse(const char *text, struct rnic_impair_spec *out, struct error *why);

/* Puts impairments in front of `behind`, which the new port owns from then on (on failure it stays
 * the caller's). -EINVAL for a wrong text. */
int rnic_impair_open(const char *text, uint64_t seed, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why);

#endif

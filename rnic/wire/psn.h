/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * PSN: the packet sequence number, 24 bits, as its own type so that nobody compares two of them
 * with "<". Arithmetic is modulo 2^24; order is the order of the shorter way round, as Linux rxe
 * (psn_compare) and hfi1 (delta_psn) have it.
 */
#ifndef ROCE_PSN_H
#define ROCE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PSN_MASK 0xFFFFFFu

typedef struct roce_psn {
    uint32_t v; /* 0 .. 0xFFFFFF, host order; for the wire and for reports, never to compare */
} roce_psn;

/* A PSN from a number; bits above 24 are dropped. */
static inline roce_psn roce_psn_of(uint32_t v)
{
    return (roce_psn){v & ROCE_PSN_MASK};
}

/* `n` packets later (earlier for a negative n). */
static inline roce_psn roce_psn_add(roce_psn a, int32_t n)
{
    return roce_psn_of(a.v + (uint32_t)n);
}

/*
 * How many packets `a` is after `b`: -2^23 .. 2^23-1. Exactly half the circle counts as before: the
 * 2^23 values behind the expected PSN are the duplicate region, the 2^23-1 ahead are out of
 * sequence.
 */
static inline int32_t roce_psn_diff(roce_psn a, roce_psn b)
{
    uint32_t d = (a.v - b.v) & ROCE_PSN_MASK;

    return (int32_t)(d ^ 0x800000u) - 0x800000; /* the sign of 24 bits in 32 */
}

/* Negative, zero or positive as `a` is before, at or after `b`. */
static inline int roce_psn_cmp(roce_psn a, roce_psn b)
{
    int32_t d = roce_psn_diff(a, b);

    return (d > 0) - (d < 0);
}

static inline bool roce_psn_eq(roce_psn a, roce_psn b)
{
    return a.v == b.v;
}

/*
 * PSNs that a message of `len` bytes takes at a path MTU of `mtu` bytes: one a packet, and one for
 * an empty message. The same number of PSNs is what a READ request of that length consumes.
 */
static inline uint32_t roce_psn_cnt(uint32_t len, uint32_t mtu)
{
    return len == 0 ? 1 : len / mtu + (len % mtu != 0);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PSN: packet sequence number, 24 bits. The type is a struct, so that a comparison of two PSNs with
 * "<" does not compile. Arithmetic is modulo 2^24. PSN A is later than PSN B if A is 1 to 2^23 - 1
 * after B, as in Linux rxe (psn_compare) and hfi1 (delta_psn). */
#ifndef ROCE_PSN_H
#define ROCE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PSN_MASK 0xFFFFFFu

typedef struct roce_psn {
    uint32_t v; /* PSN value 0 .. 0xFFFFFF in host byte order; use it for the wire and for printing,
                 * not to compare */
} roce_psn;

/* Converts a number to a PSN; bits above the low 24 are dropped. */
static inline roce_psn roce_psn_of(uint32_t v)
{
    return (roce_psn){v & ROCE_PSN_MASK};
}

/* Returns the PSN that is `n` after `a`; for a negative `n`, before `a`. */
static inline roce_psn roce_psn_add(roce_psn a, int32_t n)
{
    return roce_psn_of(a.v + (uint32_t)n);
}

/* Returns the number of PSNs by which `a` is after `b`, from -2^23 to 2^23-1. A distance of exactly
 * 2^23 counts as -2^23. If `b` is the expected PSN, a negative result means that `a` is a
 * duplicate, and a positive result that `a` is out of sequence. */
static inline int32_t roce_psn_diff(roce_psn a, roce_psn b)
{
    uint32_t d = (a.v - b.v) & ROCE_PSN_MASK;

    return (int32_t)(d ^ 0x800000u) - 0x800000; /* extends the sign of a 24-bit number */
}

/* Returns a negative number if `a` is before `b`, zero if they are equal, and a positive number if
 * `a` is after `b`. */
static inline int roce_psn_cmp(roce_psn a, roce_psn b)
{
    int32_t d = roce_psn_diff(a, b);

    return (d > 0) - (d < 0);
}

static inline bool roce_psn_eq(roce_psn a, roce_psn b)
{
    return a.v == b.v;
}

/* Returns the number of PSNs of a message of `len` bytes at a path MTU of `mtu` bytes: one for each
 * packet, and one for an empty message. A READ request of `len` bytes also uses this number of
 * PSNs. */
static inline uint32_t roce_psn_cnt(uint32_t len, uint32_t mtu)
{
    return len == 0 ? 1 : len / mtu + (len % mtu != 0);
}

#endif

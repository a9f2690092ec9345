/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entropy: random numbers from which a device chooses its keys and QPNs. The numbers come from the
 * system's random source, so that a peer cannot predict them. For tests, they are computed from a
 * seed, so that a run can be repeated.
 */
#ifndef RNIC_BASE_ENTROPY_H
#define RNIC_BASE_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_entropy {
    uint64_t state;
    bool unpredictable;
};

/* Initializes the random numbers. If `unpredictable`, they come from the system's random source.
 * Otherwise they are computed from `seed`. */
void rnic_entropy_init(struct rnic_entropy *entropy, uint64_t seed, bool unpredictable);

/* Returns the next 32 random bits. */
uint32_t rnic_entropy_u32(struct rnic_entropy *entropy);

#endif

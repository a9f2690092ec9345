/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entropy: random numbers from which a device chooses its keys and QPNs. They come from the
 * system's random source, so that a peer cannot predict them, or from a seed, so that tests can
 * repeat a run.
 */
#ifndef RNIC_BASE_ENTROPY_H
#define RNIC_BASE_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_entropy {
    uint64_t state;
    bool unpredictable;
};

/* Initializes the random source. `seed` is ignored if the numbers are to be unpredictable. */
void rnic_entropy_init(struct rnic_entropy *entropy, uint64_t seed, bool unpredictable);

/* Returns the next 32 random bits. */
uint32_t rnic_entropy_u32(struct rnic_entropy *entropy);

#endif

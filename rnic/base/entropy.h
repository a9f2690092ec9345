/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entropy: the random numbers from which a device chooses its keys and QPNs. Either unpredictable,
 * from the system's random source, so that a peer that sees some cannot tell the next; or the
 * sequence of a seed, so that tests can repeat a run.
 */
#ifndef RNIC_BASE_ENTROPY_H
#define RNIC_BASE_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

struct rnic_entropy {
    uint64_t state;
    bool unpredictable;
};

/* `seed` is unused if the numbers are to be unpredictable. */
void rnic_entropy_init(struct rnic_entropy *entropy, uint64_t seed, bool unpredictable);

/* Returns the next 32 bits. */
uint32_t rnic_entropy_u32(struct rnic_entropy *entropy);

#endif

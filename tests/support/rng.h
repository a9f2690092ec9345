/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Random numbers for tests (xorshift64*). The same seed gives the same numbers on every machine.
 * rng_seed() reads the seed from the environment variable ROCEDRILL_SEED and prints it, so that a
 * failure can be reproduced. Without the variable the seed is 1, so that every run of ctest uses
 * the same numbers. ROCEDRILL_SEED=random draws a new seed.
 */
#ifndef TEST_RNG_H
#define TEST_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state; /* state of the generator, never 0 */
};

struct rng rng_of(uint64_t seed);
struct rng rng_seed(void);
uint64_t rng_u64(struct rng *rng);
uint32_t rng_below(struct rng *rng, uint32_t limit); /* Returns a number from 0 to limit - 1; limit
                                                      * > 0. */
void rng_fill(struct rng *rng, void *buf, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _DEFAULT_SOURCE /* needed for arc4random() */
#include "base/entropy.h"

#include <stdlib.h>

void rnic_entropy_init(struct rnic_entropy *entropy, uint64_t seed, bool unpredictable)
{
    *entropy = (struct rnic_entropy){.state = seed, .unpredictable = unpredictable};
}

uint32_t rnic_entropy_u32(struct rnic_entropy *entropy)
{
    uint64_t z;

    if (entropy->unpredictable)
        return arc4random();
    z = entropy->state += UINT64_C(0x9E3779B97F4A7C15); /* this generator is splitmix64, whose
                                                         * output is random enough for any seed */
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draw_seed(void);

struct rng rng_of(uint64_t seed)
{
    struct rng rng = {seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u};

    if (rng.state == 0)
        rng.state = 1;
    for (int i = 0; i < 4; i++)
        rng_u64(&rng);
    return rng;
}

struct rng rng_seed(void)
{
    const char *given = getenv("ROCEDRILL_SEED");
    uint64_t seed = 1;

    if (given && strcmp(given, "random") == 0)
        seed = draw_seed();
    else if (given)
        seed = strtoull(given, NULL, 0);
    printf("    ROCEDRILL_SEED=%llu\n", (unsigned long long)seed);
    return rng_of(seed);
}

uint64_t rng_u64(struct rng *rng)
{
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * 0x2545F4914F6CDD1Du;
}

uint32_t rng_below(struct rng *rng, uint32_t limit)
{
    return (uint32_t)((rng_u64(rng) >> 32) * limit >> 32);
}

void rng_fill(struct rng *rng, void *buf, size_t len)
{
    uint8_t *p = buf;

    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)(rng_u64(rng) >> 56);
}

static uint64_t draw_seed(void)
{
    FILE *f = fopen("/dev/urandom", "rb");
    uint32_t seed = 1;

    if (f && fread(&seed, sizeof(seed), 1, f) != 1)
        seed = 1;
    if (f)
        fclose(f);
    return seed;
}

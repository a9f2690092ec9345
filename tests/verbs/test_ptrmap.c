/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdbool.h>
#include <string.h>
#include "support/rng.h"
#include "support/suite.h"
#include "verbs/ptrmap.h"

#define KEYS 2000u

/* Compares the map with a flat array, while objects that are adjacent in memory are added and
 * removed. */
static void map_matches_linear_model(void)
{
    static char keys[KEYS], values[KEYS];
    static bool there[KEYS];
    struct rng rng = rng_seed();
    struct ptrmap map = {0};
    size_t cnt = 0;

    CU_ASSERT(ptrmap_get(&map, keys) == NULL);
    ptrmap_remove(&map, keys);
    memset(there, 0, sizeof there);
    for (unsigned step = 0; step < 100000; step++) {
        uint32_t i = rng_below(&rng, step < 50000 ? KEYS : 40);
        if (rng_below(&rng, 2)) {
            EXPECT_EQ(ptrmap_put(&map, &keys[i], &values[i]), 0);
            cnt += !there[i];
            there[i] = true;
        } else {
            ptrmap_remove(&map, &keys[i]);
            cnt -= there[i];
            there[i] = false;
        }
        uint32_t look = rng_below(&rng, KEYS);
        CU_ASSERT(ptrmap_get(&map, &keys[look]) == (there[look] ? &values[look] : NULL));
        EXPECT_EQ(map.cnt, cnt);
    }
    CU_ASSERT(ptrmap_get(&map, NULL) == NULL);
    ptrmap_free(&map);
}

SUITE("verbs.ptrmap", TEST(map_matches_linear_model))

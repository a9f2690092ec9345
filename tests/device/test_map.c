/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "device/map.h"
#include "support/rng.h"
#include "support/suite.h"

#define KEYS 3000u

static char values[KEYS];

/* Returns the i-th key. Some keys are close together, some far apart, and some are addresses. */
static uint64_t key_of(uint32_t i)
{
    return i % 3 == 0 ? i * 0x01000193u : i % 3 == 1 ? i : (uintptr_t)&values[i];
}

/* Compares the map with a flat array. */
static void map_equals_a_flat_array(void)
{
    static bool there[KEYS];
    struct rng rng = rng_seed();
    struct rnic_map map = {0};
    uint32_t cnt = 0;

    CU_ASSERT(rnic_map_get(&map, 0) == NULL);
    rnic_map_del(&map, 0);
    memset(there, 0, sizeof(there));
    for (unsigned step = 0; step < 100000; step++) {
        uint32_t i = rng_below(&rng, step < 50000 ? KEYS : 40);
        uint64_t key = key_of(i);

        if (rng_below(&rng, 2)) {
            if (!there[i]) {
                CU_ASSERT(rnic_map_add(&map, key, &values[i]));
                cnt++;
            }
            there[i] = true;
        } else {
            cnt -= there[i];
            rnic_map_del(&map, key);
            there[i] = false;
        }
        if (step % 1000 == 0 || step > 99000) {
            for (i = 0; i < KEYS; i++) {
                key = key_of(i);
                if (rnic_map_get(&map, key) != (there[i] ? &values[i] : NULL))
                    suite_fail(__FILE__, __LINE__, "key %u at step %u", i, step);
            }
        }
        if (map.cnt != cnt)
            suite_fail(__FILE__, __LINE__, "count at step %u", step);
    }
    CU_ASSERT(map.cnt <= (UINT32_C(1) << map.bits));
    rnic_map_free(&map);
    EXPECT_EQ(map.cnt, 0);
}

SUITE("device.map", TEST(map_equals_a_flat_array))

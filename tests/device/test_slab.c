/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory blocks of several sizes: zeroed, disjoint, reused. */
#include "device/slab.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "support/rng.h"
#include "support/suite.h"

#define CNT 3000u

static uint8_t *block[CNT];
static size_t size[CNT];

static bool all_are(const uint8_t *p, size_t len, uint8_t value)
{
    for (size_t i = 0; i < len; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* Each block keeps its bytes while others are allocated and freed; a new block is zero. */
static void blocks_are_apart(void)
{
    static const size_t sizes[] = {1, 64, 65, 2112, 4096, 70000};
    struct rnic_slab slab = {0};
    struct rng rng = rng_of(4);

    for (unsigned k = 0; k < 20000; k++) {
        unsigned i = rng_below(&rng, CNT);

        if (block[i]) {
            CU_ASSERT_FATAL(all_are(block[i], size[i], (uint8_t)i));
            rnic_slab_put(&slab, block[i], size[i]);
            block[i] = NULL;
        } else {
            /* few large blocks */
            size[i] = sizes[rng_below(&rng, rng_below(&rng, 50) ? 5 : 6)];
            block[i] = rnic_slab_get(&slab, size[i]);
            CU_ASSERT_FATAL(block[i] != NULL);
            CU_ASSERT_FATAL(all_are(block[i], size[i], 0));
            memset(block[i], (int)i, size[i]);
        }
    }
    for (unsigned i = 0; i < CNT; i++)
        if (block[i]) {
            CU_ASSERT_FATAL(all_are(block[i], size[i], (uint8_t)i));
            rnic_slab_put(&slab, block[i], size[i]);
        }
    rnic_slab_put(&slab, NULL, 64);
    rnic_slab_free(&slab);
    rnic_slab_free(&slab); /* the slab is empty again */
}

SUITE("slab", TEST(blocks_are_apart))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/keyed_hash.h"

void roce_hash_secret_init(struct roce_hash_secret *secret, uint64_t seed)
{
    for (unsigned i = 0; i < ROCE_HASH_WORDS; i++) { /* splitmix64 */
        uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);

        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        secret->word[i] = z ^ z >> 31;
    }
}

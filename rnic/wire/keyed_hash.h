/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Keyed hash: for hash tables whose keys come from a capture or a peer. An attacker who does not
 * know the secret cannot choose many keys with the same hash. Called by rnic/flow, by
 * replay/util/keymap.h and by the plugin.
 *
 * The hash is NH of UMAC (RFC 4418, 5.2.2) with words of 64 bits. NH computes a sum, which is then
 * reduced to 32 bits. The probability that two different keys have the same sum is 2^-64.
 */
#ifndef ROCE_KEYED_HASH_H
#define ROCE_KEYED_HASH_H

#include <stdint.h>

/* maximum number of 64-bit words in a key */
#define ROCE_HASH_WORDS 6

struct roce_hash_secret {
    uint64_t word[ROCE_HASH_WORDS];
};

/* Makes a secret from `seed`, which must be random and not known to an attacker. */
void roce_hash_secret_init(struct roce_hash_secret *secret, uint64_t seed);

/* Returns the hash of a key of `cnt` words, an even number up to ROCE_HASH_WORDS. All keys of a
 * table must have the same number of words. */
static inline uint32_t roce_keyed_hash(const struct roce_hash_secret *secret, const uint64_t *word,
                                       unsigned cnt)
{
    __extension__ unsigned __int128 sum = 0;

    for (unsigned i = 0; i < cnt; i += 2) {
        __extension__ unsigned __int128 factor = word[i] + secret->word[i];

        sum += factor * (word[i + 1] + secret->word[i + 1]);
    }
    return (uint32_t)(((uint64_t)sum ^ (uint64_t)(sum >> 64)) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the keymap: keys are numbered in the order of first use, also if an attacker chose keys
 * that collide. */
#include "util/keymap.h"

#include <string.h>
#include "support/suite.h"

#define KEYS 4096u

struct key {
    uint64_t word[ROCE_HASH_WORDS];
};

/* Returns key number `i` of keys that have equal hashes in a map with this secret. The hash is a
 * sum of products, and in each product one factor is 0. */
static struct key crafted_key(const struct roce_hash_secret *secret, uint64_t i)
{
    return (struct key){
        {-secret->word[0], i, -secret->word[2], i << 32, -secret->word[4], i * UINT64_C(12345)}};
}

/* Adds the crafted keys to a map with one key. Returns the number of slots that must be passed over
 * to find all of them. */
static uint64_t count_probes(struct keymap *map, const struct roce_hash_secret *known)
{
    uint64_t cnt = 0;

    for (uint32_t i = 0; i < KEYS; i++) {
        struct key key = crafted_key(known, i);

        EXPECT_EQ(keymap_add(map, &key), i + 1);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        struct key key = crafted_key(known, i);
        uint32_t slot =
            roce_keyed_hash(&map->secret, key.word, ROCE_HASH_WORDS) & (map->slot_cnt - 1);

        EXPECT_EQ(keymap_get(map, &key), i + 1);
        for (; map->slots[slot] != i + 1; slot = (slot + 1) & (map->slot_cnt - 1))
            cnt++;
    }
    return cnt;
}

/* Keys crafted for the secret of one map must collide in that map only. */
static void crafted_keys_do_not_collide_in_another_map(void)
{
    struct keymap known, other;
    struct roce_hash_secret secret;
    const struct key first = {{0}};

    keymap_init(&known, sizeof(struct key));
    EXPECT_EQ(keymap_add(&known, &first), 0); /* draws the secret */
    secret = known.secret;
    CU_ASSERT(count_probes(&known, &secret) >= KEYS * (KEYS - 1) / 2);
    keymap_free(&known);
    keymap_init(&other, sizeof(struct key));
    EXPECT_EQ(keymap_add(&other, &first), 0);
    CU_ASSERT(count_probes(&other, &secret) < 2 * KEYS);
    keymap_free(&other);
}

SUITE("replay.keymap", TEST(crafted_keys_do_not_collide_in_another_map))

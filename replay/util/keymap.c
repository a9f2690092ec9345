/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/keymap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static inline uint32_t slot_with_len(const struct keymap *map, const void *key, size_t len)
{
    uint64_t word[ROCE_HASH_WORDS] = {0};
    uint32_t slot;

    memcpy(word, key, len);
    slot = roce_keyed_hash(&map->secret, word, (unsigned)(len + 15) / 16 * 2) & (map->slot_cnt - 1);
    while (map->slots[slot] != KEYMAP_NONE &&
           memcmp(map->keys + map->slots[slot] * len, key, len) != 0)
        slot = (slot + 1) & (map->slot_cnt - 1);
    return slot;
}

/* Returns the slot of a key, or the free slot for it. Compilers omit the calls of memcpy() and
 * memcmp() if the length is a constant, so the lengths of frequent keys are constants here. The
 * function is not inlined: at a caller with a key of 8 bytes, GCC would warn that the code for 12
 * bytes reads too much. */
static __attribute__((noinline)) uint32_t slot_of(const struct keymap *map, const void *key)
{
    switch (map->key_len) {
    case 4: return slot_with_len(map, key, 4);
    case 8: return slot_with_len(map, key, 8);
    case 12: return slot_with_len(map, key, 12);
    default: return slot_with_len(map, key, map->key_len);
    }
}

/* Enlarges the hash table. The first call also draws the random secret of the hash: a map without
 * keys needs no secret. */
static bool grow(struct keymap *map)
{
    uint32_t cnt = map->slot_cnt ? map->slot_cnt * 2 : 64;
    uint64_t seed;
    uint32_t *slots;
    uint8_t *keys;

    if (map->slot_cnt == 0) {
        arc4random_buf(&seed, sizeof(seed));
        roce_hash_secret_init(&map->secret, seed);
    }
    if (cnt > UINT32_MAX / 4)
        return false;
    keys = realloc(map->keys, (size_t)cnt / 2 * map->key_len);
    if (!keys)
        return false;
    map->keys = keys;
    map->key_cap = cnt / 2;
    slots = malloc(cnt * sizeof(*slots));
    if (!slots)
        return false;
    memset(slots, 0xFF, cnt * sizeof(*slots));
    free(map->slots);
    map->slots = slots;
    map->slot_cnt = cnt;
    for (uint32_t i = 0; i < map->cnt; i++)
        map->slots[slot_of(map, map->keys + i * map->key_len)] = i;
    return true;
}

void keymap_init(struct keymap *map, size_t key_len)
{
    assert(key_len <= KEYMAP_KEY_MAX);
    *map = (struct keymap){.key_len = key_len};
}

void keymap_free(struct keymap *map)
{
    free(map->keys);
    free(map->slots);
    keymap_init(map, map->key_len);
}

uint32_t keymap_add(struct keymap *map, const void *key)
{
    uint32_t found = keymap_get(map, key);

    if (found != KEYMAP_NONE)
        return found;
    /* Grow the hash table before it is more than half full, so that searches stay short. */
    if (map->cnt >= map->slot_cnt / 2 && !grow(map))
        return KEYMAP_NONE;
    memcpy(map->keys + map->cnt * map->key_len, key, map->key_len);
    map->slots[slot_of(map, key)] = map->cnt;
    return map->cnt++;
}

uint32_t keymap_get(const struct keymap *map, const void *key)
{
    return map->slot_cnt ? map->slots[slot_of(map, key)] : KEYMAP_NONE;
}

bool vec_grow(void *vec, size_t cnt, size_t *cap, size_t size)
{
    size_t want = cnt < 4 ? 4 : cnt * 2;
    void *old;
    void *p;

    if (want > SIZE_MAX / size)
        return false;
    memcpy(&old, vec, sizeof(old));
    p = realloc(old, want * size);
    if (!p)
        return false;
    memcpy(vec, &p, sizeof(p));
    *cap = want;
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Keymap: assigns the numbers 0, 1, 2 ... to keys of a fixed length, in the order of first use. The
 * caller keeps the values in an array indexed by these numbers. Used by code that reads captures,
 * for flows, CM exchanges and connections. (rnic/device has a faster map, device/map.h.)
 *
 * The hash has a random secret, which the map draws for its first key, so that an attacker cannot
 * construct a capture whose keys collide.
 *
 *   1. keymap_init(),
 *   2. keymap_add() or keymap_get(),
 *   3. keymap_free().
 */
#ifndef REPLAY_UTIL_KEYMAP_H
#define REPLAY_UTIL_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/keyed_hash.h"

#define KEYMAP_NONE    UINT32_MAX             /* no such key */
#define KEYMAP_KEY_MAX (8u * ROCE_HASH_WORDS) /* maximum length of a key, bytes */

struct keymap {
    struct roce_hash_secret secret;
    size_t key_len;
    uint8_t *keys;   /* all keys, key_len bytes each, in the order of their numbers */
    uint32_t *slots; /* hash table: number of a key, or KEYMAP_NONE; slot_cnt slots, a power of 2 */
    uint32_t slot_cnt;
    uint32_t cnt;
    uint32_t key_cap;
};

void keymap_init(struct keymap *map, size_t key_len);
void keymap_free(struct keymap *map);

/* Returns the number of `key`. A new key gets the next number, which was map->cnt before the call.
 * Returns KEYMAP_NONE if out of memory. */
uint32_t keymap_add(struct keymap *map, const void *key);

/* Returns the number of `key`, or KEYMAP_NONE if the map does not have the key. */
uint32_t keymap_get(const struct keymap *map, const void *key);

/*
 * Enlarges an array so that it has a free element at index `cnt`. Returns true, or false if out of
 * memory; the array is then unchanged.
 */
#define VEC_GROW(vec, cnt, cap)                                                                    \
    ((cnt) < (cap) || vec_grow((void *)&(vec), (cnt), &(cap), sizeof(*(vec))))
/* Function behind VEC_GROW. `vec` points to the pointer to the array. Returns false if out of
 * memory. */
bool vec_grow(void *vec, size_t cnt, size_t *cap, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Map: gives each different key of a fixed length a number, 0, 1, 2 .. in the order of first use.
 * What belongs to a key is kept by the caller in an array with these numbers as indices.
 */
#ifndef REPLAY_UTIL_KEYMAP_H
#define REPLAY_UTIL_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map {
    size_t key_len;
    uint8_t *keys;   /* cnt keys, one after another */
    uint32_t *slots; /* slot_cnt (a power of 2) indices or MAP_NONE */
    uint32_t slot_cnt;
    uint32_t cnt;
    uint32_t key_cap;
};

void map_init(struct map *map, size_t key_len);
void map_free(struct map *map);

/* The number of `key`, which is added if it is new (then the result is the old map->cnt). MAP_NONE
 * without memory. */
uint32_t map_add(struct map *map, const void *key);

/* The number of `key`, or MAP_NONE. */
uint32_t map_get(const struct map *map, const void *key);

/*
 * Makes room for one more element of a growing array: VEC_GROW(v, cnt, cap) is false without memory
 * and then nothing has changed.
 */
#define VEC_GROW(vec, cnt, cap)                                                                    \
    ((cnt) < (cap) || vec_room((void *)&(vec), (cnt), &(cap), sizeof(*(vec))))
/* For VEC_GROW: `vec` points at the array's pointer. */
bool vec_room(void *vec, size_t cnt, size_t *cap, size_t size);

#endif

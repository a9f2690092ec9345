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

#define KEYMAP_NONE UINT32_MAX

struct keymap {
    size_t key_len;
    uint8_t *keys;   /* cnt keys, one after another */
    uint32_t *slots; /* slot_cnt (a power of 2) indices or KEYMAP_NONE */
    uint32_t slot_cnt;
    uint32_t cnt;
    uint32_t key_cap;
};

void keymap_init(struct keymap *map, size_t key_len);
void keymap_free(struct keymap *map);

/* The number of `key`, which is added if it is new (then the result is the old map->cnt).
 * KEYMAP_NONE without memory. */
uint32_t keymap_add(struct keymap *map, const void *key);

/* The number of `key`, or KEYMAP_NONE. */
uint32_t keymap_get(const struct keymap *map, const void *key);

/*
 * Makes room for one more element of a growing array: VEC_GROW(v, cnt, cap) is false without memory
 * and then nothing has changed.
 */
#define VEC_GROW(vec, cnt, cap)                                                                    \
    ((cnt) < (cap) || vec_grow((void *)&(vec), (cnt), &(cap), sizeof(*(vec))))
/* For VEC_GROW: `vec` points at the array's pointer. */
bool vec_grow(void *vec, size_t cnt, size_t *cap, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/ptrmap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns the home slot of a key: the key times 2^64 / golden ratio (Knuth, TAOCP 6.4), high bits.
 */
static size_t home_slot(const struct ptrmap *map, const void *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 32) & (map->cap - 1);
}

static void insert_key(struct ptrmap *map, const void *key, void *value)
{
    size_t i = home_slot(map, key);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & (map->cap - 1);
    if (!map->slots[i].key)
        map->cnt++;
    map->slots[i] = (struct ptrmap_slot){key, value};
}

int ptrmap_put(struct ptrmap *map, const void *key, void *value)
{
    if (2 * (map->cnt + 1) > map->cap) {
        struct ptrmap bigger = {.cap = map->cap ? 2 * map->cap : 64};
        bigger.slots = calloc(bigger.cap, sizeof *bigger.slots);
        if (!bigger.slots)
            return ENOMEM;
        for (size_t i = 0; i < map->cap; i++)
            if (map->slots[i].key)
                insert_key(&bigger, map->slots[i].key, map->slots[i].value);
        free(map->slots);
        *map = bigger;
    }
    insert_key(map, key, value);
    return 0;
}

void *ptrmap_get(const struct ptrmap *map, const void *key)
{
    if (map->cnt == 0 || !key)
        return NULL;
    size_t i = home_slot(map, key);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & (map->cap - 1);
    return map->slots[i].key ? map->slots[i].value : NULL;
}

void ptrmap_remove(struct ptrmap *map, const void *key)
{
    if (map->cnt == 0 || !key)
        return;
    size_t mask = map->cap - 1, i = home_slot(map, key);
    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & mask;
    if (!map->slots[i].key)
        return;
    map->cnt--;
    /* Closes the gap: an entry moves back unless its home slot is behind the gap (TAOCP 6.4, R). */
    for (size_t j = (i + 1) & mask; map->slots[j].key; j = (j + 1) & mask) {
        if (((j - home_slot(map, map->slots[j].key)) & mask) >= ((j - i) & mask)) {
            map->slots[i] = map->slots[j];
            i = j;
        }
    }
    map->slots[i] = (struct ptrmap_slot){NULL, NULL};
}

void ptrmap_free(struct ptrmap *map)
{
    free(map->slots);
    *map = (struct ptrmap){0};
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hash map from a number to an object: QPs by QPN, regions by key, an object of the verbs library
 * by the address of the device's object. It uses open addressing and is at most two thirds full, so
 * the cost of a lookup does not depend on the number of objects. A peer chooses the keys that are
 * looked up, but not the keys that are stored, so it cannot cause collisions.
 */
#ifndef RNIC_MAP_H
#define RNIC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_map_slot {
    void *value; /* stored value; NULL: slot is empty */
    uint64_t key;
};

struct rnic_map {
    struct rnic_map_slot *slot;
    uint32_t bits; /* log2 of the number of slots, if any are allocated */
    uint32_t cnt;
};

/* Frees the slots. The map is then empty and usable, as a zeroed map is. */
void rnic_map_free(struct rnic_map *map);

/* Adds a value. `key` must not be in the map, and `value` must not be NULL. Returns false if out of
 * memory. */
bool rnic_map_add(struct rnic_map *map, uint64_t key, void *value);

/* Removes `key`. No effect if `key` is not in the map. */
void rnic_map_del(struct rnic_map *map, uint64_t key);

/* Returns the number of slots, for a caller that visits all values. */
static inline uint32_t rnic_map_slots(const struct rnic_map *map)
{
    return map->slot ? UINT32_C(1) << map->bits : 0;
}

static inline uint32_t rnic_map_home(const struct rnic_map *map, uint64_t key)
{
    /* multiplicative hash: 2^64 / golden ratio */
    return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - map->bits));
}

/* Returns the value of `key`, or NULL. */
static inline void *rnic_map_get(const struct rnic_map *map, uint64_t key)
{
    uint32_t mask = (UINT32_C(1) << map->bits) - 1;

    if (map->cnt == 0)
        return NULL;
    for (uint32_t i = rnic_map_home(map, key);; i = (i + 1) & mask) {
        const struct rnic_map_slot *slot = &map->slot[i];

        if (!slot->value || slot->key == key)
            return slot->value;
    }
}

#endif

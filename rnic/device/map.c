/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/map.h"

#include <assert.h>
#include "device/pages.h"

/* log2 of the initial number of slots: 16 slots are four cache lines, enough for a device with few
 * objects */
#define FIRST_BITS 4

static size_t slots_len(const struct rnic_map *map)
{
    return sizeof(*map->slot) * rnic_map_slots(map);
}

void rnic_map_free(struct rnic_map *map)
{
    rnic_pages_put(map->slot, slots_len(map));
    *map = (struct rnic_map){0};
}

static void put(struct rnic_map *map, uint64_t key, void *value)
{
    uint32_t mask = (UINT32_C(1) << map->bits) - 1;
    uint32_t i = rnic_map_home(map, key);

    while (map->slot[i].value)
        i = (i + 1) & mask;
    map->slot[i] = (struct rnic_map_slot){value, key};
    map->cnt++;
}

static bool grow(struct rnic_map *map)
{
    struct rnic_map bigger = {.bits = map->slot ? map->bits + 1 : FIRST_BITS};
    uint32_t slots = rnic_map_slots(map);

    bigger.slot = rnic_pages_get(sizeof(*bigger.slot) << bigger.bits);
    if (!bigger.slot)
        return false;
    for (uint32_t i = 0; i < slots; i++)
        if (map->slot[i].value)
            put(&bigger, map->slot[i].key, map->slot[i].value);
    rnic_pages_put(map->slot, slots_len(map));
    *map = bigger;
    return true;
}

bool rnic_map_add(struct rnic_map *map, uint64_t key, void *value)
{
    uint32_t slots = rnic_map_slots(map);

    assert(value && !rnic_map_get(map, key));
    if (map->cnt >= slots / 3 * 2 && !grow(map))
        return false;
    put(map, key, value);
    return true;
}

void rnic_map_del(struct rnic_map *map, uint64_t key)
{
    uint32_t mask = (UINT32_C(1) << map->bits) - 1;
    uint32_t hole;

    if (!rnic_map_get(map, key))
        return;
    hole = rnic_map_home(map, key);
    while (map->slot[hole].key != key || !map->slot[hole].value)
        hole = (hole + 1) & mask;
    map->cnt--;
    /* A lookup stops at the first empty slot, so it would not find the entries after the hole (the
     * slot of the removed entry). Examine the entries up to the next empty slot: move an entry into
     * the hole, unless its home is after the hole. The slot of a moved entry is the next hole. */
    for (uint32_t i = (hole + 1) & mask; map->slot[i].value; i = (i + 1) & mask) {
        uint32_t home = rnic_map_home(map, map->slot[i].key);

        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slot[hole] = map->slot[i];
        hole = i;
    }
    map->slot[hole] = (struct rnic_map_slot){0};
}

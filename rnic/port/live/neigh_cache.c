/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/live/neigh_cache.h"

#include <string.h>

void neigh_cache_put(struct neigh_cache *cache, const uint8_t addr[16], const uint8_t mac[6],
                     uint64_t now)
{
    struct neigh_entry *entry = &cache->entry[0];

    for (unsigned i = 0; i < NEIGH_CACHE_SIZE; i++) {
        struct neigh_entry *at = &cache->entry[i];

        if (at->learned_at && memcmp(at->addr, addr, 16) == 0) {
            entry = at;
            break;
        }
        if (at->learned_at < entry->learned_at)
            entry = at;
    }
    memcpy(entry->addr, addr, 16);
    memcpy(entry->mac, mac, 6);
    entry->learned_at = now;
}

bool neigh_cache_get(const struct neigh_cache *cache, const uint8_t addr[16], uint64_t now,
                     uint8_t mac[6])
{
    for (unsigned i = 0; i < NEIGH_CACHE_SIZE; i++) {
        const struct neigh_entry *at = &cache->entry[i];

        if (at->learned_at && now - at->learned_at < NEIGH_CACHE_VALID_NS &&
            memcmp(at->addr, addr, 16) == 0) {
            memcpy(mac, at->mac, 6);
            return true;
        }
    }
    return false;
}

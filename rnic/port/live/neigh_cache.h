/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Neighbour cache: the MAC addresses that ARP and Neighbour Discovery replies on the link named.
 * An entry expires after NEIGH_CACHE_VALID_NS; a full cache replaces its oldest entry. */
#ifndef RNIC_NEIGH_CACHE_H
#define RNIC_NEIGH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define NEIGH_CACHE_SIZE     64u
#define NEIGH_CACHE_VALID_NS 30000000000u /* REACHABLE_TIME of RFC 4861 */

struct neigh_entry {
    uint8_t addr[16];
    uint8_t mac[6];
    uint64_t learned_at; /* ns; 0: the entry is unused */
};

struct neigh_cache {
    struct neigh_entry entry[NEIGH_CACHE_SIZE];
};

void neigh_cache_put(struct neigh_cache *cache, const uint8_t addr[16], const uint8_t mac[6],
                     uint64_t now);

/* Copies the MAC address of a neighbour; returns false if the cache has none that is valid. */
bool neigh_cache_get(const struct neigh_cache *cache, const uint8_t addr[16], uint64_t now,
                     uint8_t mac[6]);

#endif

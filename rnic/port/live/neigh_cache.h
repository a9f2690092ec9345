/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Neighbour cache: MAC addresses learned from ARP and Neighbour Discovery replies. An entry expires
 * after NEIGH_CACHE_VALID_NS; a full cache replaces its oldest entry. */
#ifndef RNIC_NEIGH_CACHE_H
#define RNIC_NEIGH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define NEIGH_CACHE_SIZE 64u /* number of entries */
/* lifetime of an entry, ns: REACHABLE_TIME of RFC 4861 */
#define NEIGH_CACHE_VALID_NS 30000000000u

struct neigh_entry {
    uint8_t addr[16];
    uint8_t mac[6];
    uint64_t learned_at; /* time of the reply, ns; 0: unused entry */
};

struct neigh_cache {
    struct neigh_entry entry[NEIGH_CACHE_SIZE];
};

void neigh_cache_put(struct neigh_cache *cache, const uint8_t addr[16], const uint8_t mac[6],
                     uint64_t now);

/* Copies a neighbour's MAC address to `mac`. Returns false if the cache has no valid entry for the
 * neighbour. */
bool neigh_cache_get(const struct neigh_cache *cache, const uint8_t addr[16], uint64_t now,
                     uint8_t mac[6]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live keys: programs tell each other where their memory is in what they send: an R_Key of 32 bits
 * and near it an address of 64, in either byte order. Where the capture shows a key of the far
 * device being told, the live key and address stand in the same place of the live message.
 */
#ifndef REPLAY_LIVE_RKEY_DISCOVERY_H
#define REPLAY_LIVE_RKEY_DISCOVERY_H

#include <stdint.h>
#include "live/rewrite.h"

/* Most that one packet tells. */
#define RKEY_MENTIONS_MAX 32u

struct rkey_mention {
    uint32_t region;   /* index into memory.region */
    uint32_t key_off;  /* in the bytes */
    uint32_t addr_off; /* ... */
    bool key_big, addr_big;
    uint64_t addr; /* recorded */
};

/* What recorded bytes tell of the regions of `memory`. How many, up to RKEY_MENTIONS_MAX. */
unsigned find_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, size_t len,
                    struct rkey_mention *out);

/* Learns from live bytes what the recorded ones told: region[i] gets its live key and address, and
 * told[i] is set; the places in the live bytes then get what is recorded, so that they can be
 * compared. */
void learn_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, uint8_t *live,
                 size_t len, struct rewrite_region *region, bool *rkey_known);

#endif

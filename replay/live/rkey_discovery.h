/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * R_Key discovery: finds the R_Keys that programs send to each other. A message that announces
 * memory contains a 32-bit R_Key and, near it, a 64-bit address, in either byte order. The live
 * message has the live R_Key and address at the same offsets. Called by cm_peer_conns.c.
 */
#ifndef REPLAY_LIVE_RKEY_DISCOVERY_H
#define REPLAY_LIVE_RKEY_DISCOVERY_H

#include <stdint.h>
#include "live/rewrite.h"

/* Maximum number of R_Keys found in one packet. */
#define RKEY_MENTIONS_MAX 32u

struct rkey_mention {
    uint32_t region;   /* index of the region that has this R_Key */
    uint32_t key_off;  /* offset of the R_Key in the message */
    uint32_t addr_off; /* offset of the address in the message */
    bool key_big, addr_big;
    uint64_t addr; /* address in the recorded message */
};

/* Finds the R_Keys of the regions of `memory` in `len` recorded bytes. Fills `out` and returns the
 * number of R_Keys, at most RKEY_MENTIONS_MAX. */
unsigned find_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, size_t len,
                    struct rkey_mention *out);

/* Finds the R_Keys in `recorded`, and reads the live R_Keys and addresses at the same offsets of
 * `live`. Sets region[i] and rkey_known[i] of each region i found. Then overwrites these bytes in
 * `live` with the recorded ones, so that the rest of the message can be compared. */
void learn_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, uint8_t *live,
                 size_t len, struct rewrite_region *region, bool *rkey_known);

#endif

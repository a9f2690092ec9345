/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/rkey_discovery.h"

#include <string.h>
#include "infer/shadow_memory.h"
#include "wire/bytes.h"

/* A program usually announces the start of its memory, and its peer uses any part of it. So the
 * announced address may be lower than the lowest address that the peer uses, by at most this number
 * of bytes. */
#define BEFORE_MAX (UINT64_C(1) << 30)

/* Lowest valid address in a program's memory: programs do not map the first page. */
#define ADDR_MIN 4096u

static uint64_t read_number(const uint8_t *p, unsigned bytes, bool big)
{
    uint64_t value = 0;

    if (big)
        return roce_be_get(p, bytes);
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | p[bytes - 1 - i];
    return value;
}

static bool is_address_in(const struct shadow_region *region, uint64_t value)
{
    return value >= ADDR_MIN && value < region->low + region->span &&
           (value >= region->low || region->low - value <= BEFORE_MAX);
}

/* Searches the message for 8 bytes that can be an address of `region`. If several 8 bytes can be an
 * address, chooses those nearest to the R_Key at offset mention->key_off. Returns false if it finds
 * none. */
static bool find_address_near(const struct shadow_region *region, const uint8_t *p, size_t len,
                              struct rkey_mention *mention)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t at = 0; at + 8 <= len; at++) {
        uint32_t off = at < mention->key_off ? mention->key_off - at : at - mention->key_off;

        if ((at + 8 > mention->key_off && at < mention->key_off + 4) || off >= best)
            continue;
        for (unsigned big = 0; big < 2; big++) {
            uint64_t value = read_number(p + at, 8, big);

            if (!is_address_in(region, value))
                continue;
            best = off;
            mention->addr_off = at;
            mention->addr_big = big;
            mention->addr = value;
        }
    }
    return best != UINT32_MAX;
}

unsigned find_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, size_t len,
                    struct rkey_mention *out)
{
    unsigned cnt = 0;

    for (uint32_t at = 0; at + 4 <= len && cnt < RKEY_MENTIONS_MAX; at++)
        for (unsigned big = 0; big < 2; big++) {
            uint32_t rkey = (uint32_t)read_number(recorded + at, 4, big);
            const struct shadow_region *region = rkey ? shadow_find(memory, rkey) : NULL;
            struct rkey_mention mention = {.key_off = at, .key_big = big};

            if (!region || region->span == 0 || !find_address_near(region, recorded, len, &mention))
                continue;
            mention.region = (uint32_t)(region - memory->region);
            out[cnt++] = mention;
            at += 3; /* skip the bytes of this R_Key: an R_Key does not overlap another */
            break;
        }
    return cnt;
}

void learn_rkeys(const struct shadow_memory *memory, const uint8_t *recorded, uint8_t *live,
                 size_t len, struct rewrite_region *region, bool *rkey_known)
{
    struct rkey_mention mention[RKEY_MENTIONS_MAX];
    unsigned cnt = find_rkeys(memory, recorded, len, mention);

    for (unsigned i = 0; i < cnt; i++) {
        const struct rkey_mention *t = &mention[i];

        region[t->region] =
            (struct rewrite_region){.rkey = (uint32_t)read_number(live + t->key_off, 4, t->key_big),
                                    .addr = read_number(live + t->addr_off, 8, t->addr_big) -
                                            t->addr + memory->region[t->region].low};
        rkey_known[t->region] = true;
    }
    for (unsigned i = 0; i < cnt; i++) {
        memcpy(live + mention[i].key_off, recorded + mention[i].key_off, 4);
        memcpy(live + mention[i].addr_off, recorded + mention[i].addr_off, 8);
    }
}

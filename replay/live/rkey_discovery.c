/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/rkey_discovery.h"

#include <string.h>
#include "wire/bytes.h"

/* A program tells the beginning of its memory, and it may be used from far behind that on. */
#define BEFORE_MAX (UINT64_C(1) << 30)

/* Addresses of memory are never on the first page. */
#define ADDR_MIN 4096u

static uint64_t number(const uint8_t *p, unsigned bytes, bool big)
{
    uint64_t value = 0;

    if (big)
        return roce_be_get(p, bytes);
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | p[bytes - 1 - i];
    return value;
}

static bool is_addr(const struct memory_region *region, uint64_t value)
{
    return value >= ADDR_MIN && value < region->low + region->span &&
           (value >= region->low || region->low - value <= BEFORE_MAX);
}

/* The address nearest to the key, which stands at `tell->key_off`. */
static bool find_addr(const struct memory_region *region, const uint8_t *p, size_t len,
                      struct live_tell *tell)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t at = 0; at + 8 <= len; at++) {
        uint32_t off = at < tell->key_off ? tell->key_off - at : at - tell->key_off;

        if ((at + 8 > tell->key_off && at < tell->key_off + 4) || off >= best)
            continue;
        for (unsigned big = 0; big < 2; big++) {
            uint64_t value = number(p + at, 8, big);

            if (!is_addr(region, value))
                continue;
            best = off;
            tell->addr_off = at;
            tell->addr_big = big;
            tell->addr = value;
        }
    }
    return best != UINT32_MAX;
}

unsigned live_keys_find(const struct memory *memory, const uint8_t *recorded, size_t len,
                        struct live_tell *out)
{
    unsigned cnt = 0;

    for (uint32_t at = 0; at + 4 <= len && cnt < LIVE_TELLS_MAX; at++)
        for (unsigned big = 0; big < 2; big++) {
            uint32_t rkey = (uint32_t)number(recorded + at, 4, big);
            const struct memory_region *region = rkey ? memory_find(memory, rkey) : NULL;
            struct live_tell tell = {.key_off = at, .key_big = big};

            if (!region || region->span == 0 || !find_addr(region, recorded, len, &tell))
                continue;
            tell.region = (uint32_t)(region - memory->region);
            out[cnt++] = tell;
            at += 3; /* it is no part of another key */
            break;
        }
    return cnt;
}

void live_keys_learn(const struct memory *memory, const uint8_t *recorded, uint8_t *live,
                     size_t len, struct rebind_region *region, bool *told)
{
    struct live_tell tell[LIVE_TELLS_MAX];
    unsigned cnt = live_keys_find(memory, recorded, len, tell);

    for (unsigned i = 0; i < cnt; i++) {
        const struct live_tell *t = &tell[i];

        region[t->region] =
            (struct rebind_region){.rkey = (uint32_t)number(live + t->key_off, 4, t->key_big),
                                   .addr = number(live + t->addr_off, 8, t->addr_big) - t->addr +
                                           memory->region[t->region].low};
        told[t->region] = true;
    }
    for (unsigned i = 0; i < cnt; i++) {
        memcpy(live + tell[i].key_off, recorded + tell[i].key_off, 4);
        memcpy(live + tell[i].addr_off, recorded + tell[i].addr_off, 8);
    }
}

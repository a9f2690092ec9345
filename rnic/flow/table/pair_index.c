/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/pair_index.h"

#include <string.h>
#include "wire/bytes.h"

/* Mixes `v` into the hash `h`. Neighbouring addresses differ only in the last byte, which must
 * change all bits of the hash. The hash has no random secret: which pairs of hosts share a list
 * must be the same in every run, because a search visits at most SCAN_MAX directions of a list
 * (pair.c). */
static uint64_t mix_hash(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

/* Returns the index of the list of unpaired directions from `src` to `dst`: twice the group number
 * of the two hosts, plus 1 if `src` is the greater address. */
static uint32_t bucket_of(const uint8_t src[16], const uint8_t dst[16], uint32_t net)
{
    uint64_t first = roce_be_get(src, 8), second = roce_be_get(dst, 8);
    bool swap =
        first != second ? first > second : roce_be_get(src + 8, 8) > roce_be_get(dst + 8, 8);
    uint64_t w[4];

    memcpy(w, swap ? dst : src, 16);
    memcpy(w + 2, swap ? src : dst, 16);
    return ((uint32_t)mix_hash(mix_hash(mix_hash(mix_hash(mix_hash(0, w[0]), w[1]), w[2]), w[3]),
                               net) &
            (ROCE_FLOW_GROUPS - 1)) *
               2 +
           swap;
}

uint32_t roce_pair_group(const struct roce_key *key)
{
    return bucket_of(key->src, key->dst, key->net) / 2;
}

struct roce_flow *roce_pair_part(struct roce_flow *flow, const struct roce_key *key)
{
    const struct roce_common *common = flow->common;

    return common->part ? common->part[common->part_of[roce_pair_group(key)]] : flow;
}

static void unlink_side(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (side->pair_prev)
        side->pair_prev->pair_next = side->pair_next;
    else
        flow->pair[side->pair_key] = side->pair_next;
    if (side->pair_next)
        side->pair_next->pair_prev = side->pair_prev;
    side->pair_next = side->pair_prev = NULL;
}

void roce_pair_index_add(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (side->pair_indexed) {
        if (flow->pair[side->pair_key] == side)
            return;
        unlink_side(flow, side);
    } else
        side->pair_key = bucket_of(side->key.src, roce_peer(side)->key.src, side->conn->net);
    side->pair_next = flow->pair[side->pair_key];
    if (side->pair_next)
        side->pair_next->pair_prev = side;
    flow->pair[side->pair_key] = side;
    side->pair_indexed = true;
}

void roce_pair_index_remove(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (!side->pair_indexed)
        return;
    unlink_side(flow, side);
    side->pair_indexed = false;
}

void roce_pair_index_count(struct roce_flow *flow, const struct roce_conn *conn)
{
    uint16_t *cnt =
        &flow->directions[bucket_of(conn->side[0].key.src, conn->side[1].key.src, conn->net)];

    *cnt = (uint16_t)(*cnt + (*cnt < UINT16_MAX));
}

bool roce_pair_is_alone(const struct roce_flow *flow, const struct roce_conn *conn)
{
    const uint8_t *a = conn->side[0].key.src, *b = conn->side[1].key.src;
    unsigned most = memcmp(a, b, 16) == 0 ? 2 : 1;

    return flow->directions[bucket_of(a, b, conn->net)] <= most &&
           flow->directions[bucket_of(b, a, conn->net)] <= most;
}

struct roce_endpoint *roce_pair_candidates(const struct roce_flow *flow,
                                           const struct roce_endpoint *side)
{
    return flow->pair[bucket_of(roce_peer(side)->key.src, side->key.src, side->conn->net)];
}

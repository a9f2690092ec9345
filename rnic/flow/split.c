/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Splits the analysis of one capture between several struct roce_flow, called parts (see
 * roce_flow_split() in flow.h). Each part has the connections between some hosts. All parts share
 * the roce_common of part 0. */
#include "flow/split.h"

#include <string.h>
#include "flow/base/state.h"
#include "flow/table/conn.h"
#include "flow/table/pair_index.h"
#include "wire/gid.h"

/* A part is crowded when it uses 1/CROWDED of its share of the memory limit or of the connection
 * limit. The rest is for the packets that the threads may judge until roce_flow_merge() joins the
 * parts. */
#define CROWDED 2u

uint32_t roce_flow_group(const struct roce_packet_digest *digest)
{
    return roce_pair_group(&digest->key);
}

void roce_flow_cache_group(struct roce_cached_group *cached, const uint8_t *addresses)
{
    struct roce_key key = {.net = ROCE_ENCAP_V2_IP4};

    roce_gid_of_ip4(addresses, key.src);
    roce_gid_of_ip4(addresses + 4, key.dst);
    *cached = (struct roce_cached_group){roce_be_get(addresses, 8), roce_pair_group(&key), true};
}

bool roce_flow_frame_hosts(struct roce_group_cache *cache, struct roce_frame_hosts *hosts,
                           const uint8_t *frame, uint32_t cap_len)
{
    const uint8_t *ip = frame + ROCE_ETH_LEN, *udp = ip + ROCE_IP6_LEN;
    struct roce_key key;

    if (roce_flow_frame_ip4_hosts(cache, hosts, frame, cap_len))
        return true;
    if (cap_len < ROCE_ETH_LEN + ROCE_IP6_LEN + ROCE_UDP_LEN + ROCE_BTH_LEN ||
        roce_be_get(frame + 12, 2) != ROCE_ETHERTYPE_IP6 || ip[0] >> 4 != 6 ||
        ip[6] != ROCE_IPPROTO_UDP || roce_be_get(udp + 2, 2) != ROCE_UDP_PORT)
        return false;
    memcpy(key.src, ip + 8, 16);
    memcpy(key.dst, ip + 24, 16);
    key.net = ROCE_ENCAP_V2_IP6;
    hosts->group = roce_pair_group(&key);
    hosts->gsi = roce_be_get(udp + ROCE_UDP_LEN + 5, 3) == ROCE_QP_GSI; /* BTH.DestQP */
    return true;
}

static void delete_parts(struct roce_flow **part, unsigned cnt)
{
    for (unsigned i = 1; i < cnt; i++)
        roce_flow_del(part[i]);
}

bool roce_flow_split(struct roce_flow *flow, struct roce_flow **part, unsigned cnt,
                     void *const *user, const uint8_t *part_of, void (*gate)(void *user))
{
    part[0] = flow;
    for (unsigned i = 1; i < cnt; i++) {
        part[i] = roce_flow_new(&flow->opts);
        if (!part[i]) {
            delete_parts(part, i);
            return false;
        }
        part[i]->secret = flow->secret;
        part[i]->common = flow->common;
    }
    for (unsigned i = 0; i < cnt; i++) {
        part[i]->opts.user = user[i];
        part[i]->gate = gate;
    }
    flow->own_mem = (struct roce_mem){.alloc = flow->opts.mem, .max = flow->opts.mem_max};
    flow->own.mem = &flow->own_mem;
    flow->own.part = part;
    flow->own.part_of = part_of;
    flow->own.part_cnt = cnt;
    return true;
}

bool roce_flow_is_crowded(const struct roce_flow *part)
{
    unsigned cnt = part->common->part_cnt;

    return cnt > 1 && (part->mem.now > part->mem.max / CROWDED / cnt ||
                       part->conn_cnt > part->opts.conn_max / CROWDED / cnt);
}

/* ---- merging the parts ----------------------------------------------------------------------- */

static void merge_totals(struct roce_flow_totals *to, const struct roce_flow_totals *from)
{
    to->packets += from->packets;
    to->bytes += from->bytes;
    to->dropped += from->dropped;
    to->dc += from->dc;
    to->connections += from->connections;
    to->evicted += from->evicted;
    to->forgotten += from->forgotten;
    to->overflown += from->overflown;
    to->untracked += from->untracked;
    for (unsigned i = 0; i < ROCE_SEV_CNT; i++) {
        to->findings[i] += from->findings[i];
        to->known[i] += from->known[i];
    }
    to->rxe_sides += from->rxe_sides;
    to->rxe_6_1 |= from->rxe_6_1;
    to->rxe_6_12 |= from->rxe_6_12;
    to->errors_unknown += from->errors_unknown;
    for (unsigned i = 0; i < ROCE_RULE_CNT; i++)
        to->rules[i] += from->rules[i];
}

/* Moves the connections of `from` into the list of `to`, in the order of their numbers. */
static void merge_all(struct roce_flow *to, struct roce_flow *from)
{
    struct roce_conn *a = to->first_all, *b = from->first_all, *last = NULL, *next;

    to->first_all = NULL;
    while (a || b) {
        if (a && (!b || a->conn_index < b->conn_index)) {
            next = a;
            a = a->next_all;
        } else {
            next = b;
            b = b->next_all;
        }
        next->prev_all = last;
        *(last ? &last->next_all : &to->first_all) = next;
        last = next;
    }
    if (last)
        last->next_all = NULL;
    to->last_all = last;
}

static bool was_used_before(const struct roce_conn *a, const struct roce_conn *b)
{
    return a->facts.last_frame != b->facts.last_frame ? a->facts.last_frame < b->facts.last_frame
                                                      : a->conn_index < b->conn_index;
}

/* Moves the connections of `from` into the list of `to`, which is sorted by the time of each
 * connection's latest packet. */
static void merge_uses(struct roce_flow *to, struct roce_flow *from)
{
    struct roce_conn *a = to->oldest, *b = from->oldest, *last = NULL, *next;

    to->oldest = NULL;
    while (a || b) {
        if (a && (!b || was_used_before(a, b))) {
            next = a;
            a = a->newer;
        } else {
            next = b;
            b = b->newer;
        }
        next->older = last;
        *(last ? &last->newer : &to->oldest) = next;
        last = next;
    }
    if (last)
        last->newer = NULL;
    to->newest = last;
}

/* Moves the lists of unpaired directions from `from` to `to`. The lists at index i belong to the
 * same hosts in `from` and `to`. Only one of the two judged the packets of these hosts
 * (roce_flow_group()), so at most one of the two lists is not empty. */
static void merge_pairs(struct roce_flow *to, const struct roce_flow *from)
{
    for (unsigned i = 0; i < ROCE_PAIR_BUCKETS; i++) {
        if (from->pair[i])
            to->pair[i] = from->pair[i];
        if (from->directions[i])
            to->directions[i] = from->directions[i];
    }
}

static void merge_part(struct roce_flow *to, struct roce_flow *from)
{
    struct roce_alloc alloc = from->opts.mem;

    merge_totals(&to->totals, &from->totals);
    to->acked_hosts |= from->acked_hosts;
    to->unanswered_hosts |= from->unanswered_hosts;
    for (struct roce_conn *conn = from->first_all; conn; conn = conn->next_all)
        for (int i = 0; i < 2; i++)
            if (conn->side[i].keyed)
                roce_conn_rekey(to, &conn->side[i]);
    merge_all(to, from);
    merge_uses(to, from);
    merge_pairs(to, from);
    to->conn_cnt += from->conn_cnt;
    roce_mem_put(&from->mem, from->table, from->table_cap * sizeof(struct roce_endpoint *));
    roce_mem_put(&from->mem, from->summary_hist, 2 * sizeof(*from->summary_hist));
    to->mem.now += from->mem.now - sizeof(*from);
    to->mem.peak += from->mem.peak;
    to->mem.tight |= from->mem.tight;
    to->mem.limited |= from->mem.limited;
    alloc.free(alloc.ctx, from, sizeof(*from));
}

void roce_flow_merge(struct roce_flow *flow)
{
    struct roce_common *common = flow->common;

    if (!common->part)
        return;
    for (unsigned i = 1; i < common->part_cnt; i++)
        merge_part(flow, common->part[i]);
    flow->mem.now += flow->own_mem.now;
    flow->mem.peak += flow->own_mem.peak;
    flow->mem.limited |= flow->own_mem.limited;
    common->mem = &flow->mem;
    common->part = NULL;
    common->part_cnt = 1;
    flow->gate = NULL;
    flow->last_time = common->last_time;
    flow->grain = common->grain;
    flow->totals.mem_now = flow->mem.now;
    flow->totals.mem_peak = flow->mem.peak;
}

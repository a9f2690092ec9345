/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/points/two_points.h"

#include <stdlib.h>
#include <string.h>
#include "check/base/conn_state.h"
#include "check/points/two_points_data.h"

/* Returns the direction from `src` to `dst`, or NULL if out of memory. The next call of this
 * function may invalidate the pointer. */
static struct point_direction *direction_of_addrs(struct two_points *all, const uint8_t src[16],
                                                  const uint8_t dst[16])
{
    struct point_addrs addrs;
    uint32_t cnt = all->index.cnt, i = KEYMAP_NONE;

    memcpy(addrs.src, src, 16);
    memcpy(addrs.dst, dst, 16);
    if (VEC_GROW(all->dir, cnt, all->dir_cap))
        i = keymap_add(&all->index, &addrs);
    if (i == KEYMAP_NONE) {
        all->failed = true;
        return NULL;
    }
    if (i == cnt)
        all->dir[i] = (struct point_direction){.addrs = addrs};
    return &all->dir[i];
}

static struct point_flow_key flow_key(const uint8_t src[16], const uint8_t dst[16],
                                      uint32_t dest_qp)
{
    struct point_flow_key key;

    memset(&key, 0, sizeof(key));
    memcpy(key.addrs.src, src, 16);
    memcpy(key.addrs.dst, dst, 16);
    key.dest_qp = dest_qp;
    return key;
}

/* Returns the number of the flow from `src` to a QP of `dst`, or KEYMAP_NONE if out of memory. */
static uint32_t flow_of(struct two_points *all, const uint8_t src[16], const uint8_t dst[16],
                        uint32_t dest_qp)
{
    const struct point_flow_key key = flow_key(src, dst, dest_qp);
    uint32_t cnt = all->flow_index.cnt, i = KEYMAP_NONE;

    if (VEC_GROW(all->flow, cnt, all->flow_cap))
        i = keymap_add(&all->flow_index, &key);
    if (i == cnt)
        all->flow[i] = (struct two_points_path){0};
    all->failed |= i == KEYMAP_NONE;
    return i;
}

const struct two_points_path *two_points_path(const struct two_points *all, const uint8_t src[16],
                                              const uint8_t dst[16], uint32_t dest_qp)
{
    const struct point_flow_key key = flow_key(src, dst, dest_qp);
    const uint32_t i = keymap_get(&all->flow_index, &key);

    return i == KEYMAP_NONE ? NULL : &all->flow[i];
}

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;

    while (len-- > 0)
        hash = (hash ^ *p++) * UINT64_C(0x100000001B3); /* FNV-1a */
    return hash;
}

static struct point_packet *new_packet(struct point_capture *at)
{
    if (at->cnt == at->cap) {
        uint32_t cap = at->cap ? at->cap * 2 : 1024;
        struct point_packet *grown =
            cap > at->cap ? realloc(at->packet, cap * sizeof(*grown)) : NULL;

        if (!grown) {
            at->all->failed = true;
            return NULL;
        }
        at->packet = grown;
        at->cap = cap;
    }
    return &at->packet[at->cnt++];
}

static int compare_frame(const void *key, const void *packet)
{
    uint32_t frame = *(const uint32_t *)key, other = ((const struct point_packet *)packet)->frame;

    return (frame > other) - (frame < other);
}

/* Returns the packet with a frame number, or NULL. */
static struct point_packet *packet_of_frame(const struct point_capture *at, uint32_t frame)
{
    return at->cnt ? bsearch(&frame, at->packet, at->cnt, sizeof(*at->packet), compare_frame)
                   : NULL;
}

bool two_points_passed(const struct two_points *all, uint32_t frame)
{
    const struct point_packet *p = packet_of_frame(&all->at[0], frame);

    return p && p->mate != NO_MATE;
}

/* Counts a sequence NAK at the request for which it was sent, if the capture has this request
 * before the NAK. */
static void record_finding(void *user, const struct roce_finding *finding)
{
    struct point_capture *at = user;
    struct point_packet *p = finding->rule == ROCE_RULE_SEQ_NAK && finding->other_frame
                                 ? packet_of_frame(at, finding->other_frame)
                                 : NULL;

    if (p && p->naks < UINT8_MAX)
        p->naks++;
}

static void record_packet(void *user, const struct roce_flow_in *in,
                          const struct roce_flow_result *result)
{
    struct point_capture *at = user;
    const struct roce_pkt *pkt = in->pkt;
    const uint32_t id[] = {pkt->bth.dest_qp, pkt->bth.psn, pkt->bth.opcode};
    uint8_t src[16], dst[16];
    uint64_t key = UINT64_C(0xCBF29CE484222325);
    struct point_direction *dir;
    struct point_packet *p;
    uint32_t flow;

    if (!result)
        return;
    roce_pkt_addr(pkt, src, dst);
    dir = direction_of_addrs(at->all, src, dst);
    flow = flow_of(at->all, src, dst, pkt->bth.dest_qp);
    p = dir && flow != KEYMAP_NONE ? new_packet(at) : NULL;
    if (!p)
        return;
    dir->cnt[at->which]++;
    key = add_bytes(add_bytes(add_bytes(key, src, 16), dst, 16), id, sizeof(id));
    *p = (struct point_packet){.key = key,
                               .time = in->time,
                               .icrc = pkt->icrc,
                               .frame = in->frame,
                               .dir = (uint32_t)(dir - at->all->dir),
                               .flow = flow,
                               .mate = NO_MATE,
                               .copy = (result->flags & ROCE_AN_COPY) != 0,
                               .damaged = in->icrc == ROCE_ICRC_BAD,
                               .in_disorder = (result->flags & ROCE_AN_OUT_OF_ORDER) != 0};
    at->unverified |= in->icrc == ROCE_ICRC_UNVERIFIED;
}

static void record_conn(void *user, const struct roce_conn_summary *sum)
{
    struct point_capture *at = user;

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *s = &sum->side[i], *peer = &sum->side[!i];
        struct point_direction *dir = direction_of_addrs(at->all, s->addr, peer->addr);
        struct point_losses *losses = dir ? &dir->losses[at->which] : NULL;

        if (!losses)
            continue;
        losses->before +=
            check_side_missing_responses(s) + s->missing_repeats + check_side_missing(s);
        losses->behind += peer->read_restarts.captured + peer->read_gap_restarts.captured;
        losses->missed += s->unseen_packets;
        if (s->unseen_packets && peer->qpn != ROCE_QPN_UNKNOWN) {
            const uint32_t flow = flow_of(at->all, s->addr, peer->addr, peer->qpn);

            if (flow != KEYMAP_NONE)
                at->all->flow[flow].missed[at->which] += s->unseen_packets;
        }
    }
}

struct two_points *two_points_new(void)
{
    struct two_points *all = calloc(1, sizeof(*all));

    if (all) {
        keymap_init(&all->index, sizeof(struct point_addrs));
        keymap_init(&all->flow_index, sizeof(struct point_flow_key));
    }
    for (unsigned i = 0; all && i < 2; i++) {
        all->at[i].all = all;
        all->at[i].which = i;
    }
    return all;
}

void two_points_del(struct two_points *all)
{
    if (!all)
        return;
    for (unsigned i = 0; i < 2; i++) {
        free(all->at[i].packet);
        free(all->at[i].by_dir);
    }
    keymap_free(&all->index);
    keymap_free(&all->flow_index);
    free(all->dir);
    free(all->flow);
    free(all->ns);
    free(all);
}

struct check_watch two_points_watch(struct two_points *all, unsigned capture)
{
    return (struct check_watch){.user = &all->at[capture],
                                .on_packet = record_packet,
                                .on_finding = record_finding,
                                .on_conn = record_conn};
}

void two_points_ran(struct two_points *all, unsigned capture, uint64_t first_time,
                    uint64_t last_time)
{
    all->at[capture].first_time = first_time;
    all->at[capture].last_time = last_time;
}

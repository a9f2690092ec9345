/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include "check/points/two_points_data.h"

/* misfit() adds this time, ns, if a match would mean that the packet arrived before it was sent. */
#define BEFORE_SENT (UINT64_MAX / 4)
/* Maximum number of packets with damaged addresses for which the original is searched in the other
 * capture. */
#define ADOPTED_MAX 64u
/* Maximum number of packets that are compared with a damaged packet to find its original. */
#define DAMAGED_SEARCH 256u

static int compare_packets(const void *a, const void *b)
{
    const struct point_packet *x = *(const struct point_packet *const *)a;
    const struct point_packet *y = *(const struct point_packet *const *)b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->icrc != y->icrc)
        return x->icrc < y->icrc ? -1 : 1;
    return x < y ? -1 : x > y;
}

struct point_packet **two_points_sort(struct point_capture *at, bool icrc)
{
    struct point_packet **sorted = malloc((at->cnt + 1u) * sizeof(struct point_packet *));

    for (uint32_t i = 0; sorted && i < at->cnt; i++) {
        if (!icrc)
            at->packet[i].icrc = 0;
        sorted[i] = &at->packet[i];
    }
    if (sorted)
        qsort(sorted, at->cnt, sizeof(struct point_packet *), compare_packets);
    return sorted;
}

static uint32_t equal_cnt(struct point_packet *const *sorted, uint32_t i, uint32_t cnt)
{
    uint32_t n = 1;

    while (i + n < cnt && two_points_equal(sorted[i], sorted[i + n]))
        n++;
    return n;
}

static void join_packets(struct two_points *all, struct point_packet *a, struct point_packet *b)
{
    a->mate = (uint32_t)(b - all->at[1].packet);
    b->mate = (uint32_t)(a - all->at[0].packet);
}

/* Returns a measure, ns, of how unlikely it is that packet `a` of capture a and packet `b` of
 * capture b are the same packet. The measure is the deviation of their time difference from the
 * median of the direction. Without a median, it is the deviation from a delay of 0. Adds
 * BEFORE_SENT if the packet would have arrived before it was sent. */
static uint64_t misfit(const struct two_points *all, const struct point_packet *a,
                       const struct point_packet *b)
{
    const struct point_direction *d = &all->dir[a->dir];
    const int64_t ns = (int64_t)(b->time - a->time), usual = d->matched ? d->median : all->ahead;
    const int64_t delay = d->from_b ? all->ahead - ns : ns - all->ahead;
    const int64_t off = ns > usual ? ns - usual : usual - ns;

    return (uint64_t)off + (delay < -all->spread - 1 ? BEFORE_SENT : 0);
}

/* Matches two groups of equal packets, one group from each capture. Matches each packet of the
 * smaller group with the packet of the other group for which misfit() is smallest. The matches keep
 * the order of the packets in both captures. */
static void match_repeated(struct two_points *all, struct point_packet **a, uint32_t a_cnt,
                           struct point_packet **b, uint32_t b_cnt)
{
    const bool swap = a_cnt > b_cnt;
    struct point_packet **few = swap ? b : a, **many = swap ? a : b;
    const uint32_t few_cnt = swap ? b_cnt : a_cnt, many_cnt = swap ? a_cnt : b_cnt;
    uint32_t at = 0;

    for (uint32_t i = 0; i < few_cnt; i++) {
        const uint32_t last = many_cnt - (few_cnt - i); /* leaves one packet of `many` for each of
                                                         * the later packets of `few` */
        uint32_t best = at;
        uint64_t best_ns = UINT64_MAX;

        for (uint32_t k = at; k <= last; k++) {
            const uint64_t ns = swap ? misfit(all, many[k], few[i]) : misfit(all, few[i], many[k]);

            if (ns < best_ns) {
                best = k;
                best_ns = ns;
            }
        }
        if (swap)
            join_packets(all, many[best], few[i]);
        else
            join_packets(all, few[i], many[best]);
        at = best + 1;
    }
}

/* Returns the only packet of a group of equal packets that is not a copy, or NULL. */
static struct point_packet *single(struct point_packet *const *group, uint32_t cnt)
{
    struct point_packet *found = NULL;

    for (uint32_t i = 0; i < cnt; i++) {
        if (group[i]->copy)
            continue;
        if (found)
            return NULL;
        found = group[i];
    }
    return found;
}

void two_points_match(struct two_points *all, struct point_packet **a, struct point_packet **b,
                      enum point_match which)
{
    const uint32_t a_cnt = all->at[0].cnt, b_cnt = all->at[1].cnt;

    for (uint32_t i = 0, k = 0; i < a_cnt && k < b_cnt;) {
        uint32_t na = equal_cnt(a, i, a_cnt), nb = equal_cnt(b, k, b_cnt);
        struct point_packet *one_a, *one_b;

        if (!two_points_equal(a[i], b[k])) {
            if (a[i]->key != b[k]->key ? a[i]->key < b[k]->key : a[i]->icrc < b[k]->icrc)
                i += na;
            else
                k += nb;
            continue;
        }
        one_a = single(a + i, na);
        one_b = single(b + k, nb);
        if (which == MATCH_SINGLE && one_a && one_b)
            join_packets(all, one_a, one_b);
        else if (which == MATCH_FIRST && !all->dir[a[i]->dir].matched)
            join_packets(all, a[i], b[k]);
        else if (which == MATCH_REPEATED && !(one_a && one_b))
            match_repeated(all, a + i, na, b + k, nb);
        i += na;
        k += nb;
    }
}

/* Returns the original of the damaged packet `p` in the capture of the first point, or NULL. The
 * original has the same ICRC field or the same headers as `p`. Searches the packets around index
 * `at`. */
static struct point_packet *undamaged(const struct two_points *all, struct point_capture *first,
                                      struct point_packet *p, uint32_t at)
{
    const uint32_t from = at > DAMAGED_SEARCH / 2 ? at - DAMAGED_SEARCH / 2 : 0;
    struct point_packet *best = NULL;
    uint64_t best_ns = UINT64_MAX;

    for (uint32_t i = from; i < first->cnt && i - from < DAMAGED_SEARCH; i++) {
        struct point_packet *o = &first->packet[i];
        uint64_t ns;

        if (o->dir != p->dir || o->mate != NO_MATE || (o->icrc != p->icrc && o->key != p->key))
            continue;
        ns = first->which == 0 ? misfit(all, o, p) : misfit(all, p, o);
        if (ns < best_ns) {
            best = o;
            best_ns = ns;
        }
    }
    return best;
}

void two_points_match_damaged(struct two_points *all, uint32_t dir)
{
    const unsigned second = !all->dir[dir].from_b;
    struct point_capture *first = &all->at[!second];
    uint32_t at = 0; /* index of the packet after the latest match, at the first point */

    for (uint32_t i = 0; i < all->dir[dir].cnt[second]; i++) {
        struct point_packet *p = two_points_packet(all, second, dir, i), *o;

        if (p->mate == NO_MATE && p->damaged && (o = undamaged(all, first, p, at)) != NULL)
            join_packets(all, second ? o : p, second ? p : o);
        if (p->mate != NO_MATE && p->mate + 1 > at)
            at = p->mate + 1;
    }
}

/* Returns whether two directions have the same source or the same destination, but not both. */
static bool is_half_equal(const struct point_addrs *a, const struct point_addrs *b)
{
    return (memcmp(a->src, b->src, sizeof(a->src)) == 0) !=
           (memcmp(a->dst, b->dst, sizeof(a->dst)) == 0);
}

/* Finds packet `p` in the other capture, although the addresses in `p` may be damaged. Returns NULL
 * if it is not there. */
static const struct point_packet *original(const struct two_points *all,
                                           const struct point_capture *other,
                                           const struct point_packet *p)
{
    for (uint32_t i = 0; i < other->cnt; i++) {
        const struct point_packet *o = &other->packet[i];

        if (o->icrc == p->icrc && !o->damaged &&
            is_half_equal(&all->dir[o->dir].addrs, &all->dir[p->dir].addrs))
            return o;
    }
    return NULL;
}

void two_points_adopt(struct two_points *all)
{
    uint32_t searched = 0;

    for (unsigned which = 0; which < 2; which++) {
        struct point_capture *at = &all->at[which];

        for (uint32_t i = 0; i < at->cnt && searched < ADOPTED_MAX; i++) {
            struct point_packet *p = &at->packet[i];
            struct point_direction *d = &all->dir[p->dir];
            const struct point_packet *o;

            if (!p->damaged || d->cnt[0] + d->cnt[1] > ADOPTED_MAX || d->cnt[!which] > 0)
                continue;
            searched++;
            o = original(all, &all->at[!which], p);
            if (!o)
                continue;
            d->cnt[which]--;
            d->emptied = d->cnt[which] == 0;
            p->dir = o->dir;
            p->flow = o->flow;
            all->dir[o->dir].cnt[which]++;
        }
    }
}

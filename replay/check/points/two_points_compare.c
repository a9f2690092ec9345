/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/points/two_points_data.h"

#include <stdlib.h>
#include <string.h>

/* Upper limit of the clock resolution that clock_grain() returns, ns. */
#define GRAIN_MOST UINT64_C(1000000000)

/* ---- comparing the clocks ----------------------------------------------------------------------
 */

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Returns the time of a matched packet in capture b minus its time in capture a, ns. `a` is the
 * packet in capture a. */
static int64_t difference(const struct two_points *all, const struct point_packet *a)
{
    return (int64_t)(all->at[1].packet[a->mate].time - a->time);
}

/* Returns the resolution of the timestamps, ns. If the captures differ, returns the coarser
 * resolution. */
static int64_t clock_grain(const struct two_points *all)
{
    int64_t most = 0;

    for (unsigned k = 0; k < 2; k++) {
        uint64_t grain = GRAIN_MOST;

        for (uint32_t i = 0; i < all->at[k].cnt; i++)
            while (all->at[k].packet[i].time % grain)
                grain /= 10;
        most = (int64_t)grain > most ? (int64_t)grain : most;
    }
    return most;
}

/* Sorts the packets of a capture by their directions. Returns false if out of memory. */
static bool sort_by_direction(struct point_capture *at)
{
    struct point_direction *dir = at->all->dir;
    const uint32_t dir_cnt = at->all->index.cnt;
    uint32_t begin = 0;

    at->by_dir = malloc((at->cnt + 1u) * sizeof(*at->by_dir));
    if (!at->by_dir)
        return false;
    for (uint32_t i = 0; i < dir_cnt; i++) {
        dir[i].begin[at->which] = begin;
        begin += dir[i].cnt[at->which];
        dir[i].cnt[at->which] = 0;
    }
    for (uint32_t i = 0; i < at->cnt; i++) {
        struct point_direction *d = &dir[at->packet[i].dir];

        at->by_dir[d->begin[at->which] + d->cnt[at->which]++] = i;
    }
    return true;
}

/* Fills `ns` with the time differences of the matched packets of direction `dir`, sorted. Returns
 * their number. */
static uint32_t sort_differences(const struct two_points *all, uint32_t dir, int64_t *ns)
{
    uint32_t cnt = 0;

    for (uint32_t i = 0; i < all->dir[dir].cnt[0]; i++) {
        const struct point_packet *a = two_points_packet(all, 0, dir, i);

        if (a->mate != NO_MATE)
            ns[cnt++] = difference(all, a);
    }
    qsort(ns, cnt, sizeof(*ns), compare_ns);
    return cnt;
}

/* Returns the opposite direction, or NULL if no packet has it. */
static const struct point_direction *reverse_of(const struct two_points *all, uint32_t dir)
{
    struct point_addrs back;
    uint32_t i;

    memcpy(back.src, all->dir[dir].addrs.dst, 16);
    memcpy(back.dst, all->dir[dir].addrs.src, 16);
    i = keymap_get(&all->index, &back);
    return i == KEYMAP_NONE ? NULL : &all->dir[i];
}

/* Fills the time differences of each direction that has matched packets. */
static void find_differences(struct two_points *all)
{
    int64_t *ns = all->ns;

    for (uint32_t i = 0; i < all->index.cnt; i++) {
        const uint32_t cnt = sort_differences(all, i, ns);

        all->dir[i].matched = cnt > 0;
        if (cnt) {
            all->dir[i].least = ns[0];
            all->dir[i].median = ns[cnt / 2];
            all->dir[i].most = ns[cnt - 1];
        }
    }
}

/* For each direction without a matched packet, guesses the median time difference. All packets of
 * such a direction may occur several times. For the guess, matches the first of several equal
 * packets in both captures, because these two are usually the same packet. Afterwards removes these
 * matches, because some of them are wrong. */
static void guess_medians(struct two_points *all, struct point_packet **a, struct point_packet **b)
{
    two_points_match(all, a, b, MATCH_FIRST);
    for (uint32_t i = 0; i < all->index.cnt; i++) {
        const uint32_t cnt = all->dir[i].matched ? 0 : sort_differences(all, i, all->ns);

        if (cnt == 0)
            continue;
        all->dir[i].guessed = true;
        all->dir[i].median = all->ns[cnt / 2];
        for (unsigned k = 0; k < 2; k++)
            for (uint32_t p = 0; p < all->dir[i].cnt[k]; p++)
                two_points_packet(all, k, i, p)->mate = NO_MATE;
    }
}

/* Finds which capture point the packets of each direction pass first, and the difference between
 * the two clocks. Packets from a to b give an upper bound of this difference, packets from b to a a
 * lower bound. `a` and `b` are results of two_points_sort(). */
static void align_clocks(struct two_points *all, struct point_packet **a, struct point_packet **b)
{
    int64_t *ns = all->ns;
    const int64_t grain = clock_grain(all);
    int64_t most = INT64_MAX, least = INT64_MIN;

    find_differences(all);
    guess_medians(all, a, b);
    for (uint32_t i = 0; i < all->index.cnt; i++) {
        struct point_direction *d = &all->dir[i];
        const struct point_direction *back = reverse_of(all, i);
        const uint32_t cnt = sort_differences(all, i, ns);

        /* In the direction with the smaller time difference, packets pass the capture point of b
         * first. If the captures have no common packet in one direction, the packets of the other
         * direction pass the capture point of a first. */
        if (back && (back->matched || back->guessed))
            d->from_b = !(d->matched || d->guessed) || d->median < back->median;
        if (cnt && d->from_b && ns[cnt - 1] > least)
            least = ns[cnt - 1];
        else if (cnt && !d->from_b && ns[0] < most)
            most = ns[0];
    }
    all->both_ways = most != INT64_MAX && least != INT64_MIN;
    all->ahead = all->both_ways ? least + (most - least) / 2 : most != INT64_MAX ? most : least;
    all->spread = all->both_ways ? (most - least) / 2 : 0;
    if (all->spread > -grain && all->spread < grain)
        all->spread = grain;
}

/* ---- results of a direction --------------------------------------------------------------------
 */

/* Finds the first and the last packet of a direction that both captures have. */
static void find_common(struct two_points *all, unsigned which, uint32_t dir)
{
    struct point_direction *d = &all->dir[dir];
    bool found = false;

    for (uint32_t i = 0; i < d->cnt[which]; i++) {
        if (two_points_packet(all, which, dir, i)->mate == NO_MATE)
            continue;
        if (!found)
            d->first_common[which] = i;
        d->last_common[which] = i;
        found = true;
    }
}

/* Returns whether the other capture was running when packet `i` of a direction passed the other
 * capture point. This is true in two cases: the packet was captured between two packets that both
 * captures have, or its time, corrected by the delay, is inside the other capture. If no packet of
 * the direction is in both captures, the delay is assumed to be 0. */
static bool is_during(const struct two_points *all, unsigned which, uint32_t dir, uint32_t i)
{
    const struct point_packet *p = two_points_packet(all, which, dir, i);
    const struct point_capture *other = &all->at[!which];
    const struct point_direction *d = &all->dir[dir];
    int64_t least = d->matched ? d->least : all->ahead, most = d->matched ? d->most : all->ahead;
    int64_t early = (int64_t)p->time + (which == 0 ? least : -most);
    int64_t late = (int64_t)p->time + (which == 0 ? most : -least);

    if (i > d->first_common[which] && i < d->last_common[which])
        return true;
    return early >= (int64_t)other->first_time && late <= (int64_t)other->last_time;
}

/* Returns how many of `lost` packets the receiver acknowledged. The network did not lose these
 * packets; only the second capture lacks them. */
static uint64_t missed_of(const struct point_direction *d, uint64_t lost)
{
    const uint64_t missed = d->losses[!d->from_b].missed;

    return missed < lost ? missed : lost;
}

/* Marks the packets of a direction that reached the second point in another order than the first
 * point. Returns how many packets arrived late: a packet that passed the first point later had
 * overtaken them. */
static uint64_t mark_disorder(const struct two_points *all, uint32_t dir)
{
    const unsigned second = !all->dir[dir].from_b;
    uint32_t latest = 0, earliest = NO_MATE;
    uint64_t late = 0;

    for (uint32_t i = 0; i < all->dir[dir].cnt[second]; i++) {
        struct point_packet *p = two_points_packet(all, second, dir, i);

        if (p->mate == NO_MATE || !two_points_counts(all, second, p))
            continue;
        p->in_disorder |= p->mate < latest;
        late += p->mate < latest;
        latest = p->mate > latest ? p->mate : latest;
    }
    for (uint32_t i = all->dir[dir].cnt[second]; i-- > 0;) {
        struct point_packet *p = two_points_packet(all, second, dir, i);

        if (p->mate == NO_MATE || !two_points_counts(all, second, p))
            continue;
        p->in_disorder |= p->mate > earliest;
        earliest = p->mate < earliest ? p->mate : earliest;
    }
    return late;
}

/* Sets `again` for each packet if its previous transmission was `in_disorder`. `sorted` is the
 * result of two_points_sort(). */
static void mark_again(struct point_packet *const *sorted, uint32_t cnt)
{
    for (uint32_t i = 1; i < cnt; i++)
        sorted[i]->again = two_points_equal(sorted[i - 1], sorted[i]) && sorted[i - 1]->in_disorder;
}

/* Counts packet `p`, captured at the first point of a direction, in the results of the direction
 * and of its flow. `outside`: the second capture was not running when the packet passed. `lacks`:
 * the second capture lacks the whole direction, so the packet is not counted as lost for its
 * flow. */
static void count_first(struct two_points *all, uint32_t dir, const struct point_packet *p,
                        bool outside, bool lacks)
{
    const struct point_direction *d = &all->dir[dir];
    struct point_result *r = &all->dir[dir].result;
    struct two_points_path *path = &all->flow[p->flow];
    const struct point_packet *mate;
    uint64_t ns;

    r->packets[0]++;
    path->packets++;
    path->from_b = d->from_b;
    if (p->mate == NO_MATE) {
        if (!outside && r->lost < FRAMES_LISTED)
            r->frame[r->lost] = p->frame;
        r->lost += !outside;
        r->outside += outside;
        path->lost += !outside && !lacks;
        return;
    }
    mate = &all->at[!d->from_b].packet[p->mate];
    ns = two_points_delay(all, dir, difference(all, d->from_b ? mate : p));
    r->damaged += !p->damaged && mate->damaged;
    path->damaged += !p->damaged && mate->damaged;
    path->compared++;
    path->delay_sum += ns;
    path->delay_max = ns > path->delay_max ? ns : path->delay_max;
}

/* Counts packet `p`, captured at the second point of a direction. `during`: the first capture was
 * running when the packet passed. */
static void count_second(struct two_points *all, uint32_t dir, const struct point_packet *p,
                         bool during)
{
    struct point_result *r = &all->dir[dir].result;

    r->packets[1]++;
    r->only_second += p->mate == NO_MATE && during;
    r->outside_first += p->mate == NO_MATE && !during;
    /* Do not count NAKs for late packets: the receiver sent them because of the delay, not because
     * of a loss. */
    r->behind += p->in_disorder || p->again ? 0 : p->naks;
}

/* Returns whether the second capture lacks a whole direction, although it has packets of the
 * opposite direction. */
static bool lacks_direction(const struct two_points *all, uint32_t dir)
{
    const struct point_direction *back = reverse_of(all, dir);
    const unsigned second = !all->dir[dir].from_b;

    return all->dir[dir].cnt[second] == 0 && back && back->cnt[second] > 0;
}

/* Fills the result of a direction, and adds its packets to the counters of their flows. */
static void compare_direction(struct two_points *all, uint32_t dir)
{
    const struct point_direction *d = &all->dir[dir];
    const unsigned first = d->from_b, second = !first;
    const uint32_t cnt = sort_differences(all, dir, all->ns);
    const bool lacks = lacks_direction(all, dir);
    struct point_result *r = &all->dir[dir].result;

    r->timed = cnt > 0;
    r->behind = d->losses[second].behind;
    if (cnt)
        r->delay =
            (struct point_delay){.min = two_points_delay(all, dir, all->ns[first ? cnt - 1 : 0]),
                                 .median = two_points_delay(all, dir, all->ns[cnt / 2]),
                                 .max = two_points_delay(all, dir, all->ns[first ? 0 : cnt - 1])};

    for (uint32_t i = 0; i < d->cnt[first]; i++) {
        const struct point_packet *p = two_points_packet(all, first, dir, i);

        if (two_points_counts(all, first, p))
            count_first(all, dir, p, !is_during(all, first, dir, i), lacks);
    }
    r->missed = lacks ? r->lost : missed_of(d, r->lost);
    r->lost -= r->missed;
    for (uint32_t i = 0; i < d->cnt[second]; i++) {
        const struct point_packet *p = two_points_packet(all, second, dir, i);

        if (two_points_counts(all, second, p))
            count_second(all, dir, p, !d->matched || is_during(all, second, dir, i));
    }
}

/* ---- comparing both captures -------------------------------------------------------------------
 */

bool two_points_has_delays(const struct two_points *all)
{
    return all->both_ways && all->spread >= 0;
}

int two_points_compare(struct two_points *all, const char *const name[2], struct error *error)
{
    const bool icrc = !all->at[0].unverified && !all->at[1].unverified;
    struct point_packet **a = two_points_sort(&all->at[0], icrc),
                        **b = two_points_sort(&all->at[1], icrc);
    bool any = false, ready;

    all->ns = malloc((all->at[0].cnt + 1u) * sizeof(*all->ns));
    if (icrc)
        two_points_adopt(all);
    ready = a && b && all->ns && !all->failed && sort_by_direction(&all->at[0]) &&
            sort_by_direction(&all->at[1]);
    if (ready) {
        two_points_match(all, a, b, MATCH_SINGLE);
        align_clocks(all, a, b);
        for (uint32_t i = 0; i < all->index.cnt; i++)
            any |= all->dir[i].matched;
        if (any)
            two_points_match(all, a, b, MATCH_REPEATED);
        for (uint32_t i = 0; i < all->index.cnt && any; i++) {
            if (icrc)
                two_points_match_damaged(all, i);
            all->dir[i].result.reordered = mark_disorder(all, i);
            find_common(all, 0, i);
            find_common(all, 1, i);
        }
        mark_again(a, all->at[0].cnt);
        mark_again(b, all->at[1].cnt);
        for (uint32_t i = 0; i < all->index.cnt && any; i++)
            compare_direction(all, i);
        for (uint32_t i = 0; i < all->flow_index.cnt && any; i++) {
            struct two_points_path *path = &all->flow[i];
            const uint64_t missed = path->missed[!path->from_b];

            path->lost -= missed < path->lost ? missed : path->lost;
        }
    }
    free(a);
    free(b);
    if (!ready)
        return error_set(error, "no memory to compare %s with %s", name[0], name[1]);
    return any ? 0 : error_set(error, "%s: has no packet of %s", name[1], name[0]);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/two_points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check/check_text.h"
#include "check/conn_state.h"
#include "util/json_util.h"
#include "util/keymap.h"
#include "util/strbuf.h"

#define DIRECTIONS_LISTED 64u /* maximum number of directions in the text */
#define LINE_LEN          512
#define FRAMES_LISTED     6u
/* Upper limit of the clock resolution that clock_grain() returns, ns. */
#define GRAIN_MOST UINT64_C(1000000000)
#define NO_MATE    UINT32_MAX

struct point_packet {
    uint64_t key;  /* hash of addresses, QP, PSN and opcode */
    uint64_t time; /* ns */
    uint32_t icrc;
    uint32_t frame;
    uint32_t dir;
    uint32_t mate; /* index of the packet in the other capture, or NO_MATE */
    uint8_t naks;  /* number of sequence NAKs for this transmission, at most 255 */
    bool damaged;
    bool in_disorder; /* captured after a packet that was sent later, or before one that was sent
                       * earlier */
    bool again;       /* the previous transmission of the same packet was `in_disorder` */
};

/* Losses of one direction, inferred from one capture alone. */
struct point_losses {
    uint64_t before; /* packets that never reached the capture point */
    /* READ responses that were captured, but lost or late behind the capture point, because the
     * requester retransmitted the READ. */
    uint64_t behind;
    /* Requests that the receiver acknowledged, and that this capture lacks. */
    uint64_t missed;
};

struct point_capture {
    struct two_points *all;
    unsigned which;
    struct point_packet *packet;
    uint32_t cnt, cap;
    uint64_t first_time, last_time; /* times of the first and the last frame, ns */
    bool unverified;                /* the capture has packets whose ICRC is cut off */
    uint32_t *by_dir;               /* indices of the packets, sorted by direction */
};

/* Source and destination of a direction. */
struct point_addrs {
    uint8_t src[16], dst[16];
};

struct point_delay {
    uint64_t min, median, max; /* ns */
};

struct point_result {
    /* At least one packet of the direction is in both captures, so `delay` is known. */
    bool timed;
    struct point_delay delay; /* valid if `timed` */
    uint64_t packets[2];      /* number of packets at the first and the second point */
    /* Packets captured only at the first point. `outside`: packets that passed while the second
     * capture was not running. `missed`: packets that were acknowledged, so only the second capture
     * lacks them. `lost`: all other packets. If the second capture lacks the whole direction, all
     * packets are `missed`. */
    uint64_t lost, missed, outside;
    /* Packets captured only at the second point. `outside_first`: packets that passed while the
     * first capture was not running. `only_second`: all other packets. */
    uint64_t only_second, outside_first;
    uint64_t damaged;
    uint64_t reordered; /* packets that were overtaken between the two points by a packet that
                         * passed the first point later */
    uint64_t behind;    /* packets lost, or late, behind the second point */
    uint32_t frame[FRAMES_LISTED]; /* first lost packets */
};

struct point_direction {
    struct point_addrs addrs;
    bool from_b;  /* packets of this direction pass the capture point of b before that of a */
    bool matched; /* at least one packet of this direction is in both captures */
    /* Time at b minus the time at a, of the packets that occur once in each capture, ns. */
    int64_t least, median, most;
    struct point_losses losses[2]; /* [0]: inferred from capture a, [1]: from b */
    uint32_t begin[2];             /* index of the first packet in point_capture.by_dir */
    uint32_t cnt[2];               /* number of packets in each capture */
    struct point_result result;    /* set by two_points_compare() */
};

struct two_points {
    struct point_capture at[2];
    struct keymap index; /* number of each direction, by its struct point_addrs */
    struct point_direction *dir;
    size_t dir_cap;
    bool failed;   /* out of memory */
    int64_t ahead; /* time of clock b minus time of clock a, ns */
    /* Accuracy of `ahead`, ns: half of the range that the packets allow, and at least the clock
     * resolution. Negative if the times of the packets contradict each other. */
    int64_t spread;
    bool both_ways;
    int64_t *ns; /* array with one time difference for each packet of capture a, ns */
};

/* ---- recording the packets of a capture --------------------------------------------------------
 */

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
static struct point_packet *packet_of_frame(struct point_capture *at, uint32_t frame)
{
    return at->cnt ? bsearch(&frame, at->packet, at->cnt, sizeof(*at->packet), compare_frame)
                   : NULL;
}

/* Counts a sequence NAK for a request that was captured before the NAK. */
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

    if (!result || (result->flags & ROCE_AN_COPY))
        return;
    roce_pkt_addr(pkt, src, dst);
    dir = direction_of_addrs(at->all, src, dst);
    p = dir ? new_packet(at) : NULL;
    if (!p)
        return;
    dir->cnt[at->which]++;
    key = add_bytes(add_bytes(add_bytes(key, src, 16), dst, 16), id, sizeof(id));
    *p = (struct point_packet){.key = key,
                               .time = in->time,
                               .icrc = pkt->icrc,
                               .frame = in->frame,
                               .dir = (uint32_t)(dir - at->all->dir),
                               .mate = NO_MATE,
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
    }
}

struct two_points *two_points_new(void)
{
    struct two_points *all = calloc(1, sizeof(*all));

    if (all)
        keymap_init(&all->index, sizeof(struct point_addrs));
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
    free(all->dir);
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

/* ---- matching packets of both captures ---------------------------------------------------------
 */

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

/* Returns pointers to the packets of a capture, sorted so that equal packets are adjacent and
 * remain in capture order. `icrc`: equal packets must have equal ICRCs. Returns NULL if out of
 * memory. */
static struct point_packet **sort_packets(struct point_capture *at, bool icrc)
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

static bool is_equal(const struct point_packet *x, const struct point_packet *y)
{
    return x->key == y->key && x->icrc == y->icrc;
}

static uint32_t equal_cnt(struct point_packet *const *sorted, uint32_t i, uint32_t cnt)
{
    uint32_t n = 1;

    while (i + n < cnt && is_equal(sorted[i], sorted[i + n]))
        n++;
    return n;
}

static void join_packets(struct two_points *all, struct point_packet *a, struct point_packet *b)
{
    a->mate = (uint32_t)(b - all->at[1].packet);
    b->mate = (uint32_t)(a - all->at[0].packet);
}

/* Matches packets that are all equal: each packet of `few` with one of `many`, in capture order, so
 * that their time differences are small. `ahead` is the clock of `many` minus the clock of `few`,
 * ns. `swap`: `few` is from capture b. */
static void match_repeated(struct two_points *all, struct point_packet **few, uint32_t few_cnt,
                           struct point_packet **many, uint32_t many_cnt, int64_t ahead, bool swap)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < few_cnt; i++) {
        const uint32_t last = many_cnt - (few_cnt - i); /* leaves one packet of `many` for each of
                                                         * the later packets of `few` */
        uint32_t best = at;
        int64_t best_ns = INT64_MAX;

        for (uint32_t k = at; k <= last; k++) {
            int64_t ns = (int64_t)(many[k]->time - few[i]->time) - ahead;

            ns = ns < 0 ? -ns : ns;
            if (ns >= best_ns)
                continue;
            best = k;
            best_ns = ns;
        }
        if (swap)
            join_packets(all, many[best], few[i]);
        else
            join_packets(all, few[i], many[best]);
        at = best + 1;
    }
}

/* Matches equal packets of both captures. Without `repeated`, matches only packets that occur once
 * in each capture; with `repeated`, the others. */
static void match_packets(struct two_points *all, struct point_packet **a, struct point_packet **b,
                          bool repeated)
{
    const uint32_t a_cnt = all->at[0].cnt, b_cnt = all->at[1].cnt;

    for (uint32_t i = 0, k = 0; i < a_cnt && k < b_cnt;) {
        uint32_t na = equal_cnt(a, i, a_cnt), nb = equal_cnt(b, k, b_cnt);

        if (!is_equal(a[i], b[k])) {
            if (a[i]->key != b[k]->key ? a[i]->key < b[k]->key : a[i]->icrc < b[k]->icrc)
                i += na;
            else
                k += nb;
            continue;
        }
        if (!repeated && na == 1 && nb == 1)
            join_packets(all, a[i], b[k]);
        else if (repeated && na + nb > 2 && na <= nb)
            match_repeated(all, a + i, na, b + k, nb, all->ahead, false);
        else if (repeated && na + nb > 2)
            match_repeated(all, b + k, nb, a + i, na, -all->ahead, true);
        i += na;
        k += nb;
    }
}

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

/* Returns the resolution of the timestamps, ns: that of the coarser of the two captures. */
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

/* Returns packet `i` of a direction in capture `which`. */
static struct point_packet *packet_of(const struct two_points *all, unsigned which, uint32_t dir,
                                      uint32_t i)
{
    const struct point_capture *at = &all->at[which];

    return &at->packet[at->by_dir[all->dir[dir].begin[which] + i]];
}

/* Fills `ns` with the time differences of the matched packets of direction `dir`, sorted. Returns
 * their number. */
static uint32_t sort_differences(const struct two_points *all, uint32_t dir, int64_t *ns)
{
    uint32_t cnt = 0;

    for (uint32_t i = 0; i < all->dir[dir].cnt[0]; i++) {
        const struct point_packet *a = packet_of(all, 0, dir, i);

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

/* Finds which capture point the packets of each direction pass first, and the difference between
 * the two clocks. Packets from a to b give an upper bound of this difference, packets from b to a a
 * lower bound. */
static void align_clocks(struct two_points *all)
{
    int64_t *ns = all->ns;
    const int64_t grain = clock_grain(all);
    int64_t most = INT64_MAX, least = INT64_MIN;
    uint32_t cnt;

    for (uint32_t i = 0; i < all->index.cnt; i++) {
        cnt = sort_differences(all, i, ns);
        all->dir[i].matched = cnt > 0;
        if (cnt) {
            all->dir[i].least = ns[0];
            all->dir[i].median = ns[cnt / 2];
            all->dir[i].most = ns[cnt - 1];
        }
    }
    for (uint32_t i = 0; i < all->index.cnt; i++) {
        const struct point_direction *back = reverse_of(all, i);

        /* if the two captures have no common packet in this direction, the peer's packets show the
         * order of the two points */
        if (back && back->matched)
            all->dir[i].from_b = !all->dir[i].matched || all->dir[i].median < back->median;
        cnt = sort_differences(all, i, ns);
        if (cnt && all->dir[i].from_b && ns[cnt - 1] > least)
            least = ns[cnt - 1];
        else if (cnt && !all->dir[i].from_b && ns[0] < most)
            most = ns[0];
    }
    all->both_ways = most != INT64_MAX && least != INT64_MIN;
    all->ahead = all->both_ways ? least + (most - least) / 2 : most;
    all->spread = all->both_ways ? (most - least) / 2 : 0;
    if (all->spread > -grain && all->spread < grain)
        all->spread = grain;
}

/* ---- results of a direction --------------------------------------------------------------------
 */

/* Returns whether the packet passed the other point while the capture there was running. Without a
 * common packet in its direction, its delay is unknown and assumed to be 0. */
static bool is_during(const struct two_points *all, const struct point_packet *p, unsigned which)
{
    const struct point_capture *other = &all->at[!which];
    const struct point_direction *d = &all->dir[p->dir];
    int64_t least = d->matched ? d->least : all->ahead, most = d->matched ? d->most : all->ahead;
    int64_t early = (int64_t)p->time + (which == 0 ? least : -most);
    int64_t late = (int64_t)p->time + (which == 0 ? most : -least);

    return early >= (int64_t)other->first_time && late <= (int64_t)other->last_time;
}

/* Returns the delay of a packet between the two points, ns. `ns` is its time in capture b minus its
 * time in capture a. */
static uint64_t delay_of(const struct two_points *all, uint32_t dir, int64_t ns)
{
    int64_t delay = all->dir[dir].from_b ? all->ahead - ns : ns - all->ahead;

    return delay > 0 ? (uint64_t)delay : 0;
}

/* Returns how many of the `lost` packets only the second capture lacks. */
static uint64_t missed_of(const struct two_points *all, uint32_t dir, uint64_t lost)
{
    const struct point_direction *d = &all->dir[dir], *back = reverse_of(all, dir);
    const unsigned second = !d->from_b;
    const uint64_t missed = d->losses[second].missed;

    if (d->cnt[second] == 0 && back && back->cnt[second] > 0)
        return lost; /* the peer's packets passed the point, so only the capture of this direction
                      * is missing */
    return missed < lost ? missed : lost;
}

/* Marks the packets of a direction that reached the second point in another order than the first
 * point. Returns how many arrived late: a packet that passed the first point later reached the
 * second point before. */
static uint64_t mark_disorder(const struct two_points *all, uint32_t dir)
{
    const unsigned second = !all->dir[dir].from_b;
    uint32_t latest = 0, earliest = NO_MATE;
    uint64_t late = 0;

    for (uint32_t i = 0; i < all->dir[dir].cnt[second]; i++) {
        struct point_packet *p = packet_of(all, second, dir, i);

        if (p->mate == NO_MATE)
            continue;
        p->in_disorder |= p->mate < latest;
        late += p->mate < latest;
        latest = p->mate > latest ? p->mate : latest;
    }
    for (uint32_t i = all->dir[dir].cnt[second]; i-- > 0;) {
        struct point_packet *p = packet_of(all, second, dir, i);

        if (p->mate == NO_MATE)
            continue;
        p->in_disorder |= p->mate > earliest;
        earliest = p->mate < earliest ? p->mate : earliest;
    }
    return late;
}

/* Marks the packets whose previous transmission was in disorder. `sorted` is from sort_packets().
 */
static void mark_again(struct point_packet *const *sorted, uint32_t cnt)
{
    for (uint32_t i = 1; i < cnt; i++)
        sorted[i]->again = is_equal(sorted[i - 1], sorted[i]) && sorted[i - 1]->in_disorder;
}

static struct point_result compare_direction(const struct two_points *all, uint32_t dir)
{
    const struct point_direction *d = &all->dir[dir];
    const unsigned first = d->from_b, second = !first;
    const uint32_t cnt = sort_differences(all, dir, all->ns);
    struct point_result r = {.timed = cnt > 0,
                             .packets = {d->cnt[first], d->cnt[second]},
                             .reordered = d->result.reordered,
                             .behind = d->losses[second].behind};

    if (cnt)
        r.delay = (struct point_delay){.min = delay_of(all, dir, all->ns[first ? cnt - 1 : 0]),
                                       .median = delay_of(all, dir, all->ns[cnt / 2]),
                                       .max = delay_of(all, dir, all->ns[first ? 0 : cnt - 1])};

    for (uint32_t i = 0; i < d->cnt[first]; i++) {
        const struct point_packet *p = packet_of(all, first, dir, i);

        if (p->mate != NO_MATE) {
            r.damaged += !p->damaged && all->at[second].packet[p->mate].damaged;
        } else if (!is_during(all, p, first)) {
            r.outside++;
        } else {
            if (r.lost < FRAMES_LISTED)
                r.frame[r.lost] = p->frame;
            r.lost++;
        }
    }
    r.missed = missed_of(all, dir, r.lost);
    r.lost -= r.missed;
    for (uint32_t i = 0; i < d->cnt[second]; i++) {
        const struct point_packet *p = packet_of(all, second, dir, i);

        if (p->mate == NO_MATE && (!d->matched || is_during(all, p, second)))
            r.only_second++;
        else if (p->mate == NO_MATE)
            r.outside_first++;
        r.behind += p->in_disorder || p->again ? 0 : p->naks; /* the receiver treats late packets as
                                                               * lost, and drops the packets that
                                                               * arrived before them */
    }
    return r;
}

/* Prints the number of packets that the capture at `point` cannot have, if there are any. */
static void print_outside(FILE *out, uint64_t cnt, char point)
{
    if (cnt)
        fprintf(out,
                "     not compared: %" PRIu64
                " packet%s captured before the first or after the last frame of capture %c\n",
                cnt, cnt == 1 ? "" : "s", point);
}

static void print_direction(FILE *out, const struct two_points *all, uint32_t dir)
{
    const struct point_result r = all->dir[dir].result;
    const bool from_b = all->dir[dir].from_b;
    const char first = from_b ? 'b' : 'a', second = from_b ? 'a' : 'b';
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, all->dir[dir].addrs.src);
    strbuf_addf(&t, " → ");
    strbuf_add_addr(&t, all->dir[dir].addrs.dst);
    fprintf(out, "  %s: %" PRIu64 " packet%s at %c, %" PRIu64 " at %c\n", buf, r.packets[0],
            r.packets[0] == 1 ? "" : "s", first, r.packets[1], second);
    t = strbuf_of(buf, sizeof(buf));
    strbuf_addf(&t,
                "%" PRIu64 " lost, %" PRIu64 " damaged, %" PRIu64 " reordered between %c and %c",
                r.lost, r.damaged, r.reordered, first, second);
    if (r.timed) {
        strbuf_addf(&t, "; delay min ");
        strbuf_add_duration(&t, r.delay.min);
        strbuf_addf(&t, ", median ");
        strbuf_add_duration(&t, r.delay.median);
        strbuf_addf(&t, ", max ");
        strbuf_add_duration(&t, r.delay.max);
    }
    fprintf(out, "     %s\n", buf);
    fprintf(out, "     %" PRIu64 " lost before %c, %" PRIu64 " lost or late behind %c\n",
            all->dir[dir].losses[from_b].before, first, r.behind, second);
    if (r.lost + r.missed) {
        const uint64_t cnt = r.lost + r.missed;

        fprintf(out, "     %s: frame%s",
                !r.missed ? "lost between"
                : r.lost  ? "lost or not captured"
                          : "not captured",
                cnt == 1 ? "" : "s");
        for (uint64_t i = 0; i < cnt && i < FRAMES_LISTED; i++)
            fprintf(out, "%s%u", i ? ", " : " ", r.frame[i]);
        fprintf(out, "%s of %c\n", cnt > FRAMES_LISTED ? ", ..." : "", first);
    }
    if (r.packets[0] == 0 || (r.packets[1] == 0 && r.lost == 0))
        fprintf(out, "     the capture at %c lacks this direction\n",
                r.packets[0] == 0 ? first : second);
    else if (r.missed)
        fprintf(out,
                "     not captured at %c: %" PRIu64 " packet%s, which the receiver acknowledged\n",
                second, r.missed, r.missed == 1 ? "" : "s");
    if (r.only_second)
        fprintf(out, "     only at %c: %" PRIu64 " packet%s, which %c did not capture\n", second,
                r.only_second, r.only_second == 1 ? "" : "s", first);
    print_outside(out, r.outside, second);
    print_outside(out, r.outside_first, first);
}

static void print_clocks(FILE *out, const struct two_points *all)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const bool later = all->ahead >= 0;

    strbuf_addf(&t, "the clock of b is ");
    strbuf_add_duration(&t, (uint64_t)(later ? all->ahead : -all->ahead));
    strbuf_addf(&t, later ? " ahead of a" : " behind a");
    if (!all->both_ways) {
        strbuf_addf(&t, ", if the fastest packet had no delay: only one direction is in both "
                        "captures, so each delay is relative to that of the fastest packet");
    } else if (all->spread >= 0) {
        strbuf_addf(&t, ", accuracy ± ");
        strbuf_add_duration(&t, (uint64_t)all->spread);
    } else {
        strbuf_addf(&t, ", accuracy ± ");
        strbuf_add_duration(&t, (uint64_t)-all->spread);
        strbuf_addf(&t, ": packets seem to arrive up to this much before they were sent, so the "
                        "clocks drift or a capture has late time stamps");
    }
    fprintf(out, "  %s\n", buf);
}

/* Returns whether all packets of a direction passed both points in the same order and undamaged,
 * and both captures have them. */
static bool is_quiet(const struct point_result *r)
{
    return r->lost + r->missed + r->damaged + r->reordered + r->only_second == 0;
}

void two_points_print(FILE *out, const struct two_points *all, const char *const name[2])
{
    uint32_t shown = 0;

    fprintf(out, "\ncomparison of a = ");
    put_escaped(out, name[0]);
    fprintf(out, " and b = ");
    put_escaped(out, name[1]);
    fprintf(out, ":\n");
    print_clocks(out, all);
    for (unsigned quiet = 0; quiet < 2; quiet++)
        for (uint32_t i = 0; i < all->index.cnt && shown < DIRECTIONS_LISTED; i++)
            if (is_quiet(&all->dir[i].result) == quiet) {
                print_direction(out, all, i);
                shown++;
            }
    if (shown < all->index.cnt)
        fprintf(out, "  ... and %u more directions (--json lists all)\n", all->index.cnt - shown);
}

/* ---- the JSON report ---------------------------------------------------------------------------
 */

static json_t *delay_json(const struct point_result *r)
{
    json_t *o;

    if (!r->timed)
        return json_null();
    o = json_object();
    json_object_set_new(o, "min", json_integer((json_int_t)r->delay.min));
    json_object_set_new(o, "median", json_integer((json_int_t)r->delay.median));
    json_object_set_new(o, "max", json_integer((json_int_t)r->delay.max));
    return o;
}

static json_t *direction_json(const struct two_points *all, uint32_t dir)
{
    const struct point_result r = all->dir[dir].result;
    const bool from_b = all->dir[dir].from_b;
    const struct {
        const char *key;
        uint64_t v;
    } counts[] = {
        {"packets_first", r.packets[0]},
        {"packets_second", r.packets[1]},
        {"lost", r.lost},
        {"damaged", r.damaged},
        {"reordered", r.reordered},
        {"lost_before", all->dir[dir].losses[from_b].before},
        {"lost_behind", r.behind},
        {"only_second", r.only_second},
        {"not_captured", r.missed},
        {"not_compared", r.outside + r.outside_first},
    };
    json_t *o = json_object(), *frames = json_array();

    json_object_set_new(o, "from", json_addr(all->dir[dir].addrs.src));
    json_object_set_new(o, "to", json_addr(all->dir[dir].addrs.dst));
    json_object_set_new(o, "first", json_string(from_b ? "b" : "a"));
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_set_new(o, counts[i].key, json_integer((json_int_t)counts[i].v));
    json_object_set_new(o, "delay_ns", delay_json(&r));
    for (uint64_t i = 0; i < r.lost + r.missed && i < FRAMES_LISTED; i++)
        json_array_append_new(frames, json_integer(r.frame[i]));
    json_object_set_new(o, "lost_frames", frames);
    return o;
}

int two_points_json(FILE *out, const struct two_points *all, const char *const name[2])
{
    const int64_t accuracy = all->spread < 0 ? -all->spread : all->spread;
    json_t *o = json_object(), *dirs = json_array();
    int rc;

    json_object_set_new(o, "type", json_string("comparison"));
    json_object_set_new(o, "a", json_lossy_string(name[0]));
    json_object_set_new(o, "b", json_lossy_string(name[1]));
    json_object_set_new(o, "clock_ahead_ns", json_integer((json_int_t)all->ahead));
    json_object_set_new(o, "clock_accuracy_ns",
                        all->both_ways ? json_integer((json_int_t)accuracy) : json_null());
    json_object_set_new(o, "clocks_contradict", json_boolean(all->spread < 0));
    for (uint32_t i = 0; i < all->index.cnt; i++)
        json_array_append_new(dirs, direction_json(all, i));
    json_object_set_new(o, "directions", dirs);
    rc = json_dumpf(o, out, JSON_COMPACT);
    json_decref(o);
    return rc == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

/* ---- comparing both captures -------------------------------------------------------------------
 */

int two_points_compare(struct two_points *all, const char *const name[2], struct error *error)
{
    const bool icrc = !all->at[0].unverified && !all->at[1].unverified;
    struct point_packet **a = sort_packets(&all->at[0], icrc),
                        **b = sort_packets(&all->at[1], icrc);
    bool any = false, ready;

    all->ns = malloc((all->at[0].cnt + 1u) * sizeof(*all->ns));
    ready = a && b && all->ns && !all->failed && sort_by_direction(&all->at[0]) &&
            sort_by_direction(&all->at[1]);
    if (ready) {
        match_packets(all, a, b, false);
        align_clocks(all);
        for (uint32_t i = 0; i < all->index.cnt; i++)
            any |= all->dir[i].matched;
        if (any)
            match_packets(all, a, b, true);
        for (uint32_t i = 0; i < all->index.cnt && any; i++)
            all->dir[i].result.reordered = mark_disorder(all, i);
        mark_again(a, all->at[0].cnt);
        mark_again(b, all->at[1].cnt);
        for (uint32_t i = 0; i < all->index.cnt && any; i++)
            all->dir[i].result = compare_direction(all, i);
    }
    free(a);
    free(b);
    if (!ready)
        return error_set(error, "no memory to compare %s with %s", name[0], name[1]);
    return any ? 0 : error_set(error, "%s: has no packet of %s", name[1], name[0]);
}

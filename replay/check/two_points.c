/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/two_points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check/check_text.h"
#include "util/json_util.h"
#include "util/strbuf.h"
#include "wire/codes.h"

#define DIRECTIONS_MAX 64u /* maximum number of directions that are compared */
#define LINE_LEN       512
#define FRAMES_LISTED  6u
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
    bool damaged;
};

/* Losses of one direction, inferred from one capture alone. */
struct point_losses {
    uint64_t before; /* packets that never reached the capture point */
    /* Packets captured, but lost after the capture point: the receiver sent a sequence NAK, or the
     * requester retransmitted. */
    uint64_t behind;
};

struct point_capture {
    struct two_points *all;
    unsigned which;
    struct point_packet *packet;
    uint32_t cnt, cap;
    bool unverified; /* the capture has packets whose ICRC is cut off */
    struct point_losses losses[DIRECTIONS_MAX];
};

struct point_direction {
    uint8_t src[16], dst[16];
    bool from_b;    /* packets of this direction pass the capture point of b before that of a */
    bool matched;   /* at least one packet of this direction is in both captures */
    int64_t median; /* median of the time at b minus the time at a, ns */
};

struct two_points {
    struct point_capture at[2];
    struct point_direction dir[DIRECTIONS_MAX];
    uint32_t dir_cnt;
    bool failed;   /* out of memory */
    int64_t ahead; /* time of clock b minus time of clock a, ns */
    /* Accuracy of `ahead`, ns: half of the range that the packets allow, and at least the clock
     * resolution. Negative if the times of the packets contradict each other. */
    int64_t spread;
    bool both_ways;
    int64_t *ns; /* array with one time difference for each packet of capture a, ns */
};

/* ---- recording ---------------------------------------------------------------------------------
 */

static uint32_t direction_of_addrs(struct two_points *all, const uint8_t src[16],
                                   const uint8_t dst[16])
{
    uint32_t i = 0;

    while (i < all->dir_cnt &&
           (memcmp(all->dir[i].src, src, 16) != 0 || memcmp(all->dir[i].dst, dst, 16) != 0))
        i++;
    if (i == all->dir_cnt && i < DIRECTIONS_MAX) {
        memcpy(all->dir[i].src, src, 16);
        memcpy(all->dir[i].dst, dst, 16);
        all->dir_cnt++;
    }
    return i;
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

/* Returns whether a packet is a sequence NAK for a request that was captured before it. */
static bool is_nak_of_captured(const struct roce_pkt *pkt, const struct roce_flow_result *result)
{
    return (result->flags & ROCE_AN_NAK) && result->request_frame &&
           roce_syndrome_code(pkt->aeth.syndrome) == ROCE_NAK_PSN_SEQ;
}

static void record_packet(void *user, const struct roce_flow_in *in,
                          const struct roce_flow_result *result)
{
    struct point_capture *at = user;
    const struct roce_pkt *pkt = in->pkt;
    const uint32_t id[] = {pkt->bth.dest_qp, pkt->bth.psn, pkt->bth.opcode};
    uint8_t src[16], dst[16];
    uint64_t key = UINT64_C(0xCBF29CE484222325);
    struct point_packet *p;
    uint32_t dir;

    if (!result || (result->flags & ROCE_AN_COPY))
        return;
    roce_pkt_addr(pkt, src, dst);
    if (is_nak_of_captured(pkt, result)) {
        dir = direction_of_addrs(at->all, dst, src);
        if (dir < DIRECTIONS_MAX)
            at->losses[dir].behind++;
    }
    dir = direction_of_addrs(at->all, src, dst);
    p = dir < DIRECTIONS_MAX ? new_packet(at) : NULL;
    if (!p)
        return;
    key = add_bytes(add_bytes(add_bytes(key, src, 16), dst, 16), id, sizeof(id));
    *p = (struct point_packet){.key = key,
                               .time = in->time,
                               .icrc = pkt->icrc,
                               .frame = in->frame,
                               .dir = dir,
                               .mate = NO_MATE,
                               .damaged = in->icrc == ROCE_ICRC_BAD};
    at->unverified |= in->icrc == ROCE_ICRC_UNVERIFIED;
}

static void record_conn(void *user, const struct roce_conn_summary *sum)
{
    struct point_capture *at = user;

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *s = &sum->side[i], *peer = &sum->side[!i];
        uint32_t dir = direction_of_addrs(at->all, s->addr, peer->addr);

        if (dir == DIRECTIONS_MAX)
            continue;
        at->losses[dir].before += s->missing_responses + s->missing_repeats;
        if (s->missing_psns > s->out_of_order)
            at->losses[dir].before += s->missing_psns - s->out_of_order;
        at->losses[dir].behind += peer->read_restarts.captured + peer->read_gap_restarts.captured;
    }
}

struct two_points *two_points_new(void)
{
    struct two_points *all = calloc(1, sizeof(*all));

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
    free(all->at[0].packet);
    free(all->at[1].packet);
    free(all->ns);
    free(all);
}

struct check_watch two_points_watch(struct two_points *all, unsigned capture)
{
    return (struct check_watch){
        .user = &all->at[capture], .on_packet = record_packet, .on_conn = record_conn};
}

/* ---- matching ----------------------------------------------------------------------------------
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
        const uint32_t last = many_cnt - (few_cnt - i); /* keeps one packet of `many` for each
                                                         * later packet of `few` */
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

/* ---- clocks ------------------------------------------------------------------------------------
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

/* Fills `ns` with the time differences of the matched packets of direction `dir`, sorted. Returns
 * their number. */
static uint32_t sort_differences(const struct two_points *all, uint32_t dir, int64_t *ns)
{
    uint32_t cnt = 0;

    for (uint32_t i = 0; i < all->at[0].cnt; i++) {
        const struct point_packet *a = &all->at[0].packet[i];

        if (a->dir == dir && a->mate != NO_MATE)
            ns[cnt++] = difference(all, a);
    }
    qsort(ns, cnt, sizeof(*ns), compare_ns);
    return cnt;
}

static struct point_direction *reverse_of(struct two_points *all, const struct point_direction *d)
{
    for (uint32_t i = 0; i < all->dir_cnt; i++)
        if (memcmp(all->dir[i].src, d->dst, 16) == 0 && memcmp(all->dir[i].dst, d->src, 16) == 0)
            return &all->dir[i];
    return NULL;
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

    for (uint32_t i = 0; i < all->dir_cnt; i++) {
        cnt = sort_differences(all, i, ns);
        all->dir[i].matched = cnt > 0;
        all->dir[i].median = cnt ? ns[cnt / 2] : 0;
    }
    for (uint32_t i = 0; i < all->dir_cnt; i++) {
        const struct point_direction *back = reverse_of(all, &all->dir[i]);

        all->dir[i].from_b =
            all->dir[i].matched && back && back->matched && all->dir[i].median < back->median;
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

/* ---- the result --------------------------------------------------------------------------------
 */

struct point_delay {
    uint64_t min, median, max; /* ns */
};

struct point_result {
    /* At least one packet of the direction is in both captures, so `delay` is known. */
    bool timed;
    struct point_delay delay; /* valid if `timed` */
    uint64_t packets[2];      /* number of packets at the first and the second point */
    /* `lost`: packets seen only at the first point. `outside`: such packets that passed while the
     * second capture was not running; they are not in `lost`. */
    uint64_t lost, outside;
    uint64_t only_second;
    uint64_t damaged, reordered;
    uint32_t frame[FRAMES_LISTED]; /* first lost packets */
};

/* Returns whether the packet passed while the other capture was running. */
static bool is_during(const struct two_points *all, const struct point_packet *p, unsigned which)
{
    const struct point_capture *other = &all->at[!which];
    int64_t shift = which == 0 ? all->ahead : -all->ahead;
    int64_t time = (int64_t)p->time + shift;

    return time >= (int64_t)other->packet[0].time &&
           time <= (int64_t)other->packet[other->cnt - 1].time;
}

/* Returns the delay of a packet between the two points, ns. `ns` is its time in capture b minus its
 * time in capture a. */
static uint64_t delay_of(const struct two_points *all, uint32_t dir, int64_t ns)
{
    int64_t delay = all->dir[dir].from_b ? all->ahead - ns : ns - all->ahead;

    return delay > 0 ? (uint64_t)delay : 0;
}

static struct point_result compare_direction(const struct two_points *all, uint32_t dir)
{
    const unsigned first = all->dir[dir].from_b;
    const struct point_capture *up = &all->at[first], *down = &all->at[!first];
    const uint32_t cnt = sort_differences(all, dir, all->ns);
    struct point_result r = {.timed = cnt > 0};
    uint32_t latest = 0;

    if (cnt)
        r.delay = (struct point_delay){.min = delay_of(all, dir, all->ns[first ? cnt - 1 : 0]),
                                       .median = delay_of(all, dir, all->ns[cnt / 2]),
                                       .max = delay_of(all, dir, all->ns[first ? 0 : cnt - 1])};

    for (uint32_t i = 0; i < up->cnt; i++) {
        const struct point_packet *p = &up->packet[i];

        if (p->dir != dir)
            continue;
        r.packets[0]++;
        if (p->mate != NO_MATE) {
            r.damaged += !p->damaged && down->packet[p->mate].damaged;
            r.reordered += p->mate < latest;
            latest = p->mate > latest ? p->mate : latest;
        } else if (!is_during(all, p, first)) {
            r.outside++;
        } else {
            if (r.lost < FRAMES_LISTED)
                r.frame[r.lost] = p->frame;
            r.lost++;
        }
    }
    for (uint32_t i = 0; i < down->cnt; i++) {
        r.packets[1] += down->packet[i].dir == dir;
        r.only_second += down->packet[i].dir == dir && down->packet[i].mate == NO_MATE;
    }
    return r;
}

static void print_direction(FILE *out, const struct two_points *all, uint32_t dir)
{
    const struct point_result r = compare_direction(all, dir);
    const bool from_b = all->dir[dir].from_b;
    const char first = from_b ? 'b' : 'a', second = from_b ? 'a' : 'b';
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, all->dir[dir].src);
    strbuf_addf(&t, " → ");
    strbuf_add_addr(&t, all->dir[dir].dst);
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
    fprintf(out, "     %" PRIu64 " lost before %c, %" PRIu64 " lost behind %c\n",
            all->at[from_b].losses[dir].before, first, all->at[!from_b].losses[dir].behind, second);
    if (r.lost) {
        fprintf(out, "     lost between: frame%s", r.lost == 1 ? "" : "s");
        for (uint64_t i = 0; i < r.lost && i < FRAMES_LISTED; i++)
            fprintf(out, "%s%u", i ? ", " : " ", r.frame[i]);
        fprintf(out, "%s of %c\n", r.lost > FRAMES_LISTED ? ", ..." : "", first);
    }
    if (r.only_second)
        fprintf(out, "     only at %c: %" PRIu64 " packet%s, which %c did not capture\n", second,
                r.only_second, r.only_second == 1 ? "" : "s", first);
    if (r.outside)
        fprintf(out, "     not compared: %" PRIu64 " packet%s before or after the capture at %c\n",
                r.outside, r.outside == 1 ? "" : "s", second);
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
        strbuf_addf(&t, ": the two directions contradict each other by this time, so the clocks "
                        "drift or a capture has late time stamps");
    }
    fprintf(out, "  %s\n", buf);
}

void two_points_print(FILE *out, const struct two_points *all, const char *const name[2])
{
    fprintf(out, "\ncomparison of a = ");
    put_escaped(out, name[0]);
    fprintf(out, " and b = ");
    put_escaped(out, name[1]);
    fprintf(out, ":\n");
    print_clocks(out, all);
    for (uint32_t i = 0; i < all->dir_cnt; i++)
        print_direction(out, all, i);
}

/* ---- JSON --------------------------------------------------------------------------------------
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
    const struct point_result r = compare_direction(all, dir);
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
        {"lost_before", all->at[from_b].losses[dir].before},
        {"lost_behind", all->at[!from_b].losses[dir].behind},
        {"only_second", r.only_second},
        {"not_compared", r.outside},
    };
    json_t *o = json_object(), *frames = json_array();

    json_object_set_new(o, "from", json_addr(all->dir[dir].src));
    json_object_set_new(o, "to", json_addr(all->dir[dir].dst));
    json_object_set_new(o, "first", json_string(from_b ? "b" : "a"));
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_set_new(o, counts[i].key, json_integer((json_int_t)counts[i].v));
    json_object_set_new(o, "delay_ns", delay_json(&r));
    for (uint64_t i = 0; i < r.lost && i < FRAMES_LISTED; i++)
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
    for (uint32_t i = 0; i < all->dir_cnt; i++)
        json_array_append_new(dirs, direction_json(all, i));
    json_object_set_new(o, "directions", dirs);
    rc = json_dumpf(o, out, JSON_COMPACT);
    json_decref(o);
    return rc == 0 && fputc('\n', out) != EOF ? 0 : -1;
}

/* ---- comparison --------------------------------------------------------------------------------
 */

int two_points_compare(struct two_points *all, const char *const name[2], struct error *error)
{
    const bool icrc = !all->at[0].unverified && !all->at[1].unverified;
    struct point_packet **a = sort_packets(&all->at[0], icrc),
                        **b = sort_packets(&all->at[1], icrc);
    bool any = false, ready;

    all->ns = malloc((all->at[0].cnt + 1u) * sizeof(*all->ns));
    ready = a && b && all->ns && !all->failed;
    if (ready) {
        match_packets(all, a, b, false);
        align_clocks(all);
        for (uint32_t i = 0; i < all->dir_cnt; i++)
            any |= all->dir[i].matched;
        if (any)
            match_packets(all, a, b, true);
    }
    free(a);
    free(b);
    if (!ready)
        return error_set(error, "no memory to compare %s with %s", name[0], name[1]);
    return any ? 0 : error_set(error, "%s: has no packet of %s", name[1], name[0]);
}

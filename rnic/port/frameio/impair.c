/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/impair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire/bytes.h"
#include "wire/pkt.h"

#define HELD_MAX       8192u /* frames of one direction; more stay where they are */
#define REORDER_MAX    4u    /* later frames that overtake one */
#define REORDER_MAX_NS 1000000u
#define BATCH          64u

/* A frame on its way, a copy. */
struct held {
    struct held *next; /* in the list of those ready, or of those unused */
    uint64_t at;       /* when it goes */
    uint64_t seq;      /* of frames at one time, the first goes first */
    uint64_t after;    /* or as soon as so many frames have gone; UINT64_MAX: only by time */
    uint32_t len;
    unsigned flags;
    uint64_t stamp;
    char comment[64];
    uint8_t data[];
};

/* One direction. */
struct lane {
    uint64_t rng;
    uint64_t seq;
    uint64_t gone;
    struct held *heap[HELD_MAX]; /* by (at, seq): those that wait for a time */
    unsigned heap_cnt;
    struct held *ready; /* FIFO */
    struct held **ready_end;
    unsigned cnt; /* frames in heap and FIFO */
};

struct impair {
    struct rnic_port port;
    struct rnic_port *behind;
    struct rnic_impair_spec spec;
    struct lane out;
    struct lane in;
    struct held *unused;
    struct rnic_port_stats stats;
    uint64_t now; /* of the call that is running */
};

static const struct rnic_port_ops impair_ops;

/* ---- chance ---------------------------------------------------------------------------------- */

/* splitmix64: any seed will do, and lanes of neighbouring seeds have nothing in common. */
static uint64_t draw(struct lane *lane)
{
    uint64_t z = lane->rng += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool happens(struct lane *lane, uint32_t probability)
{
    uint32_t value = (uint32_t)(draw(lane) >> 32);

    return probability == RNIC_IMPAIR_ONE || value < probability;
}

/* ---- frames that wait ------------------------------------------------------------------------ */

static bool before(const struct held *a, const struct held *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void heap_push(struct lane *lane, struct held *held)
{
    unsigned i = lane->heap_cnt++;

    while (i > 0 && before(held, lane->heap[(i - 1) / 2])) {
        lane->heap[i] = lane->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    lane->heap[i] = held;
}

static struct held *heap_take(struct lane *lane, unsigned i)
{
    struct held *taken = lane->heap[i];
    struct held *last = lane->heap[--lane->heap_cnt];

    if (i == lane->heap_cnt)
        return taken;
    while (i > 0 && before(last, lane->heap[(i - 1) / 2])) {
        lane->heap[i] = lane->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    for (;;) {
        unsigned child = 2 * i + 1;

        if (child + 1 < lane->heap_cnt && before(lane->heap[child + 1], lane->heap[child]))
            child++;
        if (child >= lane->heap_cnt || !before(lane->heap[child], last))
            break;
        lane->heap[i] = lane->heap[child];
        i = child;
    }
    lane->heap[i] = last;
    return taken;
}

static void make_ready(struct lane *lane, struct held *held)
{
    held->next = NULL;
    *lane->ready_end = held;
    lane->ready_end = &held->next;
    lane->gone++;
}

/* Those whose time has come, and those that enough frames have overtaken. */
static void release(struct lane *lane, uint64_t now)
{
    bool any = true;

    while (any) {
        any = false;
        while (lane->heap_cnt > 0 && lane->heap[0]->at <= now)
            make_ready(lane, heap_take(lane, 0));
        for (unsigned i = 0; i < lane->heap_cnt; i++)
            if (lane->heap[i]->after <= lane->gone) {
                make_ready(lane, heap_take(lane, i));
                any = true;
                break;
            }
    }
}

static struct held *get_held(struct impair *impair)
{
    struct held *held = impair->unused;

    if (!held)
        return malloc(sizeof(*held) + ROCE_FRAME_MAX);
    impair->unused = held->next;
    return held;
}

static void put_held(struct impair *impair, struct held *held)
{
    held->next = impair->unused;
    impair->unused = held;
}

/* ---- what is done to a frame ------------------------------------------------------------------
 */

/* RFC 3168: only of packets that say they understand; RFC 1624 for the checksum. */
static bool mark(struct held *held)
{
    uint16_t type = (uint16_t)roce_bits_get(held->data, 12, 0, 16);
    unsigned at = ROCE_ETH_LEN, len;
    uint8_t *ip;

    if (held->len < ROCE_ETH_LEN)
        return false;
    for (; roce_ethertype_is_tag(type) && held->len >= at + ROCE_VLAN_LEN; at += ROCE_VLAN_LEN)
        type = (uint16_t)roce_bits_get(held->data, at + 2, 0, 16);
    ip = held->data + at;
    len = held->len - at;
    if (type == ROCE_ETHERTYPE_IP4 && len >= ROCE_IP4_LEN && (ip[1] & 3) != 0 && (ip[1] & 3) != 3) {
        uint32_t before_sum = (uint32_t)roce_bits_get(ip, 10, 0, 16);
        uint32_t before_word = (uint32_t)roce_bits_get(ip, 0, 0, 16);
        uint32_t sum;

        ip[1] |= 3;
        sum =
            (0xffff ^ before_sum) + (0xffff ^ before_word) + (uint32_t)roce_bits_get(ip, 0, 0, 16);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        roce_bits_put(ip, 10, 0, 16, 0xffff ^ sum);
        return true;
    }
    if (type == ROCE_ETHERTYPE_IP6 && len >= ROCE_IP6_LEN) {
        unsigned ecn = (unsigned)roce_bits_get(ip, 1, 2, 2);

        if (ecn == 0 || ecn == 3)
            return false;
        roce_bits_put(ip, 1, 2, 2, 3);
        return true;
    }
    return false;
}

static void note(struct held *held, const char *text)
{
    size_t len = strlen(held->comment);

    snprintf(held->comment + len, sizeof(held->comment) - len, "%s%s",
             len ? ", " : "impair: ", text);
}

/* A copy of the frame for one lane; NULL without memory. */
static struct held *copy(struct impair *impair, const struct rnic_frame *frame)
{
    struct held *held = get_held(impair);

    if (!held)
        return NULL;
    held->len = frame->len < ROCE_FRAME_MAX ? frame->len : ROCE_FRAME_MAX;
    memcpy(held->data, frame->data, held->len);
    held->flags = frame->flags;
    held->stamp = frame->stamp;
    held->comment[0] = 0;
    held->at = 0;
    held->after = UINT64_MAX;
    return held;
}

/*
 * One frame through a lane. The same numbers are drawn for every frame whatever is asked for, so
 * that a seed loses the same frames with and without delays.
 */
static void pass(struct impair *impair, struct lane *lane, const struct rnic_frame *frame)
{
    const struct rnic_impair_spec *spec = &impair->spec;
    bool loses = happens(lane, spec->loss);
    bool doubles = happens(lane, spec->dup);
    bool corrupts = happens(lane, spec->corrupt);
    bool marks = happens(lane, spec->ecn);
    bool reorders = happens(lane, spec->reorder);
    uint64_t where = draw(lane);
    uint64_t when = draw(lane);
    unsigned overtaken = 1 + (unsigned)(draw(lane) % REORDER_MAX);

    if (loses) {
        impair->stats.impair_lost++;
        return;
    }
    for (unsigned i = 0; i < 1u + doubles; i++) {
        struct held *held = copy(impair, frame);

        if (!held) {
            impair->stats.impair_lost++;
            return;
        }
        held->seq = lane->seq++;
        if (i == 1) {
            impair->stats.impair_duplicated++;
            note(held, "duplicate");
        }
        if (corrupts && held->len > 14) {
            uint64_t bit = where % ((held->len - 14) * UINT64_C(8));

            held->data[14 + bit / 8] ^= (uint8_t)(1u << (bit % 8));
            impair->stats.impair_corrupted++;
            note(held, "corrupted");
        }
        if (marks && mark(held)) {
            impair->stats.impair_marked++;
            note(held, "ECN marked");
        }
        if (spec->delay_max > 0) {
            uint64_t width = spec->delay_max - spec->delay_min + 1;

            held->at = impair->now + spec->delay_min + (i == 1 ? when >> 32 : when) % width;
            impair->stats.impair_delayed++;
        }
        if (reorders) {
            held->at = (held->at ? held->at : impair->now) + REORDER_MAX_NS;
            if (spec->delay_max == 0)
                held->after = lane->gone + overtaken;
            impair->stats.impair_reordered++;
            note(held, "reordered");
        }
        lane->cnt++;
        if (held->at > impair->now)
            heap_push(lane, held);
        else
            make_ready(lane, held);
    }
}

/* ---- the port -------------------------------------------------------------------------------- */

static bool has_room(const struct lane *lane)
{
    return lane->cnt + 2 <= HELD_MAX;
}

static struct held *take_ready(struct lane *lane)
{
    struct held *held = lane->ready;

    lane->ready = held->next;
    if (!lane->ready)
        lane->ready_end = &lane->ready;
    lane->cnt--;
    return held;
}

/* Sends what is ready until the port behind is full. */
static void send_ready(struct impair *impair)
{
    struct lane *lane = &impair->out;

    release(lane, impair->now);
    while (lane->ready) {
        struct rnic_frame frame[BATCH];
        unsigned cnt = 0;
        unsigned done;

        for (struct held *held = lane->ready; held && cnt < BATCH; held = held->next)
            frame[cnt++] = (struct rnic_frame){.data = held->data,
                                               .len = held->len,
                                               .comment = held->comment[0] ? held->comment : NULL};
        done = rnic_port_send(impair->behind, frame, cnt, impair->now);
        for (unsigned i = 0; i < done; i++)
            put_held(impair, take_ready(lane));
        if (done < cnt)
            return;
    }
}

static unsigned impair_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    struct impair *impair = (struct impair *)port;
    unsigned done;

    impair->now = now;
    for (done = 0; done < cnt && has_room(&impair->out); done++) {
        if (!(impair->spec.dirs & RNIC_IMPAIR_OUT)) {
            struct held *held = copy(impair, &frames[done]);

            if (!held)
                break;
            impair->out.cnt++;
            make_ready(&impair->out, held);
        } else {
            pass(impair, &impair->out, &frames[done]);
            release(&impair->out, now);
        }
    }
    send_ready(impair);
    return done;
}

static void on_received(void *user, const struct rnic_frame *frame)
{
    struct impair *impair = user;

    /* What has no room is lost: a ring that runs over. recv() asks for no more than there is room.
     */
    if (has_room(&impair->in)) {
        pass(impair, &impair->in, frame);
        release(&impair->in, impair->now);
    } else {
        impair->stats.impair_lost++;
    }
}

static int impair_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                       uint64_t now)
{
    struct impair *impair = (struct impair *)port;
    struct lane *lane = &impair->in;
    unsigned room = (HELD_MAX - lane->cnt) / 2;
    int taken = 0;
    int delivered = 0;

    impair->now = now;
    send_ready(impair);
    if (!(impair->spec.dirs & RNIC_IMPAIR_IN))
        return rnic_port_recv(impair->behind, max, fn, user, now);
    if (room > 0)
        taken = rnic_port_recv(impair->behind, max < room ? max : room, on_received, impair, now);
    release(lane, now);
    while (lane->ready) {
        struct held *held = take_ready(lane);
        struct rnic_frame frame = {
            .data = held->data, .len = held->len, .flags = held->flags, .stamp = held->stamp};

        fn(user, &frame);
        put_held(impair, held);
        delivered++;
    }
    return taken < 0 && delivered == 0 ? taken : taken > delivered ? taken : delivered;
}

static int impair_peek(const struct rnic_port *port)
{
    return rnic_port_peek(((const struct impair *)port)->behind);
}

static uint64_t lane_deadline(const struct lane *lane)
{
    return lane->heap_cnt > 0 ? lane->heap[0]->at : UINT64_MAX;
}

static uint64_t impair_deadline(const struct rnic_port *port)
{
    const struct impair *impair = (const struct impair *)port;
    uint64_t first = rnic_port_deadline(impair->behind);

    if (lane_deadline(&impair->out) < first)
        first = lane_deadline(&impair->out);
    if (lane_deadline(&impair->in) < first)
        first = lane_deadline(&impair->in);
    return first;
}

static unsigned impair_fds(const struct rnic_port *port, struct pollfd *fds)
{
    return rnic_port_fds(((const struct impair *)port)->behind, fds);
}

static void impair_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct impair *impair = (struct impair *)port;

#define X(name, text) out->name += impair->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
    impair->behind->ops->stats(impair->behind, out);
}

static void impair_flush(struct rnic_port *port)
{
    rnic_port_flush(((struct impair *)port)->behind);
}

static void free_list(struct held *list)
{
    while (list) {
        struct held *next = list->next;

        free(list);
        list = next;
    }
}

static void impair_close(struct rnic_port *port)
{
    struct impair *impair = (struct impair *)port;
    struct lane *lane[] = {&impair->out, &impair->in};

    for (unsigned i = 0; i < 2; i++) {
        free_list(lane[i]->ready);
        for (unsigned j = 0; j < lane[i]->heap_cnt; j++)
            free(lane[i]->heap[j]);
    }
    free_list(impair->unused);
    rnic_port_close(impair->behind);
    free(impair);
}

static void impair_drop(struct rnic_port *port)
{
    struct impair *impair = (struct impair *)port;

    impair->behind->ops->drop(impair->behind);
}

int rnic_impair_open(const char *text, uint64_t seed, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why)
{
    struct rnic_impair_spec spec;
    struct impair *impair;
    int error = rnic_impair_parse(text, &spec, why);

    if (error)
        return error;
    impair = calloc(1, sizeof(*impair));
    if (!impair) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    impair->port.ops = &impair_ops;
    impair->behind = behind;
    impair->spec = spec;
    impair->out.rng = seed;
    impair->in.rng = ~seed;
    impair->out.ready_end = &impair->out.ready;
    impair->in.ready_end = &impair->in.ready;
    *out = &impair->port;
    return 0;
}

static const struct rnic_port_ops impair_ops = {
    .recv = impair_recv,
    .peek = impair_peek,
    .send = impair_send,
    .deadline = impair_deadline,
    .fds = impair_fds,
    .stats = impair_stats,
    .flush = impair_flush,
    .close = impair_close,
    .drop = impair_drop,
};

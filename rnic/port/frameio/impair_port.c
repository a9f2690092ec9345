/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/impair_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "impair/delay_line.h"
#include "impair/impair.h"
#include "port/sys/tally.h"

#define QUEUED_MAX 8192u /* maximum number of frames in transit per direction */
#define BATCH      64u

/* A copy of a frame in transit. */
struct queued_frame {
    struct delay_entry entry;  /* must be the first member: delay_line_take() returns its address */
    struct queued_frame *next; /* next frame in the list lane.due or impair_port.unused */
    uint32_t len;
    unsigned flags;
    uint64_t stamp;
    char note[128]; /* text for the recording: the rules that were applied to the frame */
    uint8_t data[];
};

/* Frames in transit in one direction. */
struct lane {
    struct impair impair;
    enum impair_side side;
    struct delay_line line;
    struct queued_frame *due; /* frames that are due: their delay has ended, but they are not sent
                               * or received yet; oldest first */
    struct queued_frame **due_end;
    unsigned cnt; /* number of frames in `line` and `due` */
};

struct impair_port {
    struct rnic_port port;
    struct rnic_port *behind;
    struct impair_rules rules;
    struct lane out, in;
    unsigned copies_max; /* maximum number of frames that the rules can make of one frame: the frame
                          * itself and its copies */
    bool impairs_in;     /* some rule applies to received frames */
    struct queued_frame *unused;
    struct rnic_port_stats stats;
    struct tally_file tally; /* counters shared with rnic-run; tally.tally is NULL without
                              * rnic-run */
    uint64_t now;            /* time passed to the current call, ns */
    struct impair_result result;
};

static const struct rnic_port_ops impair_ops;

/* ---- frames under way ------------------------------------------------------------------------ */

static struct queued_frame *get_frame(struct impair_port *port)
{
    struct queued_frame *frame = port->unused;

    if (!frame)
        return malloc(sizeof(*frame) + ROCE_FRAME_MAX);
    port->unused = frame->next;
    return frame;
}

static void put_frame(struct impair_port *port, struct queued_frame *frame)
{
    frame->next = port->unused;
    port->unused = frame;
}

/* Moves the frames whose delay has ended from the delay line of one direction to its list of due
 * frames. */
static void release_due(struct lane *lane, uint64_t now)
{
    struct delay_entry *entry;

    while ((entry = delay_line_take(&lane->line, now)) != NULL) {
        struct queued_frame *frame = (struct queued_frame *)entry;

        frame->next = NULL;
        *lane->due_end = frame;
        lane->due_end = &frame->next;
    }
}

static struct queued_frame *take_due(struct lane *lane)
{
    struct queued_frame *frame = lane->due;

    lane->due = frame->next;
    if (!lane->due)
        lane->due_end = &lane->due;
    lane->cnt--;
    return frame;
}

/* Returns for how many more frames one direction has room. Assumes that the rules make the maximum
 * number of copies of each frame. */
static unsigned lane_room(const struct impair_port *port, const struct lane *lane)
{
    return (QUEUED_MAX - lane->cnt) / port->copies_max;
}

/* Queues one copy of the impaired frame until its delay ends. Returns false if out of memory. */
static bool queue_copy(struct impair_port *port, struct lane *lane, const struct rnic_frame *frame)
{
    const struct impair_result *result = &port->result;
    struct queued_frame *copy = get_frame(port);

    if (!copy)
        return false;
    copy->len = (uint32_t)result->len;
    memcpy(copy->data, result->data, result->len);
    copy->flags = frame->flags;
    copy->stamp = frame->stamp;
    strncpy(copy->note, result->note, sizeof(copy->note) - 1);
    copy->note[sizeof(copy->note) - 1] = '\0';
    if (!delay_line_put(&lane->line, &copy->entry, port->now + result->delay, result->hold, 0)) {
        put_frame(port, copy);
        return false;
    }
    lane->cnt++;
    return true;
}

static void count_lost(struct impair_port *port)
{
    port->stats.impair_lost++;
    tally_lose(&port->tally, 1, 0);
}

static void count_actions(struct impair_port *port, const struct impair_result *result)
{
    struct rnic_port_stats *stats = &port->stats;

    if (result->copies == 0) {
        count_lost(port);
        return;
    }
    stats->impair_duplicated += result->copies - 1;
    stats->impair_delayed += result->actions >> IMPAIR_DELAY & 1;
    stats->impair_reordered += result->actions >> IMPAIR_REORDER & 1;
    stats->impair_corrupted += (result->actions & (1u << IMPAIR_CORRUPT | 1u << IMPAIR_SET)) != 0;
    stats->impair_marked += (result->actions & (1u << IMPAIR_CE | 1u << IMPAIR_ECN)) != 0;
}

/* Applies the rules to a frame and queues the resulting copies. Drops frames and copies for which
 * there is no memory. */
static void impair_frame(struct impair_port *port, struct lane *lane,
                         const struct rnic_frame *frame)
{
    const struct impair_frame in = {.data = frame->data, .len = frame->len, .side = lane->side};
    struct impair_result *result = &port->result;

    if (impair_apply(&lane->impair, &in, result) != 0)
        result->copies = 0;
    count_actions(port, result);
    for (unsigned i = 0; i < result->copies; i++)
        if (!queue_copy(port, lane, frame))
            count_lost(port);
    release_due(lane, port->now);
}

/* ---- functions of the port ------------------------------------------------------------------- */

/* Sends the due frames until all are sent or the send queue of the next port, port->behind, is
 * full. */
static void send_due(struct impair_port *port)
{
    struct lane *lane = &port->out;

    release_due(lane, port->now);
    while (lane->due) {
        struct rnic_frame frame[BATCH];
        unsigned cnt = 0;
        unsigned done;

        for (struct queued_frame *copy = lane->due; copy && cnt < BATCH; copy = copy->next)
            frame[cnt++] = (struct rnic_frame){
                .data = copy->data, .len = copy->len, .comment = copy->note[0] ? copy->note : NULL};
        done = rnic_port_send(port->behind, frame, cnt, port->now);
        for (unsigned i = 0; i < done; i++)
            put_frame(port, take_due(lane));
        if (done < cnt)
            return;
    }
}

static unsigned impair_send(struct rnic_port *front, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    struct impair_port *port = (struct impair_port *)front;
    unsigned done;

    port->now = now;
    for (done = 0; done < cnt && lane_room(port, &port->out) > 0; done++)
        impair_frame(port, &port->out, &frames[done]);
    send_due(port);
    return done;
}

static void on_received(void *user, const struct rnic_frame *frame)
{
    struct impair_port *port = user;

    /* If the queue of received frames is full, the frame is dropped, as by a NIC whose receive ring
     * is full. */
    if (lane_room(port, &port->in) > 0)
        impair_frame(port, &port->in, frame);
    else
        count_lost(port);
}

static int impair_recv(struct rnic_port *front, unsigned max, rnic_frame_fn *fn, void *user,
                       uint64_t now)
{
    struct impair_port *port = (struct impair_port *)front;
    struct lane *lane = &port->in;
    unsigned room = lane_room(port, lane);
    int taken = 0;
    int delivered = 0;

    port->now = now;
    send_due(port);
    if (!port->impairs_in)
        return rnic_port_recv(port->behind, max, fn, user, now);
    if (room > 0)
        taken = rnic_port_recv(port->behind, max < room ? max : room, on_received, port, now);
    release_due(lane, now);
    while (lane->due) {
        struct queued_frame *copy = take_due(lane);
        struct rnic_frame frame = {
            .data = copy->data, .len = copy->len, .flags = copy->flags, .stamp = copy->stamp};

        fn(user, &frame);
        put_frame(port, copy);
        delivered++;
    }
    return taken < 0 && delivered == 0 ? taken : taken > delivered ? taken : delivered;
}

static uint64_t impair_deadline(const struct rnic_port *front)
{
    const struct impair_port *port = (const struct impair_port *)front;
    uint64_t first = rnic_port_deadline(port->behind);

    if (delay_line_due(&port->out.line) < first)
        first = delay_line_due(&port->out.line);
    if (delay_line_due(&port->in.line) < first)
        first = delay_line_due(&port->in.line);
    return first;
}

static unsigned impair_fds(const struct rnic_port *front, struct pollfd *fds)
{
    return rnic_port_fds(((const struct impair_port *)front)->behind, fds);
}

static bool impair_arm(struct rnic_port *front, bool on)
{
    return rnic_port_arm(((struct impair_port *)front)->behind, on);
}

static void impair_stats(struct rnic_port *front, struct rnic_port_stats *out)
{
    struct impair_port *port = (struct impair_port *)front;

#define X(name, text) out->name += port->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
    port->behind->ops->stats(port->behind, out);
}

static void impair_flush(struct rnic_port *front)
{
    rnic_port_flush(((struct impair_port *)front)->behind);
}

static void free_lane(struct lane *lane)
{
    release_due(lane, UINT64_MAX);
    while (lane->due)
        free(take_due(lane));
    delay_line_free(&lane->line);
    impair_free(&lane->impair);
}

static void impair_close(struct rnic_port *front)
{
    struct impair_port *port = (struct impair_port *)front;

    free_lane(&port->out);
    free_lane(&port->in);
    while (port->unused) {
        struct queued_frame *next = port->unused->next;

        free(port->unused);
        port->unused = next;
    }
    rnic_port_close(port->behind);
    tally_close(&port->tally);
    free(port);
}

static void impair_drop(struct rnic_port *front)
{
    struct impair_port *port = (struct impair_port *)front;

    port->behind->ops->drop(port->behind);
}

int rnic_impair_port_open(const char *text, uint64_t seed, struct rnic_port *behind,
                          struct rnic_port **out, struct error *why)
{
    struct impair_port *port = calloc(1, sizeof(*port));
    struct error error;

    if (!port) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    if (impair_rules_add(&port->rules, text, IMPAIR_LIVE, &error) != 0) {
        error_set(why, "impairments %s", error.text);
        free(port);
        return -EINVAL;
    }
    port->port.ops = &impair_ops;
    port->tally.fd = -1;
    port->behind = behind;
    port->out.side = IMPAIR_OUT;
    port->in.side = IMPAIR_IN;
    impair_init(&port->out.impair, &port->rules, seed);
    impair_init(&port->in.impair, &port->rules, ~seed);
    port->out.due_end = &port->out.due;
    port->in.due_end = &port->in.due;
    port->copies_max = 1;
    for (size_t i = 0; i < port->rules.cnt; i++) {
        const struct impair_rule *rule = &port->rules.rule[i];

        port->copies_max += rule->action == IMPAIR_DUP ? rule->cnt_max : 0;
        port->impairs_in |= (rule->sides & IMPAIR_IN) != 0;
    }
    *out = &port->port;
    return 0;
}

void rnic_impair_port_count(struct rnic_port *front, const char *path)
{
    struct impair_port *port = (struct impair_port *)front;

    if (tally_open(&port->tally, path) != 0)
        return;
    /* Counting needs only the memory mapping of the tally file. The program may close the
     * descriptor and open another file with its number. The port must not close that file later, so
     * it closes the descriptor now. */
    close(port->tally.fd);
    port->tally.fd = -1;
}

static const struct rnic_port_ops impair_ops = {
    .recv = impair_recv,
    .send = impair_send,
    .deadline = impair_deadline,
    .fds = impair_fds,
    .arm = impair_arm,
    .stats = impair_stats,
    .flush = impair_flush,
    .close = impair_close,
    .drop = impair_drop,
};

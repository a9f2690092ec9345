/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "support/port_mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "wire/pkt.h"

struct slot {
    uint32_t len;
    uint8_t data[ROCE_FRAME_MAX];
};

/* Ring buffer of the frames in transit in one direction. */
struct lane {
    struct slot *slot;
    unsigned first;
    unsigned cnt;
    /* Event descriptor of the side that receives from this ring. Readable while the ring contains
     * frames, and after this side waited for a free slot in the other ring and can send again. */
    int ready_fd;
};

struct wire {
    pthread_mutex_t lock;
    unsigned depth;
    unsigned open;       /* bit set of the open sides */
    struct lane lane[2]; /* lane[i] contains the frames to side i */
    /* waits[i]: side i found the ring of its frames full and waits for a free slot. */
    bool waits[2];
};

struct side {
    struct rnic_port port;
    struct wire *wire;
    unsigned number; /* index of this side, 0 or 1 */
    struct rnic_port_stats stats;
};

static const struct rnic_port_ops mem_ops;

static void tell(int fd)
{
    const uint64_t one = 1;

    (void)!write(fd, &one, sizeof(one));
}

static int mem_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                    uint64_t now)
{
    struct side *side = (struct side *)port;
    struct wire *wire = side->wire;
    struct lane *lane = &wire->lane[side->number];
    unsigned taken = 0;
    uint64_t cnt;

    (void)now;
    pthread_mutex_lock(&wire->lock);
    (void)!read(lane->ready_fd, &cnt, sizeof(cnt));
    while (taken < max && lane->cnt > 0) {
        const struct slot *slot = &lane->slot[lane->first];
        struct rnic_frame frame = {.data = slot->data, .len = slot->len, .flags = RNIC_FRAME_LOCAL};

        /* The slot belongs to this side until the frame is removed from the ring, so the lock is
         * not needed. */
        pthread_mutex_unlock(&wire->lock);
        side->stats.rx_frames++;
        fn(user, &frame);
        pthread_mutex_lock(&wire->lock);
        lane->first = (lane->first + 1) % wire->depth;
        lane->cnt--;
        taken++;
    }
    if (lane->cnt > 0)
        tell(lane->ready_fd);
    if (taken > 0 && wire->waits[1 - side->number]) {
        wire->waits[1 - side->number] = false;
        tell(wire->lane[1 - side->number].ready_fd);
    }
    pthread_mutex_unlock(&wire->lock);
    return (int)taken;
}

static unsigned mem_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                         uint64_t now)
{
    struct side *side = (struct side *)port;
    struct wire *wire = side->wire;
    struct lane *lane = &wire->lane[1 - side->number];
    unsigned done = 0;

    (void)now;
    pthread_mutex_lock(&wire->lock);
    if (!(wire->open & 1u << (1 - side->number))) {
        side->stats.tx_link_down += cnt;
        done = cnt;
    }
    for (; done < cnt && lane->cnt < wire->depth; done++) {
        struct slot *slot = &lane->slot[(lane->first + lane->cnt) % wire->depth];

        if (frames[done].len > ROCE_FRAME_MAX) {
            side->stats.tx_too_long++;
            continue;
        }
        memcpy(slot->data, frames[done].data, frames[done].len);
        slot->len = frames[done].len;
        if (lane->cnt++ == 0)
            tell(lane->ready_fd);
        side->stats.tx_frames++;
    }
    if (done < cnt) {
        side->stats.tx_full++;
        wire->waits[side->number] = true;
    }
    pthread_mutex_unlock(&wire->lock);
    return done;
}

static uint64_t mem_deadline(const struct rnic_port *port)
{
    (void)port;
    return UINT64_MAX;
}

static unsigned mem_fds(const struct rnic_port *port, struct pollfd *fds)
{
    const struct side *side = (const struct side *)port;

    fds[0] = (struct pollfd){.fd = side->wire->lane[side->number].ready_fd, .events = POLLIN};
    return 1;
}

static void mem_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    struct side *side = (struct side *)port;

#define X(name, text) out->name += side->stats.name;
    RNIC_PORT_COUNTERS(X)
#undef X
}

static void free_wire(struct wire *wire)
{
    for (unsigned i = 0; i < 2; i++) {
        free(wire->lane[i].slot);
        if (wire->lane[i].ready_fd >= 0)
            close(wire->lane[i].ready_fd);
    }
    pthread_mutex_destroy(&wire->lock);
    free(wire);
}

static void mem_close(struct rnic_port *port)
{
    struct side *side = (struct side *)port;
    struct wire *wire = side->wire;
    bool last;

    pthread_mutex_lock(&wire->lock);
    wire->open &= ~(1u << side->number);
    last = wire->open == 0;
    if (!last)
        /* Wakes the other side if it waits for a free slot. */
        tell(wire->lane[1 - side->number].ready_fd);
    pthread_mutex_unlock(&wire->lock);
    free(side);
    if (last)
        free_wire(wire);
}

static void mem_drop(struct rnic_port *port)
{
    (void)port; /* nothing to do: the child of a fork() may use the opposite side */
}

int rnic_port_mem_pair(unsigned depth, struct rnic_port *out[2], struct error *why)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    struct side *side[2] = {calloc(1, sizeof(**side)), calloc(1, sizeof(**side))};
    bool fine = wire && side[0] && side[1] && depth > 0;

    if (wire) {
        pthread_mutex_init(&wire->lock, NULL);
        wire->depth = depth;
        wire->open = 3;
    }
    for (unsigned i = 0; i < 2 && wire; i++) {
        wire->lane[i].slot = calloc(depth ? depth : 1, sizeof(struct slot));
        wire->lane[i].ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        fine = fine && wire->lane[i].slot && wire->lane[i].ready_fd >= 0;
    }
    if (!fine) {
        error_set(why, "no memory for a pair of ports");
        if (wire)
            free_wire(wire);
        free(side[0]);
        free(side[1]);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < 2; i++) {
        side[i]->port.ops = &mem_ops;
        side[i]->wire = wire;
        side[i]->number = i;
        out[i] = &side[i]->port;
    }
    return 0;
}

static const struct rnic_port_ops mem_ops = {
    .recv = mem_recv,
    .send = mem_send,
    .deadline = mem_deadline,
    .fds = mem_fds,
    .stats = mem_stats,
    .close = mem_close,
    .drop = mem_drop,
};

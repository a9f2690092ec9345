/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Port: sends and receives frames. One interface for libpcap on an interface (port_pcap) and for
 * two ports that are put in front of another one: impairments (impair_port) and a recording
 * (record). Called by rnic/port/live and by replay.
 *
 * 1. Open a port, and if wanted others in front of it. The port in front owns the one behind.
 * 2. Wait for the descriptors of rnic_port_fds(), until rnic_port_deadline().
 * 3. Call rnic_port_recv() and rnic_port_send(). rnic_port_flush() ends a batch.
 * 4. rnic_port_close() closes the port and those behind it.
 *
 * A frame begins with its Ethernet header and has no FCS. `now` and deadlines are nanoseconds of
 * one monotonic clock that the caller chooses; time stamps of frames are nanoseconds of the UTC
 * epoch. Only one thread at a time may call functions of a port.
 */
#ifndef PORT_FRAMEIO_PORT_H
#define PORT_FRAMEIO_PORT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum rnic_frame_flags {
    RNIC_FRAME_LOCAL = 1u << 0, /* received: sent on this machine, did not come over the link */
    RNIC_FRAME_CUT = 1u << 1,   /* received: longer on the wire than what is here */
    RNIC_FRAME_ECHO = 1u << 2,  /* to send: this port will receive it as well (set by the port) */
};

struct rnic_frame {
    const uint8_t *data;
    uint32_t len;
    unsigned flags;      /* enum rnic_frame_flags */
    uint64_t stamp;      /* when it was captured, ns of the UTC epoch; 0: unknown */
    const char *comment; /* for the recording: what was done to it; or NULL */
};

/* What a port counts, in frames. */
#define RNIC_PORT_COUNTERS(X)                                                                      \
    X(rx_frames, "frames received")                                                                \
    X(rx_dropped, "frames the kernel dropped because the receive ring was full")                   \
    X(rx_failed, "times a capture handle failed: what came meanwhile is lost")                     \
    X(rx_reopened, "of these, times it was opened again")                                          \
    X(tx_frames, "frames sent")                                                                    \
    X(tx_local, "of these, frames for an address of this machine, sent over the loopback")         \
    X(tx_full, "times the way out was full and sending had to wait")                               \
    X(tx_too_long, "frames dropped: longer than the interface's MTU")                              \
    X(tx_refused, "frames dropped: the interface had no room for them for milliseconds")           \
    X(tx_link_down, "frames dropped: the link is down")                                            \
    X(tx_errors, "frames dropped: another error of the interface")                                 \
    X(impair_lost, "frames dropped on purpose")                                                    \
    X(impair_duplicated, "frames sent twice on purpose")                                           \
    X(impair_reordered, "frames overtaken by later ones on purpose")                               \
    X(impair_corrupted, "frames with a bit inverted or a field set on purpose")                    \
    X(impair_marked, "frames marked congestion experienced on purpose")                            \
    X(impair_delayed, "frames held back for a time on purpose")                                    \
    X(record_errors, "frames that could not be written to the recording")

struct rnic_port_stats {
#define X(name, text) uint64_t name;
    RNIC_PORT_COUNTERS(X)
#undef X
};

/* Takes one frame; its bytes are the port's again on return. */
typedef void rnic_frame_fn(void *user, const struct rnic_frame *frame);

#define RNIC_PORT_FDS 4 /* most descriptors a port waits on */

struct rnic_port;

struct rnic_port_ops {
    /* Gives up to `max` frames that wait to `fn`, without waiting for more. The number of frames
     * taken from the port, or a negative errno after which the port gives none any more. `fn` may
     * be called more or less often than the number says (impairments). */
    int (*recv)(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user, uint64_t now);
    /* Sends frames in their order: how many it took. Fewer than `cnt` means the way is full: keep
     * the rest, and call again when fds() or deadline() say so. Frames that can never be sent are
     * taken and counted. Takes none only when full. */
    unsigned (*send)(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt, uint64_t now);
    /* When the port wants a call of recv() or send() (with cnt 0) without any descriptor being
     * ready; UINT64_MAX: never. */
    uint64_t (*deadline)(const struct rnic_port *port);
    /* Fills `fds` (RNIC_PORT_FDS) with what to wait for; how many. */
    unsigned (*fds)(const struct rnic_port *port, struct pollfd *fds);
    void (*stats)(struct rnic_port *port, struct rnic_port_stats *out); /* adds to *out */
    /* Writes out what is still held; the end of a batch. May be NULL. */
    void (*flush)(struct rnic_port *port);
    void (*close)(struct rnic_port *port); /* and of what is behind it */
    /* In a child of fork(): closes the descriptors, which are copies of the parent's, and leaves
     * everything else as it is; no other call follows. */
    void (*drop)(struct rnic_port *port);
};

/* The first member of every port. */
struct rnic_port {
    const struct rnic_port_ops *ops;
};

static inline int rnic_port_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn,
                                 void *user, uint64_t now)
{
    return port->ops->recv(port, max, fn, user, now);
}

static inline unsigned rnic_port_send(struct rnic_port *port, struct rnic_frame *frames,
                                      unsigned cnt, uint64_t now)
{
    return port->ops->send(port, frames, cnt, now);
}

static inline uint64_t rnic_port_deadline(const struct rnic_port *port)
{
    return port->ops->deadline(port);
}

static inline unsigned rnic_port_fds(const struct rnic_port *port, struct pollfd *fds)
{
    return port->ops->fds(port, fds);
}

/* The counters of this port and of all behind it. */
void rnic_port_stats(struct rnic_port *port, struct rnic_port_stats *out);
void rnic_port_flush(struct rnic_port *port);
void rnic_port_close(struct rnic_port *port); /* NULL is fine */

#endif

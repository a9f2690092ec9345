/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Port: sends and receives frames. Five kinds of port have this interface. port_pcap uses libpcap
 * on a network interface, and port_shm uses memory shared with other processes. An impairing port
 * (impair_port), a tap port (tap_port) or a recording port (record) works in front of another port.
 * Called by rnic/port/live and by replay.
 *
 * 1. Open a port, and optionally others in front of it. The port in front owns the port behind it.
 * 2. Call rnic_port_arm(), and sleep until a descriptor of rnic_port_fds() is ready or the time
 *    rnic_port_deadline() has come.
 * 3. Call rnic_port_recv() and rnic_port_send(). rnic_port_flush() ends a batch.
 * 4. rnic_port_close() closes the port and the ports that it owns.
 *
 * A frame begins with its Ethernet header and has no FCS. `now` and deadlines are nanoseconds of
 * one monotonic clock that the caller chooses. Time stamps of frames are nanoseconds since 1970
 * (UTC). Only one thread at a time may call functions of a port.
 */
#ifndef PORT_FRAMEIO_PORT_H
#define PORT_FRAMEIO_PORT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum rnic_frame_flags {
    RNIC_FRAME_LOCAL = 1u << 0,   /* received frame: sent by this machine, so it did not cross the
                                   * link */
    RNIC_FRAME_CUT = 1u << 1,     /* received frame: truncated, the frame on the wire was longer */
    RNIC_FRAME_ECHO = 1u << 2,    /* sent frame: the port sets this flag if it will also receive the
                                   * frame */
    RNIC_FRAME_NO_ICRC = 1u << 3, /* received frame: has no ICRC, because it came through shared
                                   * memory and its sender computed none */
};

struct rnic_frame {
    const uint8_t *data;
    uint32_t len;
    unsigned flags;      /* enum rnic_frame_flags */
    uint64_t stamp;      /* capture time, ns of the UTC epoch; 0: unknown */
    const char *comment; /* impairments applied to the frame, for the recording; or NULL */
};

/* Counters of a port, in frames. */
#define RNIC_PORT_COUNTERS(X)                                                                      \
    X(rx_frames, "frames received")                                                                \
    X(rx_dropped, "frames dropped by the kernel: the receive ring was full")                       \
    X(rx_failed, "number of times that a capture handle failed and frames were lost")              \
    X(rx_reopened, "number of times that a failed capture handle was reopened")                    \
    X(tx_frames, "frames sent")                                                                    \
    X(tx_local, "sent frames for an address of this host, over the loopback")                      \
    X(tx_full, "number of times that the transmit ring was full and the sender waited")            \
    X(tx_too_long, "frames dropped: longer than the interface's MTU")                              \
    X(tx_refused, "frames dropped: the transmit ring remained full for milliseconds")              \
    X(tx_no_peer, "frames dropped: no process on the shared memory has the destination address")   \
    X(tx_link_down, "frames dropped: the link is down")                                            \
    X(tx_errors, "frames dropped: another error of the interface")                                 \
    X(impair_lost, "frames dropped by --impair")                                                   \
    X(impair_duplicated, "frames duplicated by --impair")                                          \
    X(impair_reordered, "frames reordered by --impair")                                            \
    X(impair_corrupted, "frames corrupted or changed by --impair")                                 \
    X(impair_marked, "frames marked congestion experienced by --impair")                           \
    X(impair_delayed, "frames delayed by --impair")                                                \
    X(tap_errors, "frames not copied to the interface of --tap")                                   \
    X(record_errors, "frames not written to the recording because of an error")

struct rnic_port_stats {
#define X(name, text) uint64_t name;
    RNIC_PORT_COUNTERS(X)
#undef X
};

/* Receives one frame from rnic_port_recv(). The port owns `frame->data`, which is valid only during
 * the call. */
typedef void rnic_frame_fn(void *user, const struct rnic_frame *frame);

#define RNIC_PORT_FDS 4 /* upper limit of the descriptors of one port */

struct rnic_port;

struct rnic_port_ops {
    /* Passes at most `max` received frames to `fn`, without blocking. Returns the number of frames
     * read, or a negative errno if the port will never receive again. An impairing port can call
     * `fn` more or less often than the returned number. */
    int (*recv)(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user, uint64_t now);
    /* Sends frames in order. Returns how many of them need not be passed again: those sent, and
     * those that can never be sent, which are counted as errors. A result below `cnt` means that
     * the send queue is full. The caller then passes the remaining frames again when a descriptor
     * of fds() is ready or deadline() has come. Returns 0 only if the queue is full. */
    unsigned (*send)(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt, uint64_t now);
    /* Returns the time at which recv() or send() (with `cnt` 0) must be called even if no
     * descriptor is ready. UINT64_MAX: never. */
    uint64_t (*deadline)(const struct rnic_port *port);
    /* Fills `fds`, which has room for RNIC_PORT_FDS, with the descriptors to poll. Returns their
     * number. */
    unsigned (*fds)(const struct rnic_port *port, struct pollfd *fds);
    /* If `on`, each frame received from now on makes a descriptor of fds() ready. Otherwise the
     * port may receive a frame without making a descriptor ready. Returns false if the port already
     * has an unread frame: the caller must not sleep. A port without this function (NULL) always
     * makes a descriptor ready. */
    bool (*arm)(struct rnic_port *port, bool on);
    /* Adds the counters of this port to *out. */
    void (*stats)(struct rnic_port *port, struct rnic_port_stats *out);
    /* Writes buffered data at the end of a batch. May be NULL. */
    void (*flush)(struct rnic_port *port);
    void (*close)(struct rnic_port *port); /* closes this port and the ports that it owns */
    /* Closes the descriptors in a child of fork(), where they are copies of the parent's. Does not
     * change or free anything else. Afterwards the caller must not call any other function of the
     * port. */
    void (*drop)(struct rnic_port *port);
};

/* Base of every port: the first member of its struct. */
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

static inline bool rnic_port_arm(struct rnic_port *port, bool on)
{
    return !port->ops->arm || port->ops->arm(port, on);
}

/* Returns in *out the counters of this port plus those of all ports that it owns. */
void rnic_port_stats(struct rnic_port *port, struct rnic_port_stats *out);
void rnic_port_flush(struct rnic_port *port);
void rnic_port_close(struct rnic_port *port); /* Closes the port and the ports that it owns; `port`
                                               * may be NULL. */

#endif

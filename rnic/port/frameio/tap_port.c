/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/tap_port.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/sys/fd_tag.h"

struct tap_port {
    struct rnic_port port;
    struct rnic_port *behind;
    int fd;
    unsigned ahead; /* number of frames that were copied, but not yet accepted by the next port,
                     * tap->behind */
    struct rnic_port_stats stats;
};

static const struct rnic_port_ops tap_ops;

/* Copies the frames to the interface before the next port, tap->behind, sends them. So the copy of
 * a request precedes the copy of its response. */
static unsigned tap_send(struct rnic_port *front, struct rnic_frame *frames, unsigned cnt,
                         uint64_t now)
{
    struct tap_port *tap = (struct tap_port *)front;
    bool works = rnic_fd_is_tagged(tap->fd); /* the program may have closed the descriptor */
    unsigned done;

    for (; tap->ahead < cnt; tap->ahead++) {
        const struct rnic_frame *frame = &frames[tap->ahead];

        if (!works || send(tap->fd, frame->data, frame->len, MSG_DONTWAIT) < 0)
            tap->stats.tap_errors++;
    }
    done = rnic_port_send(tap->behind, frames, cnt, now);
    tap->ahead -= done;
    return done;
}

static int tap_recv(struct rnic_port *front, unsigned max, rnic_frame_fn *fn, void *user,
                    uint64_t now)
{
    return rnic_port_recv(((struct tap_port *)front)->behind, max, fn, user, now);
}

static uint64_t tap_deadline(const struct rnic_port *front)
{
    return rnic_port_deadline(((const struct tap_port *)front)->behind);
}

static unsigned tap_fds(const struct rnic_port *front, struct pollfd *fds)
{
    return rnic_port_fds(((const struct tap_port *)front)->behind, fds);
}

static bool tap_arm(struct rnic_port *front, bool on)
{
    return rnic_port_arm(((struct tap_port *)front)->behind, on);
}

static void tap_stats(struct rnic_port *front, struct rnic_port_stats *out)
{
    struct tap_port *tap = (struct tap_port *)front;

    out->tap_errors += tap->stats.tap_errors;
    tap->behind->ops->stats(tap->behind, out);
}

static void tap_flush(struct rnic_port *front)
{
    rnic_port_flush(((struct tap_port *)front)->behind);
}

static void tap_close(struct rnic_port *front)
{
    struct tap_port *tap = (struct tap_port *)front;

    rnic_tagged_close(tap->fd);
    rnic_port_close(tap->behind);
    free(tap);
}

static void tap_drop(struct rnic_port *front)
{
    struct tap_port *tap = (struct tap_port *)front;

    rnic_tagged_close(tap->fd);
    tap->behind->ops->drop(tap->behind);
}

/* Opens a socket that sends on the interface and receives nothing. Returns a descriptor or a
 * negative errno. */
static int open_socket(const char *iface)
{
    struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(iface)};
    int fd;
    int error;

    if (addr.sll_ifindex == 0)
        return -ENODEV;
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (rnic_fd_tag(fd) < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

int rnic_tap_port_open(const char *iface, struct rnic_port *behind, struct rnic_port **out,
                       struct error *why)
{
    int fd = open_socket(iface);
    struct tap_port *tap = fd < 0 ? NULL : calloc(1, sizeof(*tap));

    if (!tap) {
        int error = fd < 0 ? fd : -ENOMEM;

        if (fd >= 0)
            close(fd);
        error_set(why, "tap %s: %s", iface, strerror(-error));
        return error;
    }
    tap->port.ops = &tap_ops;
    tap->behind = behind;
    tap->fd = fd;
    *out = &tap->port;
    return 0;
}

static const struct rnic_port_ops tap_ops = {
    .recv = tap_recv,
    .send = tap_send,
    .deadline = tap_deadline,
    .fds = tap_fds,
    .arm = tap_arm,
    .stats = tap_stats,
    .flush = tap_flush,
    .close = tap_close,
    .drop = tap_drop,
};

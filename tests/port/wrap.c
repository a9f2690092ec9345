/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wrap.h"

struct rnic_port *wrap_behind(const struct rnic_port *port)
{
    return ((const struct wrap *)port)->behind;
}

static int wrap_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    return rnic_port_recv(wrap_behind(port), max, fn, user, now);
}

static unsigned wrap_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                          uint64_t now)
{
    return rnic_port_send(wrap_behind(port), frames, cnt, now);
}

static uint64_t wrap_deadline(const struct rnic_port *port)
{
    return rnic_port_deadline(wrap_behind(port));
}

static unsigned wrap_fds(const struct rnic_port *port, struct pollfd *fds)
{
    return rnic_port_fds(wrap_behind(port), fds);
}

static void wrap_close(struct rnic_port *port)
{
    rnic_port_close(wrap_behind(port));
}

void wrap_port(struct wrap *w, struct rnic_port *behind)
{
    w->ops = (struct rnic_port_ops){.recv = wrap_recv,
                                    .send = wrap_send,
                                    .deadline = wrap_deadline,
                                    .fds = wrap_fds,
                                    .close = wrap_close};
    w->port.ops = &w->ops;
    w->behind = behind;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Wrap: a port before another that does what that one does, until a test puts a function of its own
 * in `ops`. It has no counters and is not for fork().
 */
#ifndef TEST_WRAP_H
#define TEST_WRAP_H

#include "port/frameio/port.h"

/* The first member of a test's own port. */
struct wrap {
    struct rnic_port port;
    struct rnic_port_ops ops;
    struct rnic_port *behind; /* closed with this one */
};

/* `behind` belongs to `w` from then on; `w` must stay where it is. */
void wrap_port(struct wrap *w, struct rnic_port *behind);

/* What is behind a port that is a wrap. */
struct rnic_port *wrap_behind(const struct rnic_port *port);

#endif

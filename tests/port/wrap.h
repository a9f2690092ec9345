/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Wrap: a port in front of another port. It passes all calls on, until a test replaces a
 * function in `ops`. It has no counters and does not support fork().
 */
#ifndef TEST_WRAP_H
#define TEST_WRAP_H

#include "port/frameio/port.h"

/* A wrapped port. A test's own port has this struct as its first member. */
struct wrap {
    struct rnic_port port;
    struct rnic_port_ops ops;
    struct rnic_port *behind; /* port behind the wrap; closed together with it */
};

/* Initializes the wrap. `behind` then belongs to `w`, which must not move in memory. */
void wrap_port(struct wrap *w, struct rnic_port *behind);

/* Returns the port behind a wrap. */
struct rnic_port *wrap_behind(const struct rnic_port *port);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairing port: a port in front of another that loses, duplicates, delays, reorders and changes
 * frames by the rules of impair/impair_rule.h. Frames sent and frames received have separate random
 * sequences, so that the same seed impairs the same frames whatever arrives meanwhile.
 */
#ifndef RNIC_PORT_FRAMEIO_IMPAIR_PORT_H
#define RNIC_PORT_FRAMEIO_IMPAIR_PORT_H

#include "base/error.h"
#include "port/frameio/port.h"

/* Opens an impairing port in front of `behind`, which the new port owns; on failure it stays the
 * caller's. Returns 0, -EINVAL for a wrong text, or -ENOMEM. */
int rnic_impair_port_open(const char *text, uint64_t seed, struct rnic_port *behind,
                          struct rnic_port **out, struct error *why);

#endif

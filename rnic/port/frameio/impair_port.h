/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairing port: a port in front of another port. It loses, duplicates, delays, reorders and
 * changes frames by the rules of impair/impair_rule.h. Sent and received frames have separate
 * random sequences. So, with the same seed, the same sent frames are impaired in the same way,
 * whatever frames are received between them.
 */
#ifndef RNIC_PORT_FRAMEIO_IMPAIR_PORT_H
#define RNIC_PORT_FRAMEIO_IMPAIR_PORT_H

#include "base/error.h"
#include "port/frameio/port.h"

/* Opens an impairing port in front of the port `behind`, with the impairment rules in `text`.
 * Returns 0, -EINVAL if `text` is not a valid list of rules, or -ENOMEM. On success the new port
 * owns `behind`; on failure the caller keeps it. */
int rnic_impair_port_open(const char *text, uint64_t seed, struct rnic_port *behind,
                          struct rnic_port **out, struct error *why);

/* Makes an impairing port count its dropped frames in the tally file at `path`. A tally file has
 * counters that rnic-run shares with the programs that it runs (port/sys/tally.h). Does nothing if
 * the file cannot be opened. */
void rnic_impair_port_count(struct rnic_port *port, const char *path);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Record: a port in front of another that writes every frame that passes to a pcapng file, with
 * interface name, nanoseconds, direction and comments. It is used by port/live/attach.c.
 *
 * Each port writes a file of its own, FOLDER/<pid>-<number>.pcapng. pcapng_join() makes one file of
 * them when the programs have ended, and pcapng_merge.h while they run. An exclusive flock() on the
 * file shows that it still grows.
 *
 * A sent frame is written once the port behind took it, a received one before anybody reads it. A
 * frame that this port itself receives again is written once, when it comes back. Each batch is in
 * the file before the next one moves: a process that is killed leaves a file that is readable up to
 * the kill. Marks (pcapng_merge.h) stand before the first time of a batch and behind its last.
 */
#ifndef PORT_FRAMEIO_RECORD_H
#define PORT_FRAMEIO_RECORD_H

#include "port/frameio/port.h"

struct rnic_record_attr {
    const char *folder; /* made if it does not exist; its parent must exist */
    const char *iface;  /* name of the interface */
    bool shared;        /* leave frames of other local processes to those */
};

/* The new port owns `behind` (on failure it stays the caller's). 0, or a negative errno and why. */
int rnic_record_open(const struct rnic_record_attr *attr, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Record: a port in front of another that writes every frame that passes to a pcapng file
 * (draft-ietf-opsawg-pcapng): interface name, nanoseconds, direction, comments.
 *
 * What is sent is written once the port behind took it, what is received before anybody looks at
 * it; a frame this port itself receives again is written once, when it comes back. Each batch is in
 * the file before the next one moves: a process that is killed leaves a whole file.
 *
 * Several processes may write to one file: it has one section, each looks its interface up or adds
 * it, and a batch is appended in one piece.
 *
 * Into a folder each port writes a file of its own, <pid>-<number>.pcapng, with marks before the
 * first time of a batch and behind its last (pcapng.h): so others can follow what several processes
 * write, in the order of its times (pcapng_merge.h).
 */
#ifndef PORT_FRAMEIO_RECORD_H
#define PORT_FRAMEIO_RECORD_H

#include "port/frameio/port.h"

struct rnic_record_attr {
    const char *path;  /* a file, made if it is not there, else appended to; or a folder */
    const char *iface; /* name of the interface */
    bool shared;       /* leave frames of other local processes to those */
};

/* The new port owns `behind` (on failure it stays the caller's). -EINVAL if the file there is not
 * one that frames of Ethernet can be appended to. */
int rnic_record_open(const struct rnic_record_attr *attr, struct rnic_port *behind,
                     struct rnic_port **out, struct error *why);

#endif

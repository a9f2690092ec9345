/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Netns: a private network namespace for a program and its children. Creating it needs no
 * privileges. */
#ifndef TOOLS_NETNS_H
#define TOOLS_NETNS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether this process, and the programs that it exec()s, may open raw packet sockets in
 * the current network namespace. */
bool netns_may_capture(void);

/* Returns whether an interface of the current network namespace is up. A new namespace of a
 * container has none. True if the interfaces cannot be read. */
bool netns_has_link(void);

/*
 * Moves this process to a new network namespace. If that needs privileges, first moves the process
 * to a new user namespace, in which it keeps its user and group.
 *
 * The namespace contains the loopback interface, which is up. It also contains a link NETNS_LINK
 * with address NETNS_ADDRESS and an MTU for 4096 bytes of payload, unless the kernel cannot create
 * such a link. Programs that this process exec()s keep CAP_NET_RAW. Returns 0, or -1 with one line
 * in `why`.
 */
#define NETNS_LINK    "rnic0"
#define NETNS_ADDRESS "10.0.0.1"
int netns_enter(char *why, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Netns: a network of one's own for a program and its children, without privileges. */
#ifndef TOOLS_NETNS_H
#define TOOLS_NETNS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this process may open a port in its network namespace, and exec()ed programs may too. */
bool netns_may_capture(void);

/*
 * Moves this process to a new network namespace, and, unless it may do that as it is, to a new user
 * namespace first, in which it keeps its user and group. There: the loopback, up, and a link of its
 * own: NETNS_LINK with NETNS_ADDRESS, MTU for 4096 bytes of payload; where the kernel cannot make
 * one, the loopback alone. What is exec()ed keeps CAP_NET_RAW. 0, or -1 and a line in `why`.
 */
#define NETNS_LINK    "rnic0"
#define NETNS_ADDRESS "10.0.0.1"
int netns_enter(char *why, size_t len);

#endif

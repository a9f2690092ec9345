/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Netns: network namespaces for tests. A namespace ends with its processes, so that no namespace
 * remains after a test. Without root, user namespaces are used.
 */
#ifndef TEST_NETNS_H
#define TEST_NETNS_H

#include <stdbool.h>
#include <sys/types.h>
#include "support/suite.h"

#define NETNS_SKIP SUITE_SKIP /* exit status of a test that cannot run here */

/* Moves this process into a new network namespace with the loopback up. Returns false, and prints
 * the reason on stderr, if that is not permitted. */
bool netns_enter(void);

/* Runs a shell command. Returns false, and prints the command on stderr, if it fails. */
__attribute__((format(printf, 1, 2))) bool netns_sh(const char *format, ...);

/* Forks a child into a new network namespace with the loopback up. Returns 0 in the child. In the
 * parent, returns the child's PID once the namespace exists, or -1. */
pid_t netns_fork(void);

/* Waits for a child. Returns its exit status, or 128 + the signal that ended it. */
int netns_wait(pid_t pid);

#endif

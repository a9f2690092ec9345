/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sigint: handles Ctrl-C while a capture is read. The first Ctrl-C ends the reading, but not the
 * command. The command then reports on the part of the capture that it has read. A terminal sends
 * SIGINT to all programs of a pipeline, and tcpdump then writes its last packets. So after Ctrl-C,
 * a pipe is read until its end, but at most for one more second. The second Ctrl-C ends the
 * program. Used by check, and by the readers of pipes.
 *
 *   1. sigint_begin(),
 *   2. sigint_received() and sigint_wait_readable() while reading,
 *   3. sigint_end().
 */
#ifndef REPLAY_UTIL_SIGINT_H
#define REPLAY_UTIL_SIGINT_H

#include <stdbool.h>

/* Catches SIGINT and SIGTERM, unless they are ignored, until sigint_end(). */
void sigint_begin(void);
void sigint_end(void);

/* Returns whether SIGINT or SIGTERM was received since sigint_begin(). */
bool sigint_received(void);

/* Waits until the descriptor can be read, and returns true. Returns false if a signal was received
 * more than a second ago; the caller then stops reading. */
bool sigint_wait_readable(int fd);

#endif

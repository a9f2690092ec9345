/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Interrupt: Ctrl-C while a capture is read ends the capture, and what came is reported. It ends
 * the programs of a pipeline all at once, and tcpdump writes its last packets then: a pipe is read
 * until it ends, or for a second. The second Ctrl-C ends the program.
 */
#ifndef REPLAY_UTIL_SIGINT_H
#define REPLAY_UTIL_SIGINT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are waited for, unless they are ignored; until sigint_end(). */
void sigint_begin(void);
void sigint_end(void);

/* Whether one came, between those two. */
bool sigint_received(void);

/* Waits until the descriptor can be read. False: one came, and this is the end. */
bool sigint_wait_readable(int fd);

#endif

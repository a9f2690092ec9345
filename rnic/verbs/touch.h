/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Touch: is memory still there? Hardware pins the pages of a region, so that a program may unmap
 * what it registered. Here a request that comes to such bytes fails, and the program lives on:
 * whoever moves bytes touches their pages first, and a page that is not there is a signal that this
 * takes. All other faults go where they went before.
 */
#ifndef VERBS_TOUCH_H
#define VERBS_TOUCH_H

#include <stdbool.h>
#include <stddef.h>

/* Takes SIGSEGV and SIGBUS, if another has them now; false if that is not possible any more. */
bool touch_prepare(void);

/*
 * Whether each page of [addr, addr + len), which is short, may be read, or written if `write`. What
 * the bytes are does not change, whoever else writes them meanwhile.
 *
 * A program may install handlers of its own, and a thread may block the signals: the kernel would
 * end the process, as it does for the fault itself. So each thread looks every few milliseconds.
 * Handlers that came are taken as well, four in a row; where that is not possible, and in a thread
 * that blocks a signal, the kernel is asked, which costs a system call. What changed less long ago
 * may be missed.
 */
bool touch_memory(const void *addr, size_t len, bool write);

#endif

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

/* Takes SIGSEGV and SIGBUS, if another has them now. A program that installs handlers of its own
 * later has them, and a touch of memory that is gone ends there. */
void touch_prepare(void);

/* Whether each page of [addr, addr + len), which is short, may be read, or written if `write`. What
 * the bytes are does not change, whoever else writes them meanwhile. Not in a thread that blocks
 * SIGSEGV or SIGBUS: the kernel would end the process, as it does for the fault itself. */
bool touch_memory(const void *addr, size_t len, bool write);

#endif

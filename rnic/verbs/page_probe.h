/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page probe: checks that memory of the program is still mapped.
 *
 * Hardware pins the pages of a memory region, so a program may unmap memory that it registered.
 * This device reads and writes through the program's mappings, and therefore checks them:
 *
 * 1. ibv_open_device() calls page_probe_open_proc() and page_probe_install() once.
 * 2. ibv_reg_mr() calls page_probe_region(), which checks that the whole region is mapped with the
 *    right access.
 * 3. Before the device copies bytes of a packet, it calls page_probe_touch() for their pages. A
 *    missing page raises a signal. The handler of this file converts the signal into the result
 *    "false": the request fails, and the program continues. All other faults are passed to the
 *    program's handlers.
 */
#ifndef VERBS_PAGE_PROBE_H
#define VERBS_PAGE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens /proc, for programs that change their root directory later. May be called repeatedly. */
void page_probe_open_proc(void);

/* Returns 0 if all of [addr, addr + len) is mapped and readable, and writable if `write`; else
 * EFAULT. Without /proc the function finds only unmapped pages. For a few pages the function asks
 * the kernel; for more pages it reads the list of mappings, so a gigabyte costs as much as a
 * megabyte. The program may unmap the memory later: see page_probe_touch(). */
int page_probe_region(const void *addr, size_t len, bool write);

/* Faults in the pages of [addr, addr + len), for reading or for writing. Returns 0, or EFAULT if a
 * page is unmapped or has wrong rights. */
int page_probe_populate(const void *addr, size_t len, bool write);

/* Installs handlers for SIGSEGV and SIGBUS, unless they are installed. Returns false if no level
 * for a replaced handler is left. */
bool page_probe_install(void);

/*
 * Returns whether each page of [addr, addr + len), which is short, may be read, or written if
 * `write`. The function changes no bytes, even if other threads write them at the same time.
 *
 * A program may install its own handlers later, and a thread may block the signals; the kernel
 * would then end the process. So each thread checks its handlers and blocked signals every few
 * milliseconds. The thread replaces handlers of the program again, up to four times. If it cannot
 * replace a handler, or if it blocks a signal, it asks the kernel about the pages, which costs a
 * system call. The thread may miss a change of the last few milliseconds.
 */
bool page_probe_touch(const void *addr, size_t len, bool write);

#endif

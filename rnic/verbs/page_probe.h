/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page probe: whether memory of the program is there.
 *
 * Hardware pins the pages of a memory region, so that a program may unmap what it registered. This
 * device reads and writes through the program's own mappings, and must find out:
 *
 *   1. ibv_open_device() calls page_probe_open_proc() and page_probe_install() once.
 *   2. ibv_reg_mr() calls page_probe_region(): the whole region is mapped with the right access.
 *   3. Before the device moves bytes of a packet it calls page_probe_touch() for their pages. A
 *      page that is gone raises a signal, which the handler of this file turns into "false": the
 *      request fails, and the program lives on. All other faults go to the program's handlers.
 */
#ifndef VERBS_PAGE_PROBE_H
#define VERBS_PAGE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* To be called before the program may change its root folder; more than once is no mistake. */
void page_probe_open_proc(void);

/*
 * 0 if all of [addr, addr + len) is mapped and readable, and writable if `write`; EFAULT if not.
 * Without /proc only holes are found. Of a few pages the kernel is asked; else it costs the same
 * for a megabyte as for a gigabyte: it reads the list of mappings, not the pages. Says nothing
 * about later: that is page_probe_touch().
 */
int page_probe_region(const void *addr, size_t len, bool write);

/* The same of [addr, addr + len), which is short and not empty, with what is known of its pages
 * alone: a page of a file that was cut is not there. Before Linux 5.14 that is not told. */
bool page_probe_pages(const void *addr, size_t len, bool write);

/* Takes SIGSEGV and SIGBUS, if another has them now; false if that is not possible any more. */
bool page_probe_install(void);

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
bool page_probe_touch(const void *addr, size_t len, bool write);

#endif

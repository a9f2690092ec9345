/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Probe: is memory there? What a kernel finds out when it pins the pages of a region. */
#ifndef VERBS_PROBE_H
#define VERBS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* To be called before the program may change its root folder; more than once is no mistake. */
void probe_prepare(void);

/*
 * 0 if all of [addr, addr + len) is mapped and readable, and writable if `write`; EFAULT if not.
 * Without /proc only holes are found. Of a few pages the kernel is asked; else it costs the same
 * for a megabyte as for a gigabyte: it reads the list of mappings, not the pages. Says nothing
 * about later: that is touch.h.
 */
int probe_memory(const void *addr, size_t len, bool write);

/* The same of [addr, addr + len), which is short and not empty, with what is known of its pages
 * alone: a page of a file that was cut is not there. Before Linux 5.14 that is not told. */
bool probe_pages(const void *addr, size_t len, bool write);

#endif

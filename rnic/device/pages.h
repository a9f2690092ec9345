/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pages: large pieces of zeroed memory that the system may back with huge pages. Memory that
 * packets touch at random costs, more than the bytes themselves, the translation of its addresses:
 * with 100,000 QPs, a packet takes a quarter less time when the map of QPNs is in huge pages as the
 * QPs are (tests/bench/bench_transport).
 */
#ifndef RNIC_PAGES_H
#define RNIC_PAGES_H

#include <stddef.h>

#define RNIC_HUGE_PAGE ((size_t)2 << 20)

/* At least `len` zero bytes that begin at a cache line, at a huge page if they are one or more;
 * NULL without memory. */
void *rnic_pages_get(size_t len);

/* Gives them back; `len` as they were got. NULL is fine. */
void rnic_pages_put(void *pages, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Large blocks of zeroed memory, preferably in huge pages. If packets access memory at random,
 * address translation costs more than the access. With 100,000 QPs, huge pages for the map of QPNs
 * save a quarter of the time of a packet (tests/bench/bench_transport; the QPs are in huge pages,
 * too).
 */
#ifndef RNIC_PAGES_H
#define RNIC_PAGES_H

#include <stddef.h>

#define RNIC_HUGE_PAGE ((size_t)2 << 20)

/* Returns at least `len` zeroed bytes, or NULL if out of memory. The block is aligned to a cache
 * line, or to a huge page if it is at least that large. */
void *rnic_pages_get(size_t len);

/* Frees a block of `len` bytes, the length passed to rnic_pages_get(). Accepts NULL. */
void rnic_pages_put(void *pages, size_t len);

#endif

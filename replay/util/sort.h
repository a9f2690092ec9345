/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sort: qsort() for arrays that are usually sorted already, as lists of packets in capture order
 * are. Checking the order costs one comparison for each element; qsort() would need many.
 */
#ifndef REPLAY_UTIL_SORT_H
#define REPLAY_UTIL_SORT_H

#include <stdlib.h>

/* Sorts `cnt` elements of `size` bytes. `base` may be NULL if `cnt` is 0. */
static inline void sort_if_needed(void *base, size_t cnt, size_t size,
                                  int (*cmp)(const void *, const void *))
{
    const char *at = base;

    for (size_t i = 1; i < cnt; i++, at += size)
        if (cmp(at, at + size) > 0) {
            qsort(base, cnt, size, cmp);
            return;
        }
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Lower bound: the binary search in a sorted vector. */
#ifndef REPLAY_UTIL_LOWER_BOUND_H
#define REPLAY_UTIL_LOWER_BOUND_H

/* Searches the indices from the variable `low` to `high` - 1, where `high` is a variable of the
 * same type. `precedes` is an expression of the index `mid`, which the macro declares. It must be
 * true up to some index, and false from there on. Sets `low` and `high` to the first index for
 * which `precedes` is false, or to `high` if there is none. */
#define LOWER_BOUND(low, high, mid, precedes)                                                      \
    while (low < high) {                                                                           \
        const __typeof__(low) mid = low + (high - low) / 2;                                        \
                                                                                                   \
        if (precedes)                                                                              \
            low = mid + 1;                                                                         \
        else                                                                                       \
            high = mid;                                                                            \
    }

#endif

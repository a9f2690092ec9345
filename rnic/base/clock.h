/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Clock: reads the clocks of the system, and converts nanoseconds to the types of the C library.
 * Only programs and ports use this header: rnic/wire, rnic/flow, rnic/transport and rnic/device
 * read no clock. */
#ifndef RNIC_BASE_CLOCK_H
#define RNIC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Converts a time or a duration in nanoseconds to a struct timespec. */
static inline struct timespec rnic_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

/* Returns the time of a clock, ns. A signal handler may call it. */
static inline uint64_t rnic_clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the time `ns` after the present time on CLOCK_MONOTONIC, the clock for all waits. This
 * clock does not change when the time of day is set. */
static inline struct timespec rnic_time_after(uint64_t ns)
{
    return rnic_timespec(rnic_clock_ns(CLOCK_MONOTONIC) + ns);
}

/* Returns the time of day (UTC) minus CLOCK_MONOTONIC, ns. Only setting the time of day changes it.
 * If the thread is interrupted between the readings of the two clocks, the difference is wrong. So
 * the function repeats readings that take more than 2 us, at most 100 times. */
static inline uint64_t rnic_utc_offset(void)
{
    uint64_t before, utc, after;
    unsigned tries = 0;

    do {
        before = rnic_clock_ns(CLOCK_MONOTONIC);
        utc = rnic_clock_ns(CLOCK_REALTIME);
        after = rnic_clock_ns(CLOCK_MONOTONIC);
    } while (after - before > 2000 && ++tries < 100);
    return utc - before;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Clock: converts nanoseconds to the types of the C library, and limits waits on descriptors that
 * the program may have closed. */
#ifndef PORT_SYS_CLOCK_H
#define PORT_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Converts a time or a duration in nanoseconds to a struct timespec. */
static inline struct timespec rnic_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

static inline uint64_t rnic_clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the time `ns` from now on CLOCK_MONOTONIC, the clock for all waits: it goes on evenly
 * when the time of day is set. */
static inline struct timespec rnic_time_after(uint64_t ns)
{
    return rnic_timespec(rnic_clock_ns(CLOCK_MONOTONIC) + ns);
}

/* Returns the time of day (UTC) minus CLOCK_MONOTONIC, ns. Only setting the time of day changes it.
 * An interruption between the two readings would spoil the result, so the function repeats them. */
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

/*
 * Limits of a wait on the device's descriptors, ns. A program may close descriptors that it did not
 * open (closefrom(3)), and other files may get their numbers. The device is then lost, as with
 * hardware. A thread that waits on these descriptors must neither sleep forever nor use a CPU all
 * the time. So the thread waits at most RNIC_LOOK_NS and then checks the descriptors. If they are
 * closed, the thread sleeps RNIC_BLIND_NS between two checks.
 */
#define RNIC_LOOK_NS  UINT64_C(2000000000)
#define RNIC_BLIND_NS UINT64_C(100000000)

static inline struct timespec rnic_look_for(uint64_t left_ns)
{
    return rnic_timespec(left_ns < RNIC_LOOK_NS ? left_ns : RNIC_LOOK_NS);
}

static inline void rnic_nap_blind(uint64_t left_ns)
{
    const struct timespec nap = rnic_timespec(left_ns < RNIC_BLIND_NS ? left_ns : RNIC_BLIND_NS);

    nanosleep(&nap, NULL);
}

#endif

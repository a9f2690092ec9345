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

/* Returns the time `ns` from now on the realtime clock. pthread_mutex_timedlock() uses that clock.
 */
static inline struct timespec rnic_day_after(uint64_t ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return rnic_timespec((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ns);
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

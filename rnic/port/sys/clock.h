/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Clock: nanoseconds as the calls of the C library want them, and how long a thread waits that
 * nothing may wake. */
#ifndef PORT_SYS_CLOCK_H
#define PORT_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A time or a duration. */
static inline struct timespec rnic_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

/* So long from now by the clock of the day, which pthread_mutex_timedlock() goes by. */
static inline struct timespec rnic_day_after(uint64_t ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return rnic_timespec((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ns);
}

/*
 * A program may close all descriptors that it does not know (closefrom(3)); others may have their
 * numbers then. As with hardware its device is lost, but a thread that waits on them must neither
 * sleep for ever nor cost a CPU: it waits for RNIC_LOOK_NS at most, and where they are closed it
 * takes a nap between two looks.
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

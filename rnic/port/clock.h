/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Clock: nanoseconds as the calls of the C library want them. */
#ifndef RNIC_PORT_CLOCK_H
#define RNIC_PORT_CLOCK_H

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

#endif

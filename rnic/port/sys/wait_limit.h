/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Limits of a wait on the device's descriptors. A program may close descriptors that it did not
 * open (closefrom(3)), and other files may get their numbers. The device is then lost, as with
 * hardware. A thread that waits on these descriptors must neither sleep forever nor use a CPU all
 * the time. So the thread waits at most RNIC_LOOK_NS and then checks the descriptors. If they are
 * closed, the thread sleeps RNIC_BLIND_NS between two checks.
 */
#ifndef PORT_SYS_WAIT_LIMIT_H
#define PORT_SYS_WAIT_LIMIT_H

#include "base/clock.h"

#define RNIC_LOOK_NS UINT64_C(2000000000) /* longest wait on the descriptors, ns */
/* longest time between two checks if the descriptors are closed, ns */
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Detects that the program has closed the device's descriptors. The device is then lost, like a
 * hardware device whose file the program closes. The device sends no more frames and its threads
 * end. No descriptor is closed, because other files may now have the numbers. The memory of libpcap
 * and of a recording is therefore not freed.
 */
#include "port/live/live_impl.h"
#include "port/sys/event_fd.h"

/* Time between two checks of the descriptors, ns. A program that has closed the device's
 * descriptors rarely opens other files under their numbers within this time. */
#define LOOK_NS 1000000u

static void lose(struct rnic_live *live)
{
    live->attached = false;
    live->fds_closed = true;
    live->stop = true;
    live->wire_port = NULL;
    live->watch_fd = live->answer_fd = -1;
    live->udp_reserve.fd[0] = live->udp_reserve.fd[1] = -1;
    pthread_mutex_lock(&live->small_lock);
    live->gsi_fd = -1;
    pthread_mutex_unlock(&live->small_lock);
    for (unsigned i = 0; i < RNIC_LIVE_GROUPS; i++)
        live->group[i].fd = -1;
    rnic_qpn_alloc_forget(&live->qpns);
    if (live->attr.changed)
        live->attr.changed(live->attr.user, live->rnic, RNIC_CHANGE_GONE);
}

bool live_is_attached(struct rnic_live *live, uint64_t now)
{
    if (!live->attached || now < live->fds_checked_at + LOOK_NS)
        return live->attached;
    live->fds_checked_at = now;
    if (!rnic_fd_is_tagged(live->wake_fd))
        lose(live);
    return live->attached;
}

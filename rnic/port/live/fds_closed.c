/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A device whose descriptors the program has closed: it is lost, as a device in hardware is to who
 * closes its file. Nothing is sent any more, the threads end, and nothing is closed, as the numbers
 * may be those of other files: what libpcap and a recording have in memory stays.
 */
#include "port/sys/event_fd.h"
#include "port/live/live_impl.h"

#define LOOK_NS 1000000u /* who closes them rarely has sockets of its own sooner */

static void lose(struct rnic_loop *loop)
{
    loop->plugged = false;
    loop->lost = true;
    loop->stop = true;
    loop->live = NULL;
    loop->watch_fd = loop->answer_fd = -1;
    loop->guard.fd[0] = loop->guard.fd[1] = -1;
    pthread_mutex_lock(&loop->small);
    loop->gsi_fd = -1;
    pthread_mutex_unlock(&loop->small);
    for (unsigned i = 0; i < RNIC_LOOP_GROUPS; i++)
        loop->group[i].fd = -1;
    rnic_qpns_forget(&loop->qpns);
    if (loop->attr.changed)
        loop->attr.changed(loop->attr.user, loop->rnic, RNIC_CHANGE_GONE);
}

bool loop_there(struct rnic_loop *loop, uint64_t now)
{
    if (!loop->plugged || now < loop->looked_at + LOOK_NS)
        return loop->plugged;
    loop->looked_at = now;
    if (!rnic_marked(loop->wake_fd))
        lose(loop);
    return loop->plugged;
}

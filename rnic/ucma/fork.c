/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fork: a child does not inherit the rdma_cm ids of its parent. In the kernel, an id belongs to the
 * open file, which parent and child share. Here, an id belongs to the process that opened the
 * device. If the child uses a channel of its parent, the call fails with ENODEV. Only
 * rdma_destroy_id() succeeds: it frees the child's copy of the id. Channels and ids that the child
 * creates work normally, also with the contexts and PDs that librdmacm has from the parent
 * (vctx_renew). No known program of Debian opens a device and then forks to become a daemon: fio,
 * qemu, tgtd and ceph-osd fork first.
 */
#include <time.h>
#include "base/clock.h"
#include "ucma/ucma.h"

/* Time after a fork in which the parent waits for a registry name that is still claimed, ns. A name
 * stays claimed until the child has closed its copy of the parent's socket, which it does right
 * after the fork. */
#define CHILD_START_NS UINT64_C(200000000)
#define POLL_NS        UINT64_C(2000000)

static rnic_time forked_at; /* time of the last fork of this process; 0: none */

static void before_fork(void)
{
    pthread_mutex_lock(&uc_lock);
}

static void after_fork_parent(void)
{
    forked_at = rnic_live_now();
    pthread_mutex_unlock(&uc_lock);
}

static void after_fork_child(void)
{
    pthread_mutex_init(&uc_lock, NULL);
    forked_at = 0;
    uc_worker_forked();
    uc_ids_forked();
    uc_ports_forked();
    uc_files_forked();
}

void uc_register_fork_handlers(void)
{
    vctx_register_fork_handlers();
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

bool uc_wait_for_child(void)
{
    const struct timespec pause = rnic_timespec(POLL_NS);
    if (forked_at == 0 || rnic_live_now() - forked_at > CHILD_START_NS)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

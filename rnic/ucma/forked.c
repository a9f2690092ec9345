/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Forked: what a child of fork() has of its parent's ids. In the kernel they live with the open
 * file, which is both's. Here they are in the memory of a process that has the device, its names
 * and its QPs, so they stay with the parent. The child's copies are asleep: not told of anything,
 * and calls for them fail with EBUSY, but for rdma_destroy_id(), which gives up the copy. The
 * child's own channels and ids are as any. When the parent is gone (a program that listens and then
 * makes itself a daemon) they wake and go on as they were at the fork; so does the device
 * (port/live.h). So a parent that ends leaves them, if a child has copies still: that child holds
 * the writing end of a pipe. One that became another program does not, for the pipe is closed then.
 *
 * So processes that all take from one channel, made before they were (prefork), are not served
 * while the parent lives: one could be given a request, but what follows is bound to the parent.
 * The engine that answers for the id, its timers and the port that the peer's MADs come to are in
 * the parent, and so are the PD, the CQ and the QP of a context that was opened before the fork: a
 * child has none of them but by asking the parent for each work request. A server of many processes
 * makes its channel and listens in each, on ports of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "port/sys/clock.h"
#include "ucma/ucma.h"
#include "verbs/device.h"

#define TRY_FIRST_NS UINT64_C(4000000) /* between two tries, doubled up to RNIC_LOOK_NS */

/* An end of a pipe: a program that closes what it does not know may have others under its number.
 */
struct lease_end {
    int fd; /* -1: none */
    ino_t ino;
};

/* What one process had when it forked. */
struct uc_sleep {
    struct uc_sleep *next;
    pid_t owner;
    int fd; /* readable when that one has ended; -1: it has to be tried */
    struct lease_end lease;
    struct uc_port *ports;
    rnic_time next_try, pause;
};

bool uc_met_asleep;

static struct uc_sleep *sleeps;
static pid_t forker;
static rnic_time forked_at; /* of this process; 0: never */
static unsigned forks;      /* of this process, while it had ids */

/* Children of this process have the writing end, as long as they have copies of its ids. */
static struct lease_end reading = {.fd = -1}, writing = {.fd = -1};

static bool is_lease(const struct lease_end *end)
{
    struct stat is;
    return end->fd >= 0 && fstat(end->fd, &is) == 0 && S_ISFIFO(is.st_mode) &&
           is.st_ino == end->ino;
}

static void close_lease(struct lease_end *end)
{
    if (is_lease(end))
        close(end->fd);
    end->fd = -1;
}

static void open_lease(void)
{
    int fd[2];
    struct stat is;
    if (is_lease(&reading) || pipe2(fd, O_CLOEXEC) != 0)
        return;
    fstat(fd[0], &is);
    reading = (struct lease_end){fd[0], is.st_ino};
    writing = (struct lease_end){fd[1], is.st_ino};
}

/* ---- falling asleep -------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&uc_lock);
    forker = getpid();
    if (uc_ids)
        open_lease();
}

static void parent_forked(void)
{
    forked_at = rnic_live_now();
    forks += uc_ids != NULL;
    pthread_mutex_unlock(&uc_lock);
}

static int open_process(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

/* An id without device and names is the child's as well as the parent's. */
static bool is_local(const struct uc_id *id)
{
    return !id->port && !id->cm && !id->claims && !id->listeners;
}

/* What the process had that forked; NULL if nothing. What slept there sleeps on. */
static struct uc_sleep *put_to_sleep(void)
{
    struct uc_sleep *sleep = uc_port_first() ? calloc(1, sizeof *sleep) : NULL;
    if (!sleep)
        return NULL;
    sleep->owner = forker;
    sleep->fd = open_process(forker);
    sleep->lease = writing;
    writing.fd = -1;
    sleep->pause = TRY_FIRST_NS;
    sleep->ports = uc_ports_take();
    sleep->next = sleeps;
    sleeps = sleep;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        if (!id->asleep && !is_local(id)) {
            id->asleep = sleep;
            uc_claims_drop(id);
        }
    return sleep;
}

/* Names are let go of, so that they are free when the parent gives them up. A thread waits for its
 * end: the program may wait in poll(2), and never call. */
static void child_forked(void)
{
    pthread_mutex_init(&uc_lock, NULL);
    uc_worker_forked();
    put_to_sleep();
    uc_files_forked();
    close_lease(&reading);
    close_lease(&writing);
    forked_at = 0;
    forks = 0;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        id->forks = 0;
    if (sleeps)
        (void)uc_worker_start();
}

void uc_watch_forks(void)
{
    vctx_register_fork_handlers();
    pthread_atfork(before_fork, parent_forked, child_forked);
}

/* ---- waking ---------------------------------------------------------------------------------- */

unsigned uc_sleep_fds(struct pollfd *fds, unsigned max)
{
    unsigned cnt = 0;
    for (const struct uc_sleep *sleep = sleeps; sleep && cnt < max; sleep = sleep->next)
        if (sleep->fd >= 0)
            fds[cnt++] = (struct pollfd){.fd = sleep->fd, .events = POLLIN};
    return cnt;
}

/* Also if nothing tells: then it has to be tried. */
static bool owner_ended(struct uc_sleep *sleep)
{
    struct pollfd fd = {.fd = sleep->fd, .events = POLLIN};
    if (sleep->fd >= 0 && poll(&fd, 1, 0) == 0)
        return false;
    if (sleep->fd >= 0)
        close(sleep->fd);
    sleep->fd = -1;
    return true;
}

/* The names of all that sleep so, or none. */
static bool claim_all(const struct uc_sleep *sleep)
{
    struct uc_id *id = uc_ids;
    while (id && (id->asleep != sleep || uc_claims_restore(id)))
        id = id->next;
    if (!id)
        return true;
    for (struct uc_id *done = uc_ids; done != id; done = done->next)
        if (done->asleep == sleep)
            uc_claims_drop(done);
    return false;
}

/* Whether it could; else another child was quicker, or the owner's end is not whole yet. */
static bool wake(struct uc_sleep *sleep)
{
    if (!uc_ports_run(sleep->ports) || !claim_all(sleep))
        return false;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        if (id->asleep == sleep)
            id->asleep = NULL;
    uc_ports_give(sleep->ports);
    uc_files_wake();
    return true;
}

rnic_time uc_wake_inherited(rnic_time now)
{
    rnic_time until = RNIC_NEVER;
    for (struct uc_sleep **at = &sleeps, *sleep; (sleep = *at) != NULL;) {
        if (!owner_ended(sleep)) {
            until = until < now + RNIC_LOOK_NS ? until : now + RNIC_LOOK_NS;
        } else if (now >= sleep->next_try && wake(sleep)) {
            *at = sleep->next;
            close_lease(&sleep->lease);
            free(sleep);
            continue;
        } else {
            if (now >= sleep->next_try) {
                sleep->next_try = now + sleep->pause;
                sleep->pause = sleep->pause < RNIC_LOOK_NS / 2 ? 2 * sleep->pause : RNIC_LOOK_NS;
            }
            until = until < sleep->next_try ? until : sleep->next_try;
        }
        at = &sleep->next;
    }
    return until;
}

void uc_gave_up(struct uc_sleep *sleep)
{
    const struct uc_id *id = uc_ids;
    while (id && id->asleep != sleep)
        id = id->next;
    if (!id)
        close_lease(&sleep->lease);
}

/* ---- in the parent --------------------------------------------------------------------------- */

#define LET_GO_NS UINT64_C(200000000)
#define LOOK_NS   UINT64_C(2000000)

unsigned uc_forks(void)
{
    return forks;
}

bool uc_children_hold(void)
{
    close_lease(&writing);
    struct pollfd fd = {.fd = reading.fd, .events = POLLIN};
    return is_lease(&reading) && poll(&fd, 1, 0) == 0;
}

bool uc_child_lets_go(void)
{
    const struct timespec look = rnic_timespec(LOOK_NS);
    if (forked_at == 0 || rnic_live_now() - forked_at > LET_GO_NS)
        return false;
    nanosleep(&look, NULL);
    return true;
}

/* ---- who calls meanwhile --------------------------------------------------------------------- */

#define END_NS  UINT64_C(1000000000) /* a parent that makes a daemon has ended by then */
#define STEP_NS UINT64_C(20000000)

int uc_wait_awake(void)
{
    static bool said;
    const struct timespec step = rnic_timespec(STEP_NS);
    const struct uc_sleep *sleep = sleeps;
    pid_t owner = sleep ? sleep->owner : 0;
    for (uint64_t waited = 0; sleep && waited < END_NS; waited += STEP_NS) {
        pthread_mutex_unlock(&uc_lock);
        nanosleep(&step, NULL);
        pthread_mutex_lock(&uc_lock);
        if (sleeps != sleep)
            return 0; /* it may be that one; else it is asked again */
    }
    if (!said)
        verbs_warn("process %ld has connections and ports of rdma_cm from before fork(): they are "
                   "process %ld's until that ends",
                   (long)getpid(), (long)owner);
    said = true;
    return -EBUSY;
}

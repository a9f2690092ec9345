/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Worker: the thread that sends and receives MADs, resolves addresses and expires timers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "port/sys/event_fd.h"
#include "port/sys/wait_limit.h"
#include "ucma/ucma.h"

#define PORTS_MAX 64u /* maximum number of ports */
/* time for which an ending process waits for the DREPs of its last DREQs, ns */
#define LINGER_NS   UINT64_C(2500000000)
#define END_POLL_NS UINT64_C(1000000)    /* interval between the checks of an ending process, ns */
#define FLUSH_NS    UINT64_C(200000000)  /* time for which a call waits until its MAD is sent, ns */
#define DEAD_NS     UINT64_C(1000000000) /* interval between checks for killed peer processes, ns */

static pthread_t thread;
static pid_t runs_in; /* process in which the worker thread runs; 0: none */
static int wake_fd = -1;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* signaled before the worker thread waits */
static bool ending;  /* the process is ending: the worker thread deletes all ids */
static bool sending; /* a MAD was removed from the queue of its CM engine, but uc_port_send() has
                      * not sent it yet */

uint32_t uc_random(void)
{
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint32_t)rnic_live_now();
    return number;
}

void uc_worker_wake(void)
{
    rnic_event_fd_signal(wake_fd);
}

/* Called in a child of fork(): resets the state, because the worker thread exists only in the
 * parent. */
void uc_worker_forked(void)
{
    pthread_cond_init(&idle, NULL);
    sending = false;
    rnic_tagged_close(wake_fd);
    wake_fd = -1;
}

/* Sends one queued MAD, or continues the job of one id (resolving its address or route), and
 * returns true. Returns false if there is neither. May unlock uc_lock meanwhile. */
static bool do_one_job(void)
{
    for (struct uc_port *port = uc_port_first(); port; port = uc_port_next(port)) {
        uint8_t mad[ROCE_MAD_SIZE];
        struct rnic_cm_addr addr;
        rnic_cm_expire(uc_port_cm(port), rnic_live_now());
        uc_deliver_cm_events(port);
        if (rnic_cm_output(uc_port_cm(port), mad, &addr)) {
            sending = true;
            pthread_mutex_unlock(&uc_lock);
            uc_port_send(port, mad, &addr);
            pthread_mutex_lock(&uc_lock);
            sending = false;
            return true;
        }
    }
    rnic_time now = rnic_live_now();
    for (struct uc_id *id = uc_ids; id; id = id->next)
        if (id->job != UC_NO_JOB && id->job_due <= now) {
            uc_resolve(id);
            return true;
        }
    return false;
}

/* ---- processes that were killed -------------------------------------------------------------- */

/* Returns whether the peer of the id's connection is another process on this machine. */
static bool has_local_peer(const struct uc_id *id)
{
    return id->state == UC_CONNECT && id->cm &&
           (rnic_cm_id_state(id->cm) == RNIC_CM_CONNECTED ||
            rnic_cm_id_state(id->cm) == RNIC_CM_DREQ_SENT) &&
           uc_port_peer_local(id);
}

static struct uc_id *first_due_id(void)
{
    struct uc_id *id = uc_ids;
    while (id && !id->dreq_due)
        id = id->next;
    return id;
}

/* Builds the DREQ that the peer's process can no longer send, because it was killed. */
static void build_peer_dreq(const struct uc_id *id, uint8_t mad[ROCE_MAD_SIZE])
{
    struct roce_cm_msg msg;
    roce_cm_msg_init(&msg, ROCE_CM_DREQ, (uint64_t)ROCE_CM_TID_GONE << 32 | uc_random());
    msg.dreq.local_comm_id = rnic_cm_id_remote(id->cm);
    msg.dreq.remote_comm_id = rnic_cm_id_local(id->cm);
    msg.dreq.remote_qpn = rnic_cm_id_qpn(id->cm);
    roce_cm_msg_build(&msg, mad, ROCE_MAD_SIZE);
}

/* Disconnects ids if their peer process on this machine was killed. A kernel CM would send a DREQ
 * for a killed process, but a software device ends with its process. So the worker detects that the
 * process has ended, and sends the DREQ to its own port in the place of the peer. If a process on
 * another machine is killed, its peer gets no DREQ, as after a power failure. */
static void send_dreq_for_dead_peers(rnic_time now)
{
    static rnic_time next;
    if (now < next)
        return;
    next = now + DEAD_NS;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        id->dreq_due = has_local_peer(id) && uc_port_peer_gone(id);
    struct uc_id *id;
    while ((id = first_due_id()) != NULL) {
        uint8_t mad[ROCE_MAD_SIZE];
        struct rnic_cm_addr from;
        struct uc_port *port = id->port;
        memcpy(from.local, id->addr.remote, sizeof from.local);
        memcpy(from.remote, id->addr.local, sizeof from.remote);
        build_peer_dreq(id, mad);
        id->dreq_due = false;
        pthread_mutex_unlock(&uc_lock); /* another thread may delete ids while uc_lock is
                                         * unlocked */
        uc_port_send(port, mad, &from);
        pthread_mutex_lock(&uc_lock);
    }
}

/* Waits for a MAD, a call of the program, or the next timer. */
static void wait_for_work(void)
{
    struct pollfd fds[1 + 2 * PORTS_MAX] = {{.fd = wake_fd, .events = POLLIN}};
    struct uc_port *watched[PORTS_MAX];
    unsigned cnt = 1;
    rnic_time now = rnic_live_now();
    rnic_time until = RNIC_NEVER;
    for (struct uc_port *port = uc_port_first(); port && cnt < 2 * PORTS_MAX;
         port = uc_port_next(port)) {
        rnic_time deadline = rnic_cm_deadline(uc_port_cm(port));
        watched[cnt / 2] = port;
        fds[cnt++] = (struct pollfd){.fd = uc_port_async_fd(port), .events = POLLIN};
        fds[cnt++] = (struct pollfd){.fd = uc_port_fd(port), .events = POLLIN};
        if (deadline < until)
            until = deadline;
    }
    for (const struct uc_id *id = uc_ids; id; id = id->next)
        if (id->job != UC_NO_JOB && id->job_due < until)
            until = id->job_due;
    uint64_t left = until > now ? until - now : 0;
    const struct timespec timeout = rnic_look_for(left);
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&uc_lock);
    ppoll(fds, cnt, &timeout, NULL);
    if (fds[0].revents & POLLNVAL)
        rnic_nap_blind(RNIC_BLIND_NS);
    pthread_mutex_lock(&uc_lock);
    if (fds[0].revents & POLLIN)
        rnic_event_fd_clear(wake_fd);
    for (unsigned i = 1; i < cnt; i += 2)
        if (fds[i].revents)
            uc_port_async(watched[i / 2]);
}

static void *worker_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "rnic-cm");
    pthread_mutex_lock(&uc_lock);
    for (;;) {
        for (struct uc_port *port = uc_port_first(); port; port = uc_port_next(port))
            uc_port_receive(port, rnic_live_now());
        while (ending && uc_ids)
            uc_id_del(uc_ids);
        send_dreq_for_dead_peers(rnic_live_now());
        if (!do_one_job())
            wait_for_work();
    }
    return NULL;
}

int uc_worker_start(void)
{
    sigset_t all, before;
    if (runs_in == getpid())
        return 0;
    wake_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return -errno;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* do not block SIGSEGV and SIGBUS, because page_probe.h needs them */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&thread, NULL, worker_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        rnic_tagged_close(wake_fd);
        return -result;
    }
    pthread_detach(thread);
    runs_in = getpid();
    return 0;
}

static bool something_to_send(void)
{
    bool some = sending;
    for (struct uc_port *port = uc_port_first(); port && !some; port = uc_port_next(port))
        some = rnic_cm_pending(uc_port_cm(port)) > 0;
    return some;
}

void uc_worker_flush(void)
{
    const struct timespec until = rnic_time_after(FLUSH_NS);
    while (runs_in == getpid() && something_to_send())
        if (pthread_cond_clockwait(&idle, &uc_lock, CLOCK_MONOTONIC, &until) != 0)
            break;
}

/* Returns whether an id has sent a DREQ and waits for the DREP. */
static bool some_id_leaves(void)
{
    bool some = false;
    for (struct uc_port *port = uc_port_first(); port && !some; port = uc_port_next(port))
        some = rnic_cm_disconnecting(uc_port_cm(port)) > 0;
    return some;
}

/* Disconnects all ids of an ending process, as the kernel does when it closes the device. Waits up
 * to LINGER_NS for the answers. If a signal handler called exit(), the interrupted thread never
 * releases its locks. These can be uc_lock, or the lock of the device, for which the worker then
 * waits with uc_lock locked. So each wait for uc_lock has a time limit. A condition variable would
 * lock uc_lock again without a limit. The interrupted thread can also have a lock of malloc(3), so
 * the worker, and not this thread, deletes the ids. */
__attribute__((destructor)) static void finish(void)
{
    if (runs_in != getpid())
        return;
    uint64_t end = rnic_clock_ns(CLOCK_MONOTONIC) + LINGER_NS;
    const struct timespec until = rnic_timespec(end);
    if (pthread_mutex_clocklock(&uc_lock, CLOCK_MONOTONIC, &until) != 0)
        return;
    ending = true;
    uc_worker_wake();
    while ((uc_ids || something_to_send() || some_id_leaves()) &&
           rnic_clock_ns(CLOCK_MONOTONIC) < end) {
        const struct timespec pause = rnic_timespec(END_POLL_NS);
        pthread_mutex_unlock(&uc_lock);
        nanosleep(&pause, NULL);
        if (pthread_mutex_clocklock(&uc_lock, CLOCK_MONOTONIC, &until) != 0)
            return;
    }
    pthread_mutex_unlock(&uc_lock);
}

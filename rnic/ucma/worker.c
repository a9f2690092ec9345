/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Worker: the one thread that moves the CMs of this process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "port/clock.h"
#include "ucma/ucma.h"

#define PORTS_MAX 64u
#define LINGER_NS UINT64_C(2500000000) /* of a process that ends, for its last DREQs */
#define FLUSH_NS  UINT64_C(200000000)  /* that a call waits for its MAD to be sent */
/* A program may close all descriptors that it does not know. The worker is not to sleep for ever
 * then, nor to look all the time. */
#define LOOK_NS  UINT64_C(2000000000)
#define BLIND_NS UINT64_C(100000000)

static pthread_t thread;
static pid_t runs_in; /* the process that has the thread; 0: none */
static int wake_fd = -1;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* a round of work is done */
static bool sending;                                   /* a MAD that no engine has any more */

uint32_t uc_random(void)
{
    uint32_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint32_t)rnic_loop_now();
    return number;
}

void uc_worker_wake(void)
{
    const uint64_t one = 1;
    ssize_t done = write(wake_fd, &one, sizeof one);
    (void)done; /* full: it will wake */
}

/* One thing that is to be done; false if there is none. May unlock. */
static bool work(void)
{
    for (struct uc_id *id = uc_ids; id; id = id->next)
        if (id->job != UC_NO_JOB) {
            uc_resolve(id);
            return true;
        }
    for (struct uc_port *port = uc_port_first(); port; port = uc_port_next(port)) {
        uint8_t mad[ROCE_MAD_SIZE];
        struct rnic_cm_addr addr;
        rnic_cm_expire(uc_port_cm(port), rnic_loop_now());
        uc_deliver(port);
        if (rnic_cm_output(uc_port_cm(port), mad, &addr)) {
            sending = true;
            pthread_mutex_unlock(&uc_lock);
            uc_port_send(port, mad, &addr);
            pthread_mutex_lock(&uc_lock);
            sending = false;
            return true;
        }
    }
    return false;
}

/* Sleeps until a MAD comes, a call wants something, or it is time. */
static void rest(void)
{
    struct pollfd fds[2 * PORTS_MAX + 1] = {{.fd = wake_fd, .events = POLLIN}};
    struct uc_port *watched[PORTS_MAX];
    unsigned cnt = 1;
    rnic_time now = rnic_loop_now(), until = RNIC_NEVER;
    for (struct uc_port *port = uc_port_first(); port && cnt < 2 * PORTS_MAX;
         port = uc_port_next(port)) {
        rnic_time deadline = rnic_cm_deadline(uc_port_cm(port));
        watched[cnt / 2] = port;
        fds[cnt++] = (struct pollfd){.fd = uc_port_async_fd(port), .events = POLLIN};
        fds[cnt++] = (struct pollfd){.fd = uc_port_fd(port), .events = POLLIN};
        if (deadline < until)
            until = deadline;
    }
    uint64_t left = until > now ? until - now : 0;
    const struct timespec timeout = rnic_timespec(left < LOOK_NS ? left : LOOK_NS);
    const struct timespec blind = rnic_timespec(BLIND_NS);
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&uc_lock);
    ppoll(fds, cnt, &timeout, NULL);
    if (fds[0].revents & POLLNVAL)
        nanosleep(&blind, NULL);
    pthread_mutex_lock(&uc_lock);
    if (fds[0].revents & POLLIN) {
        uint64_t count;
        ssize_t done = read(wake_fd, &count, sizeof count);
        (void)done;
    }
    for (unsigned i = 1; i < cnt; i += 2)
        if (fds[i].revents)
            uc_port_async(watched[i / 2]);
}

static void *run(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "rnic-cm");
    pthread_mutex_lock(&uc_lock);
    for (;;) {
        for (struct uc_port *port = uc_port_first(); port; port = uc_port_next(port))
            uc_port_receive(port, rnic_loop_now());
        if (!work())
            rest();
    }
    return NULL;
}

int uc_worker_start(void)
{
    sigset_t all, before;
    if (runs_in == getpid())
        return 0;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        close(wake_fd);
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
    const struct timespec until = rnic_day_after(FLUSH_NS);
    while (runs_in == getpid() && something_to_send())
        if (pthread_cond_timedwait(&idle, &uc_lock, &until) != 0)
            break;
}

/* A process that ends ends its connections, as the kernel does when it closes the device; what is
 * lost of that is repeated for a moment. */
__attribute__((destructor)) static void finish(void)
{
    if (runs_in != getpid())
        return;
    const struct timespec until = rnic_day_after(LINGER_NS);
    pthread_mutex_lock(&uc_lock);
    while (uc_ids)
        uc_id_del(uc_ids);
    uc_worker_wake();
    for (int late = 0; late == 0;) {
        unsigned leaving = 0;
        for (struct uc_port *port = uc_port_first(); port; port = uc_port_next(port))
            leaving += rnic_cm_leaving(uc_port_cm(port));
        late = pthread_cond_timedwait(&idle, &uc_lock, &until);
        if (leaving == 0)
            break;
    }
    pthread_mutex_unlock(&uc_lock);
}

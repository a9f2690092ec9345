/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Who drives. A device moves in any thread that holds the lock. The loop's own thread sleeps on the
 * port's descriptors when nobody else drives; while a program polls it only naps, looking whether
 * the program still does. A program may poll and then look at its memory for what the peer writes
 * (ib_write_lat does): if frames lay there after a nap, the thread does not nap for some time but
 * lets each frame wake it, until that turns out to be for nothing.
 *
 * It spins before it sleeps if that paid lately: if frames came soon after it went to sleep the
 * next times it looks longer, if they did not it sleeps at once. It spins without the lock, and
 * lets others have the CPU meanwhile: whoever posts then does not wait for it.
 */
#include "port/loop_impl.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "port/netlink.h"
#include "wire/pkt.h"

#define RX_BATCH    256u    /* frames in before timers and frames out have their turn */
#define TX_BATCHES  4u      /* batches out before frames in have theirs */
#define POLLED_NS   200000u /* a program that polled so lately polls still */
#define NAP_NS      200000u
#define SPIN_MAX_NS 50000u
#define SPIN_MIN_NS 2000u
#define ABSENT_MAX  32u /* wake-ups for nothing until the program is taken to poll again */
#define DOZE_NS                                                                                    \
    20000000u /* how long it sleeps first: a timer that runs longer need not wake it               \
               */

rnic_time rnic_loop_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- moving frames --------------------------------------------------------------------------- */

struct intake {
    struct rnic_loop *loop;
    uint64_t now;
};

static void on_frame(void *user, const struct rnic_frame *frame)
{
    struct intake *intake = user;

    if (frame->len >= 14 && loop_neigh_input(intake->loop, frame, intake->now))
        return;
    rnic_input(intake->loop->rnic, frame->data, frame->len, intake->now);
}

/* Hands what is in the batch to the port; false when the port is full. */
static bool hand_out(struct rnic_loop *loop, uint64_t now)
{
    if (loop->first < loop->cnt)
        loop->first +=
            rnic_port_send(loop->port, loop->frame + loop->first, loop->cnt - loop->first, now);
    if (loop->first < loop->cnt)
        return false;
    loop->first = 0;
    loop->cnt = 0;
    return true;
}

/* Frames out, at most TX_BATCHES: whether any went. */
static bool transmit(struct rnic_loop *loop, uint64_t now)
{
    bool moved = loop->cnt > 0;

    loop->more = false;
    if (!hand_out(loop, now))
        return false;
    for (unsigned batch = 0; batch < TX_BATCHES; batch++) {
        size_t at = 0;
        size_t len = 0;

        while (loop->cnt < LOOP_BATCH && LOOP_TX_BYTES - at >= ROCE_FRAME_MAX) {
            len = rnic_output(loop->rnic, loop->tx + at, LOOP_TX_BYTES - at, now);
            if (len == 0)
                break;
            loop->frame[loop->cnt++] =
                (struct rnic_frame){.data = loop->tx + at, .len = (uint32_t)len};
            at += (len + 63) & ~(size_t)63;
        }
        if (loop->cnt == 0)
            return moved;
        moved = true;
        if (!hand_out(loop, now) || len == 0)
            return true;
    }
    loop->more = true;
    return true;
}

static uint64_t next_deadline(const struct rnic_loop *loop)
{
    uint64_t device = rnic_deadline(loop->rnic);
    uint64_t port = loop->plugged ? rnic_port_deadline(loop->port) : UINT64_MAX;

    return device < port ? device : port;
}

void loop_notify(struct rnic_loop *loop)
{
    if (loop->attr.notified)
        loop->attr.notified(loop->attr.user, loop->rnic);
}

bool loop_drive(struct rnic_loop *loop, uint64_t now)
{
    struct intake intake = {loop, now};
    bool moved = false;

    if (!loop->plugged)
        return false;
    if (rnic_port_recv(loop->port, RX_BATCH, on_frame, &intake, now) > 0)
        moved = true;
    if (rnic_deadline(loop->rnic) <= now) {
        rnic_expire(loop->rnic, now);
        moved = true;
    }
    moved |= transmit(loop, now);
    if (moved) {
        rnic_port_flush(loop->port);
        loop_notify(loop);
    }
    return moved;
}

/* ---- the lock -------------------------------------------------------------------------------- */

static void take_lock(struct rnic_loop *loop)
{
    if (pthread_mutex_trylock(&loop->lock) == 0)
        return;
    atomic_fetch_add(&loop->wanting, 1);
    pthread_mutex_lock(&loop->lock);
    atomic_fetch_sub(&loop->wanting, 1);
}

struct rnic *rnic_loop_lock(struct rnic_loop *loop)
{
    take_lock(loop);
    if (loop->forked)
        loop_replug(loop);
    return loop->rnic;
}

void rnic_loop_unlock(struct rnic_loop *loop)
{
    if (loop->plugged) {
        uint64_t now = rnic_loop_now();
        uint64_t sleeps = atomic_load(&loop->sleep_until);

        if (transmit(loop, now))
            rnic_port_flush(loop->port);
        /* The thread may have to wake earlier than it meant to, or to go on with what is left. It
         * looks by itself after a nap. */
        if (sleeps != 0 &&
            (loop->more || loop->cnt > 0 ? sleeps > now + NAP_NS : next_deadline(loop) < sleeps))
            loop_wake(loop);
    }
    loop_notify(loop);
    pthread_mutex_unlock(&loop->lock);
}

bool rnic_loop_drive(struct rnic_loop *loop)
{
    uint64_t now = rnic_loop_now();

    atomic_store_explicit(&loop->polled_at, now, memory_order_relaxed);
    return loop_drive(loop, now);
}

bool rnic_loop_poll(struct rnic_loop *loop)
{
    bool moved;

    if (pthread_mutex_trylock(&loop->lock) != 0)
        return false;
    if (loop->forked)
        loop_replug(loop);
    moved = rnic_loop_drive(loop);
    pthread_mutex_unlock(&loop->lock);
    return moved;
}

/* ---- the thread ------------------------------------------------------------------------------ */

void loop_wake(struct rnic_loop *loop)
{
    const uint64_t one = 1;
    ssize_t len;

    atomic_store(&loop->sleep_until, 0); /* once is enough */
    do
        len = write(loop->wake_fd, &one, sizeof(one));
    while (len < 0 && errno == EINTR);
}

static bool polled_lately(const struct rnic_loop *loop, uint64_t now)
{
    uint64_t at = atomic_load_explicit(&loop->polled_at, memory_order_relaxed);

    return at + POLLED_NS > now;
}

static void sleep_on(struct pollfd *fds, unsigned cnt, uint64_t until, uint64_t now)
{
    uint64_t left = until > now ? until - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000u),
                               .tv_nsec = (long)(left % 1000000000u)};

    ppoll(fds, cnt, until == UINT64_MAX ? NULL : &timeout, NULL);
}

/* The descriptors that are not the port's, in this order. */
enum { FD_WAKE, FD_WATCH, FD_ANSWER, FDS_OWN };

/* Sees to what is not frames. Locked. */
static void attend(struct rnic_loop *loop, const struct pollfd *fds)
{
    if (fds[FD_WAKE].revents) {
        uint64_t cnt;

        (void)!read(loop->wake_fd, &cnt, sizeof(cnt));
    }
    if (fds[FD_WATCH].revents && rnic_nl_drain(loop->watch_fd))
        loop_refresh(loop);
    if (fds[FD_ANSWER].revents)
        loop_answer(loop);
}

/* Looks for something to do until `until`; whether there is. Unlocked. */
static bool spin(struct pollfd *fds, unsigned cnt, uint64_t until)
{
    while (rnic_loop_now() < until) {
        if (poll(fds, cnt, 0) > 0)
            return true;
        sched_yield();
    }
    return false;
}

/* Looks until `spin_until`, then sleeps, until something is to be done. Called locked, rests
 * unlocked. Whether frames came. */
static bool rest(struct rnic_loop *loop, bool naps, uint64_t moved_at, uint64_t spin_until)
{
    struct pollfd fds[FDS_OWN + RNIC_PORT_FDS];
    uint64_t now = rnic_loop_now();
    uint64_t until = next_deadline(loop);
    unsigned cnt = FDS_OWN;
    bool came = false;

    fds[FD_WAKE] = (struct pollfd){.fd = loop->wake_fd, .events = POLLIN};
    fds[FD_WATCH] = (struct pollfd){.fd = loop->watch_fd, .events = POLLIN};
    fds[FD_ANSWER] = (struct pollfd){.fd = loop->answer_fd, .events = POLLIN};
    if (naps)
        until = now + NAP_NS;
    else if (now < moved_at + DOZE_NS && until > now + DOZE_NS)
        until = now + DOZE_NS;
    if (!naps)
        cnt += rnic_port_fds(loop->port, fds + FDS_OWN);
    atomic_store(&loop->sleep_until, until);
    pthread_mutex_unlock(&loop->lock);
    if (spin_until > until)
        spin_until = until;
    for (bool found = !naps && spin(fds, cnt, spin_until); !found;) {
        for (unsigned i = 0; i < cnt; i++)
            fds[i].revents = 0;
        sleep_on(fds, cnt, until, now);
        now = rnic_loop_now();
        until = now + NAP_NS;
        found = !(naps && !fds[FD_WAKE].revents && !fds[FD_WATCH].revents &&
                  !fds[FD_ANSWER].revents && polled_lately(loop, now));
    }
    for (unsigned i = FDS_OWN; i < cnt; i++)
        came |= fds[i].revents != 0;
    take_lock(loop);
    atomic_store(&loop->sleep_until, 0);
    attend(loop, fds);
    return came;
}

/* Lets threads that wait for the lock have it. */
static void yield_lock(struct rnic_loop *loop)
{
    pthread_mutex_unlock(&loop->lock);
    for (unsigned i = 0; i < 100 && atomic_load(&loop->wanting) > 0; i++)
        sched_yield();
    take_lock(loop);
}

static void *run(void *user)
{
    struct rnic_loop *loop = user;
    uint64_t moved_at;
    uint64_t now;

    prctl(PR_SET_NAME, "rnic");
    prctl(PR_SET_TIMERSLACK, 1ul);
    take_lock(loop);
    moved_at = rnic_loop_now();
    while (!loop->stop) {
        now = rnic_loop_now();
        bool polls = polled_lately(loop, now);
        bool naps = polls && loop->absent == 0;

        if (!naps && loop_drive(loop, now)) {
            moved_at = now;
            if (polls)
                loop->absent = ABSENT_MAX;
            yield_lock(loop);
        } else {
            bool came = rest(loop, naps, moved_at, moved_at + loop->spin);
            uint64_t slept = rnic_loop_now() - now;

            if (naps) { /* frames now are frames that the program left lying */
                if (loop_drive(loop, rnic_loop_now())) {
                    loop->absent = ABSENT_MAX;
                    moved_at = rnic_loop_now();
                }
                continue;
            }
            if (polls && loop->absent > 0)
                loop->absent--;
            if (came && slept < SPIN_MAX_NS)
                loop->spin = SPIN_MAX_NS;
            else if (loop->spin > SPIN_MIN_NS)
                loop->spin /= 2;
            else
                loop->spin = 0;
        }
    }
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

int loop_thread_start(struct rnic_loop *loop)
{
    sigset_t all;
    sigset_t before;
    int error;

    loop->stop = false;
    /* Signals are the program's: none is delivered to this thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&loop->thread, NULL, run, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

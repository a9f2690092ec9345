/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Functions of live.h that take the lock and drive the device. */
#include "port/live/live.h"

#include <sched.h>
#include <string.h>
#include "port/live/live_impl.h"

/* If no thread has tried to receive frames for this time (ns), a polling program waits for the
 * lock. Otherwise its poll returns at once if another thread has the lock. */
#define STUCK_NS 2000000u
/* Longest wait for the lock, ns. A thread that has the lock was observed to wait this long for a
 * CPU. */
#define FLUSH_WAIT_NS 1000000000u
#define FLUSH_NAP_NS  20000 /* time between two attempts to take the lock, ns */

struct rnic *rnic_live_lock(struct rnic_live *live)
{
    int cancel_state = rnic_cancel_disable();

    live_take_lock(live);
    live->cancel_state = cancel_state;
    return live->rnic;
}

void rnic_live_settle(struct rnic_live *live)
{
    if (live->attached && live->ack_waits && live_transmit(live, false, rnic_live_now()))
        rnic_port_flush(live->port);
}

/* Returns whether the poll thread must wake before `sleep_until`, because a timer is due earlier or
 * frames are left to send. A polling program handles both itself. */
static bool needs_poll_thread(const struct rnic_live *live, uint64_t sleep_until, uint64_t now)
{
    bool polled = live_polled_lately(live, now);

    if (sleep_until <= now + LIVE_NAP_NS || (polled && (!live->gate.open || live->ack_waits)))
        return false;
    return live->tx.more || live->tx.cnt > 0 || live_deadline(live) < sleep_until;
}

/* Sends the frames that a call of the program made ready, and wakes the poll thread if it is
 * needed. */
static void send_and_wake(struct rnic_live *live, uint64_t sleep_until)
{
    uint64_t now = rnic_live_now();

    if (!live_is_attached(live, now))
        return;
    if (live_send_posted(live, now)) {
        live->sent_at = now;
        live->sent_cpu = sched_getcpu();
        rnic_port_flush(live->port);
    }
    if (needs_poll_thread(live, sleep_until, now))
        live_wake(live);
}

void rnic_live_unlock(struct rnic_live *live)
{
    int cancel_state = live->cancel_state;
    uint64_t sleep_until = atomic_load(&live->thread.sleep_until);

    /* most polls of a CQ have nothing to send and start no timer, and need not read the clock */
    if (live->attached && (rnic_output_ready(live->rnic) || live->tx.cnt > 0 || live->ack_waits ||
                           live_deadline(live) < sleep_until))
        send_and_wake(live, sleep_until);
    live_notify(live);
    rnic_unlock_uncancelable(&live->lock, cancel_state);
}

bool rnic_live_drive(struct rnic_live *live)
{
    uint64_t now = rnic_live_now();
    bool moved = live_drive_polling(live, now);

    live_polled(live, moved, now);
    return moved;
}

bool rnic_live_poll(struct rnic_live *live)
{
    int cancel_state = rnic_cancel_disable();
    bool moved;

    if (pthread_mutex_trylock(&live->lock) != 0) {
        uint64_t now = rnic_live_now();

        /* Another thread has the lock, but this call counts as a poll. If no thread has tried to
         * receive frames for STUCK_NS, the thread with the lock may be waiting for this CPU. A
         * program of real-time priority would never release the CPU by polling, so wait for the
         * lock. */
        atomic_store_explicit(&live->gate.polled_at, now, memory_order_relaxed);
        if (now < atomic_load_explicit(&live->driven_at, memory_order_relaxed) + STUCK_NS) {
            rnic_cancel_restore(cancel_state);
            return false;
        }
        live_take_lock(live);
    }
    moved = rnic_live_drive(live);
    rnic_unlock_uncancelable(&live->lock, cancel_state);
    return moved;
}

void rnic_live_flush(struct rnic_live *live)
{
    uint64_t until = rnic_live_now() + FLUSH_WAIT_NS;
    int cancel_state = rnic_cancel_disable();
    int busy;

    /* pthread_mutex_timedlock() would wait until a time of day, and the time of day may be set
     * meanwhile. Before Linux 5.14, a mutex that inherits priorities cannot wait until a time of
     * CLOCK_MONOTONIC. */
    while ((busy = pthread_mutex_trylock(&live->lock)) != 0 && rnic_live_now() < until)
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_NAP_NS}, NULL);
    if (!busy) {
        uint64_t now = rnic_live_now();

        if (live_is_attached(live, now) && live_transmit(live, false, now))
            rnic_port_flush(live->port);
        pthread_mutex_unlock(&live->lock);
    }
    rnic_cancel_restore(cancel_state);
}

void rnic_live_iface(struct rnic_live *live, struct rnic_iface *out)
{
    pthread_mutex_lock(&live->small_lock);
    *out = live->iface;
    pthread_mutex_unlock(&live->small_lock);
}

void rnic_live_stats(struct rnic_live *live, struct rnic_port_stats *out)
{
    memset(out, 0, sizeof(*out));
    if (live->attached)
        rnic_port_stats(live->port, out);
    out->rx_dropped += atomic_load(&live->raw.dropped);
}

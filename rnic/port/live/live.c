/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* How frames move, and who holds the lock. */
#include "port/live/live_impl.h"

#include <sched.h>
#include <time.h>
#include "port/sys/clock.h"
#include "wire/pkt.h"

#define RX_BATCH     256u /* frames in before timers and frames out have their turn */
#define LOCK_SPIN_NS 10000u
#define STUCK_NS     2000000u /* longer than anybody drives */
/* Longer than a thread that has the lock was seen to wait for a CPU. */
#define FLUSH_WAIT_NS 1000000000u
#define LOOKS         16u
#define TX_BATCHES    4u /* batches out before frames in have theirs */

rnic_time rnic_live_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- moving frames --------------------------------------------------------------------------- */

struct intake {
    struct rnic_live *live;
    uint64_t now; /* not before the first frame was taken: 0 until then */
};

static void on_frame(void *user, const struct rnic_frame *frame)
{
    struct intake *intake = user;

    if (intake->now == 0)
        intake->now = rnic_live_now();
    if (frame->len >= 14 && live_neigh_input(intake->live, frame, intake->now))
        return;
    rnic_input(intake->live->rnic, frame->data, frame->len, intake->now);
}

/* Hands what is in the batch to the port; false when the port is full. */
static bool hand_out(struct rnic_live *live, uint64_t now)
{
    if (live->first < live->cnt)
        live->first +=
            rnic_port_send(live->port, live->frame + live->first, live->cnt - live->first, now);
    if (live->first < live->cnt)
        return false;
    live->first = 0;
    live->cnt = 0;
    return true;
}

/* Frames out, at most TX_BATCHES: whether any went. */
static bool transmit(struct rnic_live *live, uint64_t now)
{
    bool moved = live->cnt > 0;

    live->more = false;
    if (!hand_out(live, now))
        return false;
    for (unsigned batch = 0; batch < TX_BATCHES; batch++) {
        size_t at = 0;
        size_t len = 0;

        while (live->cnt < LIVE_BATCH && LIVE_TX_BYTES - at >= ROCE_FRAME_MAX) {
            len = rnic_output(live->rnic, live->tx + at, LIVE_TX_BYTES - at, now);
            if (len == 0)
                break;
            live->frame[live->cnt++] =
                (struct rnic_frame){.data = live->tx + at, .len = (uint32_t)len};
            at += (len + 63) & ~(size_t)63;
        }
        if (live->cnt == 0)
            return moved;
        moved = true;
        if (!hand_out(live, now) || len == 0)
            return true;
    }
    live->more = true;
    return true;
}

uint64_t live_deadline(const struct rnic_live *live)
{
    uint64_t device = rnic_deadline(live->rnic);
    uint64_t port = live->plugged ? rnic_port_deadline(live->port) : UINT64_MAX;

    return device < port ? device : port;
}

void live_notify(struct rnic_live *live)
{
    if (live->attr.notified)
        live->attr.notified(live->attr.user, live->rnic);
}

/* For who polls again and again: of a turn, looking for a frame is a small part, and one that comes
 * just then is found sooner. True: one waits. */
static bool look(const struct rnic_live *live)
{
    int waits = 0;

    for (unsigned i = 0; i < LOOKS && waits == 0; i++)
        waits = rnic_port_peek(live->port);
    return waits > 0;
}

/* Frames in, and timers: whether anything moved. A thread may lose its CPU between looking at the
 * clock and at the port; what came meanwhile did not come before, and timers that it starts are not
 * to run out early. `seen`: the first was there before `now`. */
static bool take_in(struct rnic_live *live, uint64_t *now, bool seen)
{
    struct intake intake = {.live = live, .now = seen ? *now : 0};
    bool moved;

    atomic_store_explicit(&live->driven_at, *now, memory_order_relaxed);
    moved = rnic_port_recv(live->port, RX_BATCH, on_frame, &intake, *now) > 0;
    if (intake.now)
        *now = intake.now;

    if (rnic_deadline(live->rnic) <= *now) {
        rnic_expire(live->rnic, *now);
        moved = true;
    }
    return moved;
}

void live_release(struct rnic_live *live)
{
    live->behind_at = 0;
    if (!rnic_ack_waits(live->rnic))
        return;
    live_learn_behind(live, true);
    rnic_ack_release(live->rnic);
}

/* Frames out; what was owed is not any more. */
static bool give_out(struct rnic_live *live, uint64_t now)
{
    live->owed = false;
    live_release(live);
    return transmit(live, now);
}

/* After a turn: what moved is seen, on the wire and by the program. */
static bool pass_on(struct rnic_live *live, bool moved)
{
    if (moved) {
        rnic_port_flush(live->port);
        live_notify(live);
    }
    return moved;
}

bool live_drive(struct rnic_live *live, uint64_t now)
{
    bool moved;

    if (!live_there(live, now))
        return false;
    moved = take_in(live, &now, false);
    moved |= give_out(live, now);
    return pass_on(live, moved);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool answer(struct rnic_live *live, uint64_t now)
{
    bool moved;

    live_learn_polling(live, now);
    if (!live_waits_behind(live, now))
        return give_out(live, now);
    live->owed = false;
    live->passed_at = now;
    rnic_ack_hold(live->rnic, true);
    moved = transmit(live, now);
    rnic_ack_hold(live->rnic, false);
    return moved;
}

/* Frames in while an ACK waits behind a WRITE. */
static bool take_in_behind(struct rnic_live *live, uint64_t *now, bool seen)
{
    bool moved = take_in(live, now, seen);

    if (!rnic_ack_waits(live->rnic))
        live_learn_behind(live, false); /* the next request came */
    else if (*now - live->passed_at > LIVE_BEHIND_NS)
        moved |= give_out(live, *now);
    return moved;
}

/* Drives for a program that polls. `seen`: as for take_in(). */
static bool drive_for_answer(struct rnic_live *live, uint64_t now, bool seen)
{
    bool moved = false;

    if (!live_there(live, now))
        return false;
    if (live->owed && !live_owed_waits(live, now)) {
        live_learn_polling(live, now);
        moved = give_out(live, now);
    }
    if (rnic_ack_waits(live->rnic) ? take_in_behind(live, &now, seen) : take_in(live, &now, seen)) {
        moved = true;
        live_came(live, now);
    }
    if (!live->owed)
        moved |= transmit(live, now);
    return pass_on(live, moved);
}

enum live_turn live_drive_asking(struct rnic_live *live, uint64_t now)
{
    uint64_t until;
    bool moved;

    if (!live_there(live, now))
        return LIVE_IDLE;
    moved = take_in(live, &now, false);
    if (!moved || live->owed || !live_may_answer(live, now) || !backoff_allows(&live->looking)) {
        moved |= give_out(live, now);
        if (!pass_on(live, moved))
            return LIVE_IDLE;
        live_moved(live, now);
        return LIVE_MOVED;
    }
    live_owe(live, now);
    until = now + LIVE_HOLD_NS;
    live_moved(live, now);
    pass_on(live, true);
    pthread_mutex_unlock(&live->lock);
    while (atomic_load_explicit(&live->owed, memory_order_relaxed) && rnic_live_now() < until)
        ;
    if (!atomic_load_explicit(&live->owed, memory_order_relaxed)) {
        live->looking.late = 0;
        return LIVE_ANSWERED;
    }
    live_take_lock(live);
    if (live->owed && live->plugged) {
        backoff_update(&live->looking, true);
        if (give_out(live, rnic_live_now()))
            rnic_port_flush(live->port);
    }
    return LIVE_MOVED;
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* The lock is held for a few microseconds, most of them to send: less than it takes to sleep. */
void live_take_lock(struct rnic_live *live)
{
    uint64_t until;

    if (pthread_mutex_trylock(&live->lock) == 0)
        return;
    atomic_fetch_add(&live->wanting, 1);
    until = rnic_live_now() + LOCK_SPIN_NS;
    while (pthread_mutex_trylock(&live->lock) != 0)
        if (rnic_live_now() >= until) {
            pthread_mutex_lock(&live->lock);
            break;
        }
    atomic_fetch_sub(&live->wanting, 1);
}

struct rnic *rnic_live_lock(struct rnic_live *live)
{
    int held = rnic_cancel_disable();

    live_take_lock(live);
    live->held = held;
    if (live->forked)
        live_reattach(live);
    return live->rnic;
}

bool rnic_live_runs(struct rnic_live *live)
{
    bool runs;

    live_take_lock(live);
    live->replug_at = 0;
    pthread_mutex_unlock(&live->lock);
    rnic_live_lock(live);
    runs = live->plugged;
    rnic_live_unlock(live);
    return runs;
}

void rnic_live_settle(struct rnic_live *live)
{
    if (live->plugged && (live->owed || rnic_ack_waits(live->rnic)) &&
        give_out(live, rnic_live_now()))
        rnic_port_flush(live->port);
}

void rnic_live_unlock(struct rnic_live *live)
{
    int held = live->held;
    uint64_t now = rnic_live_now();

    if (live_there(live, now)) {
        uint64_t sleeps = atomic_load(&live->sleep_until);

        if (live->owing)
            live->owing = false;
        else if (answer(live, now)) {
            live->sent_at = now;
            live->sent_cpu = sched_getcpu();
            rnic_port_flush(live->port);
        }
        /* The thread may have to wake earlier than it meant to, or to go on with what is left;
         * unless the program polls: then it does that itself. */
        if (sleeps > now + LIVE_NAP_NS && (live->open || !live_present(live, now)) &&
            (live->more || live->cnt > 0 || live_deadline(live) < sleeps))
            live_wake(live);
    }
    live_notify(live);
    rnic_unlock_uncancelable(&live->lock, held);
}

bool rnic_live_drive(struct rnic_live *live)
{
    bool seen = live->plugged && look(live);
    uint64_t now = rnic_live_now();
    bool moved = drive_for_answer(live, now, seen);

    live_polled(live, moved, now);
    live->owing = live->owed || rnic_ack_waits(live->rnic);
    return moved;
}

bool rnic_live_poll(struct rnic_live *live)
{
    int held = rnic_cancel_disable();
    bool moved;

    if (pthread_mutex_trylock(&live->lock) != 0) {
        uint64_t now = rnic_live_now();

        /* Another drives; this one polls all the same. Unless nobody does: then who holds the lock
         * may wait for this CPU, which a program of real-time priority never leaves. */
        atomic_store_explicit(&live->polled_at, now, memory_order_relaxed);
        if (now < atomic_load_explicit(&live->driven_at, memory_order_relaxed) + STUCK_NS) {
            rnic_cancel_restore(held);
            return false;
        }
        live_take_lock(live);
    }
    if (live->forked)
        live_reattach(live);
    moved = rnic_live_drive(live);
    live->owing = false;
    rnic_unlock_uncancelable(&live->lock, held);
    return moved;
}

void rnic_live_flush(struct rnic_live *live)
{
    const struct timespec until = rnic_day_after(FLUSH_WAIT_NS);
    int held = rnic_cancel_disable();

    if (pthread_mutex_timedlock(&live->lock, &until) == 0) {
        uint64_t now = rnic_live_now();

        if (live_there(live, now) && !live->forked && give_out(live, now))
            rnic_port_flush(live->port);
        pthread_mutex_unlock(&live->lock);
    }
    rnic_cancel_restore(held);
}

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

rnic_time rnic_loop_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- moving frames --------------------------------------------------------------------------- */

struct intake {
    struct rnic_loop *loop;
    uint64_t now; /* not before the first frame was taken: 0 until then */
};

static void on_frame(void *user, const struct rnic_frame *frame)
{
    struct intake *intake = user;

    if (intake->now == 0)
        intake->now = rnic_loop_now();
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

uint64_t loop_deadline(const struct rnic_loop *loop)
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

/* For who polls again and again: of a turn, looking for a frame is a small part, and one that comes
 * just then is found sooner. True: one waits. */
static bool look(const struct rnic_loop *loop)
{
    int waits = 0;

    for (unsigned i = 0; i < LOOKS && waits == 0; i++)
        waits = rnic_port_peek(loop->port);
    return waits > 0;
}

/* Frames in, and timers: whether anything moved. A thread may lose its CPU between looking at the
 * clock and at the port; what came meanwhile did not come before, and timers that it starts are not
 * to run out early. `seen`: the first was there before `now`. */
static bool take_in(struct rnic_loop *loop, uint64_t *now, bool seen)
{
    struct intake intake = {.loop = loop, .now = seen ? *now : 0};
    bool moved;

    atomic_store_explicit(&loop->driven_at, *now, memory_order_relaxed);
    moved = rnic_port_recv(loop->port, RX_BATCH, on_frame, &intake, *now) > 0;
    if (intake.now)
        *now = intake.now;

    if (rnic_deadline(loop->rnic) <= *now) {
        rnic_expire(loop->rnic, *now);
        moved = true;
    }
    return moved;
}

void loop_release(struct rnic_loop *loop)
{
    loop->behind_at = 0;
    if (!rnic_ack_waits(loop->rnic))
        return;
    loop_learn_behind(loop, true);
    rnic_ack_release(loop->rnic);
}

/* Frames out; what was owed is not any more. */
static bool give_out(struct rnic_loop *loop, uint64_t now)
{
    loop->owed = false;
    loop_release(loop);
    return transmit(loop, now);
}

/* After a turn: what moved is seen, on the wire and by the program. */
static bool pass_on(struct rnic_loop *loop, bool moved)
{
    if (moved) {
        rnic_port_flush(loop->port);
        loop_notify(loop);
    }
    return moved;
}

bool loop_drive(struct rnic_loop *loop, uint64_t now)
{
    bool moved;

    if (!loop_there(loop, now))
        return false;
    moved = take_in(loop, &now, false);
    moved |= give_out(loop, now);
    return pass_on(loop, moved);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool answer(struct rnic_loop *loop, uint64_t now)
{
    bool moved;

    loop_learn_polling(loop, now);
    if (!loop_waits_behind(loop, now))
        return give_out(loop, now);
    loop->owed = false;
    loop->passed_at = now;
    rnic_ack_hold(loop->rnic, true);
    moved = transmit(loop, now);
    rnic_ack_hold(loop->rnic, false);
    return moved;
}

/* Frames in while an ACK waits behind a WRITE. */
static bool take_in_behind(struct rnic_loop *loop, uint64_t *now, bool seen)
{
    bool moved = take_in(loop, now, seen);

    if (!rnic_ack_waits(loop->rnic))
        loop_learn_behind(loop, false); /* the next request came */
    else if (*now - loop->passed_at > LOOP_BEHIND_NS)
        moved |= give_out(loop, *now);
    return moved;
}

/* Drives for a program that polls. `seen`: as for take_in(). */
static bool drive_for_answer(struct rnic_loop *loop, uint64_t now, bool seen)
{
    bool moved = false;

    if (!loop_there(loop, now))
        return false;
    if (loop->owed && !loop_owed_waits(loop, now)) {
        loop_learn_polling(loop, now);
        moved = give_out(loop, now);
    }
    if (rnic_ack_waits(loop->rnic) ? take_in_behind(loop, &now, seen) : take_in(loop, &now, seen)) {
        moved = true;
        loop_came(loop, now);
    }
    if (!loop->owed)
        moved |= transmit(loop, now);
    return pass_on(loop, moved);
}

enum loop_turn loop_drive_asking(struct rnic_loop *loop, uint64_t now)
{
    uint64_t until;
    bool moved;

    if (!loop_there(loop, now))
        return LOOP_IDLE;
    moved = take_in(loop, &now, false);
    if (!moved || loop->owed || !loop_may_answer(loop, now) || !loop_has_patience(&loop->looking)) {
        moved |= give_out(loop, now);
        if (!pass_on(loop, moved))
            return LOOP_IDLE;
        loop_moved(loop, now);
        return LOOP_MOVED;
    }
    loop_owe(loop, now);
    until = now + LOOP_HOLD_NS;
    loop_moved(loop, now);
    pass_on(loop, true);
    pthread_mutex_unlock(&loop->lock);
    while (atomic_load_explicit(&loop->owed, memory_order_relaxed) && rnic_loop_now() < until)
        ;
    if (!atomic_load_explicit(&loop->owed, memory_order_relaxed)) {
        loop->looking.late = 0;
        return LOOP_ANSWERED;
    }
    loop_take_lock(loop);
    if (loop->owed && loop->plugged) {
        loop_learn(&loop->looking, true);
        if (give_out(loop, rnic_loop_now()))
            rnic_port_flush(loop->port);
    }
    return LOOP_MOVED;
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* The lock is held for a few microseconds, most of them to send: less than it takes to sleep. */
void loop_take_lock(struct rnic_loop *loop)
{
    uint64_t until;

    if (pthread_mutex_trylock(&loop->lock) == 0)
        return;
    atomic_fetch_add(&loop->wanting, 1);
    until = rnic_loop_now() + LOCK_SPIN_NS;
    while (pthread_mutex_trylock(&loop->lock) != 0)
        if (rnic_loop_now() >= until) {
            pthread_mutex_lock(&loop->lock);
            break;
        }
    atomic_fetch_sub(&loop->wanting, 1);
}

struct rnic *rnic_loop_lock(struct rnic_loop *loop)
{
    int held = rnic_hold_on();

    loop_take_lock(loop);
    loop->held = held;
    if (loop->forked)
        loop_replug(loop);
    return loop->rnic;
}

bool rnic_loop_runs(struct rnic_loop *loop)
{
    bool runs;

    loop_take_lock(loop);
    loop->replug_at = 0;
    pthread_mutex_unlock(&loop->lock);
    rnic_loop_lock(loop);
    runs = loop->plugged;
    rnic_loop_unlock(loop);
    return runs;
}

void rnic_loop_settle(struct rnic_loop *loop)
{
    if (loop->plugged && (loop->owed || rnic_ack_waits(loop->rnic)) &&
        give_out(loop, rnic_loop_now()))
        rnic_port_flush(loop->port);
}

void rnic_loop_unlock(struct rnic_loop *loop)
{
    int held = loop->held;
    uint64_t now = rnic_loop_now();

    if (loop_there(loop, now)) {
        uint64_t sleeps = atomic_load(&loop->sleep_until);

        if (loop->owing)
            loop->owing = false;
        else if (answer(loop, now)) {
            loop->sent_at = now;
            loop->sent_cpu = sched_getcpu();
            rnic_port_flush(loop->port);
        }
        /* The thread may have to wake earlier than it meant to, or to go on with what is left;
         * unless the program polls: then it does that itself. */
        if (sleeps > now + LOOP_NAP_NS && (loop->open || !loop_present(loop, now)) &&
            (loop->more || loop->cnt > 0 || loop_deadline(loop) < sleeps))
            loop_wake(loop);
    }
    loop_notify(loop);
    rnic_unhold(&loop->lock, held);
}

bool rnic_loop_drive(struct rnic_loop *loop)
{
    bool seen = loop->plugged && look(loop);
    uint64_t now = rnic_loop_now();
    bool moved = drive_for_answer(loop, now, seen);

    loop_polled(loop, moved, now);
    loop->owing = loop->owed || rnic_ack_waits(loop->rnic);
    return moved;
}

bool rnic_loop_poll(struct rnic_loop *loop)
{
    int held = rnic_hold_on();
    bool moved;

    if (pthread_mutex_trylock(&loop->lock) != 0) {
        uint64_t now = rnic_loop_now();

        /* Another drives; this one polls all the same. Unless nobody does: then who holds the lock
         * may wait for this CPU, which a program of real-time priority never leaves. */
        atomic_store_explicit(&loop->polled_at, now, memory_order_relaxed);
        if (now < atomic_load_explicit(&loop->driven_at, memory_order_relaxed) + STUCK_NS) {
            rnic_let_go(held);
            return false;
        }
        loop_take_lock(loop);
    }
    if (loop->forked)
        loop_replug(loop);
    moved = rnic_loop_drive(loop);
    loop->owing = false;
    rnic_unhold(&loop->lock, held);
    return moved;
}

void rnic_loop_flush(struct rnic_loop *loop)
{
    const struct timespec until = rnic_day_after(FLUSH_WAIT_NS);
    int held = rnic_hold_on();

    if (pthread_mutex_timedlock(&loop->lock, &until) == 0) {
        uint64_t now = rnic_loop_now();

        if (loop_there(loop, now) && !loop->forked && give_out(loop, now))
            rnic_port_flush(loop->port);
        pthread_mutex_unlock(&loop->lock);
    }
    rnic_let_go(held);
}

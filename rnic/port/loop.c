/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* How frames move, and who holds the lock. */
#include "port/loop_impl.h"

#include <sched.h>
#include <time.h>
#include "port/clock.h"
#include "wire/pkt.h"

#define RX_BATCH     256u /* frames in before timers and frames out have their turn */
#define LOCK_SPIN_NS 10000u
#define OWED_NS      50000u    /* a program that polls answers in that time, or came late */
#define HOLD_NS      8000u     /* one that looks at its memory, or waits for more, in that */
#define SENDS_NS     20000000u /* one that sent so lately may answer at all */
#define STUCK_NS     2000000u  /* longer than anybody drives */
#define LATE_MAX     7u
#define BEHIND_NS    20000u /* so long an ACK waits for the next one */
#define BEHIND_MAX   10u
#define STREAM_NS    12000u /* frames that follow one another sooner are a stream: ... */
#define STREAM_TURNS 32u    /* ... so many turns with some have one ACK */
#define RESUMED_NS   10000u /* who sends again so soon after an ACK had waited for it */
#define STREAM_MAX   10u
#define BEHIND_GOOD  16u /* so many times without a wait make up for half of one in vain */
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

/* To wait in vain costs ten times what it saves: who waits for one in 16 is not let wait. */
static void learn_behind(struct rnic_loop *loop, bool late)
{
    struct loop_patience *patience = &loop->behind;

    if (late) {
        patience->late = patience->late + 2 < BEHIND_MAX ? patience->late + 2 : BEHIND_MAX;
        patience->skip = (1u << patience->late) / 4; /* 1, 4, 16, 64, 256 */
    } else if (++loop->behind_cnt % BEHIND_GOOD == 0 && patience->late > 0) {
        patience->late--;
    }
}

void loop_release(struct rnic_loop *loop)
{
    loop->behind_at = 0;
    if (!rnic_ack_waits(loop->rnic))
        return;
    learn_behind(loop, true);
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

    if (!loop->plugged)
        return false;
    moved = take_in(loop, &now, false);
    moved |= give_out(loop, now);
    return pass_on(loop, moved);
}

/* ---- answers --------------------------------------------------------------------------------- */

/*
 * What the device says to a frame, its acknowledgement as a rule, need not go before the program
 * had a moment to answer: both go with one system call then, and a peer that waits for both gets
 * them together. So it is owed until the program's next call. What came together with an
 * acknowledgement, or right after it, is owed anew: the program has not seen it yet.
 */
static void owe(struct rnic_loop *loop, uint64_t now)
{
    loop->owed = true;
    loop->owed_at = loop->came_at = now;
    loop->came_cnt = 0;
    loop->shown = false;
}

static bool has_patience(struct loop_patience *patience)
{
    if (patience->skip == 0)
        return true;
    patience->skip--;
    return false;
}

static void learn_patience(struct loop_patience *patience, bool late)
{
    if (!late)
        patience->late = 0;
    else if (patience->late < LATE_MAX)
        patience->late++;
    patience->skip = (1u << patience->late) / 4; /* 0, 0, 1, 2, 4 ... 32 */
}

/*
 * Where the program's answer is a WRITE, even its acknowledgement need not go with it: the peer may
 * have what it looks for, and its next request be acknowledged together with this one. A frame that
 * nobody waits for still takes both sides 2 us. Whether the peer waits shows soon: then it sends
 * nothing. The program must poll on, or nobody would see to that.
 */
static bool waits_behind(struct rnic_loop *loop, uint64_t now)
{
    if (!loop->owed || loop->open || !loop_present(loop, now))
        return false;
    if (loop->behind_at == 0)
        loop->behind_at = now;
    return now - loop->behind_at <= RNIC_ACK_HOLD_NS && has_patience(&loop->behind);
}

/* The program's own call: what it owed goes out in time, or came late. */
static void learn_polling(struct rnic_loop *loop, uint64_t now)
{
    if (loop->owed)
        learn_patience(&loop->polling, now - loop->came_at > OWED_NS);
}

static bool answer(struct rnic_loop *loop, uint64_t now)
{
    bool moved;

    learn_polling(loop, now);
    if (!waits_behind(loop, now))
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
        learn_behind(loop, false); /* the next request came */
    else if (*now - loop->passed_at > BEHIND_NS)
        moved |= give_out(loop, *now);
    return moved;
}

/*
 * A stream: a peer that sends one message after the other takes one ACK for many, and each costs
 * both sides a frame. While it comes, the ACK waits for the next message. A peer that waits for it
 * instead shows that by going on as soon as it has it.
 */
static void learn_stream(struct rnic_loop *loop, bool late)
{
    struct loop_patience *patience = &loop->stream;

    if (!late)
        patience->late -= patience->late > 0;
    else if (patience->late < STREAM_MAX)
        patience->late++;
    patience->skip = (1u << patience->late) / 4;
}

/* Frames came. */
static void note_stream(struct rnic_loop *loop, uint64_t now)
{
    loop->came_at = now;
    if (loop->ended_at && now - loop->ended_at <= RESUMED_NS)
        learn_stream(loop, true);
    loop->ended_at = 0;
    if (loop->owed && loop->came_cnt)
        loop->came_cnt++;
}

/* Whether what is owed may wait for more frames. */
static bool streams(struct rnic_loop *loop, uint64_t now)
{
    if (loop->came_cnt == 0 || !rnic_output_is_acks(loop->rnic))
        return false;
    if (loop->came_cnt > STREAM_TURNS) {
        learn_stream(loop, false);
        return false;
    }
    if (now - loop->came_at <= STREAM_NS)
        return true;
    loop->ended_at = now;
    return false;
}

/* Whether what is owed stays so while the program polls on: it found nothing yet, and may do so
 * with what answers its own request. */
static bool holds(const struct rnic_loop *loop, uint64_t now)
{
    return !loop->shown && now - loop->owed_at <= HOLD_NS &&
           rnic_deadline(loop->rnic) != RNIC_NEVER;
}

/* Drives for a program that polls. `seen`: as for take_in(). */
static bool drive_for_answer(struct rnic_loop *loop, uint64_t now, bool seen)
{
    bool moved = false;

    if (!loop->plugged)
        return false;
    if (loop->owed && !holds(loop, now) && !streams(loop, now)) {
        learn_polling(loop, now);
        moved = give_out(loop, now);
    }
    if (rnic_ack_waits(loop->rnic) ? take_in_behind(loop, &now, seen) : take_in(loop, &now, seen)) {
        moved = true;
        note_stream(loop, now);
        if (!loop->owed && rnic_output_ready(loop->rnic) && has_patience(&loop->polling)) {
            owe(loop, now);
            loop->came_cnt = has_patience(&loop->stream);
        }
    }
    if (!loop->owed)
        moved |= transmit(loop, now);
    return pass_on(loop, moved);
}

/* Whether the program may answer while the thread waits: it sent something lately, and from another
 * CPU than this. */
static bool may_answer(const struct rnic_loop *loop, uint64_t now)
{
    return rnic_output_ready(loop->rnic) && now - loop->sent_at <= SENDS_NS &&
           loop->sent_cpu != sched_getcpu();
}

enum loop_turn loop_drive_asking(struct rnic_loop *loop, uint64_t now)
{
    uint64_t until;
    bool moved;

    if (!loop->plugged)
        return LOOP_IDLE;
    moved = take_in(loop, &now, false);
    if (!moved || loop->owed || !may_answer(loop, now) || !has_patience(&loop->looking)) {
        moved |= give_out(loop, now);
        if (!pass_on(loop, moved))
            return LOOP_IDLE;
        loop_moved(loop, now);
        return LOOP_MOVED;
    }
    owe(loop, now);
    until = now + HOLD_NS;
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
        learn_patience(&loop->looking, true);
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
    loop_take_lock(loop);
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
    if (loop->plugged) {
        uint64_t now = rnic_loop_now();
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
    pthread_mutex_unlock(&loop->lock);
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
    bool moved;

    if (pthread_mutex_trylock(&loop->lock) != 0) {
        uint64_t now = rnic_loop_now();

        /* Another drives; this one polls all the same. Unless nobody does: then who holds the lock
         * may wait for this CPU, which a program of real-time priority never leaves. */
        atomic_store_explicit(&loop->polled_at, now, memory_order_relaxed);
        if (now < atomic_load_explicit(&loop->driven_at, memory_order_relaxed) + STUCK_NS)
            return false;
        loop_take_lock(loop);
    }
    if (loop->forked)
        loop_replug(loop);
    moved = rnic_loop_drive(loop);
    loop->owing = false;
    pthread_mutex_unlock(&loop->lock);
    return moved;
}

void rnic_loop_flush(struct rnic_loop *loop)
{
    const struct timespec until = rnic_day_after(FLUSH_WAIT_NS);

    if (pthread_mutex_timedlock(&loop->lock, &until) != 0)
        return;
    if (loop->plugged && !loop->forked && give_out(loop, rnic_loop_now()))
        rnic_port_flush(loop->port);
    pthread_mutex_unlock(&loop->lock);
}

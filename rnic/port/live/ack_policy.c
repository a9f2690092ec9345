/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * What is owed: the device's answers to frames that came, and how long they may wait: for the
 * program's own answer, for the next acknowledgement, for the rest of a stream. Nothing moves here.
 */
#include "port/live/live_impl.h"

#include <sched.h>

#define OWED_NS      50000u    /* a program that polls answers in that time, or came late */
#define SENDS_NS     20000000u /* one that sent so lately may answer at all */
#define LATE_MAX     7u
#define BEHIND_MAX   10u
#define BEHIND_GOOD  16u    /* so many times without a wait make up for half of one in vain */
#define STREAM_NS    12000u /* frames that follow one another sooner are a stream: ... */
#define STREAM_TURNS 32u    /* ... so many turns with some have one ACK */
#define STREAM_MAX   10u
#define RESUMED_NS   10000u /* who sends again so soon after an ACK had waited for it */

/* ---- patience -------------------------------------------------------------------------------- */

/* So often late, up to a limit: from the second time on each doubles the waits that are left out.
 */
static void set_late(struct backoff *patience, unsigned late, unsigned max)
{
    patience->late = late < max ? late : max;
    patience->skip = (1u << patience->late) / 4; /* 0, 0, 1, 2, 4 ... */
}

bool backoff_allows(struct backoff *patience)
{
    if (patience->skip == 0)
        return true;
    patience->skip--;
    return false;
}

void backoff_update(struct backoff *patience, bool late)
{
    set_late(patience, late ? patience->late + 1 : 0, LATE_MAX);
}

/* ---- until the program answers -----------------------------------------------------------------
 */

/*
 * What the device says to a frame, its acknowledgement as a rule, need not go before the program
 * had a moment to answer: both go with one system call then, and a peer that waits for both gets
 * them together. So it is owed until the program's next call. What came together with an
 * acknowledgement, or right after it, is owed anew: the program has not seen it yet.
 */
void live_owe(struct rnic_live *live, uint64_t now)
{
    live->owed = true;
    live->owed_at = live->came_at = now;
    live->came_cnt = 0;
    live->shown = false;
}

void live_learn_polling(struct rnic_live *live, uint64_t now)
{
    if (live->owed)
        backoff_update(&live->polling, now - live->came_at > OWED_NS);
}

/* Whether what is owed stays so while the program polls on: it found nothing yet, and may do so
 * with what answers its own request. */
static bool holds(const struct rnic_live *live, uint64_t now)
{
    return !live->shown && now - live->owed_at <= LIVE_HOLD_NS &&
           rnic_deadline(live->rnic) != RNIC_NEVER;
}

bool live_may_answer(const struct rnic_live *live, uint64_t now)
{
    return rnic_output_ready(live->rnic) && now - live->sent_at <= SENDS_NS &&
           live->sent_cpu != sched_getcpu();
}

/* ---- behind a WRITE ----------------------------------------------------------------------------
 */

/* To wait in vain costs ten times what it saves: who waits for one in 16 is not let wait. */
void live_learn_behind(struct rnic_live *live, bool late)
{
    struct backoff *patience = &live->behind;

    if (late)
        set_late(patience, patience->late + 2, BEHIND_MAX);
    else if (++live->behind_cnt % BEHIND_GOOD == 0 && patience->late > 0)
        patience->late--;
}

/*
 * Where the program's answer is a WRITE, even its acknowledgement need not go with it: the peer may
 * have what it looks for, and its next request be acknowledged together with this one. A frame that
 * nobody waits for still takes both sides 2 us. Whether the peer waits shows soon: then it sends
 * nothing. The program must poll on, or nobody would see to that.
 */
bool live_waits_behind(struct rnic_live *live, uint64_t now)
{
    if (!live->owed || live->open || !live_present(live, now))
        return false;
    if (live->behind_at == 0)
        live->behind_at = now;
    return now - live->behind_at <= RNIC_ACK_HOLD_NS && backoff_allows(&live->behind);
}

/* ---- while a stream comes ----------------------------------------------------------------------
 */

/*
 * A stream: a peer that sends one message after the other takes one ACK for many, and each costs
 * both sides a frame. While it comes, the ACK waits for the next message. A peer that waits for it
 * instead shows that by going on as soon as it has it.
 */
static void learn_stream(struct rnic_live *live, bool late)
{
    struct backoff *patience = &live->stream;

    set_late(patience, late ? patience->late + 1 : patience->late - (patience->late > 0),
             STREAM_MAX);
}

/* Frames came. */
static void note_stream(struct rnic_live *live, uint64_t now)
{
    live->came_at = now;
    if (live->ended_at && now - live->ended_at <= RESUMED_NS)
        learn_stream(live, true);
    live->ended_at = 0;
    if (live->owed && live->came_cnt)
        live->came_cnt++;
}

/* Whether what is owed may wait for more frames. */
static bool streams(struct rnic_live *live, uint64_t now)
{
    if (live->came_cnt == 0 || !rnic_output_is_acks(live->rnic))
        return false;
    if (live->came_cnt > STREAM_TURNS) {
        learn_stream(live, false);
        return false;
    }
    if (now - live->came_at <= STREAM_NS)
        return true;
    live->ended_at = now;
    return false;
}

bool live_owed_waits(struct rnic_live *live, uint64_t now)
{
    return holds(live, now) || streams(live, now);
}

void live_came(struct rnic_live *live, uint64_t now)
{
    note_stream(live, now);
    if (live->owed || !rnic_output_ready(live->rnic) || !backoff_allows(&live->polling))
        return;
    live_owe(live, now);
    live->came_cnt = backoff_allows(&live->stream);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/clock.h"
#include "port/live/live_impl.h"
#include "wire/pkt.h"

/* maximum number of frames received before timers expire and frames are sent */
#define RX_BATCH  256u
#define TX_FRAMES 256u /* maximum number of frames sent before frames are received */

rnic_time rnic_live_now(void)
{
    return rnic_clock_ns(CLOCK_MONOTONIC);
}

struct intake {
    struct rnic_live *live;
    uint64_t now; /* time when the first frame was read; 0: no frame was read yet */
};

static void on_frame(void *user, const struct rnic_frame *frame)
{
    struct intake *intake = user;

    if (intake->now == 0)
        intake->now = rnic_live_now();
    if (frame->len >= 14 && live_neigh_input(intake->live, frame, intake->now))
        return;
    if (frame->flags & RNIC_FRAME_NO_ICRC)
        rnic_input_without_icrc(intake->live->rnic, frame->data, frame->len, intake->now);
    else
        rnic_input(intake->live->rnic, frame->data, frame->len, intake->now);
}

/* Passes the frames in live->tx to the port. Returns false if the port is full. */
static bool send_batch(struct rnic_live *live, uint64_t now)
{
    struct tx_batch *tx = &live->tx;

    if (tx->first < tx->cnt)
        tx->first += rnic_port_send(live->port, tx->frame + tx->first, tx->cnt - tx->first, now);
    if (tx->first < tx->cnt)
        return false;
    tx->first = 0;
    tx->cnt = 0;
    return true;
}

/* Passes the frames in live->tx to the port. After the port has accepted them, starts the ACK
 * timers of the requests among them. While the program polls, live_receive() starts the timers at
 * the next poll instead, because reading the clock here would cost as much as building a frame.
 * Returns false if the port is full. */
static bool send_all(struct rnic_live *live, uint64_t now)
{
    if (!send_batch(live, now))
        return false;
    if (rnic_timers_started(live->rnic) && !live_polls_now(live, now))
        rnic_sent(live->rnic, rnic_live_now());
    return true;
}

/* Sends at most TX_FRAMES frames. Returns whether any frame was sent. On shared memory each frame
 * is sent before the next one is built: the peer receives it earlier, and the buffer stays in the
 * cache. */
static bool transmit(struct rnic_live *live, uint64_t now)
{
    struct tx_batch *tx = &live->tx;
    const unsigned batch = live->attr.wire == RNIC_WIRE_SHM ? 1 : LIVE_TX_FRAMES;
    const unsigned first = tx->first; /* number of earlier frames that the port has accepted */
    bool moved = tx->cnt > 0;
    size_t at = 0;

    tx->more = false;
    if (moved && !send_batch(live, now))
        return tx->first > first;
    for (unsigned cnt = 0; cnt == 0 || rnic_output_ready(live->rnic); cnt++) {
        size_t len;

        tx->more = cnt == TX_FRAMES;
        if (tx->more)
            break;
        len = rnic_output(live->rnic, tx->bytes + at, LIVE_TX_BYTES - at, now);
        if (len == 0)
            break;
        moved = true;
        tx->frame[tx->cnt++] = (struct rnic_frame){.data = tx->bytes + at, .len = (uint32_t)len};
        at += (len + 63) & ~(size_t)63;
        if (tx->cnt < batch && LIVE_TX_BYTES - at >= ROCE_FRAME_MAX)
            continue;
        if (!send_batch(live, now))
            return true;
        at = 0;
    }
    send_all(live, now);
    return moved;
}

uint64_t live_deadline(const struct rnic_live *live)
{
    uint64_t device = rnic_deadline(live->rnic);
    uint64_t port = live->attached ? rnic_port_deadline(live->port) : UINT64_MAX;

    return device < port ? device : port;
}

void live_notify(struct rnic_live *live)
{
    if (live->attr.notified)
        live->attr.notified(live->attr.user, live->rnic);
}

/* Starts the ACK timers of the requests that the port accepted since the last call, receives frames
 * and expires timers. Sets *now to the time of the first frame, because the thread may have lost
 * its CPU after the caller read the clock. With the earlier time, timers that the frames start
 * would expire too early. */
bool live_receive(struct rnic_live *live, uint64_t *now, bool *frames)
{
    struct intake intake = {.live = live};
    bool moved;

    atomic_store_explicit(&live->driven_at, *now, memory_order_relaxed);
    if (live->tx.cnt == 0)
        rnic_sent(live->rnic, *now);
    moved = rnic_port_recv(live->port, RX_BATCH, on_frame, &intake, *now) > 0;
    *frames = intake.now != 0;
    if (*frames)
        *now = intake.now;
    if (rnic_deadline(live->rnic) <= *now) {
        rnic_expire(live->rnic, *now);
        moved = true;
    }
    return moved;
}

bool live_transmit(struct rnic_live *live, bool holds, uint64_t now)
{
    bool moved;

    rnic_ack_hold(live->rnic, holds ? now + ACK_NEXT_NS : 0);
    moved = transmit(live, now);
    if (holds && rnic_ack_waits(live->rnic))
        return moved;
    atomic_store_explicit(&live->ack_waits, false, memory_order_relaxed);
    ack_policy_done(&live->ack);
    return moved;
}

/* Called if live_transmit() has not sent all ACKs. Delays these ACKs as long as the ACK policy
 * allows, or sends them. */
static bool apply_ack_policy(struct rnic_live *live, uint64_t now)
{
    uint64_t until = ack_policy_until(&live->ack, now);

    if (until == 0)
        return live_transmit(live, false, now);
    live->ack_waits = true;
    rnic_ack_hold(live->rnic, until);
    return false;
}

/* Sends the ready frames and notifies the program of events. */
static bool publish(struct rnic_live *live, bool moved)
{
    if (moved) {
        rnic_port_flush(live->port);
        live_notify(live);
    }
    return moved;
}

bool live_drive(struct rnic_live *live, uint64_t now)
{
    bool moved, frames;

    if (!live_is_attached(live, now))
        return false;
    moved = live_receive(live, &now, &frames);
    moved |= live_transmit(live, false, now);
    return publish(live, moved);
}

bool live_drive_polling(struct rnic_live *live, uint64_t now)
{
    bool moved, frames;

    if (!live_is_attached(live, now))
        return false;
    ack_policy_polled(&live->ack, now);
    moved = live_receive(live, &now, &frames);
    moved |= live_transmit(live, true, now);
    if (rnic_ack_waits(live->rnic)) {
        if (frames)
            ack_policy_received(&live->ack, live->sent_at + ACK_SENDER_NS > now, now);
        moved |= apply_ack_policy(live, now);
    }
    return publish(live, moved);
}

bool live_send_posted(struct rnic_live *live, uint64_t now)
{
    bool posted = rnic_output_ready(live->rnic) || live->tx.cnt > 0;

    ack_policy_polled(&live->ack, now);
    if (posted)
        ack_policy_sent(&live->ack, now);
    if (ack_policy_until(&live->ack, now) == 0 || (posted && !live_polls_now(live, now)))
        return live_transmit(live, false, now);
    if (!posted)
        return false;
    posted = live_transmit(live, true, now);
    rnic_ack_hold(live->rnic, live->ack.until);
    return posted;
}

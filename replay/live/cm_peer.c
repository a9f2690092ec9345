/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/cm_peer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "infer/request_table.h"
#include "live/cm_peer_conns.h"

#define QUIET_NS UINT64_C(30000000)

/* Time to wait until the target's program connects to us, ns. */
#define LISTEN_NS UINT64_C(30000000000)

/* Limit of requests of one connection that the target sends later than --tolerance, or not at all.
 * After this number, the replay no longer waits for requests of this connection. */
#define MISSES_MAX 4u

enum cm_peer_turn_kind { TURN_CM, TURN_EVENT, TURN_STEP };

struct cm_peer_turn {
    uint32_t pkt;
    enum cm_peer_turn_kind kind;
    uint32_t exch;
    /* TURN_CM: index of the message in the CM exchange. TURN_EVENT: index of the event in the live
     * script. TURN_STEP: index in setup.event of the direction in which the target sends
     * requests. */
    uint32_t idx;
    uint32_t seq;
};

struct cm_peer {
    struct live *live;
    struct live_cm cm;
    struct cm_peer_conns conns;
    struct cm_peer_turn *turn;
    size_t turn_cnt, turn_cap;
    bool connected; /* the target's program has connected to us */
    bool no_memory;
    struct live_pace pace;
};

/* ---- received packets -------------------------------------------------------------------------
 */

/* Returns the recorded request with the same PSN and payload length as the live request `pkt`.
 * Returns NULL if there is none or its payload was not captured completely. */
static const struct trace_packet *recorded_request(const struct inferred_setup *s,
                                                   const struct roce_pkt *pkt)
{
    int64_t rel =
        s->first + roce_psn_diff(roce_pkt_psn(pkt), roce_psn_add(s->psn, (int32_t)s->first));
    const struct request_pkt *e = request_at(s, rel);
    const struct trace_packet *p = e && e->rel == rel ? event_packet(s, e->event) : NULL;

    return p && p->payload_len && p->payload_len == pkt->payload_len && !p->zero_filled && !p->cut
               ? p
               : NULL;
}

static void learn_private(void *ctx, uint32_t exch, const uint8_t *recorded, uint8_t *live,
                          size_t len)
{
    cm_peer_conns_learn(&((struct cm_peer *)ctx)->conns, exch, recorded, live, len);
}

static void take_request(struct cm_peer *peer, uint32_t exch, struct roce_pkt *pkt)
{
    struct cm_peer_conn *conn = &peer->conns.conn[exch];
    const struct trace_packet *p;
    uint8_t bytes[ROCE_FRAME_MAX];

    rewrite_to_recorded(&peer->live->run[conn->in].rewrite, pkt);
    p = recorded_request(requester_setup(&peer->live->drive->dir[conn->in]), pkt);
    if (p && pkt->payload_len <= sizeof(bytes)) {
        memcpy(bytes, pkt->payload, pkt->payload_len);
        cm_peer_conns_learn(&peer->conns, exch, trace_payload(p), bytes, pkt->payload_len);
        if (peer->live->options->any_payload &&
            memcmp(bytes, trace_payload(p), pkt->payload_len) != 0) {
            memcpy(bytes, trace_payload(p), pkt->payload_len);
            conn->tracker.asker->other_payload++;
        }
        pkt->payload = bytes;
    }
    if (request_tracker_add(&conn->tracker, pkt) != 0)
        peer->no_memory = true;
}

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct cm_peer *peer = user;
    struct live *live = peer->live;
    struct roce_pkt pkt;
    uint32_t exch, dir;
    bool answer;

    if (!live_parse(live, frame, &pkt, &exch))
        return;
    if (pkt.bth.dest_qp == ROCE_QP_GSI) {
        if (live_check_icrc(live, &pkt))
            live_cm_take(&peer->cm, &pkt);
        return;
    }
    answer = roce_opcode_is_response(roce_opcode(pkt.bth.opcode));
    dir = exch < peer->cm.cnt ? (answer ? peer->conns.conn[exch].out : peer->conns.conn[exch].in)
                              : LIVE_RUN_NONE;
    if (dir == LIVE_RUN_NONE || !peer->cm.exch[exch].up) {
        live->foreign++;
        return;
    }
    cm_peer_conns_bind(&peer->conns, exch);
    if (!live_check_icrc(live, &pkt))
        return;
    if (answer)
        live_take_response(live, dir, &pkt);
    else
        take_request(peer, exch, &pkt);
}

static uint64_t run_cm_timers(void *user)
{
    struct cm_peer *peer = user;

    return live_cm_tick(&peer->cm);
}

/* ---- sorting the events ------------------------------------------------------------------------
 */

static bool add_turn(struct cm_peer *peer, const struct cm_peer_turn *turn)
{
    if (!VEC_GROW(peer->turn, peer->turn_cnt, peer->turn_cap))
        return false;
    peer->turn[peer->turn_cnt] = *turn;
    peer->turn[peer->turn_cnt].seq = (uint32_t)peer->turn_cnt;
    peer->turn_cnt++;
    return true;
}

static int turn_cmp(const void *a, const void *b)
{
    const struct cm_peer_turn *x = a, *y = b;

    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool list_turns(struct cm_peer *peer)
{
    const struct live_script *script = &peer->live->script;
    const struct session *d = peer->live->drive;

    for (uint32_t i = 0; i < peer->cm.cnt; i++) {
        const struct cm_exchange *x = &peer->cm.exchanges->at[peer->cm.exch[i].idx];

        for (uint32_t k = 0; !peer->cm.exch[i].skip && k < x->cnt; k++)
            if (!add_turn(peer, &(struct cm_peer_turn){x->pkt[k], TURN_CM, i, k, 0}))
                return false;
    }
    for (uint32_t i = 0; i < script->cnt; i++) {
        const struct live_event *e = &script->event[i];

        if ((e->kind == LIVE_FRAME || e->kind == LIVE_ANSWER) &&
            peer->conns.exch_of[e->run] != LIVE_RUN_NONE &&
            peer->conns.conn[peer->conns.exch_of[e->run]].out == e->run &&
            !add_turn(peer, &(struct cm_peer_turn){e->pkt, TURN_EVENT, peer->conns.exch_of[e->run],
                                                   i, 0}))
            return false;
    }
    for (uint32_t i = 0; i < peer->cm.cnt; i++) {
        const struct inferred_setup *s = peer->conns.conn[i].in == LIVE_RUN_NONE
                                             ? NULL
                                             : requester_setup(&d->dir[peer->conns.conn[i].in]);

        for (uint32_t k = 0; s && k < s->event_cnt; k++)
            if (!add_turn(peer, &(struct cm_peer_turn){s->event[k].sent_at, TURN_STEP, i, k, 0}))
                return false;
    }
    if (peer->turn_cnt)
        qsort(peer->turn, peer->turn_cnt, sizeof(*peer->turn), turn_cmp);
    return true;
}

/* Waits for requests of the target, at most the time of option --tolerance. If `event` is
 * EVENT_NONE, waits for every request that precedes the current packet in the capture. Otherwise
 * waits until request_tracker_may_proceed() returns true for event `event`. Returns 0, or -1 and an
 * error. */
static int wait_request(struct cm_peer *peer, struct cm_peer_conn *conn, uint32_t event,
                        struct error *error)
{
    uint64_t limit = live_now() + peer->live->options->tolerance_ns;

    while (conn->misses < MISSES_MAX &&
           !(event == EVENT_NONE ? request_tracker_has_reached(&conn->tracker, conn->wanted)
                                 : request_tracker_may_proceed(&conn->tracker, event))) {
        if (live_now() >= limit) {
            conn->misses++;
            return 0;
        }
        if (live_poll(peer->live, limit, error) != 0)
            return -1;
    }
    return 0;
}

static int play_cm(struct cm_peer *peer, const struct cm_peer_turn *turn, struct error *error)
{
    const struct live_cm_exchange *exch = &peer->cm.exch[turn->exch];
    uint64_t time = peer->live->drive->trace->pkt[turn->pkt].time;
    uint64_t patience = peer->live->options->tolerance_ns;
    const struct cm_exchange *x = &peer->cm.exchanges->at[exch->idx];

    if (cm_exchange_is_from(peer->cm.exchanges, x, peer->cm.ours, turn->idx)) {
        if (live_pace_wait(peer->live, &peer->pace, time, error) != 0)
            return -1;
        live_cm_act(&peer->cm, turn->exch, turn->idx);
    } else {
        /* A person or a script starts the target's program, so wait longer for its first
         * connection. */
        if (!peer->connected && peer->cm.ours == CM_PASSIVE && patience < LISTEN_NS)
            patience = LISTEN_NS;
        if (live_cm_expect(&peer->cm, turn->exch, turn->idx, patience, learn_private, peer,
                           error) != 0)
            return -1;
        peer->connected |= exch->id != NULL;
    }
    cm_peer_conns_bind(&peer->conns, turn->exch);
    live_pace_set(&peer->pace, time);
    return 0;
}

static int play_event(struct cm_peer *peer, const struct cm_peer_turn *turn, struct error *error)
{
    struct cm_peer_conn *conn = &peer->conns.conn[turn->exch];
    const struct live_event *e = &peer->live->script.event[turn->idx];
    uint64_t time = peer->live->drive->trace->pkt[turn->pkt].time;
    bool waited;

    if (e->kind == LIVE_ANSWER) {
        if (live_wait_response(peer->live, e, &waited, error) != 0)
            return -1;
        if (waited)
            live_pace_set(&peer->pace, time);
        return 0;
    }
    /* In the capture, our endpoint sent this frame after it had received requests of the target.
     * Wait for the same requests of the live target. */
    if (conn->in != LIVE_RUN_NONE && wait_request(peer, conn, EVENT_NONE, error) != 0)
        return -1;
    if (live_pace_wait(peer->live, &peer->pace, time, error) != 0 ||
        live_send_frame(peer->live, e, error) != 0)
        return -1;
    live_pace_set(&peer->pace, time);
    return live_poll(peer->live, 0, error);
}

static int play_step(struct cm_peer *peer, const struct cm_peer_turn *turn, struct error *error)
{
    struct cm_peer_conn *conn = &peer->conns.conn[turn->exch];
    struct requester_run *a = conn->tracker.asker;
    const struct inferred_setup *s = a->wrs.setup;
    const struct pkt_event *event = &s->event[turn->idx];
    const struct trace_packet *p = event_packet(s, turn->idx);
    int64_t idx = work_requests_psn_idx(&a->wrs, event->rel);
    uint8_t buf[ROCE_FRAME_MAX];

    conn->tracker.step = turn->idx;
    if (!event->response) {
        if (idx < 0 || a->retransmit[turn->idx] == RETX_WIRE_DUPLICATE)
            return 0;
        request_tracker_add_recorded(&conn->tracker, turn->idx);
        if (event->rel > conn->wanted)
            conn->wanted = event->rel;
        return wait_request(peer, conn, turn->idx, error);
    }
    if (a->outcome[turn->idx] != RESP_ACCEPTED)
        return 0;
    if (wait_request(peer, conn, turn->idx, error) != 0 ||
        live_pace_wait(peer->live, &peer->pace, p->time, error) != 0)
        return -1;
    live_pace_set(&peer->pace, p->time);
    request_tracker_add_response(&conn->tracker, turn->idx);
    return live_send(peer->live, p, buf,
                     rewrite_to_live(&peer->live->run[conn->in].rewrite, p, buf, sizeof(buf)),
                     error);
}

static int play_turns(struct cm_peer *peer, struct error *error)
{
    for (size_t i = 0; i < peer->turn_cnt; i++) {
        const struct cm_peer_turn *turn = &peer->turn[i];
        const struct cm_peer_conn *conn = &peer->conns.conn[turn->exch];
        bool up = peer->cm.exch[turn->exch].up;
        int rc = 0;

        if (turn->kind == TURN_CM)
            rc = play_cm(peer, turn, error);
        else if (up && turn->kind == TURN_EVENT)
            rc = play_event(peer, turn, error);
        else if (up)
            rc = play_step(peer, turn, error);
        if (rc != 0)
            return -1;
        if (turn->kind == TURN_STEP)
            conn->tracker.asker->tx_cnt_after[turn->idx] = (uint32_t)conn->tracker.asker->tx_cnt;
        if (peer->no_memory || peer->live->no_memory || peer->cm.no_memory)
            return error_set(error, "no memory");
    }
    return live_wait_until(peer->live, live_now() + QUIET_NS, error);
}

/* ---- playing the whole capture -----------------------------------------------------------------
 */

static void peer_close(struct cm_peer *peer)
{
    cm_peer_conns_close(&peer->conns);
    free(peer->turn);
    live_cm_close(&peer->cm);
    peer->live->take = NULL;
    peer->live->tick = NULL;
}

int cm_peer_play(struct live *live, struct rc_requester *requester, struct cm_exchanges *xs,
                 struct error *error)
{
    struct cm_peer peer = {.live = live};
    int rc = live_cm_open(&peer.cm, live, xs, error);

    live->take = take_frame;
    live->take_ctx = &peer;
    live->tick = run_cm_timers;
    if (rc == 0 &&
        (!live_drop_simulated(live) || live_script_finish(&live->script, live->drive) != 0 ||
         cm_peer_conns_open(&peer.conns, live, requester, &peer.cm) != 0 || !list_turns(&peer)))
        rc = error_set(error, "no memory");
    if (rc == 0)
        rc = play_turns(&peer, error);
    if (rc == 0)
        rc = live_cm_leave(&peer.cm, error);
    if (rc == 0) {
        cm_peer_conns_leave_out(&peer.conns);
        live_cm_judge(&peer.cm);
    }
    peer_close(&peer);
    return rc;
}

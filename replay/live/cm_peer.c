/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/cm_peer.h"

#include <stdlib.h>
#include <string.h>
#include "live/cm_peer_conns.h"

#define QUIET_NS UINT64_C(30000000)

/* How long we listen for the far program to connect first. */
#define LISTEN_NS UINT64_C(30000000000)

/* After so many requests that did not come the others are not waited for. */
#define MISSES_MAX 4u

enum turn_kind { TURN_CM, TURN_EVENT, TURN_STEP };

struct turn {
    uint32_t pkt;
    enum turn_kind kind;
    uint32_t link;
    uint32_t idx; /* message of the exchange, event of the script, or step of the run `in` */
    uint32_t seq;
};

struct peer {
    struct live *live;
    struct live_cm cm;
    struct live_ends ends;
    struct turn *turn;
    size_t turn_cnt, turn_cap;
    bool connected; /* the far program has connected once */
    bool no_memory;
    uint64_t at, recorded; /* when the event before was, in both worlds */
};

/* ---- what comes in ----------------------------------------------------------------------------
 */

/* The recorded request of the far end that a live one with its PSN stands for, if they are alike.
 */
static const struct trace_packet *counterpart(const struct setup *s, const struct roce_pkt *pkt)
{
    int64_t rel =
        s->first + roce_psn_diff(roce_pkt_psn(pkt), roce_psn_add(s->psn, (int32_t)s->first));
    const struct entry *e = setup_entry(s, rel);
    const struct trace_packet *p = e && e->rel == rel ? setup_packet(s, e->step) : NULL;

    return p && p->payload_len && p->payload_len == pkt->payload_len && !p->made_up && !p->cut
               ? p
               : NULL;
}

static void learn_private(void *ctx, uint32_t link, const uint8_t *recorded, uint8_t *live,
                          size_t len)
{
    live_ends_learn(&((struct peer *)ctx)->ends, link, recorded, live, len);
}

static void take_request(struct peer *peer, uint32_t link, struct roce_pkt *pkt)
{
    struct live_end *end = &peer->ends.end[link];
    const struct trace_packet *p;
    uint8_t bytes[ROCE_FRAME_MAX];

    rebind_in(&peer->live->run[end->in].bind, pkt);
    p = counterpart(&peer->live->drive->run[end->in].setup, pkt);
    if (p && pkt->payload_len <= sizeof(bytes)) {
        memcpy(bytes, pkt->payload, pkt->payload_len);
        live_ends_learn(&peer->ends, link, trace_payload(p), bytes, pkt->payload_len);
        if (peer->live->options->any_payload &&
            memcmp(bytes, trace_payload(p), pkt->payload_len) != 0) {
            memcpy(bytes, trace_payload(p), pkt->payload_len);
            end->ear.asker->other_payload++;
        }
        pkt->payload = bytes;
    }
    if (live_ear_take(&end->ear, pkt) != 0)
        peer->no_memory = true;
}

static void take(void *user, const struct rnic_frame *frame)
{
    struct peer *peer = user;
    struct live *live = peer->live;
    struct roce_pkt pkt;
    uint32_t link, run;
    bool answer;

    if (!live_parse(live, frame, &pkt, &link))
        return;
    if (pkt.bth.dest_qp == ROCE_QP_GSI) {
        if (live_is_whole(live, &pkt))
            live_cm_take(&peer->cm, &pkt);
        return;
    }
    answer = roce_opcode_is_response(roce_opcode(pkt.bth.opcode));
    run = link < peer->cm.cnt ? (answer ? peer->ends.end[link].out : peer->ends.end[link].in)
                              : LIVE_RUN_NONE;
    if (run == LIVE_RUN_NONE || !peer->cm.link[link].up) {
        live->foreign++;
        return;
    }
    live_ends_bind(&peer->ends, link);
    if (!live_is_whole(live, &pkt))
        return;
    if (answer)
        live_take_answer(live, run, &pkt);
    else
        take_request(peer, link, &pkt);
}

static uint64_t tick(void *user)
{
    struct peer *peer = user;

    return live_cm_tick(&peer->cm);
}

/* ---- turns -------------------------------------------------------------------------------------
 */

static bool add_turn(struct peer *peer, const struct turn *turn)
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
    const struct turn *x = a, *y = b;

    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool list_turns(struct peer *peer)
{
    const struct live_script *script = &peer->live->script;
    const struct drive *d = peer->live->drive;

    for (uint32_t i = 0; i < peer->cm.cnt; i++) {
        const struct exchange *x = &peer->cm.exchanges->exchange[peer->cm.link[i].exchange];

        for (uint32_t k = 0; !peer->cm.link[i].skip && k < x->cnt; k++)
            if (!add_turn(peer, &(struct turn){x->pkt[k], TURN_CM, i, k, 0}))
                return false;
    }
    for (uint32_t i = 0; i < script->cnt; i++) {
        const struct live_event *e = &script->event[i];

        if ((e->kind == LIVE_FRAME || e->kind == LIVE_ANSWER) &&
            peer->ends.link_of[e->run] != LIVE_RUN_NONE &&
            peer->ends.end[peer->ends.link_of[e->run]].out == e->run &&
            !add_turn(peer, &(struct turn){e->pkt, TURN_EVENT, peer->ends.link_of[e->run], i, 0}))
            return false;
    }
    for (uint32_t i = 0; i < peer->cm.cnt; i++)
        for (uint32_t k = 0; peer->ends.end[i].in != LIVE_RUN_NONE &&
                             k < d->run[peer->ends.end[i].in].setup.step_cnt;
             k++)
            if (!add_turn(peer, &(struct turn){d->run[peer->ends.end[i].in].setup.step[k].pkt,
                                               TURN_STEP, i, k, 0}))
                return false;
    if (peer->turn_cnt)
        qsort(peer->turn, peer->turn_cnt, sizeof(*peer->turn), turn_cmp);
    return true;
}

/* Until a frame of this time is due. */
static int wait_due(struct peer *peer, uint64_t time, struct fault *fault)
{
    double speed = peer->live->options->speed;

    if (speed > 0 && peer->recorded && time > peer->recorded)
        peer->at += (uint64_t)((double)(time - peer->recorded) / speed);
    return live_wait_until(peer->live, peer->at, fault);
}

/* The event of this time has been. */
static void go_on(struct peer *peer, uint64_t time)
{
    peer->at = live_now();
    peer->recorded = time;
}

/* Waits until the far end has sent all that our program had got, or until the step may be. 0, or -1
 * and a fault. */
static int wait_request(struct peer *peer, struct live_end *end, uint32_t step, struct fault *fault)
{
    uint64_t limit = live_now() + peer->live->options->tolerance_ns;

    while (end->misses < MISSES_MAX && !(step == STEP_NONE ? live_ear_has(&end->ear, end->wanted)
                                                           : live_ear_ready(&end->ear, step))) {
        if (live_now() >= limit) {
            end->misses++;
            return 0;
        }
        if (live_look(peer->live, limit, fault) != 0)
            return -1;
    }
    return 0;
}

static int play_cm(struct peer *peer, const struct turn *turn, struct fault *fault)
{
    const struct live_link *link = &peer->cm.link[turn->link];
    uint64_t time = peer->live->drive->trace->pkt[turn->pkt].time;
    uint64_t patience = peer->live->options->tolerance_ns;
    const struct exchange *x = &peer->cm.exchanges->exchange[link->exchange];

    if (exchange_is_from(peer->cm.exchanges, x, peer->cm.ours, turn->idx)) {
        if (wait_due(peer, time, fault) != 0)
            return -1;
        live_cm_act(&peer->cm, turn->link, turn->idx);
    } else {
        /* The far program is started by somebody. */
        if (!peer->connected && peer->cm.ours == EXCHANGE_PASSIVE && patience < LISTEN_NS)
            patience = LISTEN_NS;
        if (live_cm_expect(&peer->cm, turn->link, turn->idx, patience, learn_private, peer,
                           fault) != 0)
            return -1;
        peer->connected |= link->id != NULL;
    }
    live_ends_bind(&peer->ends, turn->link);
    go_on(peer, time);
    return 0;
}

static int play_event(struct peer *peer, const struct turn *turn, struct fault *fault)
{
    struct live_end *end = &peer->ends.end[turn->link];
    const struct live_event *e = &peer->live->script.event[turn->idx];
    uint64_t time = peer->live->drive->trace->pkt[turn->pkt].time;
    bool waited;

    if (e->kind == LIVE_ANSWER) {
        if (live_wait_answer(peer->live, e, &waited, fault) != 0)
            return -1;
        if (waited)
            go_on(peer, time);
        return 0;
    }
    /* Our program sent this after it had got what the far end sent. */
    if (end->in != LIVE_RUN_NONE && wait_request(peer, end, STEP_NONE, fault) != 0)
        return -1;
    if (wait_due(peer, time, fault) != 0 || live_send_frame(peer->live, e, fault) != 0)
        return -1;
    go_on(peer, time);
    return live_look(peer->live, 0, fault);
}

static int play_step(struct peer *peer, const struct turn *turn, struct fault *fault)
{
    struct live_end *end = &peer->ends.end[turn->link];
    struct asker *a = end->ear.asker;
    const struct setup *s = a->works.setup;
    const struct step *step = &s->step[turn->idx];
    const struct trace_packet *p = setup_packet(s, turn->idx);
    int64_t idx = works_psn_idx(&a->works, step->rel);
    uint8_t buf[ROCE_FRAME_MAX];

    end->ear.step = turn->idx;
    if (!step->response) {
        if (idx < 0 || a->restart[turn->idx] == RESTART_DUPLICATE)
            return 0;
        live_ear_recorded(&end->ear, turn->idx);
        if (step->rel > end->wanted)
            end->wanted = step->rel;
        return wait_request(peer, end, turn->idx, fault);
    }
    if (a->fate[turn->idx] != FATE_TAKEN)
        return 0;
    if (wait_request(peer, end, turn->idx, fault) != 0 || wait_due(peer, p->time, fault) != 0)
        return -1;
    go_on(peer, p->time);
    live_ear_answered(&end->ear, turn->idx);
    return live_send(peer->live, p, buf,
                     rebind_out(&peer->live->run[end->in].bind, p, buf, sizeof(buf)), fault);
}

static int play(struct peer *peer, struct fault *fault)
{
    peer->at = live_now();
    for (size_t i = 0; i < peer->turn_cnt; i++) {
        const struct turn *turn = &peer->turn[i];
        const struct live_end *end = &peer->ends.end[turn->link];
        bool up = peer->cm.link[turn->link].up;
        int rc = 0;

        if (turn->kind == TURN_CM)
            rc = play_cm(peer, turn, fault);
        else if (up && turn->kind == TURN_EVENT)
            rc = play_event(peer, turn, fault);
        else if (up)
            rc = play_step(peer, turn, fault);
        if (rc != 0)
            return -1;
        if (turn->kind == TURN_STEP)
            end->ear.asker->mark_sent[turn->idx] = (uint32_t)end->ear.asker->sent_cnt;
        if (peer->no_memory || peer->live->no_memory || peer->cm.no_memory)
            return fault_set(fault, "no memory");
    }
    return live_wait_until(peer->live, live_now() + QUIET_NS, fault);
}

/* ---- all ---------------------------------------------------------------------------------------
 */

static void peer_close(struct peer *peer)
{
    live_ends_close(&peer->ends);
    free(peer->turn);
    live_cm_close(&peer->cm);
    peer->live->take = NULL;
    peer->live->tick = NULL;
}

int live_peer(struct live *live, struct post *post, struct exchanges *exchanges,
              struct fault *fault)
{
    struct peer peer = {.live = live};
    int rc = live_cm_open(&peer.cm, live, exchanges, fault);

    live->take = take;
    live->take_ctx = &peer;
    live->tick = tick;
    if (rc == 0 &&
        (!live_forget_ours(live) || live_script_finish(&live->script, live->drive) != 0 ||
         live_ends_open(&peer.ends, live, post, &peer.cm) != 0 || !list_turns(&peer)))
        rc = fault_set(fault, "no memory");
    if (rc == 0)
        rc = play(&peer, fault);
    if (rc == 0)
        rc = live_cm_leave(&peer.cm, fault);
    if (rc == 0) {
        live_ends_leave_out(&peer.ends);
        live_cm_judge(&peer.cm);
    }
    peer_close(&peer);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_responder.h"

#include <stdlib.h>
#include <string.h>
#include "engine/inject.h"
#include "engine/rc_responder_app.h"
#include "infer/split_runs.h"
#include "infer/shared_memory.h"
#include "engine/rc_responder_dev.h"
#include "wire/crc32.h"

/* Payloads of answers that no recorded packet shows are kept up to this, for the report. */
#define KEPT_MAX (UINT64_C(64) << 20)

/* A packet to play. */
struct cue {
    uint32_t pkt; /* it is played when this one of the trace was captured */
    uint32_t run;
    uint32_t step; /* whose frame it is */
    uint32_t when; /* step at which it is played: the same, but for a struct ahead */
    size_t order;  /* among those of one run and packet */
    size_t next;   /* while it is held: the next one of its run, or NOT_HELD */
};

struct answer *drive_add_answer(struct run *run, const struct roce_pkt *pkt, uint32_t step,
                                uint64_t time, int64_t rel)
{
    struct answer *a;

    if (!VEC_GROW(run->answer, run->answer_cnt, run->answer_cap))
        return NULL;
    a = &run->answer[run->answer_cnt++];
    *a = (struct answer){
        .step = step,
        .time = time,
        .rel = rel,
        .psn = pkt->bth.psn,
        .msn = pkt->aeth.msn,
        .dest_qp = pkt->bth.dest_qp,
        .pkey = pkt->bth.pkey,
        .opcode = pkt->bth.opcode,
        .syndrome = pkt->aeth.syndrome,
        .se = pkt->bth.se,
        .ackreq = pkt->bth.ackreq,
        .orig = pkt->atomicacketh.orig,
        .payload_len = pkt->payload_len,
        .hash = pkt->payload_len ? drive_hash(pkt->payload, pkt->payload_len) : 0,
    };
    return a;
}

uint64_t drive_hash(const uint8_t *p, size_t len)
{
    return (uint64_t)len << 32 | roce_crc32(0, p, len);
}

/* ---- a packet ----------------------------------------------------------------------------------
 */

static const uint8_t *keep_payload(struct drive *d, const struct roce_pkt *pkt)
{
    uint8_t *p;

    if (pkt->payload_len == 0 || d->kept_len + pkt->payload_len > KEPT_MAX ||
        !VEC_GROW(d->kept, d->kept_cnt, d->kept_cap))
        return NULL;
    p = malloc(pkt->payload_len);
    if (!p)
        return NULL;
    memcpy(p, pkt->payload, pkt->payload_len);
    d->kept[d->kept_cnt++] = p;
    d->kept_len += pkt->payload_len;
    return p;
}

/* A recorded response with the same PSN and payload, whose bytes stand for ours; or a copy. */
static const uint8_t *find_payload(struct drive *d, const struct playing *play,
                                   const struct roce_pkt *pkt, int64_t rel)
{
    const struct setup *s = &play->run->setup;
    size_t low = 0, high = play->shown_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (play->shown[mid].rel < rel)
            low = mid + 1;
        else
            high = mid;
    }
    for (unsigned tries = 0; low < play->shown_cnt && tries < 16; low++, tries++) {
        const struct trace_packet *p = setup_packet(s, play->shown[low].step);

        if (play->shown[low].rel != rel)
            break;
        if (p->payload_len == pkt->payload_len && p->payload_len &&
            memcmp(trace_payload(p), pkt->payload, p->payload_len) == 0)
            return trace_payload(p);
    }
    return keep_payload(d, pkt);
}

/* The side whose requester a frame goes to: the one being played, unless a timer of another QP
 * fired. */
static struct playing *receiver(struct stage *st, uint32_t run_idx, uint32_t dest_qp)
{
    if (st->play[run_idx].run->setup.peer_qpn == dest_qp)
        return &st->play[run_idx];
    for (size_t i = 0; i < st->drive->run_cnt; i++)
        if (st->play[i].qp && st->play[i].run->device == st->play[run_idx].run->device &&
            st->play[i].run->setup.peer_qpn == dest_qp)
            return &st->play[i];
    return &st->play[run_idx];
}

static int take_answers(struct stage *st, uint32_t run_idx, rnic_time now)
{
    uint8_t buf[ROCE_FRAME_MAX];
    size_t len;

    while ((len = rnic_output(st->rnic, buf, sizeof(buf), now)) > 0) {
        struct playing *play;
        const struct step *at;
        struct roce_pkt pkt;
        struct answer *a;
        struct run *run;

        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) != 0)
            continue;
        play = receiver(st, run_idx, pkt.bth.dest_qp);
        run = play->run;
        at = &run->setup.step[play->last];
        a = drive_add_answer(
            run, &pkt, play->last, now,
            at->rel + roce_psn_diff(roce_pkt_psn(&pkt),
                                    roce_psn_of(setup_packet(&run->setup, play->last)->psn)));
        if (!a)
            return -1;
        if (a->payload_len)
            a->payload = find_payload(st->drive, play, &pkt, a->rel);
    }
    return 0;
}

/* Our RNIC has executed the request: what it wrote, and which key it invalidated. */
static int note_executed(struct stage *st, uint32_t run_idx, uint32_t step)
{
    const struct setup *s = &st->drive->run[run_idx].setup;
    const struct entry *e = setup_entry(s, s->step[step].rel);
    const struct trace_packet *p = setup_packet(s, step);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct memory *memory = &st->device->memory;
    struct memory_write write = {.side = run_idx, .pkt = s->step[step].pkt};
    struct memory_region *region;
    struct roce_pkt pkt;

    if (roce_opcode_uses_rq(op) && roce_opcode_ends(op))
        st->event = s->step[step].pkt;
    if (roce_opcode_has(op, ROCE_HDR_IETH)) {
        trace_parse(p, &pkt);
        region = memory_find(memory, pkt.ieth.rkey);
        if (region)
            st->invalidated[region - memory->region] = 1;
    }
    if (!e || (op->kind != ROCE_KIND_WRITE && op->kind != ROCE_KIND_ATOMIC_WRITE &&
               !roce_opcode_is_atomic(op)))
        return 0;
    sharing_executed(&st->sharing, run_idx, (uint32_t)(e - s->entry));
    write.rkey = e->rkey;
    write.va = e->va;
    write.len = e->len;
    write.data = roce_opcode_is_atomic(op) ? NULL : trace_payload(p);
    write.unknown = p->made_up;
    region = memory_find(memory, e->rkey);
    if (!region || !memory_covers(region, e->va, e->len, 0))
        return 0;
    return memory_written(memory, region, &write);
}

static bool drain_timers(struct stage *st, uint32_t run_idx, rnic_time until)
{
    rnic_time at;

    /* A deadline that does not move on would hold us forever: 2^16 of them between two packets is
     * more than any device has. */
    for (unsigned i = 0;
         i < 1u << 16 && (at = rnic_deadline(st->rnic)) <= until && at != RNIC_NEVER; i++) {
        rnic_expire(st->rnic, at);
        if (take_answers(st, run_idx, at) != 0)
            return false;
    }
    return true;
}

static int play_cue(struct stage *st, const struct cue *cue, rnic_time now)
{
    uint32_t run_idx = cue->run, step = cue->step;
    struct run *run = &st->drive->run[run_idx];
    const struct setup *s = &run->setup;
    const struct step *at = &s->step[step];
    const struct trace_packet *p = setup_packet(s, step);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    const struct drive_watch *watch = st->drive->watch;
    struct memory *memory = &st->device->memory;
    struct memory_region *region = NULL;
    struct rnic_qp_view before, after;
    struct shared *shared = NULL;
    struct rnic_qp *qp = stage_qp(st, run_idx, now);
    const struct memory_reader lender = {.store = watch || st->drive->stores ? prepare_store : NULL,
                                         .ctx = st};
    struct rnic_wc wc[16];
    struct roce_pkt pkt;
    int64_t ahead;
    bool taken;

    if (!qp)
        return 0;
    st->play[run_idx].last = cue->when;
    if (setup_svc(s) == ROCE_SVC_XRC && !at->damaged)
        shared = prepare_shared(st, p);
    rnic_qp_view(qp, &before);
    ahead = roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(before.epsn));
    if (st->given &&
        given_stores(st->given, memory, st->drive->trace->pkt[cue->pkt].frame, p->frame) != 0)
        return -1;
    if (!at->damaged && ahead == 0 &&
        prepare_recv(st, run, qp, shared, step, cue->when == step, &before) != 0)
        return -1;
    if (!at->damaged && (op->kind == ROCE_KIND_READ || roce_opcode_is_atomic(op))) {
        trace_parse(p, &pkt);
        region =
            memory_find(memory, op->kind == ROCE_KIND_READ ? pkt.reth.rkey : pkt.atomiceth.rkey);
        if (ahead <= 0 && prepare_memory(st, run_idx, step, ahead == 0) != 0)
            return -1;
    } else if (!at->damaged && roce_opcode_has(op, ROCE_HDR_RETH)) {
        trace_parse(p, &pkt);
        region = memory_find(memory, pkt.reth.rkey);
    }
    if (region && !at->withdraw && ahead == 0 && st->invalidated[region - memory->region]) {
        /* Used again after it was invalidated: the responder's user registered it anew. */
        if (prepare_key(st, region, false) != 0)
            return -1;
        st->invalidated[region - memory->region] = 0;
    }
    /* A key that a SEND invalidated is for our RNIC to refuse. */
    taken = region && at->withdraw && !st->invalidated[region - memory->region];
    if (region && (taken || !at->withdraw) && prepare_key(st, region, !taken) != 0)
        return -1;
    if (st->drive->stores)
        stores_frame(st->drive->stores, st->drive->trace->pkt[cue->pkt].frame, p->frame);
    if (watch && watch->frame(watch->ctx, run_idx, step, cue->when, cue->pkt) != 0)
        return -1;
    feed(st->rnic, p, now);
    if (taken && prepare_key(st, region, true) != 0)
        return -1;
    if (take_answers(st, run_idx, now) != 0 || memory_restore(memory, &lender) != 0)
        return -1;
    rnic_qp_view(qp, &after);
    if (after.epsn != before.epsn) {
        if (shared && shared->spare && prepare_takes_recv(op))
            shared->spare--;
        if (!VEC_GROW(run->progress, run->progress_cnt, run->progress_cap))
            return -1;
        run->progress[run->progress_cnt++] = (struct progress){
            .step = cue->when,
            .epsn = at->rel + roce_psn_diff(roce_psn_of(after.epsn), roce_psn_of(p->psn)),
            .msn = after.msn,
        };
        if (note_executed(st, run_idx, step) != 0)
            return -1;
    }
    if (after.state == RNIC_QPS_ERR && run->error_step == STEP_NONE)
        run->error_step = cue->when;
    while (rnic_cq_poll(st->cq, wc, sizeof(wc) / sizeof(wc[0])) > 0)
        ;
    return 0;
}

/* ---- packets that wait -------------------------------------------------------------------------
 */

/* Whether our RNIC would execute a packet now, although the order that the answers tell has those
 * of other connections before it. */
static bool waits(const struct stage *st, const struct cue *cue)
{
    const struct playing *play = &st->play[cue->run];
    const struct setup *s = &play->run->setup;
    const struct entry *e = setup_entry(s, s->step[cue->step].rel);
    struct rnic_qp_view view;

    if (st->sharing.turn_cnt == 0 || !e || s->step[cue->step].damaged || play->over ||
        play->run->failed || !sharing_waits(&st->sharing, cue->run, (uint32_t)(e - s->entry)))
        return false;
    if (!play->qp)
        return e == s->entry;
    rnic_qp_view(play->qp, &view);
    return view.epsn == setup_packet(s, cue->step)->psn;
}

static void hold(struct stage *st, struct cue *cue, size_t at)
{
    struct playing *play = &st->play[cue[at].run];

    cue[at].next = NOT_HELD;
    if (play->held == NOT_HELD)
        play->held = at;
    else
        cue[play->held_last].next = at;
    play->held_last = at;
    st->held_cnt++;
}

/* Plays what need not wait any more; at the end, all: our RNIC has not executed what it should. */
static int release(struct stage *st, struct cue *cue, rnic_time now, bool all)
{
    bool again = st->held_cnt > 0;

    while (again) {
        again = false;
        for (size_t i = 0; i < st->drive->run_cnt && st->held_cnt > 0; i++) {
            struct playing *play = &st->play[i];

            while (play->held != NOT_HELD && (all || !waits(st, &cue[play->held]))) {
                const struct cue *c = &cue[play->held];

                play->held = c->next;
                st->held_cnt--;
                again = true;
                if (play_cue(st, c, now) != 0)
                    return -1;
            }
        }
    }
    return 0;
}

/* A packet's time has come. */
static int play_due(struct stage *st, struct cue *cue, size_t at, rnic_time now)
{
    if (st->play[cue[at].run].held != NOT_HELD || waits(st, &cue[at])) {
        hold(st, cue, at);
        return 0;
    }
    if (play_cue(st, &cue[at], now) != 0)
        return -1;
    return release(st, cue, now, false);
}

/* ---- all packets -------------------------------------------------------------------------------
 */

static int cue_cmp(const void *a, const void *b)
{
    const struct cue *x = a, *y = b;

    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int shown_cmp(const void *a, const void *b)
{
    const struct shown *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static bool list_shown(struct playing *play)
{
    const struct setup *s = &play->run->setup;

    play->shown = malloc((s->step_cnt + 1) * sizeof(*play->shown));
    if (!play->shown)
        return false;
    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (s->step[i].response && setup_packet(s, i)->payload_len && !setup_packet(s, i)->made_up)
            play->shown[play->shown_cnt++] = (struct shown){.rel = s->step[i].rel, .step = i};
    if (play->shown_cnt)
        qsort(play->shown, play->shown_cnt, sizeof(*play->shown), shown_cmp);
    return true;
}

/* All requests to a device, of all its sides, in capture order. */
static struct cue *list_cues(const struct drive *d, uint32_t device, size_t *cnt)
{
    struct cue *cue;
    size_t cap = 0;

    for (size_t i = 0; i < d->run_cnt; i++)
        cap += d->run[i].setup.step_cnt + d->run[i].setup.ahead_cnt;
    cue = malloc((cap + 1) * sizeof(*cue));
    *cnt = 0;
    for (uint32_t i = 0; cue && i < d->run_cnt; i++) {
        const struct setup *s = &d->run[i].setup;

        if (s->skip || d->run[i].device != device)
            continue;
        for (uint32_t k = 0; k < s->step_cnt; k++)
            if (!s->step[k].response && !s->step[k].early && !s->step[k].lost)
                cue[(*cnt)++] = (struct cue){.pkt = s->step[k].pkt, .run = i, .step = k, .when = k};
        for (size_t k = 0; k < s->ahead_cnt; k++)
            cue[(*cnt)++] = (struct cue){.pkt = s->step[s->ahead[k].at].pkt,
                                         .run = i,
                                         .step = s->ahead[k].step,
                                         .when = s->ahead[k].at,
                                         .order = k};
    }
    if (cue && *cnt)
        qsort(cue, *cnt, sizeof(*cue), cue_cmp);
    return cue;
}

/* The responder's program sent a request of its own: it was awake and may have changed memory. */
static void note_events(struct stage *st, uint32_t *from, uint32_t to)
{
    for (; *from < to; ++*from) {
        const struct trace_packet *p = &st->drive->trace->pkt[*from];

        if (!p->dropped && roce_opcode_is_request(roce_opcode(p->opcode)) &&
            memcmp(st->drive->trace->flow[p->flow].src, st->device->addr, 16) == 0)
            st->event = *from;
    }
}

static int play_device(struct drive *d, uint32_t device, struct playing *play, struct error *error)
{
    struct stage st = {.drive = d,
                       .device = &d->device[device],
                       .play = play,
                       .given = given_device(d->given, d, device)};
    const struct run *any = NULL;
    struct cue *cue;
    size_t cnt;
    uint32_t from = 0;
    int rc = 0;

    for (size_t i = 0; i < d->run_cnt; i++) {
        if (d->run[i].setup.skip || d->run[i].device != device)
            continue;
        any = &d->run[i];
        if (any->setup.max_recv > st.recv_len)
            st.recv_len = any->setup.max_recv;
    }
    if (!any)
        return 0;
    cue = list_cues(d, device, &cnt);
    if (!cue)
        return error_set(error, "%s: no memory", d->trace->name);
    if (sharing_find(&st.sharing, d, device) != 0)
        rc = error_set(error, "%s: no memory", d->trace->name);
    st.device->failed = stage_open(&st, any);
    for (size_t i = 0; i < cnt && rc == 0 && !st.device->failed; i++) {
        /* Virtual time starts at a second, so that nothing is at 0. */
        rnic_time now = d->trace->pkt[cue[i].pkt].time - d->trace->pkt[0].time + 1000000000;

        note_events(&st, &from, cue[i].pkt);
        if (!drain_timers(&st, cue[i].run, now) || play_due(&st, cue, i, now) != 0)
            rc = error_set(error, "%s: frame %u: %s", d->trace->name,
                           d->trace->pkt[cue[i].pkt].frame,
                           st.device->memory.pages > MEMORY_PAGES_MAX
                               ? "the requests touch more memory than replay may hold"
                               : "no memory");
        st.last = now;
    }
    if (rc == 0 && release(&st, cue, st.last, true) != 0)
        rc = error_set(error, "%s: no memory", d->trace->name);
    /* Whatever the RNIC still owes: ten seconds are more than any timer of a responder. */
    if (rc == 0 && !st.device->failed && cnt &&
        !drain_timers(&st, cue[cnt - 1].run, st.last + UINT64_C(10) * 1000000000))
        rc = error_set(error, "%s: no memory", d->trace->name);
    if (d->stores)
        stores_end(d->stores);
    stage_close(&st);
    sharing_free(&st.sharing);
    free(cue);
    return rc;
}

int drive_all(struct drive *drive, const struct trace *trace, const struct conns *conns,
              const struct drive_options *options, struct error *error)
{
    return drive_derive(drive, trace, conns, options, error) == 0 ? drive_play(drive, error) : -1;
}

int drive_derive(struct drive *drive, const struct trace *trace, const struct conns *conns,
                 const struct drive_options *options, struct error *error)
{
    int rc = 0;

    memset(drive, 0, sizeof(*drive));
    drive->trace = trace;
    drive->watch = options->watch;
    drive->given = options->given;
    drive->stores = options->stores;
    for (size_t i = 0; rc == 0 && i < conns->cnt; i++)
        rc = runs_add_side(drive, &conns->side[i]);
    if (rc != 0)
        return error_set(error, "%s: no memory", trace->name);
    return drive->given ? given_apply(drive->given, drive, error) : 0;
}

int drive_play(struct drive *drive, struct error *error)
{
    struct playing *play;
    int rc = 0;

    play = calloc(drive->run_cnt + 1, sizeof(*play));
    if (!play)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < drive->run_cnt; i++) {
        play[i].run = &drive->run[i];
        play[i].held = NOT_HELD;
        if (!list_shown(&play[i]))
            rc = -1;
    }
    if (rc != 0)
        error_set(error, "%s: no memory", drive->trace->name);
    for (uint32_t i = 0; rc == 0 && i < drive->device_cnt; i++)
        rc = play_device(drive, i, play, error);
    for (size_t i = 0; play && i < drive->run_cnt; i++) {
        struct run *run = &drive->run[i];

        free(play[i].shown);
        if (rc == 0 && !run->failed)
            run->failed = drive->device[run->device].failed;
    }
    free(play);
    return rc;
}

void drive_free(struct drive *drive)
{
    for (size_t i = 0; i < drive->run_cnt; i++) {
        setup_free(&drive->run[i].setup);
        if (drive->run[i].part)
            side_free(drive->run[i].part);
        free(drive->run[i].part);
        free(drive->run[i].answer);
        free(drive->run[i].progress);
    }
    for (size_t i = 0; i < drive->device_cnt; i++)
        memory_free(&drive->device[i].memory);
    for (size_t i = 0; i < drive->kept_cnt; i++)
        free(drive->kept[i]);
    free(drive->run);
    free(drive->device);
    free(drive->kept);
    memset(drive, 0, sizeof(*drive));
}

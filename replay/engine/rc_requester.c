/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_requester.h"

#include <stdlib.h>
#include <string.h>
#include "engine/rc_restarts.h"
#include "engine/inject.h"
#include "engine/rc_post_wr.h"

/* Timers that may have to fire before ours sends what the recorded requester sends: the end of an
 * RNR wait, then the local ACK timeout. */
#define TIMERS_MAX 2u

/* Virtual time starts at a second, so that nothing is at 0. */
#define TIME_BASE UINT64_C(1000000000)

/* One connection while it is played. */
struct stage {
    struct asker *asker;
    const struct setup *setup;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct posted *posted; /* a work each */
    size_t posted_cnt;
    size_t done_cnt;
    uint16_t *recorded; /* for each PSN: how often the recorded requester had sent it by now */
    uint16_t *ours;     /* ... and how often our RNIC had */
    uint32_t step;
    rnic_time now;
};

/* ---- setting up --------------------------------------------------------------------------------
 */

static const char *stage_open(struct stage *st)
{
    const struct setup *s = st->setup;
    const struct works *w = &st->asker->works;
    const struct trace_packet *first = setup_packet(s, w->work[0].step);
    const struct trace_flow *flow = &s->trace->flow[s->side->req_flow];
    struct rnic_attr attr = {.gid_cnt = 1};
    bool xrc = setup_svc(s) == ROCE_SVC_XRC;
    struct rnic_qp_init init = {.type = xrc ? RNIC_QPT_XRC_SEND : RNIC_QPT_RC,
                                .qpn = s->peer_qpn,
                                .max_recv_sge = 1,
                                .max_send_wr =
                                    w->cnt < RNIC_WR_MAX ? (uint32_t)w->cnt : RNIC_WR_MAX,
                                .max_send_sge = 1,
                                .window = UINT32_C(1) << 23, /* as far as R060 lets it go */
                                .any_credits = asked_beyond_credits(st->asker)};
    struct rnic_qp_attr qp = {.state = RNIC_QPS_INIT,
                              .path_mtu = s->mtu,
                              .dest_qpn = s->qpn,
                              .sq_psn = s->sq_psn,
                              .max_rd_atomic = s->rd_atomic,
                              .timeout = s->timeout,
                              .retry_cnt = s->retry_cnt,
                              .rnr_retry = s->rnr_retry};
    struct roce_pkt pkt;
    int rc;

    trace_parse(first, &pkt);
    qp.pkey = pkt.bth.pkey;
    feed_macs(first, qp.av.dmac, attr.mac);
    memcpy(qp.av.dgid, flow->dst, 16);
    memcpy(attr.gid[0].gid, flow->src, 16);
    attr.gid[0].type = flow->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    st->rnic = rnic_new(&attr);
    if (!st->rnic || rnic_pd_new(st->rnic, &st->pd) != 0 ||
        rnic_cq_new(st->rnic, init.max_send_wr + 1, &st->cq) != 0)
        return "no memory for the RNIC";
    init.recv_cq = init.send_cq = st->cq;
    rc = rnic_qp_new(st->pd, &init, &st->qp);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= RNIC_QPS_RTS; state++) {
        qp.state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(st->qp, &qp, TIME_BASE);
    }
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* ---- what our RNIC does ------------------------------------------------------------------------
 */

struct sent post_sent(const struct roce_pkt *pkt, const struct setup *setup, uint32_t step)
{
    roce_psn first = roce_psn_add(setup->psn, (int32_t)setup->first);

    return (struct sent){
        .step = step,
        .rel = setup->first + roce_psn_diff(roce_pkt_psn(pkt), first),
        .psn = pkt->bth.psn,
        .dest_qp = pkt->bth.dest_qp,
        .pkey = pkt->bth.pkey,
        .opcode = pkt->bth.opcode,
        .se = pkt->bth.se,
        .ackreq = pkt->bth.ackreq,
        .payload_len = pkt->payload_len,
        .imm = roce_pkt_has(pkt, ROCE_HDR_IETH) ? pkt->ieth.rkey : pkt->immdt.imm,
        .va = roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.va : pkt->atomiceth.va,
        .rkey = roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.rkey : pkt->atomiceth.rkey,
        .dma_len = pkt->reth.dma_len,
        .swap_add = pkt->atomiceth.swap_add,
        .compare = pkt->atomiceth.compare,
        .flush_type = pkt->feth.plt,
        .flush_level = pkt->feth.sel,
        .srqn = pkt->xrceth.srqn,
        .hash = pkt->payload_len ? drive_hash(pkt->payload, pkt->payload_len) : 0,
    };
}

int post_take(struct asker *a, const struct roce_pkt *pkt, uint32_t step, uint16_t *times)
{
    struct sent *sent;
    int64_t idx;

    if (!VEC_GROW(a->sent, a->sent_cnt, a->sent_cap))
        return -1;
    sent = &a->sent[a->sent_cnt++];
    *sent = post_sent(pkt, a->works.setup, step);
    idx = works_psn_idx(&a->works, sent->rel);
    if (idx >= 0) {
        sent->again = times[idx] != 0;
        times[idx] += times[idx] < UINT16_MAX;
    }
    return 0;
}

static int take_sent(struct stage *st)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct roce_pkt pkt;
    size_t len;

    while ((len = rnic_output(st->rnic, buf, sizeof(buf), st->now)) > 0)
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0 &&
            post_take(st->asker, &pkt, st->step, st->ours) != 0)
            return -1;
    return 0;
}

/* Whether the bytes at `off` of a READ are those of a recorded answer that was taken. */
static bool shown_by_answers(const struct stage *st, const struct work *work, int64_t rel,
                             const uint8_t *data)
{
    const struct setup *s = st->setup;
    bool any = false;

    for (uint32_t i = work->post; i <= st->step; i++) {
        const struct trace_packet *p = setup_packet(s, i);

        if (!s->step[i].response || s->step[i].rel != rel || st->asker->fate[i] != FATE_TAKEN ||
            s->step[i].damaged)
            continue;
        if (p->made_up || (p->payload_len && memcmp(trace_payload(p), data, p->payload_len) == 0))
            return true;
        any = true;
    }
    return !any;
}

/* Whether the requester's memory has what the answers brought. */
static bool data_right(const struct stage *st, const struct work *work, const uint8_t *data)
{
    const struct setup *s = st->setup;
    struct roce_pkt pkt;
    uint64_t value;

    if (work->kind == ROCE_KIND_READ) {
        for (uint32_t i = 0; i < work->cnt && work->len; i++)
            if (!shown_by_answers(st, work, work->rel + i, data + (uint64_t)i * s->mtu))
                return false;
        return true;
    }
    memcpy(&value, data, 8);
    for (uint32_t i = work->post; i <= st->step; i++) {
        if (!s->step[i].response || s->step[i].rel != work->rel || st->asker->fate[i] != FATE_TAKEN)
            continue;
        trace_parse(setup_packet(s, i), &pkt);
        if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH) && pkt.atomicacketh.orig == value)
            return true;
    }
    return false;
}

static int take_done(struct stage *st)
{
    struct asker *a = st->asker;
    struct rnic_wc wc[32];
    size_t cnt;

    while ((cnt = rnic_cq_poll(st->cq, wc, sizeof(wc) / sizeof(wc[0]))) > 0) {
        for (size_t i = 0; i < cnt; i++) {
            const struct work *work = &a->works.work[wc[i].wr_id];
            struct posted *posted = &st->posted[wc[i].wr_id];

            if (!VEC_GROW(a->done, a->done_cnt, a->done_cap))
                return -1;
            a->done[a->done_cnt++] = (struct done){
                .step = st->step, .work = (uint32_t)wc[i].wr_id, .status = wc[i].status};
            if (wc[i].status == RNIC_WC_SUCCESS && posted_fetches(work) && posted->data &&
                !data_right(st, work, posted->data) && a->wrong_data++ == 0)
                a->wrong_work = (uint32_t)wc[i].wr_id;
            posted_forget(posted);
        }
    }
    return 0;
}

static int settle(struct stage *st)
{
    struct rnic_qp_view view;

    if (take_sent(st) != 0 || take_done(st) != 0)
        return -1;
    rnic_qp_view(st->qp, &view);
    if (view.state == RNIC_QPS_ERR && st->asker->error_step == STEP_NONE)
        st->asker->error_step = st->step;
    return 0;
}

/* ---- the conversation --------------------------------------------------------------------------
 */

/* Posts what the recorded requester has posted by now, as far as the queue holds. */
static int post_due(struct stage *st)
{
    const struct works *w = &st->asker->works;

    while (st->posted_cnt < w->cnt && w->work[st->posted_cnt].post <= st->step) {
        int rc = posted_send(&st->posted[st->posted_cnt], w, st->posted_cnt, st->pd, st->qp);

        if (rc == RNIC_ERR_FULL) {
            posted_forget(&st->posted[st->posted_cnt]);
            return 0;
        }
        if (rc != 0)
            return -1;
        st->posted_cnt++;
    }
    return 0;
}

/* The capture is over: what ours still holds back, because it waits, comes out. */
static int run_out(struct stage *st)
{
    int64_t last = works_psn_idx(&st->asker->works, st->asker->works.end - 1);

    for (unsigned i = 0; i < TIMERS_MAX && last >= 0 && st->ours[last] == 0; i++) {
        rnic_time at = rnic_deadline(st->rnic);

        if (at == RNIC_NEVER)
            return 0;
        st->now = at > st->now ? at : st->now;
        rnic_expire(st->rnic, st->now);
        if (settle(st) != 0)
            return -1;
    }
    return 0;
}

/* The recorded requester sends a PSN again: ours has by now, or its timer is due. */
static int catch_up(struct stage *st, int64_t idx)
{
    for (unsigned i = 0; i < TIMERS_MAX && st->ours[idx] < st->recorded[idx]; i++) {
        rnic_time at = rnic_deadline(st->rnic);

        if (at == RNIC_NEVER)
            return 0;
        if (at > st->now)
            st->now = at;
        rnic_expire(st->rnic, st->now);
        if (settle(st) != 0)
            return -1;
    }
    return 0;
}

static int play_step(struct stage *st)
{
    struct asker *a = st->asker;
    const struct setup *s = st->setup;
    const struct step *step = &s->step[st->step];
    const struct trace_packet *p = setup_packet(s, st->step);
    rnic_time now = p->time - s->trace->pkt[0].time + TIME_BASE;
    int64_t idx = works_psn_idx(&a->works, step->rel);

    if (now > st->now)
        st->now = now;
    if (post_due(st) != 0 || settle(st) != 0)
        return -1;
    if (step->response) {
        if (a->fate[st->step] != FATE_TAKEN)
            return 0;
        feed(st->rnic, p, st->now);
        return settle(st);
    }
    if (idx < 0 || a->restart[st->step] == RESTART_DUPLICATE)
        return 0;
    st->recorded[idx] += st->recorded[idx] < UINT16_MAX;
    return a->restart[st->step] == RESTART_BEGINS ? catch_up(st, idx) : 0;
}

static void stage_close(struct stage *st)
{
    rnic_del(st->rnic);
    for (size_t i = 0; st->posted && i < st->asker->works.cnt; i++)
        free(st->posted[i].data);
    free(st->posted);
    free(st->recorded);
    free(st->ours);
}

static int play(struct asker *a)
{
    const struct works *w = &a->works;
    struct stage st = {.asker = a, .setup = w->setup, .now = TIME_BASE};
    size_t psns = (size_t)(w->end - w->setup->first);
    uint32_t *first = malloc((psns + 1) * sizeof(*first));
    int rc = 0;

    st.posted = calloc(w->cnt + 1, sizeof(*st.posted));
    st.recorded = calloc(psns + 1, sizeof(*st.recorded));
    st.ours = calloc(psns + 1, sizeof(*st.ours));
    if (!first || !st.posted || !st.recorded || !st.ours) {
        rc = -1;
    } else {
        memset(first, 0xFF, (psns + 1) * sizeof(*first));
        asked_read(a, first);
        a->failed = stage_open(&st);
    }
    free(first);
    for (; rc == 0 && !a->failed && st.step < w->setup->step_cnt; st.step++) {
        rc = play_step(&st);
        a->mark_sent[st.step] = (uint32_t)a->sent_cnt;
    }
    if (rc == 0 && !a->failed)
        rc = run_out(&st);
    stage_close(&st);
    return rc;
}

static int ask(struct asker *a, const struct run *run)
{
    size_t cnt = run->setup.step_cnt + 1;

    *a = (struct asker){.run = run, .error_step = STEP_NONE, .doubt_step = STEP_NONE};
    if (run->setup.skip)
        return 0;
    a->fate = calloc(cnt, 1);
    a->restart = calloc(cnt, 1);
    a->mark_sent = calloc(cnt, sizeof(*a->mark_sent));
    if (!a->fate || !a->restart || !a->mark_sent || works_derive(&a->works, &run->setup) != 0)
        return -1;
    return a->works.skip ? 0 : play(a);
}

int post_all(struct post *post, const struct drive *drive, struct error *error)
{
    int rc = 0;

    post->cnt = 0;
    post->asker = calloc(drive->run_cnt + 1, sizeof(*post->asker));
    if (!post->asker)
        rc = -1;
    while (rc == 0 && post->cnt < drive->run_cnt) {
        rc = ask(&post->asker[post->cnt], &drive->run[post->cnt]);
        post->cnt++;
    }
    return rc == 0 ? 0 : error_set(error, "%s: no memory", drive->trace->name);
}

void post_free(struct post *post)
{
    for (size_t i = 0; i < post->cnt; i++) {
        struct asker *a = &post->asker[i];

        works_free(&a->works);
        free(a->fate);
        free(a->restart);
        free(a->mark_sent);
        free(a->sent);
        free(a->done);
    }
    free(post->asker);
    memset(post, 0, sizeof(*post));
}

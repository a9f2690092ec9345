/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_requester.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "device/output_packet.h"
#include "engine/base/inject.h"
#include "engine/base/post_wr.h"
#include "engine/play/rc_missing_responses.h"
#include "engine/play/rc_restarts.h"
#include "infer/request_table.h"

/* Maximum number of timers that fire before our RNIC sends a recorded request: an RNR timer,
 * then the local ACK timeout. */
#define TIMERS_MAX 2u

/* Limit of the packets that our RNIC sends: TX_PER_EVENT for each captured packet and PSN of the
 * direction, plus TX_FREE for all directions together. Without a limit, N requests and N NAKs would
 * cost N² packets, because each NAK makes our RNIC retransmit all PSNs in flight. */
#define TX_PER_EVENT 8u
#define TX_FREE      8192u

/* Number of earlier packets in which needs_restart() searches for the READ request with which the
 * requester restarted a READ. */
#define RESTART_LOOK_BACK 1024u

/* Start of virtual time: 1 s in ns, so that no event is at time 0. */
#define TIME_BASE UINT64_C(1000000000)

/* State of the replay of one direction, with our RNIC as the requester. */
struct requester_dev {
    struct requester_run *run;
    const struct session_watch *watch; /* callbacks, or NULL */
    uint32_t dir;                      /* index of the direction, for the callbacks */
    const struct inferred_setup *setup;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct posted_wr *posted; /* one element for each work request */
    size_t posted_cnt;
    size_t done_cnt;
    uint16_t *recorded; /* for each PSN: number of transmissions by the recorded requester up to the
                           current event */
    uint16_t *ours; /* for each PSN: number of transmissions by our RNIC up to the current event */
    size_t missing; /* number of the missing responses injected so far */
    uint64_t tx_free; /* number of packets that remain of TX_FREE */
    uint32_t event;
    rnic_time now;
};

/* ---- Setting up the RNIC --------------------------------------------------------------------- */

static const char *requester_dev_open(struct requester_dev *dev)
{
    const struct inferred_setup *s = dev->setup;
    const struct work_requests *w = &dev->run->wrs;
    const struct trace_packet *first = event_packet(s, w->wr[0].event);
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    struct rnic_attr attr = {.gid_cnt = 1, .no_icrc = true}; /* the ICRCs are not compared */
    bool xrc = inferred_setup_svc(s) == ROCE_SVC_XRC;
    struct rnic_qp_init init = {.type = xrc ? RNIC_QPT_XRC_SEND : RNIC_QPT_RC,
                                .qpn = s->peer_qpn,
                                .max_recv_sge = 1,
                                .max_send_wr =
                                    w->cnt < RNIC_WR_MAX ? (uint32_t)w->cnt : RNIC_WR_MAX,
                                .max_send_sge = 1,
                                .window = UINT32_C(1) << 23, /* the largest window that R060
                                                              * allows */
                                .any_credits = exceeds_credits(dev->run),
                                /* Our RNIC must not give up if the recorded requester did not. Our
                                 * RNIC may count more consecutive retries, because the capture does
                                 * not show which responses the recorded requester received. */
                                .endless_retries = !s->timers.exhausted};
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
    inject_macs(first, qp.av.dmac, attr.mac);
    memcpy(qp.av.dgid, flow->dst, 16);
    memcpy(attr.gid[0].gid, flow->src, 16);
    attr.gid[0].type = flow->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    dev->rnic = rnic_new(&attr);
    if (!dev->rnic || rnic_pd_new(dev->rnic, &dev->pd) != 0 ||
        rnic_cq_new(dev->rnic, init.max_send_wr + 1, &dev->cq) != 0)
        return "no memory for the RNIC";
    init.recv_cq = init.send_cq = dev->cq;
    rc = rnic_qp_new(dev->pd, &init, &dev->qp);
    for (int state = RNIC_QPS_INIT; rc == 0 && state <= RNIC_QPS_RTS; state++) {
        qp.state = (enum rnic_qp_state)state;
        rc = rnic_qp_modify(dev->qp, &qp, TIME_BASE);
    }
    return rc == 0 ? NULL : rnic_error_text(rc);
}

/* ---- Output of our RNIC ---------------------------------------------------------------------- */

/* Returns the index into setup->event of the recorded request at PSN `rel` if it has the payload of
 * `pkt`, otherwise EVENT_NONE. Comparing the bytes is faster than computing their hash. */
static uint32_t find_payload(const struct inferred_setup *setup, int64_t rel,
                             const struct roce_pkt *pkt)
{
    const struct request_pkt *e = pkt->payload_len ? request_at(setup, rel) : NULL;
    const struct trace_packet *p = e ? event_packet(setup, e->event) : NULL;

    return p && !p->cut && p->payload_len == pkt->payload_len &&
                   memcmp(trace_payload(p), pkt->payload, p->payload_len) == 0
               ? e->event
               : EVENT_NONE;
}

struct tx_request tx_request_of(const struct roce_pkt *pkt, const struct inferred_setup *setup,
                                uint32_t event)
{
    roce_psn first = roce_psn_add(setup->psn, (int32_t)setup->first);
    int64_t rel = setup->first + roce_psn_diff(roce_pkt_psn(pkt), first);
    uint32_t like = find_payload(setup, rel, pkt);
    bool reth = roce_pkt_has(pkt, ROCE_HDR_RETH), feth = roce_pkt_has(pkt, ROCE_HDR_FETH);
    struct roce_atomiceth atomic = {0};

    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        atomic = pkt->atomiceth;
    return (struct tx_request){
        .event = event,
        .rel = rel,
        .psn = pkt->bth.psn,
        .dest_qp = pkt->bth.dest_qp,
        .pkey = pkt->bth.pkey,
        .opcode = pkt->bth.opcode,
        .se = pkt->bth.se,
        .ackreq = pkt->bth.ackreq,
        .payload_len = pkt->payload_len,
        .imm = roce_pkt_has(pkt, ROCE_HDR_IETH)    ? pkt->ieth.rkey
               : roce_pkt_has(pkt, ROCE_HDR_IMMDT) ? pkt->immdt.imm
                                                   : 0,
        .va = reth ? pkt->reth.va : atomic.va,
        .rkey = reth ? pkt->reth.rkey : atomic.rkey,
        .dma_len = reth ? pkt->reth.dma_len : 0,
        .swap_add = atomic.swap_add,
        .compare = atomic.compare,
        .flush_type = feth ? pkt->feth.plt : 0,
        .flush_level = feth ? pkt->feth.sel : 0,
        .srqn = roce_pkt_has(pkt, ROCE_HDR_XRCETH) ? pkt->xrceth.srqn : 0,
        .like = like,
        .hash = pkt->payload_len && like == EVENT_NONE
                    ? payload_hash(pkt->payload, pkt->payload_len)
                    : 0,
    };
}

uint64_t tx_request_hash(const struct tx_request *tx, const struct inferred_setup *setup)
{
    return tx->like == EVENT_NONE
               ? tx->hash
               : payload_hash(trace_payload(event_packet(setup, tx->like)), tx->payload_len);
}

int rc_requester_note_tx(struct requester_run *a, const struct roce_pkt *pkt, uint32_t event,
                         uint16_t *times)
{
    const struct work_request *wr;
    struct tx_request *tx;
    int64_t idx;

    if (!VEC_GROW(a->tx, a->tx_cnt, a->tx_cap))
        return -1;
    tx = &a->tx[a->tx_cnt++];
    *tx = tx_request_of(pkt, a->wrs.setup, event);
    wr = work_request_at(&a->wrs, tx->rel);
    if (wr && roce_pkt_has(pkt, ROCE_HDR_RETH))
        tx->dma_len += wr->cut; /* add the bytes that the capture lacks: our RNIC sends only the
                                 * captured part of the message */
    idx = work_requests_psn_idx(&a->wrs, tx->rel);
    if (idx >= 0) {
        tx->retransmit = times[idx] != 0;
        times[idx] += times[idx] < UINT16_MAX;
    }
    return 0;
}

/* Returns the number of packets that our RNIC sent in this direction beyond TX_PER_EVENT for each
 * captured packet and PSN. */
static uint64_t excess_tx(const struct requester_run *a)
{
    uint64_t psns = (uint64_t)(a->wrs.end - a->wrs.setup->first);
    uint64_t most = TX_PER_EVENT * (a->wrs.setup->event_cnt + psns);

    return a->tx_cnt > most ? a->tx_cnt - most : 0;
}

static int take_tx(struct requester_dev *dev)
{
    const struct roce_pkt *pkt;

    while (!dev->run->failed && (pkt = rnic_output_packet(dev->rnic, dev->now)) != NULL) {
        if (rc_requester_note_tx(dev->run, pkt, dev->event, dev->ours) != 0)
            return -1;
        if (excess_tx(dev->run) >= dev->tx_free)
            dev->run->failed =
                "our requester would retransmit far more packets than the capture contains";
    }
    return 0;
}

/* Returns whether the READ data at PSN `rel` equals the data of a recorded response that the
 * requester accepted. Returns true if no response with this PSN was accepted. */
static bool shown_by_answers(const struct requester_dev *dev, const struct work_request *wr,
                             int64_t rel, const uint8_t *data)
{
    const struct inferred_setup *s = dev->setup;
    bool any = false;

    for (uint32_t i = wr->posted_by; i <= dev->event; i++) {
        const struct trace_packet *p = event_packet(s, i);

        if (!s->event[i].response || s->event[i].rel != rel ||
            dev->run->outcome[i] != RESP_ACCEPTED || s->event[i].damaged ||
            event_opcode(s, i)->kind != ROCE_KIND_READ_RESP)
            continue;
        if (p->zero_filled ||
            (p->payload_len && memcmp(trace_payload(p), data, p->payload_len) == 0))
            return true;
        any = true;
    }
    return !any;
}

/* Returns whether the buffer of a completed READ or atomic contains the data of the recorded
 * responses that the requester accepted. Data without a recorded response is not checked. */
static bool data_right(const struct requester_dev *dev, const struct work_request *wr,
                       const uint8_t *data)
{
    const struct inferred_setup *s = dev->setup;
    struct roce_pkt pkt;
    uint64_t value;
    bool any = false;

    if (wr->kind == ROCE_KIND_READ) {
        for (uint32_t i = 0; i < wr->cnt && wr->len; i++)
            if (!shown_by_answers(dev, wr, wr->rel + i, data + (uint64_t)i * s->mtu))
                return false;
        return true;
    }
    memcpy(&value, data, 8);
    for (uint32_t i = wr->posted_by; i <= dev->event; i++) {
        if (!s->event[i].response || s->event[i].rel != wr->rel ||
            dev->run->outcome[i] != RESP_ACCEPTED)
            continue;
        trace_parse(event_packet(s, i), &pkt);
        if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH) && pkt.atomicacketh.orig == value)
            return true;
        any |= roce_pkt_has(&pkt, ROCE_HDR_ATOMICACKETH);
    }
    return !any;
}

static int take_completions(struct requester_dev *dev)
{
    struct requester_run *a = dev->run;
    struct rnic_wc wc[32];
    const size_t max = sizeof(wc) / sizeof(wc[0]);
    size_t cnt = max;

    while (cnt == max) {
        cnt = rnic_cq_poll(dev->cq, wc, max);
        for (size_t i = 0; i < cnt; i++) {
            const struct work_request *wr = &a->wrs.wr[wc[i].wr_id];
            struct posted_wr *posted = &dev->posted[wc[i].wr_id];

            if (!VEC_GROW(a->completion, a->completion_cnt, a->completion_cap))
                return -1;
            a->completion[a->completion_cnt++] = (struct completion){
                .event = dev->event, .wr = (uint32_t)wc[i].wr_id, .status = wc[i].status};
            if (wc[i].status == RNIC_WC_SUCCESS && work_request_fetches(wr) && posted->data &&
                !data_right(dev, wr, posted->data) && a->wrong_data++ == 0)
                a->wrong_wr = (uint32_t)wc[i].wr_id;
            posted_wr_free(posted);
        }
    }
    return 0;
}

static int take_output(struct requester_dev *dev)
{
    struct rnic_qp_view view;

    if (take_tx(dev) != 0 || take_completions(dev) != 0)
        return -1;
    rnic_qp_view(dev->qp, &view);
    if (view.state == RNIC_QPS_ERR && dev->run->error_event == EVENT_NONE)
        dev->run->error_event = dev->event;
    return 0;
}

/* ---- Replaying events ------------------------------------------------------------------------ */

/* Posts the work requests that the recorded requester must have posted before the current packet,
 * until the send queue is full. Returns 0, or -1 if out of memory. */
static int post_due_wrs(struct requester_dev *dev)
{
    const struct work_requests *w = &dev->run->wrs;

    while (dev->posted_cnt < w->cnt && w->wr[dev->posted_cnt].posted_by <= dev->event) {
        int rc = post_wr(&dev->posted[dev->posted_cnt], w, dev->posted_cnt, dev->pd, dev->qp);

        if (rc == 0 && dev->watch &&
            dev->watch->post(dev->watch->ctx, dev->dir, (uint32_t)dev->posted_cnt) != 0)
            return -1;
        if (rc == RNIC_ERR_FULL) {
            posted_wr_free(&dev->posted[dev->posted_cnt]);
            return 0;
        }
        if (rc != 0)
            return -1;
        dev->posted_cnt++;
    }
    return 0;
}

/* Advances the virtual time to `at`, the next deadline of our RNIC, and fires the timer. Returns 0,
 * or -1 if out of memory. */
static int fire_timer(struct requester_dev *dev, rnic_time at)
{
    if (dev->watch && dev->watch->timer(dev->watch->ctx, dev->dir) != 0)
        return -1;
    dev->now = at > dev->now ? at : dev->now;
    rnic_expire(dev->rnic, dev->now);
    return take_output(dev);
}

/* Passes a response to our RNIC. `recorded` is the captured packet of this response; NULL if the
 * capture lacks it. Returns 0, or -1 if out of memory. */
static int take_response(struct requester_dev *dev, const struct roce_pkt *pkt,
                         const struct trace_packet *recorded)
{
    uint8_t frame[ROCE_FRAME_MAX];
    int len;

    if (dev->watch && dev->watch->response(dev->watch->ctx, dev->dir, pkt, recorded) != 0)
        return -1;
    if (recorded) {
        inject(dev->rnic, recorded, dev->now);
    } else {
        len = roce_pkt_build(pkt, 0, frame, sizeof(frame));
        if (len > 0)
            rnic_input(dev->rnic, frame, (size_t)len, dev->now);
    }
    return take_output(dev);
}

/* Fires timers until our RNIC has sent the PSN with index `idx` (work_requests_psn_idx()) `cnt`
 * times. */
static int fire_timers_until_sent(struct requester_dev *dev, int64_t idx, uint16_t cnt)
{
    for (unsigned i = 0; i < TIMERS_MAX && dev->ours[idx] < cnt; i++) {
        rnic_time at = rnic_deadline(dev->rnic);

        if (at == RNIC_NEVER)
            return 0;
        if (fire_timer(dev, at) != 0)
            return -1;
    }
    return 0;
}

/* After the last captured packet, fires timers until our RNIC has sent all requests that wait for a
 * timer. */
static int fire_last_timers(struct requester_dev *dev)
{
    int64_t last = work_requests_psn_idx(&dev->run->wrs, dev->run->wrs.end - 1);

    return last < 0 ? 0 : fire_timers_until_sent(dev, last, 1);
}

/* Returns whether our RNIC must restart a READ before it can accept the current response. All of
 * these must be true: the response begins inside the READ, at the PSN that our RNIC expects; the
 * recorded requester restarted the READ at this PSN; the latest request of our RNIC for the READ
 * has another PSN. */
static bool needs_restart(const struct requester_dev *dev)
{
    const struct inferred_setup *s = dev->setup;
    int64_t rel = s->event[dev->event].rel;
    const struct roce_opcode *op = event_opcode(s, dev->event);
    const struct request_pkt *e = request_at(s, rel);
    const struct requester_run *a = dev->run;
    struct rnic_qp_view view;
    bool recorded = false;

    if (op->kind != ROCE_KIND_READ_RESP || !roce_opcode_starts(op) || !e || e->rel == rel)
        return false;
    rnic_qp_view(dev->qp, &view);
    for (uint32_t i = dev->event; !recorded && i-- > 0 && dev->event - i <= RESTART_LOOK_BACK;)
        recorded = !s->event[i].response && s->event[i].rel == rel &&
                   event_opcode(s, i)->kind == ROCE_KIND_READ;
    if (!recorded || view.una_psn != event_packet(s, dev->event)->psn)
        return false;
    for (size_t i = a->tx_cnt; i-- > 0 && a->tx_cnt - i <= RESTART_LOOK_BACK;)
        if (a->tx[i].rel >= e->rel && a->tx[i].rel <= rel)
            return a->tx[i].rel != rel;
    return false;
}

static int play_event(struct requester_dev *dev)
{
    struct requester_run *a = dev->run;
    const struct inferred_setup *s = dev->setup;
    const struct pkt_event *event = &s->event[dev->event];
    const struct trace_packet *p = event_packet(s, dev->event);
    rnic_time now = event_time(s, dev->event) - s->trace->pkt[0].time + TIME_BASE;
    int64_t idx = work_requests_psn_idx(&a->wrs, event->rel);
    size_t posted = dev->posted_cnt;
    uint8_t like[ROCE_FRAME_MAX];
    struct roce_pkt pkt;

    if (now > dev->now)
        dev->now = now;
    if (post_due_wrs(dev) != 0)
        return -1;
    /* Without a new work request, our RNIC has nothing to send. */
    if (dev->posted_cnt != posted && take_output(dev) != 0)
        return -1;
    if (event->response) {
        if (a->outcome[dev->event] != RESP_ACCEPTED)
            return 0;
        for (; dev->missing < a->missing_cnt && a->missing[dev->missing].before == dev->event;
             dev->missing++)
            if (missing_response_make(a, &a->missing[dev->missing], like, &pkt) &&
                take_response(dev, &pkt, NULL) != 0)
                return -1;
        if (needs_restart(dev) && rnic_deadline(dev->rnic) != RNIC_NEVER &&
            fire_timer(dev, rnic_deadline(dev->rnic)) != 0)
            return -1;
        if (dev->watch)
            trace_parse(p, &pkt);
        return take_response(dev, &pkt, p);
    }
    if (idx < 0 || a->retransmit[dev->event] == RETX_WIRE_DUPLICATE)
        return 0;
    dev->recorded[idx] += dev->recorded[idx] < UINT16_MAX;
    return a->retransmit[dev->event] == RETX_GO_BACK
               ? fire_timers_until_sent(dev, idx, dev->recorded[idx])
               : 0;
}

static void requester_dev_close(struct requester_dev *dev)
{
    rnic_del(dev->rnic);
    for (size_t i = 0; dev->posted && i < dev->run->wrs.cnt; i++)
        free(dev->posted[i].data);
    free(dev->posted);
    free(dev->recorded);
    free(dev->ours);
}

/* Replays a direction. *tx_free is the number of packets that remain of TX_FREE. Returns 0, or -1
 * if out of memory. */
static int play_requester(struct requester_run *a, const struct session *session, uint64_t *tx_free)
{
    const struct work_requests *w = &a->wrs;
    struct requester_dev dev = {
        .run = a,
        .watch = session->watch && session->watch->post ? session->watch : NULL,
        .dir = (uint32_t)(a->dir - session->dir),
        .setup = w->setup,
        .tx_free = *tx_free,
        .now = TIME_BASE,
    };
    size_t psns = (size_t)(w->end - w->setup->first);
    uint32_t *first = malloc(2 * (psns + 1) * sizeof(*first));
    int rc = 0;

    dev.posted = calloc(w->cnt + 1, sizeof(*dev.posted));
    dev.recorded = calloc(psns + 1, sizeof(*dev.recorded));
    dev.ours = calloc(psns + 1, sizeof(*dev.ours));
    if (!first || !dev.posted || !dev.recorded || !dev.ours) {
        rc = -1;
    } else {
        memset(first, 0xFF, 2 * (psns + 1) * sizeof(*first));
        classify_retransmissions(a, first, first + psns + 1);
        rc = missing_responses_find(a);
        a->failed = requester_dev_open(&dev);
    }
    free(first);
    for (; rc == 0 && !a->failed && dev.event < w->setup->event_cnt; dev.event++) {
        rc = play_event(&dev);
        a->tx_cnt_after[dev.event] = (uint32_t)a->tx_cnt;
    }
    if (rc == 0 && !a->failed)
        rc = fire_last_timers(&dev);
    *tx_free -= excess_tx(a) < *tx_free ? excess_tx(a) : *tx_free;
    requester_dev_close(&dev);
    return rc;
}

static int run_requester(struct requester_run *a, const struct session *session,
                         const struct rc_direction *dir, uint64_t *tx_free)
{
    const struct inferred_setup *s = requester_setup(dir);
    size_t cnt = s->event_cnt + 1;

    *a = (struct requester_run){.dir = dir, .error_event = EVENT_NONE, .unsure_from = EVENT_NONE};
    if (s->skip)
        return 0;
    a->outcome = calloc(cnt, 1);
    a->retransmit = calloc(cnt, 1);
    a->tx_cnt_after = calloc(cnt, sizeof(*a->tx_cnt_after));
    if (!a->outcome || !a->retransmit || !a->tx_cnt_after || infer_work_requests(&a->wrs, s) != 0)
        return -1;
    return a->wrs.skip ? 0 : play_requester(a, session, tx_free);
}

int rc_requester_play(struct rc_requester *requester, const struct session *session,
                      struct error *error)
{
    uint64_t tx_free = TX_FREE;
    int rc = 0;

    requester->run_cnt = 0;
    requester->run = calloc(session->dir_cnt + 1, sizeof(*requester->run));
    if (!requester->run)
        rc = -1;
    while (rc == 0 && requester->run_cnt < session->dir_cnt) {
        rc = run_requester(&requester->run[requester->run_cnt], session,
                           &session->dir[requester->run_cnt], &tx_free);
        requester->run_cnt++;
    }
    return rc == 0 ? 0 : error_set(error, "%s: no memory", session->trace->name);
}

void rc_requester_free(struct rc_requester *requester)
{
    for (size_t i = 0; i < requester->run_cnt; i++) {
        struct requester_run *a = &requester->run[i];

        work_requests_free(&a->wrs);
        free(a->outcome);
        free(a->retransmit);
        free(a->tx_cnt_after);
        free(a->missing);
        free(a->tx);
        free(a->completion);
    }
    free(requester->run);
    memset(requester, 0, sizeof(*requester));
}

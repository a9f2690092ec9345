/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/responder_app.h"

#include <stdlib.h>
#include <string.h>
#include "engine/play/rc_responder_app.h"
#include "infer/infer_setup.h"
#include "infer/request_table.h"

/* Counts, for each message, how many of its captured transmissions found no receive WQE. */
static void count_starved(struct responder_app *app)
{
    const struct inferred_setup *s = app->setup;
    const struct work_requests *w = app->works;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct work_request *wr =
            s->event[i].no_recv_wqe ? work_request_at(w, s->event[i].rel) : NULL;

        if (wr)
            app->starve[wr - w->wr]++;
    }
}

int responder_app_init(struct responder_app *app, const struct work_requests *wrs,
                       struct shadow_memory *memory, struct sim_host *host)
{
    *app =
        (struct responder_app){.works = wrs, .setup = wrs->setup, .memory = memory, .host = host};
    keymap_init(&app->srqns, sizeof(uint32_t));
    app->starve = calloc(wrs->cnt + 1, sizeof(*app->starve));
    app->invalidated = calloc(memory->keys.cnt + 1, 1);
    app->recv_buf = calloc(1, (size_t)wrs->setup->max_recv + 1);
    if (!app->starve || !app->invalidated || !app->recv_buf)
        return -1;
    count_starved(app);
    return 0;
}

void responder_app_free(struct responder_app *app)
{
    free(app->starve);
    free(app->invalidated);
    free(app->recv_buf);
    free(app->srq);
    keymap_free(&app->srqns);
    memset(app, 0, sizeof(*app));
}

/* ---- setting up --------------------------------------------------------------------------------
 */

static struct responder_app_srq *find_srq(const struct responder_app *app, uint32_t srqn)
{
    uint32_t i = keymap_get(&app->srqns, &srqn);

    return i == KEYMAP_NONE ? NULL : &app->srq[i];
}

/* Creates an SRQ for each SRQ number in the recorded XRC requests. Returns 0, or -1 if out of
 * memory. */
static int open_srqs(struct responder_app *app)
{
    /* At most one receive WQE is posted at a time, so a few entries are enough. */
    struct rnic_srq_init init = {.max_wr = 4, .max_sge = 1, .cq = app->host->cq};
    int rc = rnic_xrcd_new(app->host->rnic, &app->xrcd);

    init.xrcd = app->xrcd;
    for (size_t i = 0; rc == 0 && i < app->works->cnt; i++) {
        struct roce_pkt pkt;

        trace_parse(event_packet(app->setup, app->works->wr[i].event), &pkt);
        if (find_srq(app, pkt.xrceth.srqn))
            continue;
        if (!VEC_GROW(app->srq, app->srqns.cnt, app->srq_cap))
            return RNIC_ERR_NOMEM;
        init.srqn = pkt.xrceth.srqn;
        app->srq[app->srqns.cnt] = (struct responder_app_srq){.spare = 0};
        rc = rnic_srq_new(app->host->pd, &init, &app->srq[app->srqns.cnt].srq);
        if (rc == 0 && keymap_add(&app->srqns, &init.srqn) == KEYMAP_NONE)
            rc = RNIC_ERR_NOMEM;
    }
    return rc;
}

const char *responder_app_open(struct responder_app *app, const struct rnic_qp_attr *common)
{
    const struct inferred_setup *s = app->setup;
    struct rnic_mr_attr recv = {.access = RNIC_ACCESS_LOCAL_WRITE};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = s->qpn,
                                .max_recv_wr = 4,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1,
                                .no_credits = true};
    struct rnic_qp_attr qp = *common;
    struct rnic_mr *mr;
    int rc = 0;

    qp.access = s->access;
    qp.dest_qpn = s->peer_qpn;
    qp.rq_psn = s->rq_psn;
    qp.rq_msn = s->msn;
    qp.max_dest_rd_atomic = RNIC_RD_ATOMIC_MAX;
    qp.min_rnr_timer = s->rnr_code;
    /* Register the recorded R_Keys first, so that the RNIC does not choose one of them for the
     * receive buffer. */
    for (uint32_t i = 0; rc == 0 && i < app->memory->keys.cnt; i++)
        rc = shadow_register(&app->memory->region[i], app->host->pd);
    if (rc != 0)
        return rnic_error_text(rc);
    recv.addr = app->recv_buf;
    recv.len = s->max_recv + 1;
    if (rnic_mr_reg(app->host->pd, &recv, &mr) != 0)
        return "no memory for the receive buffers";
    app->recv_key = rnic_mr_key(mr);
    if (inferred_setup_svc(s) == ROCE_SVC_XRC) {
        rc = open_srqs(app);
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .qpn = s->qpn, .xrcd = app->xrcd};
    }
    return rc == 0 ? sim_host_connect(app->host, &init, &qp, RNIC_QPS_RTS) : rnic_error_text(rc);
}

/* ---- actions before and after a request --------------------------------------------------------
 */

static void post_recv(struct responder_app *app, struct responder_app_srq *srq, uint32_t len)
{
    struct rnic_sge sge = {.addr = 0, .len = len, .lkey = app->recv_key};
    struct rnic_recv_wr wr = {.wr_id = app->recv_cnt, .sge = &sge, .sge_cnt = 1};

    if ((srq ? rnic_post_srq_recv(srq->srq, &wr) : rnic_post_recv(app->host->qp, &wr)) != 0)
        return;
    app->recv_cnt++;
    if (srq)
        srq->spare++;
}

/* Posts a receive WQE for a request that consumes one. Posts none if the recorded request found no
 * receive WQE. */
static void offer_recv(struct responder_app *app, const struct app_request *request,
                       const struct pkt_event *event, uint32_t posted)
{
    const struct work_request *wr = work_request_at(app->works, request->rel);

    if (inferred_setup_svc(app->setup) == ROCE_SVC_XRC) {
        if (!request->srq)
            return; /* no SRQ has the number in the request */
        posted = request->srq->spare;
    }
    if (!rc_responder_app_takes_recv(request->pkt->op) || posted)
        return;
    if (wr && app->starve[wr - app->works->wr])
        app->starve[wr - app->works->wr]--;
    else
        post_recv(app, request->srq,
                  event && event->recv_len != RECV_FULL ? event->recv_len : app->setup->max_recv);
}

int responder_app_before_request(struct responder_app *app, struct app_request *request)
{
    const struct roce_pkt *pkt = request->pkt;
    const struct request_pkt *e = request_at(app->setup, request->rel);
    const struct pkt_event *event = e ? &app->setup->event[e->event] : NULL;
    struct shadow_region *region = NULL;
    struct rnic_qp_view view;

    rnic_qp_view(app->host->qp, &view);
    request->epsn = view.epsn;
    request->srq = roce_pkt_has(pkt, ROCE_HDR_XRCETH) ? find_srq(app, pkt->xrceth.srqn) : NULL;
    request->withdrawn = NULL;
    if (view.epsn != pkt->bth.psn || view.state == RNIC_QPS_ERR)
        return 0;
    offer_recv(app, request, event, view.recv_wr);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        region = shadow_find(app->memory, pkt->atomiceth.rkey);
    else if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        region = shadow_find(app->memory, pkt->reth.rkey);
    if (!region)
        return 0;
    if (event && event->rkey_invalid) {
        /* The recorded responder refused this request because of its R_Key. If a SEND has
         * invalidated the R_Key, or the region does not permit the access, our RNIC also refuses
         * the request. Otherwise the simulated program must deregister the region first. */
        if (app->invalidated[region - app->memory->region] ||
            !infer_setup_permits(app->setup, e, region))
            return 0;
        shadow_deregister(region);
        request->withdrawn = region;
    } else if (app->invalidated[region - app->memory->region]) {
        /* A SEND invalidated the R_Key, but the recorded responder did not refuse the R_Key of this
         * later request. So the recorded program must have registered the region again. */
        shadow_deregister(region);
        app->invalidated[region - app->memory->region] = 0;
    }
    return request->withdrawn || shadow_register(region, app->host->pd) == 0 ? 0 : -1;
}

/* Marks the memory pages that an executed request changed. */
static void mark_pages_touched(struct responder_app *app, const struct request_pkt *e)
{
    struct shadow_region *region = shadow_find(app->memory, e->rkey);

    if (!region || e->len == 0 || !shadow_covers(region, e->va, e->len, 0))
        return;
    for (uint64_t page = (e->va - region->low) / MEMORY_PAGE;
         page <= (e->va - region->low + e->len - 1) / MEMORY_PAGE; page++)
        shadow_touch(region, page);
}

int responder_app_after_request(struct responder_app *app, const struct app_request *request)
{
    const struct request_pkt *e = request_at(app->setup, request->rel);
    const struct roce_opcode *op = request->pkt->op;
    struct shadow_region *region;
    struct rnic_qp_view view;

    if (request->withdrawn && shadow_register(request->withdrawn, app->host->pd) != 0)
        return -1;
    rnic_qp_view(app->host->qp, &view);
    if (view.epsn == request->epsn)
        return 0;
    if (request->srq && request->srq->spare && rc_responder_app_takes_recv(op))
        request->srq->spare--;
    if (roce_pkt_has(request->pkt, ROCE_HDR_IETH)) {
        region = shadow_find(app->memory, request->pkt->ieth.rkey);
        if (region)
            app->invalidated[region - app->memory->region] = 1;
    }
    if (e && (op->kind == ROCE_KIND_WRITE || op->kind == ROCE_KIND_ATOMIC_WRITE ||
              roce_opcode_is_atomic(op)))
        mark_pages_touched(app, e);
    return 0;
}

/* ---- received messages -------------------------------------------------------------------------
 */

int responder_app_poll(struct responder_app *app, struct completion_log *received)
{
    struct rnic_wc wc[16];
    size_t cnt;

    while ((cnt = rnic_cq_poll(app->host->cq, wc, sizeof(wc) / sizeof(wc[0]))) > 0)
        for (size_t i = 0; i < cnt; i++) {
            struct sim_completion done = {.work = (uint32_t)received->cnt, .status = wc[i].status};

            if (wc[i].status == RNIC_WC_SUCCESS) {
                done.len = wc[i].byte_len;
                done.hash = ((uint64_t)wc[i].flags << 40 ^ (uint64_t)wc[i].solicited << 56) +
                            wc[i].imm + wc[i].invalidated_key;
                if (wc[i].opcode == RNIC_WC_RECV && done.len)
                    done.hash ^= payload_hash(app->recv_buf, done.len);
            }
            if (completion_log_add(received, &done) != 0)
                return -1;
        }
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/responder_app.h"

#include <stdlib.h>
#include <string.h>
#include "engine/rc_responder_app.h"

/* How often each message found no receive WQE. */
static void count_starved(struct user *user)
{
    const struct setup *s = user->setup;
    const struct works *w = user->works;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct work *work = s->step[i].no_recv ? works_find(w, s->step[i].rel) : NULL;

        if (work)
            user->starve[work - w->work]++;
    }
}

int user_init(struct user *user, const struct works *works, struct memory *memory, struct end *end)
{
    *user = (struct user){.works = works, .setup = works->setup, .memory = memory, .end = end};
    user->starve = calloc(works->cnt + 1, sizeof(*user->starve));
    user->invalidated = calloc(memory->keys.cnt + 1, 1);
    user->recv_buf = calloc(1, (size_t)works->setup->max_recv + 1);
    if (!user->starve || !user->invalidated || !user->recv_buf)
        return -1;
    count_starved(user);
    return 0;
}

void user_free(struct user *user)
{
    free(user->starve);
    free(user->invalidated);
    free(user->recv_buf);
    free(user->srq);
    memset(user, 0, sizeof(*user));
}

/* ---- setting up --------------------------------------------------------------------------------
 */

static struct user_srq *find_srq(const struct user *user, uint32_t srqn)
{
    for (size_t i = 0; i < user->srq_cnt; i++)
        if (user->srq[i].srqn == srqn)
            return &user->srq[i];
    return NULL;
}

/* The SRQs that the recorded requests name, and none else. */
static int open_srqs(struct user *user)
{
    struct rnic_srq_init init = {.max_wr = 1024, .max_sge = 1, .cq = user->end->cq};
    int rc = rnic_xrcd_new(user->end->rnic, &user->xrcd);

    init.xrcd = user->xrcd;
    for (size_t i = 0; rc == 0 && i < user->works->cnt; i++) {
        struct roce_pkt pkt;

        trace_parse(setup_packet(user->setup, user->works->work[i].step), &pkt);
        if (find_srq(user, pkt.xrceth.srqn))
            continue;
        if (!VEC_GROW(user->srq, user->srq_cnt, user->srq_cap))
            return RNIC_ERR_NOMEM;
        init.srqn = pkt.xrceth.srqn;
        user->srq[user->srq_cnt] = (struct user_srq){.srqn = init.srqn};
        rc = rnic_srq_new(user->end->pd, &init, &user->srq[user->srq_cnt].srq);
        user->srq_cnt += rc == 0;
    }
    return rc;
}

const char *user_open(struct user *user, const struct rnic_qp_attr *common)
{
    const struct setup *s = user->setup;
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
    /* The capture's keys first, so that the buffer's own does not take one of them. */
    for (uint32_t i = 0; rc == 0 && i < user->memory->keys.cnt; i++)
        rc = memory_register(&user->memory->region[i], user->end->pd);
    if (rc != 0)
        return rnic_error_text(rc);
    recv.addr = user->recv_buf;
    recv.len = s->max_recv + 1;
    if (rnic_mr_reg(user->end->pd, &recv, &mr) != 0)
        return "no memory for the receive buffers";
    user->recv_key = rnic_mr_key(mr);
    if (setup_svc(s) == ROCE_SVC_XRC) {
        rc = open_srqs(user);
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .qpn = s->qpn, .xrcd = user->xrcd};
    }
    return rc == 0 ? end_connect(user->end, &init, &qp, RNIC_QPS_RTS) : rnic_error_text(rc);
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static void post_recv(struct user *user, struct user_srq *srq, uint32_t len)
{
    struct rnic_sge sge = {.addr = 0, .len = len, .lkey = user->recv_key};
    struct rnic_recv_wr wr = {.wr_id = user->recv_cnt, .sge = &sge, .sge_cnt = 1};

    if ((srq ? rnic_post_srq_recv(srq->srq, &wr) : rnic_post_recv(user->end->qp, &wr)) != 0)
        return;
    user->recv_cnt++;
    if (srq)
        srq->spare++;
}

/* A receive WQE for a request that takes one, unless the recorded one found none. */
static void offer_recv(struct user *user, const struct user_turn *turn, const struct step *step,
                       uint32_t posted)
{
    const struct work *work = works_find(user->works, turn->rel);

    if (setup_svc(user->setup) == ROCE_SVC_XRC) {
        if (!turn->srq)
            return; /* an SRQ that nobody has */
        posted = turn->srq->spare;
    }
    if (!prepare_takes_recv(turn->pkt->op) || posted)
        return;
    if (work && user->starve[work - user->works->work])
        user->starve[work - user->works->work]--;
    else
        post_recv(user, turn->srq,
                  step && step->recv_len != RECV_FULL ? step->recv_len : user->setup->max_recv);
}

int user_before(struct user *user, struct user_turn *turn)
{
    const struct roce_pkt *pkt = turn->pkt;
    const struct entry *e = setup_entry(user->setup, turn->rel);
    const struct step *step = e ? &user->setup->step[e->step] : NULL;
    struct memory_region *region = NULL;
    struct rnic_qp_view view;

    rnic_qp_view(user->end->qp, &view);
    turn->epsn = view.epsn;
    turn->srq = roce_pkt_has(pkt, ROCE_HDR_XRCETH) ? find_srq(user, pkt->xrceth.srqn) : NULL;
    turn->withdrawn = NULL;
    if (view.epsn != pkt->bth.psn || view.state == RNIC_QPS_ERR)
        return 0;
    offer_recv(user, turn, step, view.recv_wr);
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        region = memory_find(user->memory, pkt->atomiceth.rkey);
    else if (roce_pkt_has(pkt, ROCE_HDR_RETH))
        region = memory_find(user->memory, pkt->reth.rkey);
    if (!region)
        return 0;
    if (step && step->withdraw) {
        /* A key that a SEND invalidated is for our RNIC to refuse. */
        if (user->invalidated[region - user->memory->region])
            return 0;
        memory_withdraw(region);
        turn->withdrawn = region;
    } else if (user->invalidated[region - user->memory->region]) {
        /* Used again after it was invalidated: it was registered anew. */
        memory_withdraw(region);
        user->invalidated[region - user->memory->region] = 0;
    }
    return turn->withdrawn || memory_register(region, user->end->pd) == 0 ? 0 : -1;
}

/* The pages that a request that was executed changed. */
static void touch(struct user *user, const struct entry *e)
{
    struct memory_region *region = memory_find(user->memory, e->rkey);

    if (!region || e->len == 0 || !memory_covers(region, e->va, e->len, 0))
        return;
    for (uint64_t page = (e->va - region->low) / MEMORY_PAGE;
         page <= (e->va - region->low + e->len - 1) / MEMORY_PAGE; page++)
        region->touched[page] = 1;
}

int user_after(struct user *user, const struct user_turn *turn)
{
    const struct entry *e = setup_entry(user->setup, turn->rel);
    const struct roce_opcode *op = turn->pkt->op;
    struct memory_region *region;
    struct rnic_qp_view view;

    if (turn->withdrawn && memory_register(turn->withdrawn, user->end->pd) != 0)
        return -1;
    rnic_qp_view(user->end->qp, &view);
    if (view.epsn == turn->epsn)
        return 0;
    if (turn->srq && turn->srq->spare && prepare_takes_recv(op))
        turn->srq->spare--;
    if (roce_pkt_has(turn->pkt, ROCE_HDR_IETH)) {
        region = memory_find(user->memory, turn->pkt->ieth.rkey);
        if (region)
            user->invalidated[region - user->memory->region] = 1;
    }
    if (e && (op->kind == ROCE_KIND_WRITE || op->kind == ROCE_KIND_ATOMIC_WRITE ||
              roce_opcode_is_atomic(op)))
        touch(user, e);
    return 0;
}

/* ---- what is received --------------------------------------------------------------------------
 */

int user_poll(struct user *user, struct closed_dones *received)
{
    struct rnic_wc wc[16];
    size_t cnt;

    while ((cnt = rnic_cq_poll(user->end->cq, wc, sizeof(wc) / sizeof(wc[0]))) > 0)
        for (size_t i = 0; i < cnt; i++) {
            struct closed_done done = {.work = (uint32_t)received->cnt, .status = wc[i].status};

            if (wc[i].status == RNIC_WC_SUCCESS) {
                done.len = wc[i].byte_len;
                done.hash = ((uint64_t)wc[i].flags << 40 ^ (uint64_t)wc[i].solicited << 56) +
                            wc[i].imm + wc[i].invalidated_key;
                if (wc[i].opcode == RNIC_WC_RECV && done.len)
                    done.hash ^= drive_hash(user->recv_buf, done.len);
            }
            if (closed_note_done(received, &done) != 0)
                return -1;
        }
    return 0;
}

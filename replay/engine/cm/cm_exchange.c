/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/cm/cm_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of earlier exchanges in which find_exchange() searches for the exchange of a
 * message. A CM stops retransmitting before 256 further exchanges begin. */
#define LOOK_BACK 256

bool cm_exchange_message(const struct trace *trace, uint32_t idx, struct roce_cm_msg *out)
{
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    struct roce_pkt pkt;

    if (flow->dest_qp != ROCE_QP_GSI || flow->svc != ROCE_SVC_UD || p->dropped || p->zero_filled)
        return false;
    trace_parse(p, &pkt);
    return roce_cm_msg_of_pkt(out, &pkt) == 0;
}

/* Sets *from to the communication id of the message's sender, and *to to the id of its receiver.
 * An id that the message lacks is 0. */
static void ids_of(const struct roce_cm_msg *msg, uint32_t *from, uint32_t *to)
{
    const struct roce_hdr_info *info = roce_cm_info(msg->kind);
    const struct roce_field *local = roce_field_find(info, "local_comm_id");
    const struct roce_field *remote = roce_field_find(info, "remote_comm_id");
    uint8_t mad[ROCE_MAD_SIZE];

    *from = *to = 0;
    if (roce_cm_msg_build(msg, mad, sizeof(mad)) != ROCE_MAD_SIZE)
        return;
    if (local)
        *from = (uint32_t)roce_field_get(local, mad + ROCE_MAD_LEN);
    if (remote)
        *to = (uint32_t)roce_field_get(remote, mad + ROCE_MAD_LEN);
}

/* Returns the end that sent a message of exchange `x`. */
static enum cm_role sender_of(const struct cm_exchange *x, const struct trace_flow *flow,
                              const struct roce_cm_msg *msg)
{
    uint32_t from, to;

    if (memcmp(x->addr[CM_ACTIVE], x->addr[CM_PASSIVE], 16) != 0)
        return memcmp(flow->src, x->addr[CM_ACTIVE], 16) == 0 ? CM_ACTIVE : CM_PASSIVE;
    /* Both ends have the same IP address. Only the active end sends a REQ, RTU or SIDR REQ. For
     * most other messages, the communication ids show the sender. */
    if (msg->kind == ROCE_CM_REQ || msg->kind == ROCE_CM_RTU || msg->kind == ROCE_CM_SIDR_REQ)
        return CM_ACTIVE;
    if (msg->kind == ROCE_CM_REP || msg->kind == ROCE_CM_SIDR_REP)
        return CM_PASSIVE;
    ids_of(msg, &from, &to);
    return from == x->id[CM_ACTIVE] || (from == 0 && to != x->id[CM_ACTIVE]) ? CM_ACTIVE
                                                                             : CM_PASSIVE;
}

bool cm_exchange_is_from(const struct cm_exchanges *xs, const struct cm_exchange *x,
                         enum cm_role end, size_t i)
{
    struct roce_cm_msg msg;

    cm_exchange_message(xs->trace, x->pkt[i], &msg);
    return sender_of(x, &xs->trace->flow[xs->trace->pkt[x->pkt[i]].flow], &msg) == end;
}

static bool between(const struct cm_exchange *x, const struct trace_flow *flow, enum cm_role from)
{
    return memcmp(x->addr[from], flow->src, 16) == 0 && memcmp(x->addr[!from], flow->dst, 16) == 0;
}

static struct cm_exchange *new_exchange(struct cm_exchanges *xs, const struct trace_flow *flow,
                                        uint32_t id, const struct roce_cm_msg *msg)
{
    struct cm_exchange *x;

    if (!VEC_GROW(xs->at, xs->cnt, xs->cap))
        return NULL;
    x = &xs->at[xs->cnt++];
    *x = (struct cm_exchange){.sidr = msg->kind == ROCE_CM_SIDR_REQ, .tid = msg->mad.tid};
    x->service_id = x->sidr ? msg->sidr_req.service_id : msg->req.service_id;
    x->id[CM_ACTIVE] = id;
    x->end[0].verdict = x->end[1].verdict = VERDICT_SKIPPED;
    memcpy(x->addr[CM_ACTIVE], flow->src, 16);
    memcpy(x->addr[CM_PASSIVE], flow->dst, 16);
    return x;
}

/* Returns the newest exchange to which a message belongs, or NULL. If `exact` is set, both
 * communication ids must match. Otherwise the sender's id or the transaction id is sufficient, so
 * that the exchange of a message with one wrong id is also found. */
static struct cm_exchange *find_exchange(struct cm_exchanges *xs, const struct trace_flow *flow,
                                         const struct roce_cm_msg *msg, bool exact)
{
    bool sidr = msg->kind == ROCE_CM_SIDR_REQ || msg->kind == ROCE_CM_SIDR_REP;
    size_t low = xs->cnt > LOOK_BACK ? xs->cnt - LOOK_BACK : 0;
    uint32_t from = 0, to = 0;

    if (!sidr)
        ids_of(msg, &from, &to);
    for (size_t i = xs->cnt; i-- > low;) {
        struct cm_exchange *x = &xs->at[i];
        uint32_t active = x->id[CM_ACTIVE], passive = x->id[CM_PASSIVE];

        if (x->sidr != sidr)
            continue;
        if (!exact && x->tid == msg->mad.tid && msg->kind != ROCE_CM_REQ &&
            msg->kind != ROCE_CM_SIDR_REQ &&
            (between(x, flow, CM_ACTIVE) || between(x, flow, CM_PASSIVE)))
            return x;
        if (sidr) {
            bool req = msg->kind == ROCE_CM_SIDR_REQ;
            uint32_t id = req ? msg->sidr_req.request_id : msg->sidr_rep.request_id;

            if (active == id && between(x, flow, req ? CM_ACTIVE : CM_PASSIVE))
                return x;
            continue;
        }
        if (between(x, flow, CM_ACTIVE) && active == from && (!exact || to == 0 || to == passive))
            return x;
        if (!between(x, flow, CM_PASSIVE) || msg->kind == ROCE_CM_REQ)
            continue;
        if (exact ? active == to && (from == 0 || passive == 0 || passive == from)
                  : active == to || (from != 0 && passive == from))
            return x;
    }
    return NULL;
}

/* Splits exchange *x if the passive end sent two REJs. After the first REJ, the passive end forgot
 * the exchange. A later copy of the REQ then caused the second REJ, which has communication id
 * `from`. The communication ids of the two REJs differ, or the second REJ has none because no
 * program listens any more. The later REQ and the second REJ become a new exchange, to which *x is
 * set. Returns 0, or -1 if out of memory. */
static int split_after_rej(struct cm_exchanges *xs, struct cm_exchange **x, uint32_t from)
{
    struct cm_exchange *old = *x;
    size_t kept = 0, rej = 0, req = 0, idx = (size_t)(old - xs->at);
    struct roce_cm_msg msg, request;

    if (old->id[CM_PASSIVE] == from || xs->cnt == CM_EXCHANGES_MAX)
        return 0;
    for (size_t i = 0; i < old->cnt; i++) {
        cm_exchange_message(xs->trace, old->pkt[i], &msg);
        if (msg.kind == ROCE_CM_REJ && cm_exchange_is_from(xs, old, CM_PASSIVE, i) && rej == 0)
            rej = i;
        if (msg.kind == ROCE_CM_REQ) {
            req = i;
            request = msg;
        }
    }
    if (rej == 0 || req == 0)
        return 0;
    *x = new_exchange(xs, &xs->trace->flow[xs->trace->pkt[old->pkt[req]].flow],
                      request.req.local_comm_id, &request);
    if (!*x)
        return -1;
    old = &xs->at[idx]; /* adding the new exchange may have moved the array, so get the pointer
                         * again */
    for (size_t i = 0; i < old->cnt; i++) {
        if (i != req && (i <= rej || i <= req)) {
            old->pkt[kept++] = old->pkt[i];
            continue;
        }
        if (!VEC_GROW((*x)->pkt, (*x)->cnt, (*x)->cap))
            return -1;
        (*x)->pkt[(*x)->cnt++] = old->pkt[i];
    }
    old->cnt = kept;
    return 0;
}

static int add_message(struct cm_exchanges *xs, uint32_t idx)
{
    const struct trace_flow *flow = &xs->trace->flow[xs->trace->pkt[idx].flow];
    struct roce_cm_msg msg;
    struct cm_exchange *x;
    uint32_t from, to;

    if (!cm_exchange_message(xs->trace, idx, &msg))
        return 0;
    x = find_exchange(xs, flow, &msg, true);
    if (!x)
        x = find_exchange(xs, flow, &msg, false);
    if (!x || (msg.kind == ROCE_CM_REQ && x->service_id != msg.req.service_id)) {
        if ((msg.kind != ROCE_CM_REQ && msg.kind != ROCE_CM_SIDR_REQ) ||
            xs->cnt == CM_EXCHANGES_MAX)
            return 0; /* the capture lacks the first message of the exchange */
        x = msg.kind == ROCE_CM_REQ ? new_exchange(xs, flow, msg.req.local_comm_id, &msg)
                                    : new_exchange(xs, flow, msg.sidr_req.request_id, &msg);
        if (!x)
            return -1;
    }
    ids_of(&msg, &from, &to);
    if (sender_of(x, flow, &msg) == CM_PASSIVE) {
        if (msg.kind == ROCE_CM_REJ && split_after_rej(xs, &x, from) != 0)
            return -1;
        if (x->id[CM_PASSIVE] == 0)
            x->id[CM_PASSIVE] = from;
    }
    if (!VEC_GROW(x->pkt, x->cnt, x->cap))
        return -1;
    x->pkt[x->cnt++] = idx;
    return 0;
}

int cm_exchange_report(struct cm_exchanges *xs, uint32_t idx, enum cm_role role, uint32_t pkt,
                       const struct field_diffs *d, const char *reason)
{
    if (d->cnt == 0)
        return 0;
    xs->at[idx].end[role].diff_cnt++;
    for (unsigned i = 0; i < d->cnt; i++) {
        struct diff *diff;

        if (!VEC_GROW(xs->diff, xs->diff_cnt, xs->diff_cap))
            return -1;
        diff = &xs->diff[xs->diff_cnt++];
        *diff = (struct diff){.dir = idx, .pkt = pkt, .request = role};
        field_diff_report(&d->at[i], reason, diff);
    }
    return 0;
}

int cm_exchanges_find(struct cm_exchanges *xs, const struct trace *trace)
{
    int rc = 0;

    memset(xs, 0, sizeof(*xs));
    xs->trace = trace;
    for (uint32_t i = 0; rc == 0 && i < trace->cnt; i++)
        if (trace->flow[trace->pkt[i].flow].dest_qp == ROCE_QP_GSI)
            rc = add_message(xs, i);
    return rc;
}

void cm_exchanges_free(struct cm_exchanges *xs)
{
    for (size_t i = 0; i < xs->cnt; i++)
        free(xs->at[i].pkt);
    free(xs->at);
    free(xs->diff);
    memset(xs, 0, sizeof(*xs));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchanges: follows the messages from REQ to DREP, and creates a connection when REQ and REP
 * name both QPs. So the QPNs, starting PSNs, path MTU, timeout and retry counts of the connection
 * are known before its first data packet.
 */
#include "flow/cm_track.h"

#include <string.h>
#include "flow/base/report.h"
#include "flow/checks/check_cm.h"
#include "flow/conn_end.h"
#include "flow/table/cm_exchange.h"
#include "flow/table/conn.h"
#include "flow/table/pair_index.h"

/* lower bound of the time that a QP stays in TimeWait, ns. The specification asks for twice the
 * packet lifetime, which is longer */
#define TIMEWAIT_NS UINT64_C(1000000)
#define MRA_OF_LAP  2
/* attribute id of ClassPortInfo. Every management class has it, with the methods Get and Set */
#define CLASS_PORT_INFO 1

static struct roce_endpoint *find_endpoint(const struct roce_ctx *ctx,
                                           const struct roce_cm_exchange *s, int from)
{
    struct roce_key key = {.net = s->net, .qpn = s->qpn[1 - from], .src_qpn = ROCE_QPN_UNKNOWN};

    memcpy(key.src, s->addr[from], 16);
    memcpy(key.dst, s->addr[1 - from], 16);
    return s->qpn[1 - from] ? roce_conn_find(roce_pair_part(ctx->flow, &key), &key,
                                             roce_key_hash(&key, &ctx->flow->secret))
                            : NULL;
}

static struct roce_conn *conn_of(const struct roce_ctx *ctx, const struct roce_cm_exchange *s)
{
    struct roce_endpoint *side = find_endpoint(ctx, s, 0);

    if (!side)
        side = find_endpoint(ctx, s, 1);
    return side ? side->conn : NULL;
}

/* Fills the result for a CM message of exchange `s`: the connection of the exchange, and `answers`,
 * the frame of the earlier CM message that the current message answers (0 if unknown). */
static void set_cm_result(struct roce_ctx *ctx, const struct roce_cm_exchange *s, uint32_t answers)
{
    const struct roce_conn *conn = conn_of(ctx, s);

    ctx->result->cm_conn_index = conn ? conn->conn_index : ROCE_NO_CONN;
    ctx->result->cm_frame = answers;
    ctx->result->cm_service = s->req.service_id;
    roce_report_link(ctx, ROCE_LINK_CM_ANSWER, answers);
}

/* ---- setting up a connection ----------------------------------------------------------------- */

/* Returns the time from `from` to `to` in ms, at most 65535. `from` and `to` are in ns. */
static uint16_t ms_since(uint64_t from, uint64_t to)
{
    uint64_t ms = roce_since(from, to) / 1000000;

    return (uint16_t)(ms < UINT16_MAX ? ms : UINT16_MAX);
}

static void set_cm_facts(struct roce_conn *conn, const struct roce_cm_exchange *s,
                         const struct roce_cm_rep *rep, int active, uint64_t now)
{
    struct roce_conn_facts *sum = &conn->facts;
    sum->cm.seen = s->seen;
    sum->cm.active_side = (uint8_t)active;
    sum->cm.service_id = s->req.service_id;
    sum->cm.ack_timeout_code = s->req.primary_ack_timeout;
    sum->cm.timeout_code[active] = roce_cm_active_timeout(&s->req, rep);
    sum->cm.timeout_code[!active] = s->req.primary_ack_timeout;
    sum->cm.retry_count = s->req.retry_count;
    sum->cm.rnr_retry = s->req.rnr_retry_count;
    sum->cm.responder_resources = s->req.responder_resources;
    sum->cm.initiator_depth = s->req.initiator_depth;
    sum->cm.rep_responder_resources = rep->responder_resources;
    sum->cm.rep_initiator_depth = rep->initiator_depth;
    sum->cm.rep_rnr_retry = rep->rnr_retry_count;
    sum->cm.req_srq = s->req.srq;
    sum->cm.rep_srq = rep->srq;
    sum->cm.req_frame = s->req_frame;
    sum->cm.rep_frame = s->rep_frame;
    if (s->rep_frame)
        sum->cm.rep_ms = ms_since(s->req_time, now);
    sum->cm.reqs = s->reqs;
    sum->cm.dreq_frame = s->dreq_frame;
    sum->svc = (enum roce_svc)s->svc;
    if (roce_mtu_bytes(s->req.mtu)) {
        sum->mtu = roce_mtu_bytes(s->req.mtu);
        sum->mtu_sure = true;
        conn->mtu_seen = false;
    }
    for (int i = 0; i < 2; i++) {
        struct roce_endpoint *side = &conn->side[i];
        struct roce_req *req = &side->req;

        /* a CM message contains the PSN at which its receiver starts to send requests */
        req->base = req->rel_base = s->psn[i == active ? 1 : 0];
        req->base_cm = true;
        req->retx.time = now;
        side->counts.first_psn = req->base;
    }
}

/* Calls on_use(): the REQ and REP of exchange `s` set up the QPs of connection `conn`. */
static void report_use(const struct roce_ctx *ctx, const struct roce_conn *conn,
                       const struct roce_cm_exchange *s, const struct roce_cm_rep *rep)
{
    const struct roce_flow_opts *opts = &ctx->flow->opts;
    struct roce_flow_use use = {.conn_index = conn->conn_index,
                                .frame = ctx->frame,
                                .req = &s->req,
                                .rep = rep,
                                .req_frame = s->req_frame,
                                .rep_frame = s->rep_frame,
                                .active_side = conn->facts.cm.active_side};

    if (opts->on_use)
        opts->on_use(opts->user, &use);
}

static void set_up_conn(struct roce_ctx *ctx, struct roce_cm_exchange *s,
                        const struct roce_cm_rep *rep)
{
    struct roce_endpoint *a = find_endpoint(ctx, s, 0), *p = find_endpoint(ctx, s, 1);
    struct roce_ctx on = *ctx;
    struct roce_conn *conn;
    struct roce_key key = {.net = s->net, .qpn = s->qpn[1], .src_qpn = ROCE_QPN_UNKNOWN};
    int active = 0;

    if (a && p && a->conn != p->conn) { /* the two QPs belonged to two different connections before,
                                         * which have ended */
        roce_conn_end(ctx->flow, a->conn);
        roce_conn_end(ctx->flow, p->conn);
        a = p = NULL;
    } else if ((a && !p && a->conn->paired) || (p && !a && p->conn->paired)) {
        roce_conn_end(ctx->flow, a ? a->conn : p->conn);
        a = p = NULL;
    }
    if (a || p) {
        conn = a ? a->conn : p->conn;
        active = a ? roce_endpoint_side(a) : 1 - roce_endpoint_side(p);
        on.conn = conn;
        on.sender = &conn->side[active];
        if (conn->side[0].any || conn->side[1].any) {
            REPORT(&on, QP_REUSED, "QPN", .actual = s->qpn[1], .value = ROCE_VALUE_NONE,
                   .other = conn->facts.first_frame);
            roce_conn_reset(conn);
        }
    } else {
        memcpy(key.src, s->addr[0], 16);
        memcpy(key.dst, s->addr[1], 16);
        a = roce_conn_new(ctx->flow, ctx, &key);
        if (!a)
            return;
        conn = a->conn;
    }
    roce_pair_index_remove(ctx->flow, &conn->side[0]);
    conn->side[active].qpn = s->qpn[0];
    conn->side[1 - active].qpn = s->qpn[1];
    for (int i = 0; i < 2; i++)
        if (!conn->side[i].keyed)
            roce_conn_key(ctx->flow, &conn->side[i]);
    conn->paired = conn->facts.paired = true;
    conn->facts.pairing = ROCE_PAIRED_BY_CM;
    set_cm_facts(conn, s, rep, active, ctx->time);
    report_use(ctx, conn, s, rep);
}

/* ---- handling CM messages -------------------------------------------------------------------- */

static void check_timewait(struct roce_ctx *ctx, uint32_t qpn)
{
    for (unsigned i = 0; i < ROCE_TIMEWAIT_QPS; i++) {
        const struct roce_timewait_qp *e = &ctx->flow->common->timewait[i];

        if (e->used && e->qpn == qpn && memcmp(e->addr, ctx->src, 16) == 0 &&
            roce_since(e->time, ctx->time) < TIMEWAIT_NS)
            REPORT(ctx, CM_TIMEWAIT, "local_qpn", .other = e->frame, .actual = qpn,
                   .value = ROCE_VALUE_NONE);
    }
}

static void on_req(struct roce_ctx *ctx, const struct roce_cm_msg *msg)
{
    const struct roce_cm_req *req = &msg->req;
    struct roce_cm_exchange *s = roce_cm_exchange_of_req(ctx, req);

    if (s && s->tid == msg->mad.tid && !s->gone) {
        REPORT(ctx, CM_REQ_AGAIN, "req.local_comm_id", .actual = req->local_comm_id,
               .value = ROCE_VALUE_NONE, .other = s->req_frame);
        if (!roce_cm_exchange_is_same_req(s, req))
            REPORT(ctx, CM_REQ_CHANGED, "REQ", .other = s->req_frame, .value = ROCE_VALUE_NONE);
        s->reqs += s->reqs < UINT8_MAX;
        ctx->result->repeats_frame = s->req_frame;
        set_cm_result(ctx, s, 0);
        return;
    }
    check_timewait(ctx, req->local_qpn);
    roce_cm_exchange_begin(ctx, msg);
}

static void check_tid(struct roce_ctx *ctx, uint64_t want, uint64_t tid, uint32_t frame)
{
    if (want != tid)
        REPORT(ctx, CM_TID, "mad.tid", want, tid, frame, ROCE_VALUE_HEX);
}

/* Records that the passive side retransmits the REP of the exchange `s`. Does nothing after the
 * first data packet, because the connection then no longer waits for the RTU. */
static void note_rep_again(const struct roce_ctx *ctx, const struct roce_cm_exchange *s)
{
    struct roce_conn *conn = conn_of(ctx, s);

    if (!conn || conn->side[0].any || conn->side[1].any)
        return;
    conn->facts.cm.rep_again_ms = ms_since(s->rep_time, ctx->time);
    conn->facts.cm.rtu_lost = s->rtu_frame != 0;
}

static void on_rep(struct roce_ctx *ctx, const struct roce_cm_msg *msg)
{
    const struct roce_cm_rep *rep = &msg->rep;
    struct roce_cm_exchange *s = roce_cm_exchange_of_rep(ctx, msg);
    uint32_t qpn = roce_cm_rep_qpn(rep);

    if (!s)
        return;
    check_tid(ctx, s->tid, msg->mad.tid, s->req_frame);
    if (s->rep_frame) {
        REPORT(ctx, CM_REP_AGAIN, "rep.local_comm_id", .actual = rep->local_comm_id,
               .value = ROCE_VALUE_NONE, .other = s->rep_frame);
        if (qpn != s->qpn[1] || rep->starting_psn != s->psn[1])
            REPORT(ctx, CM_REQ_CHANGED, "REP", .other = s->rep_frame, .value = ROCE_VALUE_NONE);
        note_rep_again(ctx, s);
        ctx->result->repeats_frame = s->rep_frame;
        set_cm_result(ctx, s, s->req_frame);
        return;
    }
    check_timewait(ctx, qpn);
    if (rep->responder_resources > s->req.initiator_depth)
        REPORT(ctx, CM_DEPTHS, "rep.responder_resources", s->req.initiator_depth,
               rep->responder_resources, s->req_frame, .rel = ROCE_REL_AT_MOST);
    if (rep->initiator_depth > s->req.responder_resources)
        REPORT(ctx, CM_DEPTHS, "rep.initiator_depth", s->req.responder_resources,
               rep->initiator_depth, s->req_frame, .rel = ROCE_REL_AT_MOST);
    s->comm_id[1] = rep->local_comm_id;
    s->qpn[1] = qpn;
    s->psn[1] = rep->starting_psn;
    s->rep_frame = ctx->frame;
    s->rep_time = ctx->time;
    s->seen |= 1u << ROCE_CM_REP;
    if (s->qpn[0] && s->qpn[1])
        set_up_conn(ctx, s, rep);
    set_cm_result(ctx, s, s->req_frame);
}

static void note_timewait(struct roce_flow *flow, const struct roce_ctx *ctx,
                          const struct roce_cm_exchange *s)
{
    for (int i = 0; i < 2; i++) {
        struct roce_timewait_qp *e =
            &flow->common->timewait[flow->common->timewait_next++ % ROCE_TIMEWAIT_QPS];

        e->used = true;
        memcpy(e->addr, s->addr[i], 16);
        e->qpn = s->qpn[i];
        e->time = ctx->time;
        e->frame = ctx->frame;
    }
}

/* Returns the frame of the CM message that a message of kind `kind` answers; 0 if it was not
 * captured. */
static uint32_t answered_frame(const struct roce_cm_exchange *s, enum roce_cm kind)
{
    switch (kind) {
    case ROCE_CM_RTU: return s->rep_frame;
    case ROCE_CM_DREP: return s->dreq_frame;
    case ROCE_CM_MRA:
    case ROCE_CM_REJ: return s->rep_frame ? s->rep_frame : s->req_frame;
    default: return 0;
    }
}

/* Calls on_conn() for a connection that was rejected with a CM REJ. The connection has no struct
 * roce_conn, because it has no data packets. */
static void report_rejected(struct roce_ctx *ctx, const struct roce_cm_exchange *s,
                            const struct roce_cm_rej *rej)
{
    static const struct roce_cm_rep none;
    struct roce_conn *conn = roce_mem_need(&ctx->flow->mem, sizeof(*conn));
    struct roce_conn_summary summary = {0};
    struct roce_conn_facts *sum = &summary.facts;

    if (!conn)
        return;
    set_cm_facts(conn, s, &none, 0, ctx->time);
    *sum = conn->facts;
    sum->conn_index = ctx->flow->common->next_conn_index;
    roce_conn_note_network(sum, ctx->pkt);
    sum->first_frame = s->req_frame;
    sum->first_time = s->req_time;
    sum->last_frame = ctx->frame;
    sum->last_time = ctx->time;
    sum->end = ROCE_END_REJECTED;
    sum->end_frame = sum->cm.rej_frame = ctx->frame;
    sum->cm.rej_reason = rej->reason;
    for (int i = 0; i < 2; i++) {
        summary.side[i] =
            (struct roce_endpoint_summary){.qpn = i == 0 ? s->qpn[0] : ROCE_QPN_UNKNOWN,
                                           .first_psn = ROCE_PSN_UNKNOWN,
                                           .credits = ROCE_CREDITS_UNLIMITED};
        memcpy(summary.side[i].addr, s->addr[i], 16);
    }
    if (roce_conn_number(ctx->flow)) {
        ctx->result->cm_conn_index = sum->conn_index;
        ctx->flow->totals.connections++;
        if (ctx->flow->opts.on_conn)
            ctx->flow->opts.on_conn(ctx->flow->opts.user, &summary);
    }
    roce_mem_put(&ctx->flow->mem, conn, sizeof(*conn));
}

/* Records the first message that answers a DREQ: a DREP, or a DREQ from the other side. */
static void note_disconnect_answer(const struct roce_ctx *ctx, struct roce_conn *conn,
                                   const struct roce_cm_exchange *s)
{
    if (!s->dreq_frame || conn->facts.cm.dreq_answered)
        return;
    conn->facts.cm.dreq_answered = true;
    conn->facts.cm.dreq_ms = ms_since(s->dreq_time, ctx->time);
}

/* Records a DREQ with transaction id `tid` from `side` of the exchange (0: active). */
static void note_dreq(const struct roce_ctx *ctx, struct roce_conn *conn,
                      const struct roce_cm_exchange *s, int side, uint64_t tid)
{
    struct roce_conn_facts *facts = &conn->facts;
    uint8_t sender = (uint8_t)(side == 0 ? facts->cm.active_side : !facts->cm.active_side);
    bool gone = tid >> 32 == ROCE_CM_TID_GONE;

    if (!facts->cm.dreqs) {
        facts->cm.dreq_frame = s->dreq_frame;
        facts->cm.dreq_side = sender;
    }
    if (sender != facts->cm.dreq_side) {
        note_disconnect_answer(ctx, conn, s);
    } else if (!facts->cm.dreq_answered) {
        facts->cm.dreqs += facts->cm.dreqs < UINT8_MAX;
        facts->cm.dreq_ms = ms_since(s->dreq_time, ctx->time);
    }
    if (facts->end == ROCE_END_OPEN) {
        facts->end = gone ? ROCE_END_GONE : ROCE_END_DISCONNECTED;
        facts->end_frame = ctx->frame;
        facts->end_side = sender;
    }
}

static void on_other(struct roce_ctx *ctx, const struct roce_cm_msg *msg, uint32_t local,
                     uint32_t remote)
{
    int side;
    struct roce_cm_exchange *s = roce_cm_exchange_of(ctx, local, remote, msg->mad.tid, &side);
    struct roce_conn *conn;

    if (msg->kind == ROCE_CM_REJ)
        REPORT(ctx, CM_REJECT, "rej.reason", .actual = msg->rej.reason, .value = ROCE_VALUE_NONE,
               .other = s ? s->req_frame : 0);
    if (!s)
        return;
    s->seen |= (uint16_t)(1u << msg->kind);
    if (side == 0)
        ctx->result->flags |= ROCE_AN_CM_ACTIVE;
    /* A REJ that answers the REQ belongs to no connection. conn_of() must not be called for it,
     * because it could find an earlier connection of the active side's QP. */
    conn = s->rep_frame || msg->kind != ROCE_CM_REJ ? conn_of(ctx, s) : NULL;
    set_cm_result(ctx, s, answered_frame(s, msg->kind));
    switch (msg->kind) {
    case ROCE_CM_RTU:
        check_tid(ctx, s->tid, msg->mad.tid, s->req_frame);
        s->rtu_frame = ctx->frame;
        if (conn) {
            conn->facts.cm.rtu_frame = ctx->frame;
            conn->facts.cm.setup_ns = roce_since(s->req_time, ctx->time);
        }
        break;
    case ROCE_CM_MRA:
        if (msg->mra.message != MRA_OF_LAP) /* an MRA for a LAP has the transaction id of the LAP;
                                             * every other MRA has the transaction id of the REQ */
            check_tid(ctx, s->tid, msg->mad.tid, s->req_frame);
        break;
    case ROCE_CM_REJ:
        if (!s->rep_frame && !s->gone)
            report_rejected(ctx, s, &msg->rej);
        s->gone = true;
        if (conn && (conn->facts.end == ROCE_END_OPEN)) {
            conn->facts.end = ROCE_END_REJECTED;
            conn->facts.end_frame = conn->facts.cm.rej_frame = ctx->frame;
            conn->facts.cm.rej_reason = msg->rej.reason;
        }
        break;
    case ROCE_CM_DREQ:
        s->dreq_again[side] = msg->mad.tid;
        if (!s->dreq[side])
            s->dreq_tid[side] = msg->mad.tid;
        s->dreq[side] = true;
        if (s->dreq_frame == 0) {
            s->dreq_frame = ctx->frame;
            s->dreq_time = ctx->time;
        }
        if (conn)
            note_dreq(ctx, conn, s, side, msg->mad.tid);
        break;
    case ROCE_CM_DREP:
        if (s->dreq[!side] && msg->mad.tid != s->dreq_again[!side])
            check_tid(ctx, s->dreq_tid[!side], msg->mad.tid, s->dreq_frame);
        s->drep_frame = ctx->frame;
        if (conn)
            note_disconnect_answer(ctx, conn, s);
        s->gone = true;
        note_timewait(ctx->flow, ctx, s);
        break;
    default: break;
    }
    if (conn) /* If the REQ was not captured before the REP, its parameters are unknown. The summary
               * then does not list the REQ as captured. */
        conn->facts.cm.seen =
            s->seen & (uint16_t)(conn->facts.cm.req_frame ? ~0u : ~(1u << ROCE_CM_REQ));
}

void roce_cm_track(struct roce_ctx *ctx)
{
    const struct roce_flow_opts *opts = &ctx->flow->opts;
    struct roce_flow_in in = {
        .pkt = ctx->pkt, .frame = ctx->frame, .time = ctx->time, .icrc = ctx->icrc};
    struct roce_cm_msg msg;
    int rc = roce_cm_msg_of_pkt(&msg, ctx->pkt);

    roce_gate(ctx->flow);
    if (rc == ROCE_ERR_MALFORMED) {
        if (msg.mad.base_version != ROCE_MAD_BASE)
            REPORT(ctx, CM_MALFORMED, "mad.base_version", ROCE_MAD_BASE, msg.mad.base_version);
        else if (ctx->pkt->payload_len ==
                 ROCE_MAD_SIZE) /* for a wrong payload length, roce_check_ud() reports rule GSI
                                 * instead */
            REPORT(ctx, CM_MAD, "mad.class_version", ROCE_MAD_CM_VER, msg.mad.class_version);
        return;
    }
    if (rc == ROCE_ERR_NOT_ROCE && msg.mad.mgmt_class == ROCE_MAD_CLASS_CM &&
        msg.mad.attr_id != CLASS_PORT_INFO) {
        if (msg.mad.method != ROCE_MAD_SEND)
            REPORT(ctx, CM_MAD, "mad.method", ROCE_MAD_SEND, msg.mad.method);
        else
            REPORT(ctx, CM_ATTR, "mad.attr_id", ROCE_CM_ATTR_FIRST, msg.mad.attr_id,
                   .value = ROCE_VALUE_HEX, .rel = ROCE_REL_AT_LEAST);
    }
    if (rc != 0)
        return;
    ctx->result->flags |= ROCE_AN_CM;
    if (opts->on_cm)
        opts->on_cm(opts->user, &in, &msg);
    roce_check_cm(ctx, &msg);
    switch (msg.kind) {
    case ROCE_CM_REQ: on_req(ctx, &msg); break;
    case ROCE_CM_REP: on_rep(ctx, &msg); break;
    case ROCE_CM_RTU: on_other(ctx, &msg, msg.rtu.local_comm_id, msg.rtu.remote_comm_id); break;
    case ROCE_CM_MRA: on_other(ctx, &msg, msg.mra.local_comm_id, msg.mra.remote_comm_id); break;
    case ROCE_CM_REJ: on_other(ctx, &msg, msg.rej.local_comm_id, msg.rej.remote_comm_id); break;
    case ROCE_CM_DREQ: on_other(ctx, &msg, msg.dreq.local_comm_id, msg.dreq.remote_comm_id); break;
    case ROCE_CM_DREP: on_other(ctx, &msg, msg.drep.local_comm_id, msg.drep.remote_comm_id); break;
    default: break;
    }
}

void roce_cm_end(struct roce_flow *flow)
{
    for (uint32_t i = 0; flow->common->cm && i < ROCE_CM_EXCHANGES; i++) {
        const struct roce_cm_exchange *s = &flow->common->cm[i];
        const struct roce_packet_digest digest = {.key.net = s->net};
        struct roce_ctx ctx = {
            .flow = flow, .frame = s->dreq_frame, .time = flow->last_time, .digest = &digest};

        if (!s->used || !s->dreq_frame || s->drep_frame)
            continue;
        ctx.conn = conn_of(&ctx, s);
        ctx.sender = ctx.conn ? &ctx.conn->side[0] : NULL;
        REPORT(&ctx, CM_DREQ_UNANSWERED, "DREQ", .value = ROCE_VALUE_NONE);
    }
}

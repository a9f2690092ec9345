/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/rc_loop.h"

#include <stdlib.h>
#include <string.h>
#include "engine/base/inject.h"
#include "engine/base/post_wr.h"
#include "sim/recorded_peer.h"
#include "sim/responder_app.h"
#include "sim/sim_link.h"

/* Codes of the local ACK timeout of the simulated requester. TIMEOUT_MIN (4.2 ms) replaces shorter
 * recorded codes, because it exceeds the delay of a reordered frame. TIMEOUT_CODE (67 ms) is used
 * if the capture shows no timeout: most programs set this value. */
#define TIMEOUT_MIN  10u
#define TIMEOUT_CODE 14u

/* Number of the latest lost, changed or late frames for which the PSN is stored. When a requester
 * gives up, these include the frames of all its tries, even with many packets in flight. */
#define LOST_MAX 1024u

/* Number of events after which the play of a connection stops: EVENTS_MIN, plus EVENTS_A_PSN for
 * each PSN. A connection that needs more events is assumed to make no progress. */
#define EVENTS_A_PSN 1000u
#define EVENTS_MIN   (UINT64_C(1) << 20)

struct rc_loop {
    struct rc_loop_result *conn;
    const struct inferred_setup *setup;
    unsigned sides;                /* endpoints that our RNIC plays, bits of enum replay_role */
    struct recorded_peer recorded; /* recorded endpoint, if our RNIC plays only the other
                                    * endpoint */
    uint32_t number;
    struct shadow_memory *memory;
    struct impair *impair;
    struct sim_pcap *pcap;
    struct sim_link link;
    struct sim_host requester, responder;
    rnic_time now;
    int64_t near; /* relative PSN (PSN minus start PSN, not wrapped) of the packet handled last.
                   * A 24-bit PSN stands for many relative PSNs; rel_of() chooses the one nearest
                   * to `near` */
    struct posted_wr *posted;
    size_t posted_cnt;
    bool full; /* true: posting to the send queue failed because the queue was full, and no work
                * request has completed since */
    struct responder_app app;
    int64_t lost[LOST_MAX]; /* relative PSNs of the latest lost, changed or late frames, as a ring
                             * buffer */
    size_t lost_cnt;        /* number of all lost, changed or late frames */
    struct impair_result out;
};

/* ---- setting up --------------------------------------------------------------------------------
 */

static uint8_t timeout_code(const struct inferred_setup *s)
{
    if (s->timeout == 0)
        return TIMEOUT_CODE;
    return s->timeout < TIMEOUT_MIN ? TIMEOUT_MIN : s->timeout;
}

static const char *open_ends(struct rc_loop *l)
{
    const struct inferred_setup *s = l->setup;
    const struct work_requests *w = &l->conn->works;
    const struct trace_packet *first = event_packet(s, w->wr[0].event);
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    struct rnic_qp_attr attr = {.path_mtu = s->mtu,
                                .max_rd_atomic = RNIC_RD_ATOMIC_MAX,
                                .timeout = timeout_code(s),
                                .retry_cnt = s->retry_cnt,
                                .rnr_retry = 7};
    struct rnic_qp_init init = {
        .type = inferred_setup_svc(s) == ROCE_SVC_XRC ? RNIC_QPT_XRC_SEND : RNIC_QPT_RC,
        .qpn = s->peer_qpn,
        .max_recv_sge = 1,
        .max_send_wr = w->cnt < RNIC_WR_MAX ? (uint32_t)w->cnt : RNIC_WR_MAX,
        .max_send_sge = 1,
        /* With a recorded peer, permit the most unanswered packets (R060): the recorded responses
         * do not arrive earlier if our requester waits. */
        .window = l->sides == REPLAY_BOTH ? 0 : UINT32_C(1) << 23};
    uint8_t to[6], from[6];
    struct roce_pkt pkt;
    const char *why;

    trace_parse(first, &pkt);
    inject_macs(first, to, from);
    attr.pkey = pkt.bth.pkey;
    why = sim_host_open(&l->requester, flow->src, flow->encap, from, 0, init.max_send_wr + 1);
    if (!why)
        why = sim_host_open(&l->responder, flow->dst, flow->encap, to, 0, 64);
    if (why)
        return why;
    memcpy(attr.av.dmac, from, 6);
    memcpy(attr.av.dgid, flow->src, 16);
    why = responder_app_open(&l->app, &attr);
    if (why)
        return why;
    memcpy(attr.av.dmac, to, 6);
    memcpy(attr.av.dgid, flow->dst, 16);
    attr.dest_qpn = s->qpn;
    attr.sq_psn = s->sq_psn;
    return sim_host_connect(&l->requester, &init, &attr, RNIC_QPS_RTS);
}

/* ---- work requests -----------------------------------------------------------------------------
 */

/* Returns the recorded time at which the next work request is posted, or RNIC_NEVER. */
static rnic_time post_time(const struct rc_loop *l)
{
    const struct work_requests *w = &l->conn->works;

    if (l->posted_cnt == w->cnt || l->full || !(l->sides & REPLAY_REQUESTER))
        return RNIC_NEVER;
    return event_time(l->setup, w->wr[l->posted_cnt].posted_by) - event_time(l->setup, 0) +
           SIM_TIME_BASE;
}

static int post_due(struct rc_loop *l)
{
    while (post_time(l) <= l->now) {
        int rc = post_wr(&l->posted[l->posted_cnt], &l->conn->works, l->posted_cnt, l->requester.pd,
                         l->requester.qp);

        l->requester.pending = true;
        if (rc == RNIC_ERR_FULL) {
            posted_wr_free(&l->posted[l->posted_cnt]);
            l->full = true;
            return 0;
        }
        if (rc != 0)
            return -1;
        l->posted_cnt++;
    }
    return 0;
}

/* ---- completions of both hosts -----------------------------------------------------------------
 */

/* Returns whether impairments explain that the requester gave up at PSN `rel`. Either more frames
 * from this PSN on were lost, changed or late than the requester has retries. Or the responder's QP
 * is in the error state, and an impairment may have lost its NAK. A NAK that overtakes an earlier
 * response counts as lost (R139, R140). */
static bool retries_were_used_up(const struct rc_loop *l, int64_t rel)
{
    size_t from = l->lost_cnt > LOST_MAX ? l->lost_cnt - LOST_MAX : 0, cnt = 0;
    struct rnic_qp_view view;

    for (size_t i = from; i < l->lost_cnt; i++)
        cnt += l->lost[i % LOST_MAX] >= rel;
    rnic_qp_view(l->responder.qp, &view);
    return cnt > l->setup->retry_cnt || (l->conn->moved && view.state == RNIC_QPS_ERR);
}

static int poll_sends(struct rc_loop *l)
{
    struct rnic_wc wc[32];
    size_t cnt;

    while ((cnt = rnic_cq_poll(l->requester.cq, wc, sizeof(wc) / sizeof(wc[0]))) > 0) {
        for (size_t i = 0; i < cnt; i++) {
            size_t idx = (size_t)wc[i].wr_id;
            const struct work_request *wr = &l->conn->works.wr[idx];
            struct sim_completion done = {.work = (uint32_t)idx, .status = wc[i].status};

            if (wc[i].status == RNIC_WC_SUCCESS && work_request_fetches(wr) && l->posted[idx].data)
                done.hash = payload_hash(l->posted[idx].data, work_request_buffer_len(wr));
            if (wc[i].status == RNIC_WC_RETRY_EXC_ERR) {
                l->conn->gave_up = retries_were_used_up(l, wr->rel);
            }
            posted_wr_free(&l->posted[idx]);
            l->full = false;
            if (completion_log_add(&l->conn->sent, &done) != 0)
                return -1;
        }
    }
    return 0;
}

/* ---- sending and receiving frames --------------------------------------------------------------
 */

static int64_t rel_of(struct rc_loop *l, uint32_t psn)
{
    l->near += roce_psn_diff(roce_psn_of(psn), roce_psn_add(l->setup->psn, (int32_t)l->near));
    return l->near;
}

static bool is_request(const uint8_t *data, size_t len, struct roce_pkt *pkt)
{
    return roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, data, len, len) == 0 &&
           roce_opcode_is_request(pkt->op);
}

/* Impairs one frame that a host sends, and puts it on the link. Returns 0, or -1 if out of
 * memory. */
static int send_frame(struct rc_loop *l, struct sim_host *host, const uint8_t *data, size_t len)
{
    bool asks = host == &l->requester;
    struct impair_frame in = {.conn = l->number, .data = data, .len = len};
    struct impair_result *out = &l->out;
    struct roce_pkt pkt;

    is_request(data, len, &pkt);
    in.rel = rel_of(l, pkt.bth.psn) - l->setup->first;
    if (impair_apply(l->impair, &in, out) != 0)
        return -1;
    l->conn->frames++;
    l->conn->lost += out->copies == 0;
    l->conn->damaged += out->damaged;
    l->conn->forged += out->forged;
    if (out->copies == 0 || out->damaged || out->forged ||
        out->delay >= roce_ack_timeout_ns(timeout_code(l->setup)) / 2)
        l->lost[l->lost_cnt++ % LOST_MAX] = l->near;
    l->conn->moved |= out->copies == 0 || out->damaged || out->forged || out->delay || out->hold ||
                      (out->copies > 1 && l->setup->rnr_naks > 0);
    flow_oracle_feed(&host->oracle, true, data, len, l->now);
    if (asks) {
        /* Record the requester's frame as it was before the link impaired it. The packet comment in
         * the pcapng file names the impairments. */
        sim_pcap_write(l->pcap, l->now, data, len, out->note);
        out->note[0] = '\0';
    }
    return sim_link_send(&l->link, out, asks, 0, l->now);
}

static bool is_ours(const struct rc_loop *l, bool responder)
{
    return l->sides & (responder ? REPLAY_RESPONDER : REPLAY_REQUESTER);
}

static rnic_time recorded_time(const struct rc_loop *l)
{
    uint64_t due = recorded_peer_due(&l->recorded);

    return due == UINT64_MAX ? RNIC_NEVER : due + SIM_TIME_BASE;
}

/* Sends the frames that a host may send at the current time. Returns 0, or -1 if out of memory. */
static int send_pending(struct rc_loop *l, struct sim_host *host)
{
    uint8_t buf[ROCE_FRAME_MAX];
    size_t len;

    while (host->pending && host->tx_free <= l->now) {
        len = rnic_output(host->rnic, buf, sizeof(buf), l->now);
        if (len == 0) {
            host->pending = false;
        } else {
            host->tx_free = l->now + (l->sides == REPLAY_BOTH ? SIM_HOST_TX_NS : 0);
            if (send_frame(l, host, buf, len) != 0)
                return -1;
        }
    }
    return 0;
}

/* Sends the due frames of the recorded endpoint. Returns 0, or -1 if out of memory. */
static int send_recorded_due(struct rc_loop *l)
{
    struct sim_host *host = l->sides == REPLAY_RESPONDER ? &l->requester : &l->responder;
    uint8_t buf[ROCE_FRAME_MAX];

    while (recorded_time(l) <= l->now) {
        size_t len = recorded_peer_next(&l->recorded, buf);

        if (len && send_frame(l, host, buf, len) != 0)
            return -1;
    }
    return 0;
}

static int deliver_request(struct rc_loop *l, const struct sim_link_frame *frame)
{
    struct roce_pkt pkt;
    struct app_request request = {.pkt = &pkt};
    bool good = is_request(frame->data, frame->len, &pkt) && !roce_pkt_dropped(&pkt) &&
                roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD;

    if (good) {
        request.rel = rel_of(l, pkt.bth.psn);
        if (responder_app_before_request(&l->app, &request) != 0)
            return -1;
    }
    rnic_input(l->responder.rnic, frame->data, frame->len, l->now);
    if (good && responder_app_after_request(&l->app, &request) != 0)
        return -1;
    return responder_app_poll(&l->app, &l->conn->received);
}

static int deliver_next(struct rc_loop *l)
{
    struct sim_link_frame *frame = sim_link_take(&l->link);
    struct sim_host *host = frame->to_responder ? &l->responder : &l->requester;
    uint64_t before;
    int rc = 0;

    before = sim_host_ignored(host);
    host->pending = true;
    if (!is_ours(l, frame->to_responder)) {
        if (!frame->to_responder)
            sim_pcap_write(l->pcap, l->now, frame->data, frame->len, frame->note);
    } else if (frame->to_responder) {
        rc = deliver_request(l, frame);
    } else {
        sim_pcap_write(l->pcap, l->now, frame->data, frame->len, frame->note);
        rnic_input(l->requester.rnic, frame->data, frame->len, l->now);
    }
    if (sim_host_ignored(host) == before)
        flow_oracle_feed(&host->oracle, false, frame->data, frame->len, l->now);
    if (frame->forged)
        flow_oracle_distrust(&host->oracle);
    free(frame);
    return rc;
}

/* ---- advancing the time ------------------------------------------------------------------------
 */

static rnic_time earlier(rnic_time a, rnic_time b)
{
    return a < b ? a : b;
}

static int drain_hosts(struct rc_loop *l)
{
    return send_pending(l, &l->requester) != 0 || send_pending(l, &l->responder) != 0 ||
                   poll_sends(l) != 0
               ? -1
               : 0;
}

static int run_events(struct rc_loop *l)
{
    const struct work_requests *w = &l->conn->works;
    uint64_t events = EVENTS_MIN + EVENTS_A_PSN * (uint64_t)(w->end - l->setup->first);

    while (events-- > 0) {
        rnic_time at =
            earlier(earlier(earlier(post_time(l), recorded_time(l)), sim_link_due(&l->link)),
                    earlier(sim_host_next(&l->requester), sim_host_next(&l->responder)));

        if (at == RNIC_NEVER)
            break;
        l->now = at > l->now ? at : l->now;
        if (post_due(l) != 0 || send_recorded_due(l) != 0 ||
            (sim_link_due(&l->link) <= l->now && deliver_next(l) != 0))
            return -1;
        sim_host_expire(&l->requester, l->now);
        sim_host_expire(&l->responder, l->now);
        if (drain_hosts(l) != 0)
            return -1;
    }
    l->conn->stuck = l->sides == REPLAY_BOTH && l->conn->sent.cnt != w->cnt;
    return 0;
}

static void close_ends(struct rc_loop *l)
{
    struct rc_loop_result *conn = l->conn;

    for (uint32_t i = 0; i < l->memory->keys.cnt; i++)
        l->memory->region[i].mr = NULL; /* rnic_del() frees the memory region */
    sim_host_close(&l->requester);
    sim_host_close(&l->responder);
    if (!is_ours(l, true))
        l->responder.oracle.errors = l->responder.oracle.doubtful = 0;
    if (!is_ours(l, false))
        l->requester.oracle.errors = l->requester.oracle.doubtful = 0;
    conn->errors = l->requester.oracle.errors + l->responder.oracle.errors;
    conn->doubtful = l->requester.oracle.doubtful + l->responder.oracle.doubtful;
    conn->repeated = l->requester.oracle.repeated;
    if (conn->errors)
        snprintf(conn->reason, sizeof(conn->reason), "our %s violates a rule: %s",
                 l->requester.oracle.errors ? "requester" : "responder",
                 l->requester.oracle.errors ? l->requester.oracle.first
                                            : l->responder.oracle.first);
}

/* If our RNIC plays only one endpoint, lists the frames of the recorded endpoint. Returns 0, or -1
 * if out of memory. */
static int open_recorded_peer(struct rc_loop *l, const struct closed_loop_sides *ends)
{
    if (ends->sides == REPLAY_BOTH)
        return 0;
    if (ends->sides == REPLAY_REQUESTER)
        return recorded_peer_init(&l->recorded, requester_setup(l->conn->run),
                                  ends->post->run[l->number - 1].outcome);
    return recorded_peer_init(&l->recorded, l->setup, NULL);
}

int rc_loop_play(struct rc_loop_result *conn, const struct closed_loop_sides *ends, uint32_t number,
                 struct shadow_memory *memory, struct impair *impair, struct sim_pcap *pcap,
                 const char **why)
{
    struct rc_loop l = {.conn = conn,
                        .setup = conn->works.setup,
                        .sides = ends->sides,
                        .number = number,
                        .memory = memory,
                        .impair = impair,
                        .pcap = pcap,
                        .now = SIM_TIME_BASE,
                        .near = conn->works.setup->first};
    int rc = 0;

    if (conn->works.cnt && conn->works.wr[conn->works.cnt - 1].open)
        conn->works.cnt--; /* do not play the last message, because the capture lacks its end */
    if (conn->works.cnt == 0) {
        *why = "the capture contains no complete message";
        return 0;
    }
    l.posted = calloc(conn->works.cnt + 1, sizeof(*l.posted));
    if (responder_app_init(&l.app, &conn->works, memory, &l.responder) != 0 || !l.posted ||
        open_recorded_peer(&l, ends) != 0) {
        rc = -1;
    } else {
        *why = open_ends(&l);
        if (!*why)
            rc = run_events(&l);
    }
    close_ends(&l);
    sim_link_free(&l.link);
    recorded_peer_free(&l.recorded);
    for (size_t i = 0; l.posted && i < conn->works.cnt; i++)
        free(l.posted[i].data);
    free(l.posted);
    responder_app_free(&l.app);
    completion_log_fit(&conn->sent);
    completion_log_fit(&conn->received);
    return rc;
}

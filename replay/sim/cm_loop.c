/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/cm_loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cm/cm.h"
#include "engine/base/inject.h"
#include "sim/sim_link.h"
#include "util/strbuf.h"

#define TIME_BASE UINT64_C(1000000000) /* virtual time of the first message, ns */

/* Virtual time between the setup of a connection and the disconnect by a program, ns. All
 * retransmissions of the setup end within this time. */
#define USE_NS UINT64_C(1000000000000000)

/* Opcode UD SEND Only: MADs are UD datagrams (R168, R221). */
#define UD_SEND_ONLY 0x64

/* Flag in the connection number of a CM exchange. With this flag, impairment rules with conn=N do
 * not apply to the exchange: these rules are for RC connections only. */
#define NO_CONN 0x80000000u

/* Maximum number of events of one exchange. It suffices for 16 tries of each message, each
 * duplicated several times. */
#define EVENTS_MAX 20000u

/* Timeout code and retry count of our CM for SIDR: SIDR messages contain neither value. */
#define SIDR_TIMEOUT 18
#define SIDR_RETRIES 15

/* One endpoint of the exchange. */
struct cm_loop_end {
    struct rnic_cm *cm;
    struct rnic_cm_id *listener, *id;
    struct rnic_cm_addr addr;
    rnic_time disconnect_at; /* time at which the program disconnects, ns, or RNIC_NEVER */
    uint32_t psn;
};

struct cm_loop {
    struct cm_loop_result *cm;
    const struct cm_exchanges *xs;
    const struct cm_exchange *x;
    struct impair *impair;
    struct sim_pcap *pcap;
    struct sim_link link;
    struct cm_loop_end end[2]; /* endpoints, indexed by enum cm_role */
    /* First message of each kind that each endpoint sent in the capture; valid if `has` is set. */
    struct roce_cm_msg msg[2][ROCE_CM_CNT];
    bool has[2][ROCE_CM_CNT];
    int disconnector; /* enum cm_role of the end that disconnects first, or -1 */
    uint8_t mac[2][6];
    rnic_time now;
    struct impair_result out;
};

/* ---- actions of the recorded programs ----------------------------------------------------------
 */

static enum cm_role sender_of(const struct cm_loop *l, uint32_t pkt, enum roce_cm kind)
{
    const struct trace_flow *flow = &l->xs->trace->flow[l->xs->trace->pkt[pkt].flow];

    if (memcmp(l->x->addr[0], l->x->addr[1], 16) != 0)
        return memcmp(flow->src, l->x->addr[CM_ACTIVE], 16) == 0 ? CM_ACTIVE : CM_PASSIVE;
    return kind == ROCE_CM_REQ || kind == ROCE_CM_RTU || kind == ROCE_CM_SIDR_REQ ? CM_ACTIVE
                                                                                  : CM_PASSIVE;
}

static void read_exchange(struct cm_loop *l)
{
    l->disconnector = -1;
    for (size_t i = 0; i < l->x->cnt; i++) {
        struct roce_cm_msg msg;
        enum cm_role role;

        if (!cm_exchange_message(l->xs->trace, l->x->pkt[i], &msg))
            continue;
        role = sender_of(l, l->x->pkt[i], msg.kind);
        if (!l->has[role][msg.kind])
            l->msg[role][msg.kind] = msg;
        l->has[role][msg.kind] = true;
        if (msg.kind == ROCE_CM_DREQ && l->disconnector < 0)
            l->disconnector = (int)role;
        inject_macs(&l->xs->trace->pkt[l->x->pkt[i]], l->mac[!role], l->mac[role]);
    }
}

/* Returns the reason why the exchange cannot be played, or NULL. */
static const char *missing_message(const struct cm_loop *l)
{
    bool answered = l->has[CM_PASSIVE][l->x->sidr ? ROCE_CM_SIDR_REP : ROCE_CM_REP] ||
                    l->has[CM_PASSIVE][ROCE_CM_REJ];

    if (!l->has[CM_ACTIVE][l->x->sidr ? ROCE_CM_SIDR_REQ : ROCE_CM_REQ])
        return "the capture does not contain the REQ or SIDR_REQ";
    return answered ? NULL : "the capture does not contain the response to the REQ or SIDR_REQ";
}

/* ---- events of the programs --------------------------------------------------------------------
 */

static const void *private_data_of(const struct roce_cm_msg *msg, bool has, size_t *len)
{
    *len = 0;
    return has ? roce_cm_private_data(msg, len) : NULL;
}

static void disconnect_end(struct cm_loop *l, enum cm_role role)
{
    size_t len;
    const void *data =
        private_data_of(&l->msg[role][ROCE_CM_DREQ], l->has[role][ROCE_CM_DREQ], &len);

    rnic_cm_disconnect(l->end[role].id, data, len, l->now);
}

static void reject_request(struct cm_loop *l, enum cm_role role)
{
    const struct roce_cm_rej *rej = &l->msg[role][ROCE_CM_REJ].rej;
    size_t len;
    const void *data = private_data_of(&l->msg[role][ROCE_CM_REJ], true, &len);

    rnic_cm_reject(l->end[role].id, (enum roce_cm_rej_reason)rej->reason, data, len, l->now);
}

static void on_event(struct cm_loop *l, enum cm_role role, const struct rnic_cm_event *event)
{
    struct cm_loop_end *e = &l->end[role];
    const bool *has = l->has[role];
    const void *data;
    size_t len;

    l->cm->events_seen[role] |= 1u << event->type;
    switch (event->type) {
    case RNIC_CM_REQUEST:
        e->id = event->id;
        if (has[ROCE_CM_REP])
            rnic_cm_accept(e->id, &l->msg[role][ROCE_CM_REP].rep, l->now);
        else
            reject_request(l, role);
        break;
    case RNIC_CM_RESPONSE:
        if (has[ROCE_CM_REJ]) {
            reject_request(l, role);
            break;
        }
        data = private_data_of(&l->msg[role][ROCE_CM_RTU], has[ROCE_CM_RTU], &len);
        rnic_cm_establish(e->id, data, len, l->now);
        e->disconnect_at = l->disconnector == (int)role ? l->now + USE_NS : RNIC_NEVER;
        break;
    case RNIC_CM_ESTABLISHED:
        e->disconnect_at = l->disconnector == (int)role ? l->now + USE_NS : RNIC_NEVER;
        break;
    case RNIC_CM_DISCONNECTED:
        e->disconnect_at = RNIC_NEVER;
        if (event->msg.kind == ROCE_CM_DREQ) {
            data = private_data_of(&l->msg[role][ROCE_CM_DREP], has[ROCE_CM_DREP], &len);
            rnic_cm_disconnect(e->id, data, len, l->now);
        }
        break;
    case RNIC_CM_SIDR_REQUEST:
        e->id = event->id;
        rnic_cm_sidr_reply(e->id, &l->msg[role][ROCE_CM_SIDR_REP].sidr_rep, l->now);
        break;
    default: break;
    }
}

/* ---- sending frames ----------------------------------------------------------------------------
 */

/* Builds the frame of a MAD: a UD datagram to QP 1. Returns its length. */
static size_t frame_of(struct cm_loop *l, enum cm_role role, const uint8_t mad[ROCE_MAD_SIZE],
                       uint8_t *buf)
{
    const struct trace_flow *flow = &l->xs->trace->flow[l->xs->trace->pkt[l->x->pkt[0]].flow];
    const uint8_t *src = l->x->addr[role], *dst = l->x->addr[!role];
    struct roce_pkt pkt;
    int len;

    roce_pkt_init(&pkt, flow->encap, UD_SEND_ONLY);
    memcpy(pkt.eth.src, l->mac[role], 6);
    memcpy(pkt.eth.dst, l->mac[!role], 6);
    memcpy(pkt.ip4.src, src + 12, 4);
    memcpy(pkt.ip4.dst, dst + 12, 4);
    memcpy(pkt.ip6.src, src, 16);
    memcpy(pkt.ip6.dst, dst, 16);
    memcpy(pkt.grh.sgid, src, 16);
    memcpy(pkt.grh.dgid, dst, 16);
    pkt.udp.sport = 0xC000;
    pkt.bth.dest_qp = ROCE_QP_GSI;
    pkt.bth.psn = l->end[role].psn++ & ROCE_PSN_MASK;
    pkt.deth.qkey = ROCE_QKEY_GSI;
    pkt.deth.src_qp = ROCE_QP_GSI;
    pkt.payload = mad;
    pkt.payload_len = ROCE_MAD_SIZE;
    len = roce_pkt_build(&pkt, 0, buf, ROCE_FRAME_MAX);
    return len > 0 ? (size_t)len : 0;
}

static int send_frame(struct cm_loop *l, enum cm_role role, const uint8_t mad[ROCE_MAD_SIZE])
{
    uint8_t frame[ROCE_FRAME_MAX];
    struct impair_frame in = {.conn = NO_CONN | (uint32_t)(l->x - l->xs->at), .data = frame};
    struct impair_result *out = &l->out;
    struct roce_cm_msg msg;

    l->cm->broken |= roce_cm_msg_parse(&msg, mad, ROCE_MAD_SIZE, ROCE_MAD_SIZE) != 0;
    in.len = frame_of(l, role, mad, frame);
    if (in.len == 0)
        return 0;
    if (impair_apply(l->impair, &in, out) != 0)
        return -1;
    l->cm->frames++;
    l->cm->lost += out->copies == 0;
    l->cm->damaged += out->damaged;
    l->cm->forged += out->forged;
    if (role == CM_ACTIVE) {
        sim_pcap_write(l->pcap, l->now, frame, in.len, out->note);
        out->note[0] = '\0';
    }
    return sim_link_send(&l->link, out, role == CM_ACTIVE, 0, l->now);
}

/* Handles the events of both endpoints and sends their MADs, until no more are left. Returns 0, or
 * -1 if out of memory. */
static int drain_ends(struct cm_loop *l)
{
    for (unsigned role = 0; role < 2; role++) {
        struct cm_loop_end *e = &l->end[role];
        uint8_t mad[ROCE_MAD_SIZE];
        struct rnic_cm_event event;
        struct rnic_cm_addr addr;

        while (rnic_cm_event(e->cm, &event))
            on_event(l, (enum cm_role)role, &event);
        while (rnic_cm_output(e->cm, mad, &addr))
            if (send_frame(l, (enum cm_role)role, mad) != 0)
                return -1;
    }
    return 0;
}

static void deliver_next(struct cm_loop *l)
{
    struct sim_link_frame *frame = sim_link_take(&l->link);
    enum cm_role role = frame->to_responder ? CM_PASSIVE : CM_ACTIVE;
    struct roce_pkt pkt;

    if (role == CM_ACTIVE)
        sim_pcap_write(l->pcap, l->now, frame->data, frame->len, frame->note);
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) == 0 &&
        !roce_pkt_dropped(&pkt) && roce_pkt_icrc_check(&pkt, NULL) == ROCE_ICRC_GOOD &&
        pkt.bth.dest_qp == ROCE_QP_GSI && pkt.payload_len == ROCE_MAD_SIZE)
        rnic_cm_input(l->end[role].cm, pkt.payload, pkt.payload_len, &l->end[role].addr, l->now);
    free(frame);
}

/* ---- advancing the time ------------------------------------------------------------------------
 */

static rnic_time earlier(rnic_time a, rnic_time b)
{
    return a < b ? a : b;
}

static int run_events(struct cm_loop *l)
{
    for (unsigned i = 0; i < EVENTS_MAX; i++) {
        rnic_time at = sim_link_due(&l->link);

        for (unsigned role = 0; role < 2; role++)
            at =
                earlier(at, earlier(rnic_cm_deadline(l->end[role].cm), l->end[role].disconnect_at));
        if (at == RNIC_NEVER)
            return 0;
        l->now = at > l->now ? at : l->now;
        if (sim_link_due(&l->link) <= l->now)
            deliver_next(l);
        for (unsigned role = 0; role < 2; role++) {
            struct cm_loop_end *e = &l->end[role];

            if (rnic_cm_deadline(e->cm) <= l->now)
                rnic_cm_expire(e->cm, l->now);
            if (e->disconnect_at <= l->now) {
                e->disconnect_at = RNIC_NEVER;
                disconnect_end(l, (enum cm_role)role);
            }
        }
        if (drain_ends(l) != 0)
            return -1;
    }
    l->cm->stuck = true;
    return 0;
}

/* ---- playing an exchange -----------------------------------------------------------------------
 */

static bool open_ends(struct cm_loop *l)
{
    for (unsigned role = 0; role < 2; role++) {
        struct rnic_cm_attr attr = {.seed = {1 + role, 2}};
        struct cm_loop_end *e = &l->end[role];

        if (role == CM_ACTIVE)
            attr.ca_guid = l->msg[role][ROCE_CM_REQ].req.local_ca_guid;
        memcpy(e->addr.local, l->x->addr[role], 16);
        memcpy(e->addr.remote, l->x->addr[!role], 16);
        e->disconnect_at = RNIC_NEVER;
        e->cm = rnic_cm_new(&attr);
        if (!e->cm)
            return false;
    }
    l->end[CM_ACTIVE].id = rnic_cm_id_new(l->end[CM_ACTIVE].cm, NULL);
    l->end[CM_PASSIVE].listener = rnic_cm_id_new(l->end[CM_PASSIVE].cm, NULL);
    return l->end[CM_ACTIVE].id && l->end[CM_PASSIVE].listener;
}

/* Returns whether the capture shows that no recorded program listened for the service (R232). */
static bool service_missing(const struct cm_loop *l)
{
    return (l->has[CM_PASSIVE][ROCE_CM_REJ] &&
            l->msg[CM_PASSIVE][ROCE_CM_REJ].rej.reason == ROCE_CM_REJ_INVALID_SERVICE_ID) ||
           (l->has[CM_PASSIVE][ROCE_CM_SIDR_REP] &&
            l->msg[CM_PASSIVE][ROCE_CM_SIDR_REP].sidr_rep.status == 1);
}

/* Sends the first message of the exchange. Before that, the passive end listens for the service,
 * unless service_missing() returns true. */
static void start_exchange(struct cm_loop *l)
{
    struct cm_loop_end *e = &l->end[CM_ACTIVE];

    if (!service_missing(l))
        rnic_cm_listen(l->end[CM_PASSIVE].listener, l->x->service_id, NULL);
    if (l->x->sidr) {
        l->cm->tries = SIDR_RETRIES + 1;
        rnic_cm_sidr_request(e->id, &l->msg[CM_ACTIVE][ROCE_CM_SIDR_REQ].sidr_req, SIDR_TIMEOUT,
                             SIDR_RETRIES, &e->addr, l->now);
    } else {
        l->cm->tries = l->msg[CM_ACTIVE][ROCE_CM_REQ].req.max_cm_retries + 1u;
        rnic_cm_connect(e->id, &l->msg[CM_ACTIVE][ROCE_CM_REQ].req, &e->addr, l->now);
    }
}

int cm_loop_play(struct cm_loop_result *cm, const struct cm_exchanges *xs, uint32_t idx,
                 struct impair *impair, struct sim_pcap *pcap)
{
    struct cm_loop *l = calloc(1, sizeof(*l));
    const char *why;
    int rc = 0;

    *cm = (struct cm_loop_result){.verdict = VERDICT_PASS};
    if (!l)
        return -1;
    *l = (struct cm_loop){
        .cm = cm, .xs = xs, .x = &xs->at[idx], .impair = impair, .pcap = pcap, .now = TIME_BASE};
    read_exchange(l);
    why = missing_message(l);
    if (why) {
        cm->verdict = VERDICT_SKIPPED;
        snprintf(cm->reason, sizeof(cm->reason), "%s", why);
    } else if (!open_ends(l)) {
        rc = -1;
    } else {
        sim_pcap_next_conn(pcap);
        start_exchange(l);
        rc = drain_ends(l);
        if (rc == 0)
            rc = run_events(l);
    }
    rnic_cm_del(l->end[0].cm);
    rnic_cm_del(l->end[1].cm);
    sim_link_free(&l->link);
    free(l);
    return rc;
}

/* ---- comparing a play with the reference -------------------------------------------------------
 */

static void fail_exchange(struct cm_loop_result *cm, const char *why)
{
    cm->verdict = VERDICT_FAIL;
    snprintf(cm->reason, sizeof(cm->reason), "%s", why);
}

/* Appends the names of the events that a program received. */
static void add_event_names(struct strbuf *t, uint32_t events_seen)
{
    static const char *const names[] = {
        [RNIC_CM_REQUEST] = "request",
        [RNIC_CM_RESPONSE] = "response",
        [RNIC_CM_ESTABLISHED] = "established",
        [RNIC_CM_REJECTED] = "rejected",
        [RNIC_CM_UNREACHABLE] = "unreachable",
        [RNIC_CM_DISCONNECTED] = "disconnected",
        [RNIC_CM_TIMEWAIT_EXIT] = "timewait exit",
        [RNIC_CM_SIDR_REQUEST] = "SIDR request",
        [RNIC_CM_SIDR_RESPONSE] = "SIDR response",
    };
    const char *sep = "";

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (events_seen & 1u << i) {
            strbuf_addf(t, "%s%s", sep, names[i]);
            sep = ", ";
        }
    if (!*sep)
        strbuf_addf(t, "nothing");
}

void cm_loop_compare(struct cm_loop_result *cm, const struct cm_loop_result *clean)
{
    static const char *const roles[] = {"active", "passive"};

    if (cm->verdict == VERDICT_SKIPPED)
        return;
    if (cm->broken) {
        fail_exchange(cm, "our CM sent a malformed message");
        return;
    }
    if (cm->stuck) {
        fail_exchange(cm, "the two endpoints never stop sending messages");
        return;
    }
    if (cm->forged || cm->lost + cm->damaged >= cm->tries)
        return;
    for (unsigned role = 0; role < 2; role++)
        if (cm->events_seen[role] != clean->events_seen[role]) {
            struct strbuf t = strbuf_of(cm->reason, sizeof(cm->reason));

            cm->verdict = VERDICT_FAIL;
            strbuf_addf(&t, "events of the %s program: ", roles[role]);
            add_event_names(&t, cm->events_seen[role]);
            strbuf_addf(&t, "; without impairments: ");
            add_event_names(&t, clean->events_seen[role]);
        }
}

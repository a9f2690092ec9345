/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/connections.h"

#include <stdlib.h>
#include <string.h>
#include "flow/base/peer.h"
#include "flow/flow.h"
#include "infer/qp_uses.h"
#include "infer/response_flow.h"
#include "wire/codes.h"

/* Memory limit of the analysis engine (rnic/flow) in bytes. The largest trace needs less, so the
 * engine never discards a connection to free memory. */
#define FLOW_BYTES_MAX (UINT64_C(8) << 30)

#define GROUP_NONE UINT32_MAX

/* Number of packets to prefetch: their headers are loaded into the cache before they are parsed. */
#define PREFETCH_AHEAD 8u

/* Maximum number of groups for which pair_alone() searches responses, and of flows of responses for
 * which pair_lone_responses() searches requests. The limit bounds the time, because each search
 * reads all flows. */
#define PAIR_ALONE_MAX 64u

/* Packets that become one direction: the requests of one QP and the responses of its peer. */
struct group {
    uint32_t conn_index;
    uint8_t side;                 /* side of the connection that sends the requests */
    const struct qp_use *use;     /* use of the QP pair (qp_uses.h); NULL for packets before the
                                   * first use that was found */
    uint32_t first;               /* index into trace.pkt of the first packet that the requester
                                   * sent */
    uint32_t req_flow, resp_flow; /* flow of the group's requests, and flow of its responses;
                                   * KEYMAP_NONE until a packet of the flow was found */
    bool requests;                /* the group has an undamaged request */
    bool begins;                  /* the group has an undamaged request that begins a message */
    uint32_t dir;                 /* index into connections.dir, or GROUP_NONE */
};

struct finder {
    const struct trace *trace;
    struct roce_flow *flow;
    struct roce_flow_owner *owner; /* one element for each packet of the trace */
    uint32_t *group_of;            /* for each packet of the trace: index of its group in `group` */
    struct qp_uses uses;
    bool no_memory;
    uint8_t *self;      /* for each connection: whether the QP is connected to itself */
    uint32_t *recent;   /* two elements for each flow: indices of the latest group in which its
                         * sender is the requester, and the latest in which it is the responder */
    struct keymap keys; /* keys of the groups: {connection, index of the use of the QP pair,
                         * requester's side} */
    struct group *group;
    size_t group_cap;
};

/* ---- reading the trace with rnic/flow ----------------------------------------------------------
 */

/* Records a use of a QP pair (time between two QP reuses) that CM messages set up. qp_uses_find()
 * finds all other uses. */
static void note_use(void *user, const struct roce_flow_use *use)
{
    struct finder *f = user;

    if (!use->req || !use->rep)
        return;
    if (!VEC_GROW(f->uses.use, f->uses.cnt, f->uses.cap)) {
        f->no_memory = true;
        return;
    }
    f->uses.use[f->uses.cnt++] = (struct qp_use){.conn_index = use->conn_index,
                                                 .frame = use->frame,
                                                 .req_frame = use->req_frame,
                                                 .rep_frame = use->rep_frame,
                                                 .cm = true,
                                                 .active_side = use->active_side,
                                                 .req = *use->req,
                                                 .rep = *use->rep};
}

/* Records a QP that is connected to itself. Its two flows belong to one direction. */
static void note_conn(void *user, const struct roce_conn_summary *sum)
{
    struct finder *f = user;

    if (sum->facts.pairing == ROCE_PAIRED_SELF && sum->facts.conn_index < f->trace->cnt)
        f->self[sum->facts.conn_index] = 1;
}

/* Assigns a connection to each packet that rnic/flow did not assign to a connection. Uses the
 * connection of the previous packet of the same flow, or if there is none, of the next packet.
 * Returns false if out of memory. */
static bool place_damaged(struct finder *f)
{
    struct roce_flow_owner *last;
    bool any = false;

    for (size_t i = 0; !any && i < f->trace->cnt; i++)
        any = f->owner[i].conn_index == ROCE_NO_CONN;
    if (!any)
        return true;
    last = malloc((f->trace->flows.cnt + 1) * sizeof(*last));
    if (!last)
        return false;
    for (int back = 0; back <= 1; back++) {
        for (uint32_t i = 0; i < f->trace->flows.cnt; i++)
            last[i].conn_index = ROCE_NO_CONN;
        for (size_t k = 0; k < f->trace->cnt; k++) {
            size_t i = back ? f->trace->cnt - 1 - k : k;
            uint32_t flow = f->trace->pkt[i].flow;

            if (f->owner[i].conn_index == ROCE_NO_CONN)
                f->owner[i] = last[flow];
            last[flow] = f->owner[i];
        }
    }
    free(last);
    return true;
}

/* Feeds all packets to the analysis engine. Sets the connection of each packet in `owner`, and
 * lists the uses of the QP pairs in `uses`. Returns false if out of memory. */
static bool observe_trace(struct finder *f)
{
    struct roce_pkt pkt;

    f->flow = roce_flow_new(&(struct roce_flow_opts){.mem_max = FLOW_BYTES_MAX,
                                                     .profile = ROCE_PROFILE_AUTO,
                                                     .user = f,
                                                     .on_use = note_use,
                                                     .on_conn = note_conn});
    if (!f->flow)
        return false;
    memset(&pkt, 0, sizeof(pkt));
    for (uint32_t i = 0; i < f->trace->cnt; i++) {
        const struct trace_packet *p = &f->trace->pkt[i];
        struct roce_flow_result result;

        trace_prefetch(f->trace, i + PREFETCH_AHEAD);
        trace_parse_next(p, &pkt);
        roce_flow_feed(f->flow,
                       &(struct roce_flow_in){.pkt = &pkt,
                                              .frame = p->frame,
                                              .time = p->time,
                                              .icrc = (enum roce_icrc_status)p->icrc},
                       &result);
        f->owner[i] =
            (struct roce_flow_owner){.conn_index = result.conn_index, .side = result.side};
    }
    roce_flow_finish(f->flow);
    for (uint32_t i = 0; i < f->trace->cnt; i++)
        if (f->owner[i].conn_index != ROCE_NO_CONN)
            f->owner[i] = roce_flow_owner(f->flow, f->owner[i].conn_index, f->owner[i].side);
    for (size_t i = 0; i < f->uses.cnt; i++) {
        struct qp_use *u = &f->uses.use[i];
        struct roce_flow_owner active = roce_flow_owner(f->flow, u->conn_index, u->active_side);

        u->conn_index = active.conn_index;
        u->active_side = active.side;
    }
    return !f->no_memory && qp_uses_find(&f->uses, f->trace, f->owner) && place_damaged(f);
}

/* Records which flows Linux rxe sent. Returns false if out of memory. */
static bool recognise_peers(struct connections *connections, const struct finder *f)
{
    connections->rxe = calloc(f->trace->flows.cnt + 1, sizeof(*connections->rxe));
    if (!connections->rxe)
        return false;
    for (uint32_t i = 0; i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        struct roce_pkt pkt;

        if (!roce_peer_host_is_rxe(f->flow, flow->src))
            continue;
        for (size_t k = 0; k < flow->cnt && !connections->rxe[i]; k++) {
            const struct trace_packet *p = &f->trace->pkt[flow->pkt[k]];

            if (p->dropped)
                continue;
            trace_parse(p, &pkt);
            connections->rxe[i] = !pkt.bth.migreq;
        }
    }
    return true;
}

/* ---- groups of packets -------------------------------------------------------------------------
 */

/* Returns the group of one connection, use and requester `side`. Creates it if necessary. Tries
 * first the group with index *recent, and sets *recent to the index of the result. Returns NULL if
 * out of memory. */
static struct group *group_at(struct finder *f, struct roce_flow_owner owner, uint8_t side,
                              size_t use, uint32_t *recent)
{
    uint32_t key[3] = {owner.conn_index, (uint32_t)use, side};
    uint32_t cnt = f->keys.cnt, at;

    if (*recent < cnt && memcmp(f->keys.keys + *recent * sizeof(key), key, sizeof(key)) == 0)
        return &f->group[*recent];
    if (!VEC_GROW(f->group, cnt, f->group_cap))
        return NULL;
    at = keymap_add(&f->keys, key);
    if (at == KEYMAP_NONE)
        return NULL;
    *recent = at;
    if (at == cnt)
        f->group[at] =
            (struct group){.conn_index = owner.conn_index,
                           .side = side,
                           .use = use > 0 && f->uses.use[use - 1].conn_index == owner.conn_index
                                      ? &f->uses.use[use - 1]
                                      : NULL,
                           .first = UINT32_MAX,
                           .req_flow = KEYMAP_NONE,
                           .resp_flow = KEYMAP_NONE,
                           .dir = GROUP_NONE};
    return &f->group[at];
}

/* Returns 1 + the index in qp_uses.use of the use of the QP pair (time between two QP reuses) to
 * which a packet belongs. Returns 0 for packets before the first use that was found. */
static size_t use_of(const struct finder *f, const struct trace_packet *p,
                     struct roce_flow_owner owner)
{
    size_t use = qp_uses_to(&f->uses, owner.conn_index, p->frame);
    const struct qp_use *next = use < f->uses.cnt ? &f->uses.use[use] : NULL;

    return next && next->conn_index == owner.conn_index && next->nak[owner.side] &&
                   p->frame >= next->nak[owner.side] && qp_uses_is_first_nak(p)
               ? use + 1
               : use;
}

/* Puts a packet into the group of its direction. Returns false if out of memory. */
static bool group_packet(struct finder *f, uint32_t idx)
{
    const struct trace_packet *p = &f->trace->pkt[idx];
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct roce_flow_owner owner = f->owner[idx];
    size_t use = use_of(f, p, owner);
    bool self = owner.conn_index < f->trace->cnt && f->self[owner.conn_index];
    bool response = trace_is_response(p);
    uint32_t *recent = &f->recent[2 * (size_t)p->flow];
    struct group *sent = group_at(f, owner, owner.side, use, recent);
    struct group *g;

    if (!sent)
        return false;
    if (sent->first == UINT32_MAX)
        sent->first = idx;
    g = response && !self ? group_at(f, owner, !owner.side, use, recent + 1) : sent;
    if (!g)
        return false;
    if (response ? g->resp_flow == KEYMAP_NONE : g->req_flow == KEYMAP_NONE)
        *(response ? &g->resp_flow : &g->req_flow) = p->flow;
    if (p->flow != (response ? g->resp_flow : g->req_flow))
        return true; /* the packet has another service than the direction, so the network altered
                      * its opcode */
    if (!response && !p->dropped) {
        g->requests = true;
        g->begins |= roce_opcode_is_request(op) && roce_opcode_starts(op);
    }
    f->group_of[idx] = (uint32_t)(g - f->group);
    return true;
}

static bool group_packets(struct finder *f)
{
    for (uint32_t i = 0; i < f->trace->cnt; i++) {
        f->group_of[i] = GROUP_NONE;
        if (trace_acknowledged(f->trace->flow[f->trace->pkt[i].flow].svc) &&
            f->owner[i].conn_index != ROCE_NO_CONN && !group_packet(f, i))
            return false;
    }
    return true;
}

/* Returns the group of the requests in the opposite direction, or NULL. The requester of `group` is
 * the destination of these requests. */
static const struct group *opposite(const struct finder *f, const struct group *group)
{
    size_t use = group->use ? (size_t)(group->use - f->uses.use) + 1
                            : qp_uses_to(&f->uses, group->conn_index, 0);
    const uint32_t key[3] = {group->conn_index, (uint32_t)use, !group->side};
    uint32_t at = keymap_get(&f->keys, key);

    return at != KEYMAP_NONE && f->group[at].requests ? &f->group[at] : NULL;
}

/* Returns the QPN of a group's requester, as CM messages or requests to it show it. Returns 0 if
 * only the responses show it. */
static uint32_t known_qpn(const struct finder *f, const struct group *group)
{
    const struct qp_use *u = group->use;
    const struct group *other;

    if (u && u->cm)
        return group->side == u->active_side ? u->req.local_qpn : roce_cm_rep_qpn(&u->rep);
    other = opposite(f, group);
    return other ? f->trace->flow[other->req_flow].dest_qp : 0;
}

/* Pairs a group of requests with `flow`, the flow of its responses. */
static void pair_group(struct finder *f, uint32_t g, uint32_t flow)
{
    const struct trace_flow *resp = &f->trace->flow[flow];

    for (size_t i = 0; i < resp->cnt; i++) {
        uint32_t other = f->group_of[resp->pkt[i]];

        if (!trace_is_response(&f->trace->pkt[resp->pkt[i]]) ||
            (other != GROUP_NONE && f->group[other].requests))
            continue;
        f->group[g].resp_flow = flow;
        f->group_of[resp->pkt[i]] = g;
    }
}

/* A response with a wrong destination QP is the only packet of its flow. Pairs such a flow with the
 * only group of requests that the response may answer. The group must have no responses yet, and
 * other packets must show the QPN of its requester. */
static void pair_lone_responses(struct finder *f)
{
    unsigned lones = 0;

    for (uint32_t i = 0; i < f->trace->flows.cnt && lones < PAIR_ALONE_MAX; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        uint32_t g;

        if (!trace_acknowledged(flow->svc) || flow->good == 0 ||
            !response_flow_is_lone(f->trace, flow))
            continue;
        lones++;
        g = response_flow_group(f->trace, i, f->group_of);
        if (g != KEYMAP_NONE && f->group[g].begins && f->group[g].resp_flow == KEYMAP_NONE &&
            known_qpn(f, &f->group[g]) != 0)
            pair_group(f, g, i);
    }
}

/* Pairs each group of requests that has no responses. If the hosts have exactly one flow in each
 * direction, the responses are the flow in the opposite direction. rnic/flow has not paired the two
 * flows, because the responses do not fit the requests. After pairing, the comparison reports each
 * response that does not fit. */
static void pair_alone(struct finder *f)
{
    pair_lone_responses(f);
    for (uint32_t g = 0; g < f->keys.cnt && g < PAIR_ALONE_MAX; g++) {
        uint32_t flow;

        if (!f->group[g].begins || f->group[g].resp_flow != KEYMAP_NONE)
            continue;
        flow = response_flow_only(f->trace, f->group[g].req_flow);
        if (flow != KEYMAP_NONE)
            pair_group(f, g, flow);
    }
}

/* ---- building the directions -------------------------------------------------------------------
 */

/* Returns whether the capture has all bytes of a frame. */
static bool is_whole(const struct trace *trace, uint32_t frame)
{
    uint32_t at = trace_packet_of(trace, frame);

    return at != UINT32_MAX && !trace->pkt[at].cut && !trace->pkt[at].zero_filled;
}

static struct recorded_cm cm_of(const struct trace *trace, const struct group *g)
{
    const struct qp_use *u = g->use;
    bool from_active;

    if (!u || !u->cm)
        return (struct recorded_cm){.present = false};
    from_active = g->side == u->active_side;
    return (struct recorded_cm){
        .present = true,
        .psn = from_active ? u->rep.starting_psn : u->req.starting_psn, /* each end announces the
                                                                         * first PSN of its peer
                                                                         * (R240) */
        .mtu = roce_mtu_bytes(u->req.mtu),
        .resources = from_active ? u->rep.responder_resources : u->req.responder_resources,
        .timed = is_whole(trace, u->req_frame) && is_whole(trace, u->rep_frame),
        .timeout =
            from_active ? roce_cm_active_timeout(&u->req, &u->rep) : u->req.primary_ack_timeout,
        .retry_cnt = u->req.retry_count,
        .rnr_retry = from_active ? u->rep.rnr_retry_count : u->req.rnr_retry_count,
    };
}

static int group_cmp(const void *a, const void *b)
{
    const struct group *x = *(const struct group *const *)a;
    const struct group *y = *(const struct group *const *)b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Makes a direction of each group that has responses and a request which begins a message. Returns
 * false if out of memory. */
static bool build_directions(struct connections *connections, struct finder *f)
{
    struct group **order = calloc(f->keys.cnt + 1, sizeof(*order));
    size_t cnt = 0;

    if (!order)
        return false;
    for (uint32_t i = 0; i < f->keys.cnt; i++)
        if (f->group[i].requests && f->group[i].begins && f->group[i].resp_flow != KEYMAP_NONE)
            order[cnt++] = &f->group[i];
    if (cnt)
        qsort(order, cnt, sizeof(struct group *), group_cmp);
    for (size_t i = 0; i < cnt && connections->dir_cnt <= DIRECTIONS_MAX; i++) {
        uint32_t qpn = known_qpn(f, order[i]);
        struct recorded_direction *dir;

        if (!VEC_GROW(connections->dir, connections->dir_cnt, connections->dir_cap))
            break;
        order[i]->dir = (uint32_t)connections->dir_cnt;
        dir = &connections->dir[connections->dir_cnt++];
        *dir = (struct recorded_direction){
            .conn_index = order[i]->conn_index,
            .side = order[i]->side,
            .req_flow = order[i]->req_flow,
            .resp_flow = order[i]->resp_flow,
            .requester_qpn = qpn ? qpn : f->trace->flow[order[i]->resp_flow].dest_qp,
            .req_rxe = connections->rxe[order[i]->req_flow],
            .resp_rxe = connections->rxe[order[i]->resp_flow],
            .cm = cm_of(f->trace, order[i]),
            .stale = order[i]->use && order[i]->use->stale[order[i]->side],
            .twice = order[i]->use ? order[i]->use->twice : 0};
    }
    free(order);
    return connections->dir_cnt == cnt || connections->dir_cnt > DIRECTIONS_MAX;
}

/* Adds each packet to its direction, or to `unassigned`. Returns false if out of memory. */
static bool assign_packets(struct connections *connections, struct finder *f)
{
    for (uint32_t i = 0; i < f->trace->cnt; i++) {
        uint32_t group = f->group_of[i];
        struct recorded_direction *dir;

        if (group == GROUP_NONE || f->group[group].dir == GROUP_NONE) {
            f->group_of[i] = GROUP_NONE;
            if (!VEC_GROW(connections->unassigned, connections->unassigned_cnt,
                          connections->unassigned_cap))
                return false;
            connections->unassigned[connections->unassigned_cnt++] = i;
            continue;
        }
        dir = &connections->dir[f->group[group].dir];
        if (!VEC_GROW(dir->pkt, dir->cnt, dir->cap))
            return false;
        dir->pkt[dir->cnt++] = i;
    }
    return true;
}

/* Adds packets of a flow to `skip`, the list of packets that are not replayed. `frame` is the frame
 * number of the first of these packets. Returns false if out of memory. */
static bool add_skipped_flow(struct connections *connections, uint32_t flow, uint32_t frame,
                             size_t packets, const char *reason)
{
    if (packets == 0)
        return true;
    if (!VEC_GROW(connections->skip, connections->skip_cnt, connections->skip_cap))
        return false;
    connections->skip[connections->skip_cnt++] =
        (struct skipped_flow){.flow = flow, .frame = frame, .packets = packets, .reason = reason};
    return true;
}

static const char *reason_of(const struct trace_flow *flow, bool responses)
{
    if (flow->good == 0)
        return "damaged frames that belong to no connection";
    switch (flow->svc) {
    case ROCE_SVC_RC:
    case ROCE_SVC_XRC:
        return responses
                   ? "the requests of these responses were not captured: no request to play"
                   : "the responses to these requests were not captured: no response to compare";
    case ROCE_SVC_RD: return "our RNIC does not implement RD or NVIDIA's DC";
    case ROCE_SVC_CNP: return "congestion notification: replay does not compare CNPs";
    default: return "vendor-specific opcodes";
    }
}

static bool list_skipped(struct connections *connections, const struct finder *f)
{
    for (uint32_t i = 0; i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        size_t cnt[2] = {0, 0}; /* number of requests, number of responses */
        uint32_t first[2] = {0, 0};

        if (flow->svc == ROCE_SVC_UC || flow->svc == ROCE_SVC_UD)
            continue; /* engine/dgram/dgram_stream.h describes the replay of UC and UD flows */
        for (size_t k = 0; k < flow->cnt; k++) {
            const struct trace_packet *p = &f->trace->pkt[flow->pkt[k]];
            bool response = trace_acknowledged(flow->svc) && trace_is_response(p);

            if (f->group_of[flow->pkt[k]] == GROUP_NONE && cnt[response]++ == 0)
                first[response] = p->frame;
        }
        if (!add_skipped_flow(connections, i, first[0], cnt[0], reason_of(flow, false)) ||
            !add_skipped_flow(connections, i, first[1], cnt[1], reason_of(flow, true)))
            return false;
    }
    return true;
}

int connections_find(struct connections *connections, const struct trace *trace,
                     struct error *error)
{
    struct finder f = {.trace = trace};
    bool ok;

    memset(connections, 0, sizeof(*connections));
    keymap_init(&f.keys, 3 * sizeof(uint32_t));
    f.owner = malloc((trace->cnt + 1) * sizeof(*f.owner));
    f.group_of = malloc((trace->cnt + 1) * sizeof(*f.group_of));
    f.self = calloc(trace->cnt + 1, 1);
    f.recent = calloc(trace->flows.cnt + 1, 2 * sizeof(*f.recent));
    ok = f.owner && f.group_of && f.self && f.recent && observe_trace(&f) &&
         recognise_peers(connections, &f) && group_packets(&f);
    if (ok)
        pair_alone(&f);
    ok = ok && build_directions(connections, &f) && assign_packets(connections, &f) &&
         list_skipped(connections, &f);
    roce_flow_del(f.flow);
    keymap_free(&f.keys);
    free(f.owner);
    free(f.group_of);
    free(f.self);
    free(f.recent);
    free(f.uses.use);
    free(f.group);
    if (connections->dir_cnt > DIRECTIONS_MAX)
        return error_set(error, "%s: more than %u connections", trace->name, DIRECTIONS_MAX);
    return ok ? 0 : error_set(error, "%s: no memory", trace->name);
}

void recorded_direction_free(struct recorded_direction *recorded)
{
    free(recorded->pkt);
    memset(recorded, 0, sizeof(*recorded));
}

void connections_free(struct connections *connections)
{
    for (size_t i = 0; i < connections->dir_cnt; i++)
        recorded_direction_free(&connections->dir[i]);
    free(connections->dir);
    free(connections->skip);
    free(connections->unassigned);
    free(connections->rxe);
    memset(connections, 0, sizeof(*connections));
}

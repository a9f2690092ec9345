/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/select_packets.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "report/report.h"
#include "report/report_exchange.h"
#include "report/verdict.h"

/* The two QPs of a connection: addresses and QPNs. Element 0 is the requester's QP if pair_of()
 * filled the struct. */
struct qp_pair {
    const uint8_t *addr[2];
    uint32_t qpn[2];
};

static struct qp_pair pair_of(const struct trace *trace, const struct recorded_direction *recorded)
{
    const struct trace_flow *req = &trace->flow[recorded->req_flow];

    return (struct qp_pair){.addr = {req->src, req->dst},
                            .qpn = {recorded->requester_qpn, req->dest_qp}};
}

static bool same_end(const struct qp_pair *a, unsigned i, const struct qp_pair *b, unsigned k)
{
    return a->qpn[i] == b->qpn[k] && memcmp(a->addr[i], b->addr[k], 16) == 0;
}

/* Returns whether two pairs are the same connection. The order of the QPs does not matter. */
static bool same_pair(const struct qp_pair *a, const struct qp_pair *b)
{
    return (same_end(a, 0, b, 0) && same_end(a, 1, b, 1)) ||
           (same_end(a, 0, b, 1) && same_end(a, 1, b, 0));
}

static bool is_wanted(const struct selection *s, const struct replay *r, const struct qp_pair *pair)
{
    for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
        struct qp_pair run = pair_of(&r->trace, r->session.dir[i].setup.recorded);

        if (s->run[i] && same_pair(&run, pair))
            return true;
    }
    return false;
}

/* Returns whether a packet was sent between the two QPs of a selected connection. */
static bool is_between_ends(const struct selection *s, const struct replay *r, uint32_t idx)
{
    const struct trace_flow *flow = &r->trace.flow[r->trace.pkt[idx].flow];

    for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
        struct qp_pair p = pair_of(&r->trace, r->session.dir[i].setup.recorded);

        for (unsigned to = 0; s->run[i] && to < 2; to++)
            if (flow->dest_qp == p.qpn[to] && memcmp(flow->dst, p.addr[to], 16) == 0 &&
                memcmp(flow->src, p.addr[!to], 16) == 0)
                return true;
    }
    return false;
}

/* Returns whether a CM exchange sets up a selected connection: its REQ or REP contains the QPN of a
 * QP of the connection. */
static bool sets_up_selected(const struct selection *s, const struct replay *r,
                             const struct cm_exchange *x)
{
    for (size_t k = 0; k < x->cnt; k++) {
        const struct trace_flow *flow = &r->trace.flow[r->trace.pkt[x->pkt[k]].flow];
        struct roce_cm_msg msg;
        uint32_t qpn;

        if (!cm_exchange_message(&r->trace, x->pkt[k], &msg) ||
            (msg.kind != ROCE_CM_REQ && msg.kind != ROCE_CM_REP))
            continue;
        qpn = msg.kind == ROCE_CM_REQ ? msg.req.local_qpn : roce_cm_rep_qpn(&msg.rep);
        for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
            struct qp_pair p = pair_of(&r->trace, r->session.dir[i].setup.recorded);

            for (unsigned end = 0; s->run[i] && end < 2; end++)
                if (qpn == p.qpn[end] && memcmp(flow->src, p.addr[end], 16) == 0 &&
                    memcmp(flow->dst, p.addr[!end], 16) == 0)
                    return true;
        }
    }
    return false;
}

/* Chooses the directions of the selected connections. A direction is the requests of one QP and the
 * responses to them. Returns 0, or -1 and an error. */
static int choose_directions(struct selection *s, const struct replay *r, struct error *error)
{
    uint8_t *first = s->run;

    for (size_t i = 0; i < s->want_cnt; i++) {
        bool found = false;

        for (uint32_t k = 0; k < r->session.dir_cnt; k++)
            if (r->session.dir[k].setup.recorded->conn_index == s->want[i])
                first[k] = found = true;
        if (!found)
            return error_set(error,
                             "%s: no connection #%u (rocedrill replay lists the connections)",
                             r->trace.name, s->want[i]);
    }
    for (uint32_t i = 0; i < r->session.dir_cnt && s->want_cnt == 0; i++)
        if (report_run_verdict(r, i) == VERDICT_FAIL) {
            first[i] = 1;
            break;
        }
    s->all = s->want_cnt == 0 && !memchr(first, 1, r->session.dir_cnt);
    for (uint32_t i = 0; i < r->session.dir_cnt; i++) {
        struct qp_pair pair = pair_of(&r->trace, r->session.dir[i].setup.recorded);

        first[i] = s->all || first[i] || is_wanted(s, r, &pair);
    }
    return 0;
}

static void mark_packets(struct selection *s, const struct replay *r, uint8_t *claimed)
{
    for (size_t i = 0; i < r->connections.dir_cnt; i++) {
        const struct recorded_direction *recorded = &r->connections.dir[i];
        struct qp_pair pair = pair_of(&r->trace, recorded);
        bool wanted = is_wanted(s, r, &pair);

        for (size_t k = 0; k < recorded->cnt; k++) {
            claimed[recorded->pkt[k]] = 1;
            s->keep[recorded->pkt[k]] |= wanted;
        }
    }
    for (uint32_t i = 0; i < r->trace.cnt; i++)
        if (!claimed[i] && is_between_ends(s, r, i))
            s->keep[i] = 1;
}

int selection_make(struct selection *s, const struct replay *r, struct error *error)
{
    uint8_t *claimed = calloc(r->trace.cnt + 1, 1);

    s->keep = calloc(r->trace.cnt + 1, 1);
    s->run = calloc(r->session.dir_cnt + 1, 1);
    if (!claimed || !s->keep || !s->run) {
        free(claimed);
        return error_set(error, "%s: no memory", r->trace.name);
    }
    if (choose_directions(s, r, error) != 0) {
        free(claimed);
        return -1;
    }
    s->expect = VERDICT_SKIPPED;
    if (s->all) {
        memset(s->keep, 1, r->trace.cnt);
        s->expect = report_verdict(r);
    } else {
        mark_packets(s, r, claimed);
    }
    free(claimed);
    for (uint32_t i = 0; i < r->session.dir_cnt && !s->all; i++)
        if (s->run[i])
            verdict_add(&s->expect, report_run_verdict(r, i));
    for (size_t i = 0; i < r->cm_exchanges.cnt && !s->all; i++) {
        const struct cm_exchange *x = &r->cm_exchanges.at[i];

        if (!sets_up_selected(s, r, x))
            continue;
        for (size_t k = 0; k < x->cnt; k++)
            s->keep[x->pkt[k]] = 1;
        if (report_exchange_verdict(x) == VERDICT_FAIL)
            s->expect = VERDICT_FAIL;
    }
    for (uint32_t i = 0; i < r->trace.cnt; i++)
        s->cnt += s->keep[i];
    return 0;
}

void selection_free(struct selection *s)
{
    free(s->keep);
    free(s->run);
    memset(s, 0, sizeof(*s));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/evict.h"

#include "flow/conn_end.h"

static bool has_window(const struct roce_conn *conn)
{
    return conn->side[0].req.win.buf || conn->side[1].req.win.buf;
}

/* Frees the request windows of a connection. Keeps the counters and the next PSNs. */
static void forget_windows(struct roce_flow *flow, struct roce_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        struct roce_req *req = &conn->side[i].req;

        roce_window_free(&req->win, &flow->mem);
        req->bytes_in_flight = 0;
        req->reqs_in_flight = req->reads_in_flight = 0;
        req->run_id++;
        req->psn_cnt_guess = false;
        req->retx.active = false;
    }
    conn->facts.truncated = true;
    flow->totals.forgotten++;
}

static bool is_short(const struct roce_flow *flow, unsigned new_conns)
{
    return flow->conn_cnt + new_conns > flow->opts.conn_max;
}

void roce_evict(struct roce_flow *flow, const struct roce_conn *keep, unsigned new_conns)
{
    size_t low_water = roce_mem_low_water(&flow->mem);
    struct roce_conn *next;

    for (struct roce_conn *c = flow->oldest; c && is_short(flow, new_conns); c = next) {
        next = c->newer;
        if (c == keep)
            continue;
        flow->totals.evicted++;
        roce_conn_end(flow, c);
    }
    if (!flow->mem.tight)
        return;
    for (struct roce_conn *c = flow->oldest; c && flow->mem.now > low_water; c = next) {
        next = c->newer;
        if (c == keep)
            continue;
        if (has_window(c)) {
            forget_windows(flow, c);
        } else {
            flow->totals.evicted++;
            roce_conn_end(flow, c);
        }
    }
    flow->mem.tight = false;
    flow->mem.refused = 0;
}

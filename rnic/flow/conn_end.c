/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/conn_end.h"

#include "flow/checks/check_end.h"
#include "flow/response.h"
#include "flow/table/conn.h"
#include "flow/table/qp_reuse.h"
#include "flow/table/summary_fill.h"

void roce_conn_end(struct roce_flow *flow, struct roce_conn *conn)
{
    struct roce_ctx ctx = {.flow = flow,
                           .conn = conn,
                           .sender = &conn->side[0],
                           .frame = conn->facts.last_frame,
                           .time = conn->facts.last_time};
    struct roce_conn_summary sum;

    roce_gate(flow);
    if (conn->facts.pairing == ROCE_PAIRED_ALONE)
        roce_acknowledged_before_join(&ctx, true);
    roce_reuse_end(&ctx);
    roce_check_end(&ctx);
    if (flow->opts.on_conn) {
        roce_summary_fill(flow, conn, &sum);
        flow->opts.on_conn(flow->opts.user, &sum);
    }
    roce_conn_free(flow, conn);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/psn_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "export/names.h"
#include "export/psn_files.h"

static enum psn_kind request_kind(const struct roce_flow_result *r)
{
    if (r->flags & ROCE_AN_DROPPED)
        return PSN_DAMAGED;
    return r->flags & ROCE_AN_RETRANSMISSION ? PSN_REPEATED : PSN_REQUEST;
}

static enum psn_kind response_kind(const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    enum roce_kind kind = in->pkt->op->kind;

    if (r->flags & ROCE_AN_DROPPED)
        return PSN_DAMAGED;
    if (r->flags & ROCE_AN_RNR_NAK)
        return PSN_RNR_NAK;
    if (r->flags & ROCE_AN_NAK)
        return PSN_NAK;
    if (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK)
        return PSN_ACK;
    return r->flags & ROCE_AN_DUPLICATE_RESPONSE ? PSN_REPEATED_RESPONSE : PSN_RESPONSE;
}

static void on_packet(void *user, const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct psn_graph *graph = user;
    bool request = (r->flags & ROCE_AN_REQUEST) != 0;
    uint32_t psn = roce_pkt_psn(in->pkt).v;
    struct psn_point point = {.time = in->time,
                              .place = (uint64_t)in->frame << 1 | 1,
                              .conn = r->conn_index,
                              .psn = psn,
                              .cnt = 1};

    if (r->conn_index == ROCE_NO_CONN || !(r->flags & (ROCE_AN_REQUEST | ROCE_AN_RESPONSE)))
        return;
    point.side = request ? r->side : !r->side;
    if (request && r->flags & ROCE_AN_PSN_GAP) {
        struct psn_point gap = point;

        gap.place--;
        gap.kind = PSN_MISSING;
        gap.cnt = r->gap;
        gap.psn = roce_psn_add(roce_psn_of(psn), -(int32_t)r->gap).v;
        spool_put(&graph->points, &gap);
    }
    point.kind = (uint8_t)(request ? request_kind(r) : response_kind(in, r));
    if (point.kind == PSN_REQUEST || point.kind == PSN_REPEATED)
        point.cnt = roce_psn_of(r->next_psn - psn).v;
    point.cnt = point.cnt ? point.cnt : 1;
    spool_put(&graph->points, &point);
}

/* ---- writing the graphs ------------------------------------------------------------------------
 */

static int compare_points(const void *a, const void *b)
{
    const struct psn_point *x = a, *y = b;

    if (x->conn != y->conn)
        return x->conn < y->conn ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool points_share_graph(const struct psn_point *a, const struct psn_point *b)
{
    return a->conn == b->conn && a->side == b->side;
}

/* Replaces the connection number and side of each point by the final values (export_owner()). Then
 * sorts the points by graph. */
static void sort_points(struct psn_point *point, size_t cnt, const struct roce_flow *flow)
{
    for (size_t i = 0; i < cnt; i++) {
        struct roce_flow_owner owner = export_owner(flow, point[i].conn, point[i].side);

        point[i].conn = owner.conn_index;
        point[i].side = owner.side;
    }
    qsort(point, cnt, sizeof(*point), compare_points);
}

static int write_graphs(struct psn_graph *graph, const struct psn_point *point, size_t cnt)
{
    uint32_t graphs = 0;

    for (size_t from = 0, to; from < cnt; from = to) {
        for (to = from + 1; to < cnt && points_share_graph(&point[from], &point[to]);)
            to++;
        if (graphs++ >= PSN_GRAPHS_MAX)
            graph->omitted++;
        else if (psn_files_write(graph->format, graph->folder, point + from, to - from,
                                 &graph->error) != 0)
            return -1;
    }
    return 0;
}

static void on_end(void *user, const struct roce_flow *flow)
{
    struct psn_graph *graph = user;
    struct spool *points = &graph->points;
    size_t len = (size_t)points->cnt * sizeof(struct psn_point);
    struct psn_point *mapped;

    if (points->cnt == 0 || points->failed)
        return;
    if (fflush(points->file) != 0 || (mapped = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
                                                    fileno(points->file), 0)) == MAP_FAILED) {
        points->failed = true;
        return;
    }
    sort_points(mapped, (size_t)points->cnt, flow);
    if (write_graphs(graph, mapped, (size_t)points->cnt) != 0)
        graph->failed = true;
    munmap(mapped, len);
    spool_clear(points);
}

int psn_graph_open(struct psn_graph *graph, enum psn_format format, const char *folder,
                   struct error *error)
{
    *graph = (struct psn_graph){.folder = folder, .format = format};
    return spool_init(&graph->points, sizeof(struct psn_point), error);
}

struct check_watch psn_graph_watch(struct psn_graph *graph)
{
    return (struct check_watch){.user = graph, .on_packet = on_packet, .on_end = on_end};
}

int psn_graph_close(struct psn_graph *graph, struct error *error)
{
    int rc = 0;

    if (graph->failed)
        rc = error_set(error, "%s", graph->error.text);
    else if (graph->points.failed)
        rc = error_set(error, "%s: no space for temporary data", graph->folder);
    spool_free(&graph->points);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * PSN graph: for each requester, a graph of the PSNs of its requests, of the responses and of the
 * ACKs over time, as a file for gnuplot or xplot. The points are kept in a temporary file until the
 * final connection numbers are known. psn_files.c writes the graphs.
 */
#ifndef REPLAY_EXPORT_PSN_GRAPH_H
#define REPLAY_EXPORT_PSN_GRAPH_H

#include "base/error.h"
#include "check/check.h"
#include "export/spool.h"

/* Kinds of points, in the order of drawing. */
enum psn_kind {
    PSN_REQUEST,
    PSN_REPEATED,
    PSN_RESPONSE, /* READ or atomic response */
    PSN_REPEATED_RESPONSE,
    PSN_ACK,
    PSN_NAK,
    PSN_RNR_NAK,
    PSN_MISSING, /* PSNs that the requester skipped, or that the capture lacks */
    PSN_DAMAGED, /* wrong ICRC, or malformed */
    PSN_KINDS
};

struct psn_point {
    uint64_t time; /* ns since 1970 */
    /* Sort key of the point: frame number, then number among the points of this frame. */
    uint64_t place;
    uint32_t conn; /* connection number */
    uint32_t psn;  /* first PSN of the packet */
    uint32_t cnt;  /* number of PSNs: for a READ request, the PSNs of its response; otherwise 1 */
    uint8_t side;  /* the point is in the graph of the requester of this side */
    uint8_t kind;  /* enum psn_kind */
};

/* Format of the files. */
enum psn_format { PSN_GNUPLOT, PSN_XPLOT };

#define PSN_GRAPHS_MAX 1000u /* limit of graphs for a capture; further graphs are only counted */

struct psn_graph {
    const char *folder;
    enum psn_format format;
    struct spool points;
    uint32_t omitted; /* number of graphs beyond PSN_GRAPHS_MAX */
    struct error error;
    bool failed; /* a function failed; `error` has the reason */
};

int psn_graph_open(struct psn_graph *graph, enum psn_format format, const char *folder,
                   struct error *error);
struct check_watch psn_graph_watch(struct psn_graph *graph);

/* Frees the graph. Returns 0, or -1 and an error. */
int psn_graph_close(struct psn_graph *graph, struct error *error);

#endif

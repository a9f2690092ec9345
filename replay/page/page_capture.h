/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page capture: during a check, collects the packets, operations, findings and connections of one
 * capture that a page draws. check_run.c calls it in this order:
 *
 *   1. page_capture_new()
 *   2. check_capture() with page_capture_watch() among its watches
 *   3. page_add() (page.h) or psn_svg_write() (psn_svg.h)
 *   4. page_capture_del()
 *
 * All limits are below. Data beyond a limit is counted, and the page shows the count.
 */
#ifndef REPLAY_PAGE_PAGE_CAPTURE_H
#define REPLAY_PAGE_PAGE_CAPTURE_H

#include "check/check.h"
#include "page/message_times.h"
#include "page/packet_runs.h"
#include "page/work_times.h"

#define PAGE_CONNS    4096u   /* connections of the table, and streams whose packets are kept */
#define PAGE_RUNS     100000u /* maximum number of packet runs of all streams */
#define PAGE_MESSAGES 30000u  /* maximum number of operations of all streams */
#define PAGE_SHARE    10000u /* runs, and operations, of one stream; a browser draws them quickly */
#define PAGE_FINDINGS 1000u  /* maximum number of findings of each severity */

/* The packets and operations of one stream: a connection, or a direction that is paired later. */
struct page_stream {
    struct packet_runs runs;
    struct message_times messages;
    struct roce_flow_owner owner[2]; /* final connection and side of each sender */
};

/* A packet, or the completion of an operation, that waits until it is added to its stream. */
struct page_pending {
    union {
        struct packet_run run;
        struct roce_flow_done done; /* completed operation, if is_done is set */
    };
    bool is_done, starts, ends; /* starts, ends: first or last packet of a new message */
    uint16_t next;              /* index plus 1 of the next one of the stream; 0: none */
};

/* Packets are added to their streams in batches, stream by stream. Added one by one, they would
 * replace the state of the analysis in the processor's cache, which costs more than the rest of the
 * page. */
#define PAGE_BATCH 8192u

struct page_conn {
    uint32_t conn_index;
    uint32_t qpn[2]; /* QPN of each side, or ROCE_QPN_UNKNOWN */
    char *json;      /* object without its closing brace */
};

struct page_findings {
    struct roce_finding *finding;
    uint32_t cnt, cap;
    uint64_t left_out;
};

struct page_capture {
    struct page_stream *stream[PAGE_CONNS]; /* streams by connection number; NULL if the
                                             * connection has no packets */
    uint32_t stream_cnt, stream_end;        /* number of streams, and highest index plus 1 */
    struct page_pending *pending;           /* array of PAGE_BATCH waiting packets and
                                             * completions */
    uint32_t pending_cnt;
    uint16_t first_pending[PAGE_CONNS], last_pending[PAGE_CONNS]; /* first and last waiting
                                                                   * element of each stream:
                                                                   * index plus 1 */
    uint64_t undrawn; /* number of packets of streams that are not kept */
    struct page_conn *conn;
    uint32_t conn_cnt, conn_cap;
    uint64_t conns_left_out;
    struct page_findings findings[ROCE_SEV_CNT];
    const char *name;                  /* name of the capture */
    const struct work_times *timeline; /* work requests of the same run, or NULL */
    bool no_memory;
};

/* Returns a new page capture, or NULL if out of memory. `name` must live as long as the capture. */
struct page_capture *page_capture_new(const char *name);
void page_capture_del(struct page_capture *capture); /* Frees the capture, which may be NULL. */

struct check_watch page_capture_watch(struct page_capture *capture);

#endif

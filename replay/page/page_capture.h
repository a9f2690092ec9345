/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page capture: collects, during a check, what a page draws of one capture: its packets,
 * operations, findings and connections. check_run.c calls it in this order:
 *
 *   1. page_capture_new()
 *   2. check_capture() with page_capture_watch() among its watches
 *   3. page_add() (page.h) or psn_svg_write() (psn_svg.h)
 *   4. page_capture_del()
 *
 * The constants below limit the data that is kept. Data beyond a limit is only counted, and the
 * page shows the count.
 */
#ifndef REPLAY_PAGE_PAGE_CAPTURE_H
#define REPLAY_PAGE_PAGE_CAPTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include "check/check.h"
#include "page/message_times.h"
#include "page/packet_runs.h"
#include "page/work_times.h"

/* Limit of the connections in the table, and of the streams whose packets are kept. */
#define PAGE_CONNS    4096u
#define PAGE_RUNS     100000u /* maximum number of packet runs of all streams */
#define PAGE_MESSAGES 30000u  /* maximum number of operations of all streams */
/* Limit of runs, and of operations, of one stream; a browser still draws that many quickly. */
#define PAGE_SHARE    10000u
#define PAGE_FINDINGS 1000u /* maximum number of findings of each severity */

/* The packets and operations of one stream: a connection, or one direction of a connection that is
 * paired later. */
struct page_stream {
    struct packet_runs runs;
    struct message_times messages;
    /* For each side of the stream: the final connection, and the side in it. */
    struct roce_flow_owner owner[2];
};

/* A packet, or the completion of an operation, that is not yet added to its stream. */
struct page_pending {
    union {
        struct packet_run run;
        struct roce_flow_done done; /* completed operation, if is_done is set */
    };
    /* `starts`, `ends`: the packet is the first, or the last, of a message sent for the first
     * time. */
    bool is_done, starts, ends;
    /* Index plus 1 of the next pending entry of the same stream; 0: none. */
    uint16_t next;
};

/* Number of packets that are collected before they are added to their streams, stream by stream.
 * Adding each packet at once would evict the state of the analysis from the processor's cache,
 * which costs more time than the rest of the page. */
#define PAGE_BATCH 4096u

/* The packets and completions that are added to their streams together. */
struct page_batch {
    struct page_pending pending[PAGE_BATCH];
    uint32_t cnt;
    uint32_t stream_end;           /* of the page capture when the batch became full */
    uint32_t run_max, message_max; /* limits of one stream */
    /* First and last pending entry of each stream: index plus 1; 0: none. */
    uint16_t first[PAGE_CONNS], last[PAGE_CONNS];
};

struct page_conn {
    uint32_t conn_index;
    uint32_t qpn[2]; /* QPN of each side, or ROCE_QPN_UNKNOWN */
    char *json;      /* JSON object (page_conn_json()) without its closing brace */
};

struct page_findings {
    struct roce_finding *finding;
    uint32_t cnt, cap;
    uint64_t left_out;
};

struct page_capture {
    /* Streams, indexed by connection number; NULL: the connection has no packets. */
    struct page_stream *stream[PAGE_CONNS];
    uint32_t stream_cnt, stream_end; /* number of streams, and highest index plus 1 */
    /* Two batches. While the capture's reader fills `filling`, the thread adds the other one to the
     * streams. The thread starts when the first batch is full. If no thread can be started, the
     * reader adds the batches. */
    struct page_batch *batch, *filling;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Protected by the lock: the batch that the thread adds, or NULL; the thread must end. */
    struct page_batch *full;
    bool ending;
    uint64_t undrawn; /* number of packets of streams that are not kept */
    struct page_conn *conn;
    uint32_t conn_cnt, conn_cap;
    uint64_t conns_left_out;
    struct page_findings findings[ROCE_SEV_CNT];
    const char *name; /* name of the capture */
    /* Times of the work requests of the same run (--timeline), or NULL. */
    const struct work_times *timeline;
    atomic_bool no_memory;
};

/* Returns a new page capture, or NULL if out of memory. `name` must live as long as the capture. */
struct page_capture *page_capture_new(const char *name);
void page_capture_del(struct page_capture *capture); /* Frees the capture, which may be NULL. */

struct check_watch page_capture_watch(struct page_capture *capture);

#endif

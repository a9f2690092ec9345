/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page capture: collects, during a check, the data of one capture that a page draws: packets,
 * operations, findings and connections. check_run.c, cmd_plot.c and replay_page.c call it in this
 * order:
 *
 *   1. page_capture_new()
 *   2. check_capture() with page_capture_watch() among its watches
 *   3. page_add() (page.h) or psn_svg_write() (psn_svg.h)
 *   4. page_capture_del()
 *
 * The constants below limit the data that is kept. Data beyond a limit is only counted, and the
 * page shows the count.
 *
 * The threads of a check (check.h) add packets and operations at the same time. Each stream belongs
 * to one thread. The limit of a stream depends on the number of streams before it in the capture.
 * This number must not depend on the timing of the threads, so a stream is counted only if it began
 * at least SPLIT_AHEAD frames earlier.
 */
#ifndef REPLAY_PAGE_PAGE_CAPTURE_H
#define REPLAY_PAGE_PAGE_CAPTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include "check/check.h"
#include "page/message_times.h"
#include "page/packet_runs.h"
#include "page/work_times.h"

#define PAGE_STREAMS  4096u        /* maximum number of streams */
#define PAGE_CONNS    PAGE_STREAMS /* maximum number of connections in the table */
#define PAGE_RUNS     100000u      /* maximum number of packet runs of all streams */
#define PAGE_MESSAGES 30000u       /* maximum number of operations of all streams */
#define PAGE_FINDINGS 1000u        /* maximum number of findings of each severity */

/* The packets and operations of one stream: a connection, or one direction of a connection that is
 * paired later. At the end of the capture, page_capture.c joins both directions in one stream and
 * sets the final sides. */
struct page_stream {
    _Alignas(64) struct packet_runs runs; /* in one cache line */
    struct message_times messages;
};

struct page_conn {
    uint32_t conn_index;
    uint32_t qpn[2]; /* QPN of each side, or ROCE_QPN_UNKNOWN */
    struct check_conn *summary;
    char *distributions; /* JSON member (page_conn_distributions()) */
    /* Keys of the order on the page: state (enum headline_state), time that the requester waited
     * (ns), number of packets. */
    unsigned trouble;
    uint64_t waited_ns, packets;
};

struct page_findings {
    struct roce_finding *finding;
    uint32_t cnt;
    size_t cap;
    uint64_t left_out;
};

/* Start of a new use of a QP pair: the QPs are set up again for another connection. */
struct page_use {
    uint32_t conn_index, frame;
};

struct page_capture {
    /* Streams, indexed by connection number; NULL: the connection has no packets, or was joined
     * with another one. */
    struct page_stream *stream[PAGE_STREAMS];
    uint32_t stream_end;       /* highest index of a stream plus 1 */
    struct page_memory memory; /* memory of the streams */
    pthread_mutex_t lock;      /* protects `stream_end`, `begin` and `begin_cnt` during the check */
    uint32_t begin[PAGE_STREAMS]; /* frames at which the streams began, in ascending order */
    uint32_t begin_cnt;
    atomic_uint_least64_t undrawn; /* number of packets of connections from number PAGE_STREAMS on,
                                    * which are not drawn */
    struct page_conn *conn;
    uint32_t conn_cnt;
    size_t conn_cap;
    uint64_t conns_left_out;
    struct page_findings findings[ROCE_SEV_CNT];
    uint32_t *spurious; /* first frames of the go-backs after a spurious timeout */
    uint32_t spurious_cnt;
    size_t spurious_cap;
    struct page_use *use; /* new uses of QP pairs, in the order of their findings */
    uint32_t use_cnt;
    size_t use_cap;
    const char *name; /* name of the capture */
    unsigned threads; /* number of threads that format the connections; 0: one for each processor */
    /* Times of the work requests of the same run (--timeline), or NULL. */
    const struct work_times *timeline;
    atomic_bool no_memory;
};

/* Returns a new page capture, or NULL if out of memory. `name` must live as long as the capture. */
struct page_capture *page_capture_new(const char *name);
void page_capture_del(struct page_capture *capture); /* Frees the capture, which may be NULL. */

struct check_watch page_capture_watch(struct page_capture *capture);

/* Returns the packets and operations of a connection, after the end of the capture; NULL if there
 * are none. */
const struct page_stream *page_capture_stream(const struct page_capture *capture,
                                              uint32_t conn_index);

#endif

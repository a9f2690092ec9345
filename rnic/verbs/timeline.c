/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include "base/clock.h"
#include "device/map.h"
#include "port/sys/fd_tag.h"
#include "port/sys/tally.h"
#include "verbs/timeline_record.h"

#define BUFFERED 512u /* number of records written at a time */
/* Maximum number of unfinished requests of a QP for which times are recorded. A further request
 * replaces the oldest request; the record of the oldest request is then written without its later
 * steps. */
#define LINES_MAX 65536u

struct timeline_request {
    uint32_t wqe; /* WQE number of the request; 0: unused entry */
    struct timeline_record record;
};

/* Requests of one QP, indexed by WQE number. */
struct timeline_qp {
    uint32_t mask;
    struct timeline_request request[];
};

struct timeline {
    int fd;
    struct tally_file tally;
    pid_t pid;
    uint64_t posting;
    struct rnic_map qps; /* map from QPN to struct timeline_qp */
    struct timeline_record buffer[BUFFERED];
    size_t cnt;
    struct timeline *next; /* next in the process's list of timelines; under `all_lock` */
};

static struct timeline *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- writing the file ------------------------------------------------------------------------ */

/* Writes the buffered records with one write(2), so that blocks of several processes do not mix. If
 * the disk is full, part of the block is missing. A child of fork() does not write its parent's
 * buffered data. */
static void flush_buffer(struct timeline *timeline)
{
    size_t len = timeline->cnt * sizeof timeline->buffer[0];
    timeline->cnt = 0;
    if (len == 0 || getpid() != timeline->pid)
        return;
    size_t done = 0;
    int error = 0;
    while (done < len && !error) {
        ssize_t n = -1;
        errno = EBADF;
        if (rnic_fd_is_tagged(timeline->fd))
            n = write(timeline->fd, (const uint8_t *)timeline->buffer + done, len - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            error = n == 0 ? ENOSPC : errno;
    }
    size_t whole = done / sizeof timeline->buffer[0];
    size_t cnt = len / sizeof timeline->buffer[0];
    tally_lose(&timeline->tally, cnt - whole, error);
    if (timeline->tally.tally)
        atomic_fetch_add(&timeline->tally.tally->recorded, whole);
}

static void finish_request(struct timeline *timeline, struct timeline_request *request)
{
    request->wqe = 0;
    timeline->buffer[timeline->cnt++] = request->record;
    if (timeline->cnt == BUFFERED)
        flush_buffer(timeline);
}

/* ---- recording the steps of a request -------------------------------------------------------- */

/* Returns the request table of the QP, allocated at its first request. Returns NULL if out of
 * memory; the QP is then not tracked. */
static struct timeline_qp *timeline_qp_of(struct timeline *timeline, const struct rnic_qp *qp)
{
    uint32_t qpn = rnic_qp_qpn(qp);
    struct timeline_qp *requests = rnic_map_get(&timeline->qps, qpn);
    if (requests)
        return requests;
    struct rnic_qp_init init;
    rnic_qp_query(qp, NULL, &init);
    /* A request is tracked until its completion is polled from the CQ. */
    uint64_t want = (uint64_t)init.max_send_wr + rnic_cq_depth(init.send_cq);
    uint32_t cnt = 64;
    while (cnt < want && cnt < LINES_MAX)
        cnt *= 2;
    requests = calloc(1, sizeof *requests + cnt * sizeof requests->request[0]);
    if (!requests)
        return NULL;
    requests->mask = cnt - 1;
    if (!rnic_map_add(&timeline->qps, qpn, requests)) {
        free(requests);
        return NULL;
    }
    return requests;
}

static void begin_request(struct timeline *timeline, struct timeline_request *request,
                          const struct rnic_qp *qp, uint32_t wqe, uint64_t now)
{
    if (request->wqe) /* this entry of the table still has an older request, because the program has
                       * not polled its completion: write the record of the older request now */
        finish_request(timeline, request);
    request->wqe = wqe;
    request->record = (struct timeline_record){
        .mark = TIMELINE_MARK,
        .pid = (uint32_t)timeline->pid,
        .qpn = rnic_qp_qpn(qp),
    };
    request->record.at[TIMELINE_POSTED] = timeline->posting ? timeline->posting : now;
    request->record.at[TIMELINE_SEEN] = now;
}

static void record_completion(struct timeline_record *record, const struct rnic_wc *wc)
{
    record->wr_id = wc->wr_id;
    record->opcode = (uint8_t)wc->opcode;
    record->status = (uint8_t)wc->status;
    record->bytes = wc->byte_len;
    record->done = 1;
}

static void on_step(void *user, const struct rnic_qp *qp, uint32_t wqe, enum rnic_wr_step step,
                    const struct rnic_wc *wc)
{
    struct timeline *timeline = user;
    struct timeline_qp *requests = timeline_qp_of(timeline, qp);
    struct timeline_request *request = requests ? &requests->request[wqe & requests->mask] : NULL;
    if (!request && step == RNIC_WR_STEP_POSTED)
        tally_lose(&timeline->tally, 1, ENOMEM);
    if (!request || (step != RNIC_WR_STEP_POSTED && request->wqe != wqe))
        return;
    uint64_t now = rnic_clock_ns(CLOCK_MONOTONIC);
    struct timeline_record *record = &request->record;
    switch (step) {
    case RNIC_WR_STEP_POSTED: begin_request(timeline, request, qp, wqe, now); break;
    case RNIC_WR_STEP_FIRST: record->at[TIMELINE_FIRST] = now; break;
    case RNIC_WR_STEP_LAST: record->at[TIMELINE_LAST] = now; break;
    case RNIC_WR_STEP_RESENT: record->resent++; break;
    case RNIC_WR_STEP_ANSWERED: record->at[TIMELINE_ACKED] = now; break;
    case RNIC_WR_STEP_COMPLETED:
        record_completion(record, wc);
        record->at[TIMELINE_CQE] = now;
        break;
    case RNIC_WR_STEP_DONE:
        record_completion(record, wc);
        finish_request(timeline, request);
        break;
    }
}

void timeline_posting(struct timeline *timeline, uint64_t at)
{
    if (timeline)
        timeline->posting = at;
}

void timeline_polled(struct timeline *timeline, const struct rnic_wc *wc, size_t cnt)
{
    if (!timeline || cnt == 0)
        return;
    uint64_t now = rnic_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < cnt; i++) {
        struct timeline_qp *requests = wc[i].wqe ? rnic_map_get(&timeline->qps, wc[i].qpn) : NULL;
        struct timeline_request *request =
            requests ? &requests->request[wc[i].wqe & requests->mask] : NULL;
        if (!request || request->wqe != wc[i].wqe)
            continue;
        request->record.at[TIMELINE_POLLED] = now;
        finish_request(timeline, request);
    }
}

void timeline_qp_gone(struct timeline *timeline, uint32_t qpn)
{
    struct timeline_qp *requests = timeline ? rnic_map_get(&timeline->qps, qpn) : NULL;
    if (!requests)
        return;
    for (uint32_t i = 0; i <= requests->mask; i++)
        if (requests->request[i].wqe)
            finish_request(timeline, &requests->request[i]);
    rnic_map_del(&timeline->qps, qpn);
    free(requests);
}

/* ---- creating and freeing a timeline --------------------------------------------------------- */

struct timeline *timeline_new(const char *path, struct rnic *rnic)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline) {
        errno = ENOMEM;
        return NULL;
    }
    timeline->fd = rnic_fd_tag(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (timeline->fd < 0) {
        free(timeline);
        return NULL;
    }
    timeline->pid = getpid();
    char name[PATH_MAX];
    const char *slash = strrchr(path, '/');
    timeline->tally.fd = -1;
    if (slash &&
        snprintf(name, sizeof name, "%.*s/tally", (int)(slash - path), path) < (int)sizeof name)
        /* ignore an error: only rnic-run creates this file of counters (port/sys/tally.h), and the
         * user may have set RNIC_TIMELINE without rnic-run */
        (void)tally_open(&timeline->tally, name);
    rnic_watch(rnic, on_step, timeline);
    pthread_mutex_lock(&all_lock);
    timeline->next = all;
    all = timeline;
    pthread_mutex_unlock(&all_lock);
    return timeline;
}

void timeline_free(struct timeline *timeline)
{
    if (!timeline)
        return;
    pthread_mutex_lock(&all_lock);
    struct timeline **link = &all;
    while (*link && *link != timeline)
        link = &(*link)->next;
    if (*link)
        *link = timeline->next;
    pthread_mutex_unlock(&all_lock);
    for (uint32_t i = 0; i < rnic_map_slots(&timeline->qps); i++) {
        struct timeline_qp *requests = timeline->qps.slot[i].value;
        for (uint32_t k = 0; requests && k <= requests->mask; k++)
            if (requests->request[k].wqe)
                finish_request(timeline, &requests->request[k]);
        free(requests);
    }
    rnic_map_free(&timeline->qps);
    flush_buffer(timeline);
    rnic_tagged_close(timeline->fd);
    tally_close(&timeline->tally);
    free(timeline);
}

/* Writes the buffered records of a program that ends without closing its device. If a thread has
 * the lock of the list, writes nothing instead of waiting. Does not lock the device, so the last
 * record may be incomplete. */
__attribute__((destructor)) static void at_exit(void)
{
    if (pthread_mutex_trylock(&all_lock) != 0)
        return;
    for (struct timeline *timeline = all; timeline; timeline = timeline->next)
        flush_buffer(timeline);
    pthread_mutex_unlock(&all_lock);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "monitor/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "check/base/conn_state.h"
#include "monitor/table.h"
#include "wire/codes.h"

#define SLOTS  8192u /* size of the hash table `slot`; a power of two above MONITOR_ROWS */
#define NO_ROW UINT32_MAX

struct monitor {
    struct monitor_options options;
    pthread_mutex_t lock; /* protects all members below */
    pthread_cond_t stop_cond;
    pthread_t ticker;
    bool ticker_runs, stop;
    uint64_t last_tick; /* capture time of the latest tick; 0 before the first packet */
    uint64_t last_time; /* capture time of the latest packet of a connection */
    const struct roce_flow *flow;
    /* Hash table with linear probing: its elements are row numbers, found by connection number.
     * NO_ROW marks an empty slot. */
    uint32_t slot[SLOTS];
    uint32_t row_cnt;
    struct monitor_row row[MONITOR_ROWS];
    const struct monitor_row *sorted[MONITOR_ROWS];
};

/* ---- rows of the table -------------------------------------------------------------------------
 */

static uint32_t slot_of(uint32_t conn_index)
{
    /* The upper 13 bits of the product are an index of the 8192 slots. */
    return conn_index * UINT32_C(0x9E3779B1) >> 19;
}

static void index_rows(struct monitor *m)
{
    memset(m->slot, 0xFF, sizeof(m->slot));
    for (uint32_t i = 0; i < m->row_cnt; i++) {
        uint32_t at = slot_of(m->row[i].conn_index);

        if (!m->row[i].used)
            continue;
        while (m->slot[at] != NO_ROW)
            at = (at + 1) % SLOTS;
        m->slot[at] = i;
    }
}

static struct monitor_row *find_row(struct monitor *m, uint32_t conn_index)
{
    for (uint32_t at = slot_of(conn_index); m->slot[at] != NO_ROW; at = (at + 1) % SLOTS)
        if (m->row[m->slot[at]].conn_index == conn_index)
            return &m->row[m->slot[at]];
    return NULL;
}

/* Returns the index of a free row. If all rows are used, first frees the rows with the longest idle
 * time: their last packet is in the first eighth of the time from the oldest to the newest last
 * packet. Several rows become free at once, so the next new connections need no search. */
static uint32_t free_row(struct monitor *m)
{
    uint64_t oldest = UINT64_MAX, newest = 0, limit;
    uint32_t at = 0;

    if (m->row_cnt < MONITOR_ROWS)
        return m->row_cnt++;
    for (uint32_t i = 0; i < MONITOR_ROWS; i++) {
        if (!m->row[i].used)
            return i;
        oldest = m->row[i].last_time < oldest ? m->row[i].last_time : oldest;
        newest = m->row[i].last_time > newest ? m->row[i].last_time : newest;
    }
    limit = oldest + (newest - oldest) / 8;
    for (uint32_t i = 0; i < MONITOR_ROWS; i++)
        if (m->row[i].last_time <= limit) {
            m->row[i].used = false;
            at = i;
        }
    index_rows(m);
    return at;
}

static struct monitor_row *add_row(struct monitor *m, uint32_t conn_index)
{
    uint32_t number = free_row(m), at = slot_of(conn_index);

    m->row[number] = (struct monitor_row){
        .used = true, .conn_index = conn_index, .qpn = {ROCE_QPN_UNKNOWN, ROCE_QPN_UNKNOWN}};
    while (m->slot[at] != NO_ROW)
        at = (at + 1) % SLOTS;
    m->slot[at] = number;
    return &m->row[number];
}

static void add_counts(struct monitor_counts *to, const struct monitor_counts *from, int sign)
{
    uint64_t *t = (uint64_t *)to;
    const uint64_t *f = (const uint64_t *)from;

    _Static_assert(sizeof(*to) % sizeof(*t) == 0, "all members are 64-bit counters");
    for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
        t[i] = sign < 0 ? t[i] - f[i] : t[i] + f[i];
}

/* Joins two rows after the analysis detected that they are the two directions of one connection.
 * Adds the counters of the row with the replaced connection number to the row that remains. The
 * remaining row already has the time and the state of the latest packet, except at the end of the
 * capture, when on_conn() sets the state. */
static void join_rows(struct monitor *m)
{
    bool joined = false;

    for (uint32_t i = 0; i < m->row_cnt && m->flow; i++) {
        struct monitor_row *row = &m->row[i], *to;
        uint32_t is = row->used ? roce_flow_conn_index(m->flow, row->conn_index) : 0;

        if (!row->used || is == row->conn_index || !(to = find_row(m, is)))
            continue;
        add_counts(&to->sum, &row->sum, 1);
        add_counts(&to->at_tick, &row->at_tick, 1);
        row->used = false;
        joined = true;
    }
    if (joined)
        index_rows(m);
}

/* ---- counting per tick -------------------------------------------------------------------------
 */

/* Ends the current interval: computes the counts of this interval (`step`) for all rows, and prints
 * the table. */
static void tick(struct monitor *m, uint64_t time)
{
    uint64_t ns = time - m->last_tick;
    uint32_t cnt = 0;

    for (uint32_t i = 0; i < m->row_cnt; i++) {
        struct monitor_row *row = &m->row[i];

        if (!row->used)
            continue;
        row->step = row->sum;
        add_counts(&row->step, &row->at_tick, -1);
        row->at_tick = row->sum;
        m->sorted[cnt++] = row;
    }
    m->last_tick = time;
    if (m->options.out)
        table_print(m->options.out, m->options.terminal, m->sorted, cnt, time, ns);
}

/* Calls tick() if an interval ended before `time`. After a long pause without packets, calls it
 * only once. */
static void tick_until(struct monitor *m, uint64_t time)
{
    uint64_t interval = m->options.interval;

    if (m->last_tick == 0)
        m->last_tick = time;
    if (time < m->last_tick || time - m->last_tick < interval)
        return;
    join_rows(m);
    tick(m, m->last_tick + (time - m->last_tick) / interval * interval);
}

static void *run_ticker(void *user)
{
    struct monitor *m = user;
    uint64_t next = rnic_clock_ns(CLOCK_MONOTONIC);

    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        struct timespec at;
        uint64_t utc;

        next += m->options.interval;
        at = rnic_timespec(next);
        while (!m->stop && pthread_cond_timedwait(&m->stop_cond, &m->lock, &at) != ETIMEDOUT)
            ;
        utc = rnic_clock_ns(CLOCK_REALTIME);          /* packets have time stamps of this clock */
        if (m->last_tick > utc + m->options.interval) /* the clock was set back */
            m->last_tick = utc;
        if (m->last_tick && !m->stop && utc > m->last_tick + m->options.interval)
            tick(m, utc);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* ---- callbacks of the check --------------------------------------------------------------------
 */

static void name_sides(struct monitor_row *row, const struct roce_flow_in *in,
                       const struct roce_flow_result *r)
{
    unsigned side = r->side & 1;

    if (row->sum.packets == 0) {
        roce_pkt_addr(in->pkt, row->addr[side], row->addr[!side]);
        row->svc = in->pkt->op->svc;
    }
    if (in->pkt->op->svc != ROCE_SVC_CNP)
        row->svc = in->pkt->op->svc;
    if (in->pkt->bth.dest_qp != ROCE_QP_MULTICAST)
        row->qpn[!side] = in->pkt->bth.dest_qp;
    if (r->src_qpn != ROCE_QPN_UNKNOWN)
        row->qpn[side] = r->src_qpn;
}

static void count_packet(struct monitor_counts *sum, const struct roce_flow_in *in,
                         const struct roce_flow_result *r)
{
    bool again = r->flags & ROCE_AN_RETRANSMISSION || (r->flags & ROCE_AN_DUPLICATE_RESPONSE &&
                                                       in->pkt->op->kind == ROCE_KIND_READ_RESP);

    sum->packets++;
    sum->retransmitted += again;
    sum->timeouts += r->flags & ROCE_AN_RETRANSMISSION && r->cause == ROCE_CAUSE_TIMEOUT;
    sum->missing += r->flags & ROCE_AN_PSN_GAP ? r->gap : 0;
    sum->rnr_naks += (r->flags & ROCE_AN_RNR_NAK) != 0;
    sum->naks += (r->flags & ROCE_AN_NAK) != 0;
    sum->damaged += (r->flags & ROCE_AN_DROPPED) != 0;
    sum->ce += (r->flags & ROCE_AN_CE) != 0;
    sum->cnps += (r->flags & ROCE_AN_CNP) != 0;
    if (!again && !(r->flags & (ROCE_AN_COPY | ROCE_AN_DROPPED | ROCE_AN_CM)))
        sum->payload += in->pkt->payload_len;
    if (r->rtt != ROCE_NEVER_NS) {
        sum->rtt_cnt++;
        sum->rtt_ns += r->rtt;
    }
}

/* Returns whether a packet is a NAK that stops the requester's QP. */
static bool is_fatal_nak(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH) &&
           roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_NAK &&
           roce_syndrome_code(pkt->aeth.syndrome) != ROCE_NAK_PSN_SEQ;
}

static void on_packet(void *user, const struct roce_flow_in *in, const struct roce_flow_result *r)
{
    struct monitor *m = user;
    struct monitor_row *row;

    pthread_mutex_lock(&m->lock);
    tick_until(m, in->time);
    if (r->conn_index != ROCE_NO_CONN) {
        row = find_row(m, r->conn_index);
        row = row ? row : add_row(m, r->conn_index);
        name_sides(row, in, r);
        row->last_time = m->last_time = in->time;
        count_packet(&row->sum, in, r);
        if (r->flags & ROCE_AN_QP_REUSED)
            row->end = MONITOR_OK;
        if (is_fatal_nak(in->pkt))
            row->end = MONITOR_FAILED;
        if (r->flags & ROCE_AN_REQUEST)
            row->bytes_in_flight[r->side & 1] = r->bytes_in_flight;
        else if (r->flags & ROCE_AN_RESPONSE)
            row->bytes_in_flight[!r->side] = r->bytes_in_flight;
    }
    pthread_mutex_unlock(&m->lock);
}

static void on_done(void *user, const struct roce_flow_done *done)
{
    struct monitor *m = user;
    struct monitor_row *row;

    if (done->ns == ROCE_NEVER_NS)
        return;
    pthread_mutex_lock(&m->lock);
    row = find_row(m, done->conn_index);
    if (row) {
        row->sum.latency_cnt++;
        row->sum.latency_ns += done->ns;
    }
    pthread_mutex_unlock(&m->lock);
}

static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct monitor *m = user;
    struct monitor_row *row;

    pthread_mutex_lock(&m->lock);
    row = find_row(m, sum->facts.conn_index);
    if (row && check_conn_failed(sum))
        row->end = MONITOR_FAILED;
    else if (row && sum->facts.end == ROCE_END_DISCONNECTED)
        row->end = MONITOR_CLOSED;
    pthread_mutex_unlock(&m->lock);
}

static void on_begin(void *user, const struct roce_flow *flow)
{
    struct monitor *m = user;

    pthread_mutex_lock(&m->lock);
    m->flow = flow;
    pthread_mutex_unlock(&m->lock);
}

/* Ends the last interval, which can be shorter than the others, and prints the table. */
static void on_end(void *user, const struct roce_flow *flow)
{
    struct monitor *m = user;

    (void)flow;
    pthread_mutex_lock(&m->lock);
    join_rows(m);
    if (m->last_time > m->last_tick)
        tick(m, m->last_time);
    m->flow = NULL;
    pthread_mutex_unlock(&m->lock);
}

struct check_watch monitor_watch(struct monitor *m)
{
    return (struct check_watch){.user = m,
                                .on_begin = on_begin,
                                .on_packet = on_packet,
                                .on_done = on_done,
                                .on_conn = on_conn,
                                .on_end = on_end};
}

void monitor_each(struct monitor *m, void (*fn)(void *user, const struct monitor_row *row),
                  void *user)
{
    pthread_mutex_lock(&m->lock);
    for (uint32_t i = 0; i < m->row_cnt; i++)
        if (m->row[i].used)
            fn(user, &m->row[i]);
    pthread_mutex_unlock(&m->lock);
}

struct monitor *monitor_new(const struct monitor_options *options, struct error *error)
{
    struct monitor *m = calloc(1, sizeof(*m));
    pthread_condattr_t attr;

    if (!m) {
        error_set(error, "no memory");
        return NULL;
    }
    m->options = *options;
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->stop_cond, &attr);
    pthread_condattr_destroy(&attr);
    index_rows(m);
    if (options->wall_clock && options->out) {
        int rc = pthread_create(&m->ticker, NULL, run_ticker, m);

        if (rc != 0) {
            error_set(error, "no thread: %s", strerror(rc));
            free(m);
            return NULL;
        }
        m->ticker_runs = true;
    }
    return m;
}

void monitor_del(struct monitor *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->stop_cond);
    pthread_mutex_unlock(&m->lock);
    if (m->ticker_runs)
        pthread_join(m->ticker, NULL);
    pthread_cond_destroy(&m->stop_cond);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

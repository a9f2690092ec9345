/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Row: the counters of one QP pair in a monitor. */
#ifndef REPLAY_MONITOR_ROW_H
#define REPLAY_MONITOR_ROW_H

#include "flow/flow.h"

/* Counters of one QP pair. */
struct monitor_counts {
    uint64_t packets, payload; /* packets, and payload bytes without retransmissions */
    uint64_t retransmitted;    /* requests and READ responses sent again */
    uint64_t timeouts;         /* retransmitted requests caused by a timeout */
    uint64_t missing;          /* number of PSNs missing before a request or a READ response */
    uint64_t rnr_naks, naks, damaged, ce, cnps;
    uint64_t rtt_cnt, rtt_ns;         /* ACK round trips and their sum */
    uint64_t latency_cnt, latency_ns; /* completed operations with a known time, and their sum */
};

enum monitor_state { MONITOR_OK, MONITOR_IDLE, MONITOR_TROUBLE, MONITOR_CLOSED, MONITOR_FAILED };

struct monitor_row {
    bool used;
    uint32_t conn_index;
    enum roce_svc svc;
    uint8_t addr[2][16];
    uint32_t qpn[2];
    uint64_t last_time;
    enum monitor_state end; /* CLOSED or FAILED after the end of the connection, else OK */
    uint64_t bytes_in_flight[2];
    struct monitor_counts sum, at_tick; /* counts since the start, and up to the latest tick */
    struct monitor_counts step;         /* counts between the two latest ticks */
};

/* Returns the state of a row in its latest step. */
enum monitor_state monitor_state(const struct monitor_row *row);
const char *monitor_state_name(enum monitor_state state);

#endif

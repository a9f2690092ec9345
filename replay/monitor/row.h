/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Row: the counters of one QP pair in a monitor. */
#ifndef REPLAY_MONITOR_ROW_H
#define REPLAY_MONITOR_ROW_H

#include "flow/flow.h"

/* Counters of one QP pair. */
struct monitor_counts {
    /* Number of packets, and of their payload bytes without retransmissions. */
    uint64_t packets, payload;
    uint64_t retransmitted; /* number of retransmitted requests and READ responses */
    uint64_t timeouts;      /* number of requests retransmitted after a timeout */
    /* Number of PSNs that are missing in the capture, of requests and of READ responses. */
    uint64_t missing;
    uint64_t rnr_naks, naks, damaged, ce, cnps;
    /* Number of measured ACK round trips, and the sum of their times. */
    uint64_t rtt_cnt, rtt_ns;
    /* Number of completed operations with a known latency, and the sum of their latencies. */
    uint64_t latency_cnt, latency_ns;
};

enum monitor_state { MONITOR_OK, MONITOR_IDLE, MONITOR_TROUBLE, MONITOR_CLOSED, MONITOR_FAILED };

struct monitor_row {
    bool used;
    uint32_t conn_index;
    enum roce_svc svc;
    uint8_t addr[2][16];
    uint32_t qpn[2];
    uint64_t last_time;
    /* How the connection ended: MONITOR_CLOSED or MONITOR_FAILED. MONITOR_OK if it has not
     * ended. */
    enum monitor_state end;
    uint64_t bytes_in_flight[2];
    /* Counts from the start of the capture to the current packet (`sum`), and to the latest tick
     * (`at_tick`). */
    struct monitor_counts sum, at_tick;
    struct monitor_counts step; /* counts between the two latest ticks */
};

/* Returns the state of a QP pair, according to its counts between the two latest ticks
 * (row->step). */
enum monitor_state monitor_state(const struct monitor_row *row);
const char *monitor_state_name(enum monitor_state state);

#endif

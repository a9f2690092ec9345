/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slow causes: describes why a connection that did not fail was slow. Examples are lost, reordered
 * or damaged packets, missing responses, receive queues without WQEs, and congestion.
 */
#ifndef REPLAY_CHECK_SLOW_CAUSES_H
#define REPLAY_CHECK_SLOW_CAUSES_H

#include <stdio.h>
#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Returns whether a connection was slow: retransmitted or damaged packets, or the time that they
 * cost, exceed a limit. Returns false for a connection that failed or got stuck, because the report
 * describes it elsewhere. Also returns false for UC and UD, where no requester waits for lost
 * packets. */
bool check_conn_slow(const struct roce_conn_summary *sum);

/* Returns whether long silences are a notable part of the connection's time (silence_text.h), and
 * the connection neither failed nor got stuck nor was slow. */
bool check_conn_paused(const struct roce_conn_summary *sum);

/* Prints the causes of a slow connection, each with a hint where to search. The lines are indented;
 * lines about a side begin with its arrow. `scope` is Wireshark's display filter for the packets of
 * the connection; after each cause, a filter for the packets that show the cause is printed. If
 * `scope` is NULL, no filters are printed. */
void slow_causes_print(FILE *out, const struct roce_conn_summary *sum, const char *scope);

/* What a requester waited for, in the order of reports. */
enum slow_cause {
    SLOW_RESPONSE, /* responses to requests that it sent once */
    /* Each of the following waits ended with a retransmission. */
    SLOW_TIMEOUT,
    SLOW_SPURIOUS,
    SLOW_READ_GAP, /* READ responses that were lost, including losses that the requester detected by
                    * an implied NAK */
    SLOW_RNR_NAK,
    SLOW_SEQ_NAK,
    SLOW_UNKNOWN,
    SLOW_CREDIT,  /* credits: receive WQEs that the responder announces */
    SLOW_SETUP,   /* the end of the connection setup, after a lost REP or RTU */
    SLOW_SILENCE, /* new requests of its own program, if silence_is_notable() */
    SLOW_WAITS
};

/* A part of the time that a connection spent waiting. */
struct slow_wait {
    const char *id;    /* id of the cause in JSON */
    const char *label; /* name of the cause for readers who do not know RDMA */
    enum slow_cause cause;
    uint64_t ns;
};

/* Fills `wait` with the waits of the side that waited longer in total, longest first. Sets *side to
 * the number of that side. Returns the number of waits; 0 if no side waited. */
unsigned slow_causes_waits(const struct roce_conn_summary *sum, struct slow_wait wait[SLOW_WAITS],
                           unsigned *side);

/* Returns the time from the REQ of a connection to its REP if that was long, ns; otherwise 0. The
 * connection begins with the REP, so its duration does not include this time. */
uint64_t slow_causes_setup_ns(const struct roce_conn_summary *sum);

/* Returns the total wait of the side with the longer total wait, ns. */
uint64_t slow_causes_waited_ns(const struct roce_conn_summary *sum);

/* Appends a clause with the cause of a wait, for readers who do not know RDMA. */
void slow_causes_explain(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side,
                         enum slow_cause cause);

#endif

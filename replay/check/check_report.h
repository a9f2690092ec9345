/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of a check: the results for one capture after it was read, printed as text or JUnit.
 * The JSON output is written while the capture is read: see check_json.h.
 */
#ifndef REPLAY_CHECK_CHECK_REPORT_H
#define REPLAY_CHECK_CHECK_REPORT_H

#include <stdio.h>
#include "capture/parsed_frame.h"
#include "check/base/finding_groups.h"
#include "check/base/unanswered_cm.h"
#include "check/causes/common_wait.h"
#include "check/conn_summary.h"
#include "check/event_history.h"

#define CHECK_REJECTIONS 8 /* maximum number of stored REJs */

/* A REJ of the connection manager. */
struct check_rejection {
    uint32_t frame;
    uint16_t reason;
    uint8_t from[16], to[16];
    bool active;      /* the sender of the REJ also sent the REQ */
    bool of_rep;      /* the REJ rejects a REP */
    uint64_t service; /* service ID of the rejected REQ; 0 if the REQ was not captured */
};

/* Value of --fail-on: the results that cause exit status 1. */
enum fail_on {
    FAIL_ON_ERROR,
    FAIL_ON_FAILED, /* this value and the following ones include connections that failed */
    FAIL_ON_SLOW,
    FAIL_ON_WARN,
    FAIL_ON_NOTE, /* includes FAIL_ON_WARN */
    FAIL_ON_CNT
};

struct two_points;

struct check_report {
    const char *name;            /* name of the capture */
    const struct narrow *narrow; /* selected frames; NULL: all */
    uint32_t frames;
    struct frame_counts counts; /* all zero if there is no frame */
    bool no_icrc;               /* the user switched off the computation of ICRCs */
    /* Comment that rnic-run wrote into the capture: the number of packets that rnic-run dropped
     * because of its option --impair. "" if there is no comment. */
    char impaired[256];
    enum roce_profile profile;
    struct roce_flow_totals totals;
    struct finding_groups groups;
    struct event_history *history; /* last events of each connection, or NULL */
    struct check_rejection rejection[CHECK_REJECTIONS]; /* the first REJs of the capture */
    uint64_t rejection_cnt;                             /* number of all REJs of the capture */
    struct unanswered_cm unanswered_cm;

    /* Connections that the report lists, in the order of check_conn_order(). */
    struct check_conn *conn;
    uint32_t conn_cnt, conn_cap, conn_max;
    /* Connections with JSON lines that need the comparison with a second capture, and are therefore
     * written after the comparison. */
    struct check_conn *later;
    uint32_t later_cnt;
    size_t later_cap;
    uint64_t ended; /* number of connections that rnic/flow has reported, in `conn` or not */
    /* Number of connections that failed, that got stuck, that were slow, and that violated a
     * rule. */
    uint64_t failed, stuck, slow, violated;
    uint64_t unanswered; /* number of RC connections without a captured response */
    /* Numbers of connections. `lossy`: with lost messages. `marked`: with a side that received ECN
     * CE marks and sent no CNP. `notified`: with CNPs after which no measured rate fell
     * (check_conn_notified()). `paused`: for which check_conn_paused() returns true. */
    uint64_t lossy, marked, notified, paused;
    /* `troubled`: number of connections with problems. `worst`: summary of the worst of these
     * connections; its pointers are NULL. headline.h defines the order. */
    uint64_t troubled;
    struct roce_conn_summary worst;
    struct common_wait common_wait; /* waits of the slow connections */
    /* Number of requests that the capture lacks although their ACKs were captured. */
    uint64_t unseen;
    uint64_t behind_responses; /* number of requests that were captured after their responses */
    uint64_t behind_ns;        /* longest time from such a response to its request, ns */
    /* Number of connections, and number of findings and congestion episodes, for which no JSON line
     * was written because of the size limit. */
    uint64_t conns_not_listed, findings_not_listed;
    uint64_t copies; /* number of packets that were captured twice */

    const struct two_points *points; /* comparison with a second capture, or NULL */

    const char *error; /* reason why the capture broke off or cannot be used, or NULL */
    bool broke_off;    /* only a part of the capture could be read */
    bool interrupted;  /* the user interrupted the check */
};

void check_report_init(struct check_report *report, uint32_t conn_max, bool keep_findings);
void check_report_free(struct check_report *report); /* Frees the report, which may be
                                                      * zero-initialised. */

/* Adds a connection that has ended. */
void check_report_add(struct check_report *report, const struct roce_conn_summary *sum);

/* Completes the report after the last packet. `flow` must still exist, because it records which two
 * directions form one connection. */
void check_report_finish(struct check_report *report, const struct roce_flow *flow);

/* Returns the verdict on a capture. VIOLATED: an ERROR finding is not a known deviation. SKIPPED:
 * the capture has no RoCE packet. HOLDS: otherwise. A QP that failed without a violation of a rule
 * does not change the verdict. */
enum check_verdict check_report_verdict(const struct check_report *report);

/* Returns the number of findings that are known deviations. */
uint64_t check_report_known(const struct check_report *report);

/* Returns the name of the peer's implementation, which the user named or the check recognised, or
 * NULL. The known deviations of this implementation are not counted as errors. */
const char *check_report_peer(const struct check_report *report);

/* Prints the report: a summary, or with `verbose` everything. */
void check_text(FILE *out, const struct check_report *report, bool verbose);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of a check: what is known of one capture when it has been read, and its forms for people
 * and for CI. The form for programs is written while reading: check_json.h.
 */
#ifndef REPLAY_CHECK_CHECK_REPORT_H
#define REPLAY_CHECK_CHECK_REPORT_H

#include <stdio.h>
#include "check/unanswered_cm.h"
#include "check/conn_summary.h"
#include "check/event_history.h"
#include "check/finding_groups.h"
#include "wire/tunnel.h"

#define CHECK_REJECTIONS 8

/* A connection manager's no. */
struct check_rejection {
    uint32_t frame;
    uint16_t reason;
    uint8_t from[16], to[16];
};

struct check_report {
    const char *name; /* of the capture */
    uint32_t frames;
    uint64_t foreign;                 /* frames of other protocols */
    uint64_t pauses;                  /* of them, those that stop the other end of a link */
    uint64_t tunnel[ROCE_TUNNEL_CNT]; /* frames by the tunnel around them, of [0] nothing */
    uint64_t unreadable;              /* RoCE, but cut or malformed before the end of the BTH */
    uint64_t cut;                     /* frames captured in part */
    uint64_t unverified;              /* packets whose ICRC could not be computed */
    bool no_icrc;                     /* nobody wanted it */
    uint64_t first_time, last_time;
    enum roce_profile profile;
    struct roce_flow_totals totals;
    struct finding_groups groups;
    struct event_history *history;                      /* or NULL */
    struct check_rejection rejection[CHECK_REJECTIONS]; /* the first */
    uint64_t rejection_cnt;                             /* of all */
    struct unanswered_cm unanswered_cm;

    /* The connections that are worth a line, in the order of check_conn_order(). */
    struct check_conn *conn;
    uint32_t conn_cnt, conn_cap, conn_max;
    uint64_t ended;                         /* connections in all */
    uint64_t failed, stuck, slow, violated; /* of them */
    uint64_t unseen;                        /* requests that were answered and are not here */
    uint64_t copies;                        /* packets that are here twice */

    const char *error; /* the capture broke off, or cannot be used, for this reason; or NULL */
    bool broke_off;    /* what was read is not all */
    bool interrupted;  /* somebody wanted no more */
};

void check_report_init(struct check_report *report, uint32_t conn_max, bool keep_findings);
void check_report_free(struct check_report *report); /* fine after a zeroed one */

/* A connection ended. */
void check_report_add(struct check_report *report, const struct roce_conn_summary *sum);

/* After the last one; `flow` still knows which streams are one. */
void check_report_finish(struct check_report *report, const struct roce_flow *flow);

/* VIOLATION if there is an ERROR finding that is not known; NOTHING without a RoCE packet; else
 * HOLDS: a QP that failed by the rules does not fail a check. */
enum check_verdict check_report_verdict(const struct check_report *report);

/* Prints the report: a summary, or with `verbose` everything. */
void check_text(FILE *out, const struct check_report *report, bool verbose);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/check_report.h"

#include <stdlib.h>
#include "check/causes/slow_causes.h"
#include "check/causes/time_budget.h"
#include "check/headline.h"

void check_report_init(struct check_report *report, uint32_t conn_max, bool keep_findings)
{
    *report = (struct check_report){.conn_max = conn_max};
    finding_groups_init(&report->groups, keep_findings);
}

void check_report_free(struct check_report *report)
{
    finding_groups_free(&report->groups);
    event_history_del(report->history);
    free(report->conn);
    free(report->later);
    *report = (struct check_report){0};
}

/* Sorts the connections by check_conn_order(), and keeps the first conn_max of them. */
static void trim_conns(struct check_report *report)
{
    qsort(report->conn, report->conn_cnt, sizeof(*report->conn), check_conn_order);
    if (report->conn_cnt > report->conn_max)
        report->conn_cnt = report->conn_max;
}

/* Returns whether a connection is worse than report->worst. Compares the states; if they are equal,
 * compares the total waits (time_budget_waited_ns()). */
static bool is_worse(const struct check_report *report, const struct roce_conn_summary *sum)
{
    enum headline_state now = headline_state(sum), before = headline_state(&report->worst);

    return report->troubled == 0 || now > before ||
           (now == before && time_budget_waited_ns(sum) > time_budget_waited_ns(&report->worst));
}

static void note_trouble(struct check_report *report, const struct roce_conn_summary *sum)
{
    if (headline_state(sum) == HEADLINE_OK)
        return;
    if (is_worse(report, sum)) {
        report->worst = *sum;
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned o = 0; o < ROCE_OPER_CNT; o++)
                report->worst.side[i].oper[o].latency = NULL;
            report->worst.side[i].ack_rtt = NULL;
            report->worst.side[i].region = NULL;
        }
    }
    report->troubled++;
}

void check_report_add(struct check_report *report, const struct roce_conn_summary *sum)
{
    report->ended++;
    report->failed += check_conn_failed(sum);
    report->stuck += check_conn_stuck(sum);
    if (check_conn_slow(sum)) {
        report->slow++;
        common_wait_add(&report->common_wait, sum);
    }
    report->unanswered += sum->facts.svc == ROCE_SVC_RC && !sum->facts.paired &&
                          !sum->facts.ambiguous &&
                          sum->side[0].responses + sum->side[1].responses == 0;
    report->lossy += check_conn_lossy(sum);
    report->marked += check_conn_marked(sum);
    report->notified += check_conn_notified(sum);
    report->paused += check_conn_paused(sum);
    for (unsigned i = 0; i < 2; i++) {
        report->unseen += sum->side[i].unseen_packets;
        report->behind_responses += sum->side[i].behind_responses;
        if (sum->side[i].behind_ns > report->behind_ns)
            report->behind_ns = sum->side[i].behind_ns;
        report->copies += sum->side[i].copies;
    }
    report->violated += check_conn_errors(sum) != 0;
    note_trouble(report, sum);
    if (report->conn_max == 0)
        return;
    if (report->conn_cnt == 2 * report->conn_max)
        trim_conns(report);
    if (report->conn_cnt == report->conn_cap) {
        uint32_t cap = report->conn_cap ? report->conn_cap * 2 : 16;
        struct check_conn *grown;

        if (cap > 2 * report->conn_max)
            cap = 2 * report->conn_max;
        grown = realloc(report->conn, cap * sizeof(*grown));
        if (!grown)
            return;
        report->conn = grown;
        report->conn_cap = cap;
    }
    check_conn_set(&report->conn[report->conn_cnt++], sum);
}

void check_report_finish(struct check_report *report, const struct roce_flow *flow)
{
    report->totals = *roce_flow_totals(flow);
    finding_groups_sort(&report->groups, flow);
    if (report->conn_cnt)
        trim_conns(report);
}

const char *check_report_peer(const struct check_report *report)
{
    const struct roce_flow_totals *sum = &report->totals;

    if (report->profile == ROCE_PROFILE_NONE)
        return NULL;
    if (report->profile != ROCE_PROFILE_AUTO)
        return roce_profile_name(report->profile);
    if (sum->rxe_sides == 0)
        return NULL;
    return sum->rxe_6_1 == sum->rxe_6_12 ? "linux-rxe"
           : sum->rxe_6_1                ? roce_profile_name(ROCE_PROFILE_LINUX_RXE_6_1)
                                         : roce_profile_name(ROCE_PROFILE_LINUX_RXE_6_12);
}

uint64_t check_report_known(const struct check_report *report)
{
    uint64_t cnt = 0;

    for (unsigned i = 0; i < ROCE_SEV_CNT; i++)
        cnt += report->totals.known[i];
    return cnt;
}

enum check_verdict check_report_verdict(const struct check_report *report)
{
    if (report->totals.errors_unknown)
        return CHECK_VIOLATED;
    return report->totals.packets > report->totals.dc ? CHECK_HOLDS : CHECK_SKIPPED;
}

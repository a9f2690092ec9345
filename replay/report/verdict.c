/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/verdict.h"

enum verdict report_exchange_verdict(const struct cm_exchange *x)
{
    enum verdict verdict = VERDICT_SKIPPED;

    for (unsigned role = 0; role < 2; role++)
        if (x->end[role].verdict == VERDICT_FAIL || verdict == VERDICT_SKIPPED)
            verdict = x->end[role].verdict;
    return verdict;
}

void verdict_add(enum verdict *verdict, enum verdict one)
{
    if (one == VERDICT_FAIL || *verdict == VERDICT_SKIPPED)
        *verdict = one;
}

enum verdict report_run_verdict(const struct replay *r, uint32_t idx)
{
    enum verdict verdict = VERDICT_SKIPPED;

    if (r->responses.result)
        verdict_add(&verdict, r->responses.result[idx].verdict);
    if (r->requests.result)
        verdict_add(&verdict, r->requests.result[idx].verdict);
    return verdict;
}

bool verdict_ignores_stream(const struct replay *r, const struct dgram_stream *s)
{
    if (s->qpn != ROCE_QP_GSI || s->verdict == VERDICT_FAIL)
        return false;
    for (size_t i = 0; i < r->dgrams.cnt; i++)
        if (r->dgrams.stream[i].qpn != ROCE_QP_GSI)
            return true;
    return r->session.dir_cnt > 0 || r->connections.skip_cnt > 0;
}

enum verdict report_verdict(const struct replay *r)
{
    enum verdict verdict = VERDICT_SKIPPED;
    bool data = r->session.dir_cnt || r->dgrams.cnt || r->connections.skip_cnt;

    for (uint32_t i = 0; i < r->session.dir_cnt; i++)
        verdict_add(&verdict, report_run_verdict(r, i));
    for (size_t i = 0; i < r->dgrams.cnt; i++)
        if (!verdict_ignores_stream(r, &r->dgrams.stream[i]))
            verdict_add(&verdict, r->dgrams.stream[i].verdict);
    for (size_t i = 0; i < r->cm_exchanges.cnt; i++)
        if (!data || report_exchange_verdict(&r->cm_exchanges.at[i]) == VERDICT_FAIL)
            verdict_add(&verdict, report_exchange_verdict(&r->cm_exchanges.at[i]));
    return verdict;
}

const char *report_skip_reason(const struct replay *r)
{
    const struct trace *trace = &r->trace;

    for (size_t i = 0; i < r->session.dir_cnt; i++) {
        if (r->responses.result && r->responses.result[i].skip)
            return r->responses.result[i].skip;
        if (r->requests.result && r->requests.result[i].skip)
            return r->requests.result[i].skip;
    }
    for (size_t i = 0; i < r->dgrams.cnt; i++)
        if (r->dgrams.stream[i].skip)
            return r->dgrams.stream[i].skip;
    /* Packets to QP 1 (connection management) are less important: first search the skip reason of
     * packets to another QP. */
    for (size_t i = 0; i < r->connections.skip_cnt; i++)
        if (trace->flow[r->connections.skip[i].flow].dest_qp != ROCE_QP_GSI)
            return r->connections.skip[i].reason;
    return r->connections.skip_cnt
               ? r->connections.skip[0].reason
               : "the capture contains no RoCE packet (rocedrill check names a likely reason)";
}

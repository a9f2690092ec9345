/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compares the counts in each connection's summary with those of the reference model, for complete
 * captures at any capture point. The analysis engine must find each loss and no other, and report
 * no ERROR.
 *
 * If the capture point is at the requester, the capture shows everything that the requester
 * receives. Then the test also compares the cause and the cost of each go-back. At other points, a
 * response may be lost after the capture point, or a packet that was NAKed may arrive late. Then
 * the test compares only the numbers of retransmitted and out-of-order packets.
 *
 * MODEL_SEEDS=<n> runs that many seeds for each row.
 */
#include <stdio.h>
#include <string.h>
#include "judge.h"
#include "reference_model.h"
#include "support/suite.h"

#define SEEDS SUITE_TURNS(20)

/* Values that a row compares, in addition to the numbers of packets, NAKs and messages of each
 * side. There must also be no ERROR and, without MAY_WARN, no WARN. */
enum {
    CAUSES = 1u << 0, /* causes and cost of side A's go-backs */
    AGAIN = 1u << 1,  /* numbers of retransmitted and of out-of-order packets, whatever their
                       * cause */
    HOLES = 1u << 2,  /* missing PSNs */
    COPIES = 1u << 3,
    DONE = 1u << 4, /* completed messages and their bytes */
    ENDS = 1u << 5, /* exhausted retries */
    NAKS = 1u << 6, /* NAKs, and requests that were acknowledged but not captured (must be 0) */
    MAY_WARN = 1u << 7,
    SOME = NAKS | AGAIN | HOLES | DONE | ENDS,
    ALL = SOME | CAUSES | COPIES
};

#define AT_A .after
#define AT_B .before
#define EVERY                                                                                      \
    {                                                                                              \
        20, 20, 20, 20, 20                                                                         \
    }

static const struct row {
    const char *name;
    unsigned what;
    struct model_opts o;
} rows[] = {
    /* clang-format off */
    {"nothing lost",                  ALL, {.both_ways = true}},
    {"nothing lost, 2 MiB",           ALL, {.max_len = 2u << 20, .messages = 4, .conns = 2}},
    {"RNR",                           ALL, {.rnr = 300}},
    {"at A: requests lost",           ALL, {AT_A = {.lost = {20, 20}}}},
    {"at A: answers lost",            ALL, {AT_A = {.lost = {0, 0, 20, 20, 20}}, .cm = true}},
    {"at A: ACKs lost",               ALL, {AT_A = {.lost = {0, 0, 0, 100}}}},
    {"at A: NAKs lost",               ALL, {AT_A = {.lost = {20, 20, 0, 0, 500}}}},
    {"at A: READ requests lost",      ALL, {AT_A = {.lost = {0, 100}}}},
    {"at A: READ data lost",          ALL, {AT_A = {.lost = {0, 0, 30}}, .cm = true}},
    {"at A: both of READ lost",       ALL, {AT_A = {.lost = {0, 30, 20}}, .cm = true}},
    {"at A: all lost",                ALL, {AT_A = {.lost = EVERY}, .cm = true}},
    {"at A: all lost, bursts",        ALL, {AT_A = {.lost = {5, 5, 5, 5, 5}, .burst = 12}}},
    {"at A: all lost, both ways",     ALL, {AT_A = {.lost = {10, 10, 10, 10, 10}}, .both_ways = true}},
    {"at A: all lost, XRC",           ALL, {.svc = ROCE_SVC_XRC, AT_A = {.lost = EVERY}, .cm = true}},
    {"at A: all lost, RNR",           SOME, {AT_A = {.lost = EVERY}, .rnr = 300, .cm = true}},
    {"at A: copies",                  ALL, {AT_A = {.twice = 30}}},
    {"at A: late",                    SOME | MAY_WARN, {AT_A = {.late = 20, .late_ns = 20000}}},
    {"at A: nothing more arrives",    ALL, {.dies = true, .cm = true}},
    {"at B: requests lost",           SOME, {AT_B = {.lost = {20, 20}}}},
    {"at B: answers lost",            SOME, {AT_B = {.lost = {0, 0, 20, 20, 20}}}},
    {"at B: all lost",                SOME, {AT_B = {.lost = EVERY}, .cm = true}},
    {"at B: copies",                  ALL, {AT_B = {.twice = 30}}},
    {"at B: late",                    SOME | MAY_WARN, {AT_B = {.late = 20, .late_ns = 20000}}},
    {"at B: very late",               (SOME & ~DONE) | MAY_WARN, {AT_B = {.late = 20, .late_ns = 1000000}}},
    {"between: all lost",             (SOME & ~DONE), {.before = {.lost = {10, 10, 10, 10, 10}}, .after = {.lost = {10, 10, 10, 10, 10}}, .cm = true}},
    {"two points: all lost",          MAY_WARN, {.two_points = true, .after = {.lost = {10, 10, 10, 10, 10}}}},
    {"UC: lost",                      ALL, {.svc = ROCE_SVC_UC, .before = {.lost = {20}}}},
    {"UC: copies",                    ALL, {.svc = ROCE_SVC_UC, .before = {.twice = 20}}},
    {"UC: late",                      ALL, {.svc = ROCE_SVC_UC, .before = {.late = 20, .late_ns = 20000}}},
    /* clang-format on */
};

static const struct row *row;
static uint64_t seed;
static unsigned differ;

static void same(int side, const char *what, const char *more, uint64_t truth, uint64_t found)
{
    if (truth == found)
        return;
    if (differ++ < 4)
        suite_fail(__FILE__, __LINE__,
                   "%s, seed %llu, side %d: %s%s: %llu in the model, %llu by the analysis engine",
                   row->name, (unsigned long long)seed, side, what, more, (unsigned long long)truth,
                   (unsigned long long)found);
}

/* Returns the summary of the connection between the QPs `qpn` and `peer`. Sets *side to the side
 * (0 or 1) of QP `qpn`. The summary of a UC connection may lack `qpn`, because UC packets contain
 * only the destination QPN. */
static const struct roce_conn_summary *conn_of(const struct verdict *v, uint32_t qpn, uint32_t peer,
                                               int *side)
{
    for (uint32_t i = 0; i < v->conn_cnt; i++)
        for (*side = 0; *side < 2; ++*side)
            if (v->conn[i].side[*side].qpn == qpn || v->conn[i].side[!*side].qpn == peer)
                return &v->conn[i];
    return NULL;
}

static void compare_causes(int s, const struct model_side *t, const struct roce_endpoint_summary *f)
{
    for (int c = 0; c < ROCE_CAUSE_CNT; c++) {
        const char *name = roce_cause_name((enum roce_cause)c);

        same(s, "go-backs, ", name, t->retx_episodes[c], f->retx[c].go_backs);
        same(s, "packets again, ", name, t->retx_packets[c], f->retx[c].packets);
        same(s, "bytes again, ", name, t->retx_bytes[c], f->retx[c].bytes);
        same(s, "time lost, ", name, t->stalled_ns[c], f->retx[c].stalled_ns);
    }
}

static void compare_side(int s, const struct model_side *t, const struct roce_endpoint_summary *f,
                         bool uc)
{
    uint64_t truth = t->out_of_order, found = f->out_of_order;

    same(s, "packets", "", t->packets, f->packets);
    if (row->what & NAKS) {
        same(s, "sequence NAKs", "", t->psn_naks, f->psn_naks);
        same(s, "RNR NAKs", "", t->rnr_naks, f->rnr_naks);
        same(s, "acknowledged unseen", "", 0, f->unseen_acked);
    }
    if (row->what & HOLES)
        same(s, "missing PSNs", "", t->missing, f->missing_psns);
    if ((row->what & COPIES) && (s == 0 || f->copies > t->copies)) /* at B, a copy may not be
                                                                    * recognised, because other
                                                                    * packets were captured between
                                                                    * the packet and its copy */
        same(s, "copies", "", t->copies, f->copies);
    if ((row->what & CAUSES) && s == 0) {
        compare_causes(s, t, f);
        same(s, "out of order", "", t->out_of_order, f->out_of_order);
    }
    for (int c = 0; c < ROCE_CAUSE_CNT; c++) {
        truth += t->retx_packets[c];
        found += f->retx[c].packets;
    }
    if ((row->what & AGAIN) && s == 0)
        same(s, "again or late", "", truth, found);
    for (int m = 0; m < ROCE_OPER_OTHER; m++) {
        const char *name = roce_oper_name((enum roce_oper)m);

        if (row->what & DONE)
            same(s, "messages, ", name, t->messages[m], f->oper[m].messages);
        if (uc || !(row->what & DONE))
            continue;
        same(s, "completed, ", name, t->completed[m], f->oper[m].completed);
        same(s, "bytes, ", name, t->bytes[m], f->oper[m].bytes);
    }
}

static void compare_findings(const struct verdict *v)
{
    same(0, "errors", "", 0, judge_errors(v, row->name));
    for (int i = 0; i < ROCE_RULE_CNT && !(row->what & MAY_WARN); i++)
        if (roce_rule_info((enum roce_rule)i)->severity == ROCE_SEV_WARN &&
            i != ROCE_RULE_RETRY_EXHAUSTED)
            same(0, "found ", roce_rule_info((enum roce_rule)i)->id, 0, v->totals.rules[i]);
}

static void play(void)
{
    static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
    static struct verdict v;
    static struct model t;
    struct model_opts o = row->o;
    struct rng rng = rng_of(seed * 7919 + 1);
    struct flowgen g;
    bool uc = o.svc == ROCE_SVC_UC;

    o.rng = &rng;
    o.svc = o.svc ? o.svc : ROCE_SVC_RC;
    o.conns = o.conns ? o.conns : 1 + rng_below(&rng, MODEL_CONNS);
    o.mtu = mtus[rng_below(&rng, 5)];
    o.messages = o.messages ? o.messages : 40;
    o.max_len = o.max_len ? o.max_len : (1 + rng_below(&rng, 16)) * o.mtu;
    o.kinds = uc ? 1u << ROCE_OPER_SEND | 1u << ROCE_OPER_WRITE : 0;
    o.before.delay_ns = strncmp(row->name, "at A", 4) ? rng_below(&rng, 20000) : 0;
    o.after.delay_ns = strncmp(row->name, "at B", 4) ? rng_below(&rng, 20000) : 0;
    o.step_ns = 300 + rng_below(&rng, 2000);
    model_play(&o, &g, &t);
    judge(&g, NULL, NULL, &v);
    compare_findings(&v);
    for (uint32_t c = 0; c < o.conns; c++)
        for (int s = 0; s < 2; s++) {
            int k;
            const struct roce_conn_summary *sum =
                conn_of(&v, t.conn[c].qpn[s], t.conn[c].qpn[!s], &k);

            if (t.side[c][s].packets == 0)
                continue;
            same(s, "connections", "", 1, sum != NULL);
            if (!sum)
                continue;
            compare_side(s, &t.side[c][s], &sum->side[k], uc);
            if (row->what & ENDS)
                same(s, "stuck", "", t.stuck[c][s],
                     (sum->facts.end == ROCE_END_RETRY_EXHAUSTED ||
                      sum->facts.end == ROCE_END_UNANSWERED) &&
                         sum->facts.end_side == k);
        }
    flowgen_free(&g);
}

static void summaries_equal_the_model(void)
{
    uint64_t seeds = suite_env("MODEL_SEEDS", SEEDS);

    for (row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++) {
        unsigned wrong = 0;

        for (seed = 1; seed <= seeds; seed++) {
            differ = 0;
            play();
            wrong += differ > 0;
        }
        printf("    %-28s %u of %llu seeds have other counts than the model\n", row->name, wrong,
               (unsigned long long)seeds);
    }
    CU_PASS("compared");
}

SUITE("flow.reference_model", TEST(summaries_equal_the_model))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "judge.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "support/suite.h"

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct verdict *v = user;
    uint32_t at = v->finding_cnt;

    CU_ASSERT(finding->other_frame < finding->frame ||
              !finding->other_frame); /* other_frame must be
                                       * an earlier frame */
    if (at == JUDGE_FINDINGS) {       /* if the list is full, an ERROR replaces the last finding */
        if (finding->severity != ROCE_SEV_ERROR)
            return;
        at--;
    } else
        v->finding_cnt++;
    v->finding[at] = *finding;
}

static uint64_t digest(uint64_t h, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; p && i < len; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001B3);
    return h;
}

static uint64_t digest_times(const struct roce_endpoint_summary *sum, uint64_t h)
{
    h = digest(h, sum->ack_rtt, sizeof(*sum->ack_rtt));
    for (int o = 0; o < ROCE_OPER_CNT; o++)
        h = digest(h, sum->oper[o].latency, sizeof(*sum->oper[o].latency));
    for (uint32_t i = 0; i < sum->region_cnt; i++) {
        const struct roce_region *r = &sum->region[i];

        h = digest(h, r, offsetof(struct roce_region, opers) + 1);
        h = digest(h, &r->va_min, sizeof(*r) - offsetof(struct roce_region, va_min));
    }
    return h;
}

static void on_conn(void *user, const struct roce_conn_summary *conn)
{
    struct verdict *v = user;

    if (v->conn_cnt == JUDGE_CONNS)
        return;
    v->conn[v->conn_cnt] = *conn;
    v->times[v->conn_cnt] = digest_times(&conn->side[1], digest_times(&conn->side[0], 1));
    for (int s = 0; s < 2; s++) {
        struct roce_endpoint_summary *sum = &v->conn[v->conn_cnt].side[s];

        sum->ack_rtt = NULL;
        sum->region = NULL;
        for (int o = 0; o < ROCE_OPER_CNT; o++)
            sum->oper[o].latency = NULL;
    }
    v->conn_cnt++;
}

static void on_link(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct verdict *v = user;

    (void)frame;
    (void)other;
    v->links[kind]++;
}

static void on_use(void *user, const struct roce_flow_use *use)
{
    struct verdict *v = user;

    CU_ASSERT(!use->req == !use->rep);
    v->uses++;
    v->use = *use;
    v->use.req = NULL;
    v->use.rep = NULL;
}

static void on_cm(void *user, const struct roce_flow_in *in, const struct roce_cm_msg *msg)
{
    struct verdict *v = user;

    CU_ASSERT(in->pkt != NULL && msg->kind < ROCE_CM_CNT);
    v->cm_msgs++;
}

static bool is_there(const struct judge_spoil *s, const struct flowgen_frame *f, size_t i)
{
    if (i < s->head || (s->one_side && f->side != s->side))
        return false;
    return s->drop_permille == 0 || rng_below(s->rng, 1000) >= s->drop_permille;
}

/* ---- comparison of analysis engines ---------------------------------------------------------- */

/* Two more analysis engines judge the same packets: one without the fast path (flow/fast_path.c),
 * and one that stores no results. The findings, results and summaries of the three engines must be
 * equal; the following functions compare them. */
static bool same_finding(const struct roce_finding *a, const struct roce_finding *b)
{
    return a->rule == b->rule && a->severity == b->severity && a->frame == b->frame &&
           a->time == b->time && a->conn_index == b->conn_index && a->side == b->side &&
           strcmp(a->field, b->field) == 0 && a->expected == b->expected &&
           a->actual == b->actual && a->other_frame == b->other_frame && a->known == b->known;
}

/* Compares the bytes of two structs from member `from` up to member `to`. There must be no padding
 * between these members. */
#define SAME(a, b, from, to)                                                                       \
    (memcmp(&(a)->from, &(b)->from,                                                                \
            offsetof(struct roce_endpoint_summary, to) -                                           \
                offsetof(struct roce_endpoint_summary, from)) == 0)

static bool same_side(const struct roce_endpoint_summary *a, const struct roce_endpoint_summary *b)
{
    return SAME(a, b, addr, first_psn_sure) && a->first_psn_sure == b->first_psn_sure &&
           a->any_order == b->any_order && a->adaptive == b->adaptive &&
           a->udp_sports == b->udp_sports && a->udp_sport == b->udp_sport &&
           SAME(a, b, packets, max_reads_in_flight) &&
           a->max_reads_in_flight == b->max_reads_in_flight &&
           SAME(a, b, max_bytes_in_flight, region);
}

bool judge_same_conn(const struct roce_conn_summary *a, const struct roce_conn_summary *b)
{
    return memcmp(&a->facts, &b->facts, sizeof(a->facts)) == 0 &&
           same_side(&a->side[0], &b->side[0]) && same_side(&a->side[1], &b->side[1]);
}

#define MEMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct roce_flow_result, name),                                            \
            sizeof(((struct roce_flow_result *)0)->name)                                           \
    }

static const struct {
    const char *name;
    size_t off, len;
} members[] = {
    MEMBER(conn_index),
    MEMBER(side),
    MEMBER(qp_use),
    MEMBER(pairing),
    MEMBER(flags),
    MEMBER(findings),
    MEMBER(src_qpn),
    MEMBER(rel_psn),
    MEMBER(next_psn),
    MEMBER(gap),
    MEMBER(cause),
    MEMBER(repeats_frame),
    MEMBER(rto),
    MEMBER(timeout),
    MEMBER(trigger_frame),
    MEMBER(request_frame),
    MEMBER(acked_packets),
    MEMBER(rtt),
    MEMBER(response_time),
    MEMBER(message_time),
    MEMBER(done_bytes),
    MEMBER(dup_ack_num),
    MEMBER(dup_ack_frame),
    MEMBER(psns_in_flight),
    MEMBER(requests_in_flight),
    MEMBER(reads_in_flight),
    MEMBER(bytes_in_flight),
    MEMBER(read_bytes_in_flight),
    MEMBER(msg_number),
    MEMBER(msg_first_frame),
    MEMBER(msg_offset),
    MEMBER(msg_bytes),
    MEMBER(msg_total),
    MEMBER(rkey),
    MEMBER(va),
    MEMBER(credits),
    MEMBER(rnr_wait),
    MEMBER(rnr_waited),
    MEMBER(ce_frame),
    MEMBER(cnp_delay),
    MEMBER(cm_conn_index),
    MEMBER(cm_frame),
    MEMBER(cm_service),
};

static void compare_results(const struct roce_flow_result *a, const struct roce_flow_result *b,
                            uint32_t frame)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (memcmp((const char *)a + members[i].off, (const char *)b + members[i].off,
                   members[i].len) != 0) {
            suite_fail(__FILE__, __LINE__,
                       "with and without the fast path: frame %u has another result in member %s",
                       frame, members[i].name);
            return;
        }
}

static void compare(const struct verdict *a, const struct verdict *b, const char *what)
{
    bool same = memcmp(&a->totals, &b->totals, sizeof(a->totals)) == 0 &&
                a->finding_cnt == b->finding_cnt && a->conn_cnt == b->conn_cnt &&
                a->uses == b->uses && a->cm_msgs == b->cm_msgs &&
                memcmp(a->links, b->links, sizeof(a->links)) == 0;

    for (uint32_t i = 0; same && i < a->finding_cnt; i++)
        same = same_finding(&a->finding[i], &b->finding[i]);
    for (uint32_t i = 0; same && i < a->conn_cnt; i++)
        same = judge_same_conn(&a->conn[i], &b->conn[i]) && a->times[i] == b->times[i];
    if (!same)
        suite_fail(__FILE__, __LINE__,
                   "%s: the two analysis engines differ in findings (%u and %u) or connections (%u "
                   "and %u)",
                   what, a->finding_cnt, b->finding_cnt, a->conn_cnt, b->conn_cnt);
}

static struct roce_flow *analysis_engine(struct roce_flow_opts o, struct verdict *v)
{
    o.user = v;
    o.on_finding = on_finding;
    o.on_conn = on_conn;
    o.on_link = on_link;
    o.on_use = on_use;
    o.on_cm = on_cm;
    return roce_flow_new(&o);
}

static void finish(struct roce_flow *flow, struct verdict *v)
{
    roce_flow_finish(flow);
    v->totals = *roce_flow_totals(flow);
    for (size_t i = 0; v->owners && i < v->results_cap; i++)
        v->owners[i] = roce_flow_owner(flow, v->results[i].conn_index, v->results[i].side);
    roce_flow_del(flow);
}

void judge(const struct flowgen *g, const struct roce_flow_opts *opts,
           const struct judge_spoil *spoil, struct verdict *v)
{
    static const struct judge_spoil whole;
    struct roce_flow_opts o = opts ? *opts : (struct roce_flow_opts){0};
    struct roce_flow_result *results = v->results;
    size_t results_cap = v->results_cap;
    struct roce_flow_owner *owners = v->owners;
    static struct verdict twin_verdict, mute_verdict;
    struct roce_flow *flow, *twin, *mute;

    memset(v, 0, sizeof(*v));
    memset(&twin_verdict, 0, sizeof(twin_verdict));
    memset(&mute_verdict, 0, sizeof(mute_verdict));
    v->results = results;
    v->results_cap = results_cap;
    v->owners = owners;
    spoil = spoil ? spoil : &whole;
    flow = analysis_engine(o, v);
    if (!flow)
        return;
    mute =
        o.mem.alloc ? NULL : analysis_engine(o, &mute_verdict); /* does not run if the test counts
                                                                 * allocations, because a second
                                                                 * engine would also allocate */
    o.no_fast_path = true;
    twin = o.mem.alloc ? NULL : analysis_engine(o, &twin_verdict);
    for (size_t i = 0; i < g->frame_cnt; i++) {
        const struct flowgen_frame *f = &g->frame[i];
        struct roce_flow_in in = {.frame = (uint32_t)i + 1, .time = f->time};
        size_t cap = f->len;
        struct roce_pkt pkt;

        if (!is_there(spoil, f, i))
            continue;
        if (spoil->snap_min) {
            size_t snap =
                spoil->snap_min + rng_below(spoil->rng, spoil->snap_max - spoil->snap_min + 1);

            cap = cap < snap ? cap : snap;
        }
        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g->bytes + f->off, cap, f->len) != 0)
            continue;
        in.pkt = &pkt;
        in.icrc = spoil->no_icrc ? ROCE_ICRC_UNVERIFIED : roce_pkt_icrc_check(&pkt, NULL);
        roce_flow_feed(flow, &in, &v->last);
        if (i < v->results_cap)
            v->results[i] = v->last;
        if (twin) {
            roce_flow_feed(twin, &in, &twin_verdict.last);
            compare_results(&v->last, &twin_verdict.last, in.frame);
        }
        if (mute)
            roce_flow_feed(mute, &in, NULL);
    }
    finish(flow, v);
    if (twin) {
        finish(twin, &twin_verdict);
        compare(v, &twin_verdict, "with and without runs");
    }
    if (mute) {
        finish(mute, &mute_verdict);
        compare(v, &mute_verdict, "with and without a result");
    }
}

void judge_end(struct flowgen *g, struct verdict *verdict)
{
    judge(g, NULL, NULL, verdict);
    flowgen_free(g);
}

bool judge_found(const struct verdict *v, enum roce_rule rule)
{
    return v->totals.rules[rule] > 0;
}

enum roce_severity judge_worst(const struct verdict *v, enum roce_rule rule)
{
    enum roce_severity most = ROCE_SEV_NOTE;

    for (uint32_t i = 0; i < v->finding_cnt; i++)
        if (v->finding[i].rule == rule && v->finding[i].severity > most)
            most = v->finding[i].severity;
    return most;
}

unsigned judge_errors(const struct verdict *v, const char *why)
{
    unsigned cnt = 0;
    char text[400];

    for (uint32_t i = 0; i < v->finding_cnt; i++) {
        const struct roce_finding *f = &v->finding[i];

        if (f->severity != ROCE_SEV_ERROR || f->known)
            continue;
        cnt++;
        fprintf(stderr, "%s: frame %u: %s %s\n", why, f->frame, roce_rule_info(f->rule)->id,
                roce_finding_text(f, text, sizeof(text)));
    }
    return cnt > v->totals.errors_unknown ? cnt : (unsigned)v->totals.errors_unknown;
}

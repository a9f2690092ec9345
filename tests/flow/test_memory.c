/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Limits of memory and connections: the analysis engine must stay within the limits, count
 * evictions, and still judge the other connections correctly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "judge.h"
#include "support/suite.h"

/* Generates `conns` connections. In each of `rounds` rounds, every connection sends one WRITE; then
 * no connection sends for `rest_ns` ns. */
static void crowd_that_rests(struct flowgen *g, uint32_t conns, int rounds, uint64_t rest_ns)
{
    struct flowgen_conn *c = calloc(conns, sizeof(*c));

    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    flowgen_init(g);
    for (uint32_t i = 0; i < conns; i++)
        c[i] = flowgen_conn_of(i, (i * 7919 & 0xFFFFFF) | 0x1000, (i * 104729 & 0xFFFFFF) | 0x1000);
    for (int n = 0; n < rounds; n++)
        for (uint32_t i = 0; i < conns; i++) {
            g->conn = c[i];
            flowgen_write(g, 0, 64);
            c[i] = g->conn;
            if (i + 1 == conns)
                flowgen_wait(g, rest_ns);
        }
    free(c);
}

static void crowd(struct flowgen *g, uint32_t conns, int rounds)
{
    crowd_that_rests(g, conns, rounds, 0);
}

static struct verdict v;

static void connections_stay_below_the_limit(void)
{
    struct roce_flow_opts opts = {.conn_max = 10};
    struct flowgen g;

    crowd(&g, 100, 3);
    judge(&g, &opts, NULL, &v);
    flowgen_free(&g);
    CU_ASSERT(v.totals.evicted > 0);
    EXPECT_EQ(judge_errors(&v, "limited connections"), 0);
}

static void memory_stays_below_the_limit(void)
{
    for (size_t max = (size_t)1 << 18; max <= (size_t)1 << 22; max *= 4) {
        struct roce_flow_opts opts = {.mem_max = max};
        struct flowgen g;

        crowd(&g, 500, 3);
        judge(&g, &opts, NULL, &v);
        flowgen_free(&g);
        CU_ASSERT(v.totals.mem_peak <= max);
        CU_ASSERT(v.totals.evicted + v.totals.forgotten > 0 || max > (size_t)1 << 21);
        EXPECT_EQ(judge_errors(&v, "limited memory"), 0);
    }
}

/* ---- eviction of connections ----------------------------------------------------------------- */

/* Counters since the analysis engine received the current packet. `allocs`: allocations; `conns`:
 * on_conn() calls; `conns_after_alloc`: on_conn() calls after the first allocation. */
static struct {
    unsigned allocs, conns, conns_after_alloc;
    size_t bytes, bytes_max; /* allocated bytes; limit of the test's allocator, which the analysis
                              * engine does not know */
} seen;

static void *count_alloc(void *ctx, size_t size)
{
    (void)ctx;
    seen.allocs++;
    if (seen.bytes + size > seen.bytes_max)
        return NULL;
    seen.bytes += size;
    return malloc(size);
}

static void count_free(void *ctx, void *p, size_t size)
{
    (void)ctx;
    seen.bytes -= size;
    free(p);
}

static void count_conn(void *user, const struct roce_conn_summary *conn)
{
    (void)user;
    (void)conn;
    seen.conns++;
    seen.conns_after_alloc += seen.allocs > 0;
}

/* Connections must be evicted only before a packet is judged. While it is judged, an allocation may
 * fail, but must not evict a connection or report a finding. */
static void allocation_evicts_and_reports_nothing(void)
{
    static const struct {
        struct roce_flow_opts opts;
        size_t bytes_max;
    } limits[] = {{{.conn_max = 10}, SIZE_MAX},
                  {{.mem_max = (size_t)1 << 18}, SIZE_MAX},
                  {{.conn_max = 0}, (size_t)1 << 18}};

    for (unsigned l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
        struct roce_flow_opts opts = limits[l].opts;
        unsigned evicted = 0;
        struct roce_flow *flow;
        struct flowgen g;

        opts.mem = (struct roce_alloc){.alloc = count_alloc, .free = count_free};
        opts.on_conn = count_conn;
        memset(&seen, 0, sizeof(seen));
        seen.bytes_max = limits[l].bytes_max;
        flow = roce_flow_new(&opts);
        CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
        crowd(&g, 500, 3);
        for (size_t i = 0; i < g.frame_cnt; i++) {
            const struct flowgen_frame *f = &g.frame[i];
            struct roce_pkt pkt;
            struct roce_flow_in in = {.pkt = &pkt, .frame = (uint32_t)i + 1, .time = f->time};

            EXPECT_EQ(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g.bytes + f->off, f->len, f->len),
                      0);
            seen.allocs = seen.conns = 0;
            roce_flow_feed(flow, &in, NULL);
            evicted += seen.conns;
        }
        CU_ASSERT(evicted > 0);
        EXPECT_EQ(seen.conns_after_alloc, 0);
        EXPECT_EQ(roce_flow_totals(flow)->evicted, evicted);
        roce_flow_del(flow);
        EXPECT_EQ(seen.bytes, 0);
        flowgen_free(&g);
    }
}

static void windows_stay_below_the_limit(void)
{
    struct roce_flow_opts opts = {.window_max = 8};
    struct rng rng = rng_seed();
    struct flowgen g;

    flowgen_init(&g);
    flowgen_write(&g, 0, 64);
    flowgen_lossy(&g, &rng, 400, 30, NULL, 0);
    flowgen_write(&g, 0, 40 * 1024);
    judge(&g, &opts, NULL, &v);
    flowgen_free(&g);
    CU_ASSERT(v.totals.overflown > 0);
    EXPECT_EQ(judge_errors(&v, "limited windows"), 0);
}

/* A requester skips `hole` PSNs, and then sends the skipped packets in descending order. */
static void fill_backwards(uint32_t hole)
{
    struct flowgen g;
    struct roce_pkt pkt;
    uint32_t last;

    flowgen_begin(&g);
    for (int i = 0; i < 8; i++)
        flowgen_write(&g, 0, 64);
    last = g.conn.psn[0] + hole;
    for (uint32_t i = 0; i <= hole; i++) {
        g.conn.psn[0] = (last - i) & ROCE_PSN_MASK;
        pkt = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_put(&g, 0, &pkt);
    }
    g.conn.msn[0] += hole + 1;
    flowgen_ack(&g, 1, last & ROCE_PSN_MASK, 0x1F);
    g.conn.psn[0] = (last + 1) & ROCE_PSN_MASK;
    flowgen_write(&g, 0, 64);
    judge_end(&g, &v);
}

static void holes_filled_far_behind_cost_no_quadratic_time(void)
{
    fill_backwards(500);
    EXPECT_EQ(v.totals.overflown, 0);
    EXPECT_EQ(judge_errors(&v, "a hole of 500"), 0);
    fill_backwards(7000);
    CU_ASSERT(v.totals.overflown > 4000 && v.totals.overflown < 7000);
    EXPECT_EQ(judge_errors(&v, "a hole of 7000"), 0);
}

static void hundred_thousand_connections_fit(void)
{
    struct flowgen g;
    const uint32_t conns = SUITE_TURNS(100000);
    double each;

    crowd(&g, conns, 1);
    judge_end(&g, &v);
    EXPECT_EQ(v.totals.connections, conns);
    EXPECT_EQ(v.totals.evicted, 0);
    each = (double)v.totals.mem_peak / conns;
    printf("    %.0f bytes a connection\n", each);
    /* With fewer connections, the share of the hash tables for each connection is greater. */
    CU_ASSERT(each < 2100 || conns < 100000);
}

/* After an idle time, the analysis engine allocates memory for a possible QP reuse. When the
 * response shows that the QPs were not reused, the engine must free this memory. */
static void idle_time_takes_no_memory(void)
{
    size_t peak[2];

    for (int rests = 0; rests < 2; rests++) {
        struct flowgen g;

        crowd_that_rests(&g, 1000, 3, rests ? 200000000 : 0);
        judge_end(&g, &v);
        EXPECT_EQ(v.totals.connections, 1000);
        peak[rests] = v.totals.mem_peak;
    }
    CU_ASSERT(peak[1] < peak[0] + 4096);
}

static void creation_fails_without_memory(void)
{
    struct roce_flow_opts opts = {.mem_max = 100};

    CU_ASSERT_PTR_NULL(roce_flow_new(&opts));
}

SUITE("flow.memory", TEST(connections_stay_below_the_limit), TEST(memory_stays_below_the_limit),
      TEST(allocation_evicts_and_reports_nothing), TEST(windows_stay_below_the_limit),
      TEST(holes_filled_far_behind_cost_no_quadratic_time), TEST(hundred_thousand_connections_fit),
      TEST(idle_time_takes_no_memory), TEST(creation_fails_without_memory))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QPs in lockstep: many QPs between two hosts send equal requests with equal PSNs at the same time,
 * as the QPs of one program do (perftest -q, collectives). There are no CM messages, so only source
 * ports can show which directions belong together. The analysis engine must not pair directions
 * wrongly, and must report no ERROR. It may leave directions unpaired.
 */
#include <string.h>
#include "judge.h"
#include "support/suite.h"

#define QPS_MAX 64u
#define FIRST0  0x100u
#define FIRST1  0x80000u

enum ports {
    LINUX, /* each QP pair uses one source port in both directions, derived from both QPNs */
    OWN,   /* each QP pair uses one source port in both directions, which is not derived from the
            * QPNs */
    APART, /* a separate port for each direction */
    ONE,   /* one port for all QPs */
    PORTS
};

static const char *const port_names[PORTS] = {"of both QPNs", "one port per pair",
                                              "one port per direction", "one port"};

struct shape {
    unsigned qps;
    enum ports ports;
    bool equal_psns, shuffled, both_ways, slow_acks;
    uint32_t head, drop_permille;
};

static struct {
    unsigned right, wrong, unsaid, apart, errors, said, one_sided;
} seen;

static void on_conn(void *user, const struct roce_conn_summary *c)
{
    uint32_t q0 = c->side[0].qpn, q1 = c->side[1].qpn;
    uint32_t n0 = q0 >= FIRST1 ? q0 - FIRST1 : q0 - FIRST0;
    uint32_t n1 = q1 >= FIRST1 ? q1 - FIRST1 : q1 - FIRST0;

    (void)user;
    if (!c->facts.paired)
        seen.apart++;
    else if (n0 == n1)
        seen.right++;
    else {
        seen.wrong++;
        seen.unsaid += !roce_pairing_is_guess(c->facts.pairing);
    }
}

static void on_finding(void *user, const struct roce_finding *f)
{
    char text[400];

    (void)user;
    seen.said += f->rule == ROCE_RULE_PAIR_UNKNOWN;
    seen.one_sided += f->rule == ROCE_RULE_ONE_SIDED;
    if (f->severity == ROCE_SEV_ERROR && seen.errors++ == 0)
        printf("    frame %u: %s %s\n", f->frame, roce_rule_info(f->rule)->id,
               roce_finding_text(f, text, sizeof(text)));
}

static uint16_t port_of(enum ports ports, const struct flowgen_conn *c, unsigned n, int side)
{
    switch (ports) {
    case LINUX: return flowgen_linux_sport(c->qpn[0], c->qpn[1]);
    case OWN: return (uint16_t)(0xC100 + n);
    case APART: return (uint16_t)(0xC100 + 2 * n + (unsigned)side);
    default: return 0xC123;
    }
}

static void shuffle(struct rng *rng, unsigned *order, unsigned cnt, bool yes)
{
    for (unsigned i = 0; i < cnt; i++)
        order[i] = i;
    for (unsigned i = cnt - 1; yes && i > 0; i--) {
        unsigned k = rng_below(rng, i + 1), t = order[i];

        order[i] = order[k];
        order[k] = t;
    }
}

/* Sends one request from each QP, then the responses to all of them. */
static void round_of(struct flowgen *g, struct rng *rng, const struct shape *s,
                     struct flowgen_conn *conn, int side)
{
    unsigned order[QPS_MAX], kind = rng_below(rng, 4);
    uint32_t len = 1 + rng_below(rng, 4000), psn[QPS_MAX];

    shuffle(rng, order, s->qps, s->shuffled);
    for (unsigned i = 0; i < s->qps; i++) {
        unsigned n = order[i];
        struct roce_pkt p;

        g->conn = conn[n];
        g->conn.sport = port_of(s->ports, &conn[n], n, side);
        psn[n] = g->conn.psn[side];
        if (kind == 0) {
            p = flowgen_req(g, side, ROCE_OP_RC_READ_REQUEST, len);
            flowgen_put(g, side, &p);
        } else {
            flowgen_message(g, side, kind == 1 ? ROCE_KIND_SEND : ROCE_KIND_WRITE, len);
        }
        conn[n] = g->conn;
    }
    if (s->slow_acks)
        flowgen_wait(g, 50000);
    shuffle(rng, order, s->qps, s->shuffled);
    for (unsigned i = 0; i < s->qps; i++) {
        unsigned n = order[i];

        g->conn = conn[n];
        g->conn.sport = port_of(s->ports, &conn[n], n, !side);
        if (kind == 0)
            flowgen_read_resp(g, !side, psn[n], len, 0, roce_psn_cnt(len, g->mtu) - 1);
        else
            flowgen_ack_all(g, !side);
        conn[n] = g->conn;
    }
}

static void talk(struct rng *rng, const struct shape *s)
{
    const struct roce_flow_opts opts = {.on_conn = on_conn, .on_finding = on_finding};
    struct roce_flow *flow = roce_flow_new(&opts);
    struct flowgen_conn conn[QPS_MAX];
    uint32_t start = rng_below(rng, 1u << 24);
    struct flowgen g;

    flowgen_init(&g);
    g.step = 1000;
    for (unsigned i = 0; i < s->qps; i++) {
        uint32_t psn = s->equal_psns ? start : rng_below(rng, 1u << 24);

        conn[i] = flowgen_conn_of(i, psn, s->equal_psns ? start : rng_below(rng, 1u << 24));
    }
    for (unsigned n = 0; n < 12; n++)
        round_of(&g, rng, s, conn, s->both_ways ? (int)(n & 1) : 0);
    for (size_t i = s->head; i < g.frame_cnt; i++) {
        const struct flowgen_frame *f = &g.frame[i];
        struct roce_pkt pkt;
        struct roce_flow_in in = {.pkt = &pkt, .frame = (uint32_t)i + 1, .time = f->time};

        if (s->drop_permille && rng_below(rng, 1000) < s->drop_permille)
            continue;
        CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g.bytes + f->off, f->len, f->len) == 0);
        in.icrc = roce_pkt_icrc_check(&pkt, NULL);
        roce_flow_feed(flow, &in, NULL);
    }
    roce_flow_finish(flow);
    roce_flow_del(flow);
    flowgen_free(&g);
}

static void all_shapes(bool holes)
{
    static const unsigned sizes[] = {2, 3, 16, 64};
    struct rng rng = rng_seed();

    for (enum ports ports = 0; ports < PORTS; ports++) {
        unsigned right = 0, wrong = 0, apart = 0, errors = 0, pairs = 0, most = 0;

        for (unsigned i = 0; i < 4 * 2 * 2 * 2 * 2; i++) {
            struct shape s = {.qps = sizes[i & 3],
                              .ports = ports,
                              .equal_psns = i >> 2 & 1,
                              .shuffled = i >> 3 & 1,
                              .both_ways = i >> 4 & 1,
                              .slow_acks = i >> 5 & 1};

            if (holes) {
                s.head = rng_below(&rng, 8 * s.qps);
                s.drop_permille = rng_below(&rng, 200);
            }
            memset(&seen, 0, sizeof(seen));
            talk(&rng, &s);
            EXPECT_EQ(seen.said + seen.one_sided,
                      seen.apart); /* for each unpaired direction, the summary must say why */
            if (!holes)
                EXPECT_EQ(seen.one_sided, 0);
            EXPECT_EQ(seen.unsaid, 0); /* no wrong pair may be reported as certain */
            right += seen.right;
            wrong += seen.wrong;
            apart += seen.apart;
            errors += seen.errors;
            pairs += s.qps;
            if (seen.errors)
                printf("    %s, %u QPs%s%s%s%s: %u right pairs, %u wrong, %u unpaired directions, "
                       "%u errors\n",
                       port_names[ports], s.qps, s.equal_psns ? ", equal PSNs" : "",
                       s.shuffled ? ", shuffled" : "", s.both_ways ? ", both ways" : "",
                       s.slow_acks ? ", late answers" : "", seen.right, seen.wrong, seen.apart,
                       seen.errors);
        }
        printf("    %s%s: %u pairs, %u right, %u wrong, %u unpaired directions, %u errors\n",
               port_names[ports], holes ? ", packets missing" : "", pairs, right, wrong, apart,
               errors);
        EXPECT_EQ(errors, 0);
        /* If the source ports prove nothing and the capture lacks the packets that distinguish the
         * QPs, the analysis engine may pair two directions wrongly. The summary must then mark the
         * pair as a guess, and the pair must cause no ERROR. */
        if (holes && (ports == APART || ports == ONE))
            most = pairs / 50;
        /* The first packet that distinguishes two QPs may be captured after the analysis engine has
         * already paired their directions wrongly. This happens for one in 500 to 2000 seeds. */
        if (holes && (ports == OWN || ports == LINUX))
            most = 2;
        CU_ASSERT(wrong <= most);
        if (ports == LINUX && !holes)
            EXPECT_EQ(right, pairs);
    }
}

static void complete_stream_is_judged_alike_both_ways(void)
{
    all_shapes(false);
}

static void stream_with_holes_is_judged_alike_both_ways(void)
{
    all_shapes(true);
}

SUITE("flow.lockstep", TEST(complete_stream_is_judged_alike_both_ways),
      TEST(stream_with_holes_is_judged_alike_both_ways))

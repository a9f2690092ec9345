/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow_oracle.h"

#include <stdlib.h>
#include "flow/flow.h"
#include "support/rng.h"
#include "support/suite.h"

/* Simulated captures at the observed node. WHOLE has all frames of the node; every other capture
 * has a defect. */
enum lane {
    WHOLE,
    NO_ICRC, /* the ICRCs are not checked, so rnic/flow does not detect damaged packets */
    HEAD,    /* the capture started late */
    THIN,    /* the capture lacks 1 to 20 % of the frames */
    CUT,     /* frames cut at a snaplen of 64 to 128 bytes */
    ONE_WAY, /* the capture has packets of one direction only */
    SPOILED, /* the capture started late, lacks frames, and is cut at the snaplen */
    LANES
};

static const char *const names[LANES] = {"whole", "without ICRC", "started late", "thinned",
                                         "cut",   "one way",      "spoiled"};

static struct roce_flow *flow[LANES];
static unsigned watched;
static unsigned errors;
static unsigned frames;
static unsigned runs, empty; /* number of observations that have ended, and of those without a
                              * frame */
static uint32_t head, permille, snap;
static bool way;
static struct rng rng;

static void on_finding(void *user, const struct roce_finding *finding)
{
    const char *const *name = user;
    char text[400];

    if (finding->severity != ROCE_SEV_ERROR || ++errors > 3)
        return;
    roce_finding_text(finding, text, sizeof(text));
    suite_fail(__FILE__, __LINE__, "capture %s, frame %u: %s %s", *name, finding->frame,
               roce_rule_info(finding->rule)->id, text);
}

static bool is_there(enum lane lane, bool sent)
{
    bool thin = rng_below(&rng, 1000) < permille; /* drawn for every capture, so that each frame
                                                   * uses the same number of random numbers */

    switch (lane) {
    case HEAD: return frames > head;
    case THIN: return !thin;
    case ONE_WAY: return sent == way;
    case SPOILED: return frames > head && !thin;
    default: return true;
    }
}

static void feed(const uint8_t *frame, size_t len, uint64_t now, bool sent)
{
    frames++;
    for (enum lane lane = 0; lane < LANES; lane++) {
        struct roce_pkt pkt;
        struct roce_flow_in in = {.pkt = &pkt, .frame = frames, .time = now};
        size_t cap = (lane == CUT || lane == SPOILED) && len > snap ? snap : len;

        if (!is_there(lane, sent) || roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, cap, len) != 0)
            continue;
        in.icrc = lane == NO_ICRC ? ROCE_ICRC_UNVERIFIED : roce_pkt_icrc_check(&pkt, NULL);
        roce_flow_feed(flow[lane], &in, NULL);
    }
}

void flow_oracle_arrived(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now)
{
    (void)ctx;
    if (to == watched)
        feed(frame, len, now, false);
}

static void (*conn_fn)(void *user, const struct roce_conn_summary *conn);
static void *conn_user;

static void on_conn(void *user, const struct roce_conn_summary *conn)
{
    (void)user;
    if (conn_fn)
        conn_fn(conn_user, conn);
}

void flow_oracle_begin(struct simnet *net, unsigned node, uint64_t seed)
{
    rng = rng_of(seed ^ 0x776972656a756467u);
    for (enum lane lane = 0; lane < LANES; lane++) {
        const struct roce_flow_opts opts = {.on_finding = on_finding,
                                            .on_conn = lane == WHOLE ? on_conn : NULL,
                                            .user = (void *)(uintptr_t)&names[lane]};

        flow[lane] = roce_flow_new(&opts);
        if (!flow[lane])
            abort();
    }
    head = rng_below(&rng, 200);
    permille = 10 + rng_below(&rng, 191);
    snap = 64 + rng_below(&rng, 65);
    way = rng_below(&rng, 2);
    watched = node;
    errors = 0;
    frames = 0;
    net->arrive = flow_oracle_arrived;
}

void flow_oracle_sent(const struct simnet_event *event)
{
    if (event->from == watched)
        feed(event->pkt->frame, event->pkt->wire_len, event->now, true);
}

void flow_oracle_end(void (*fn)(void *user, const struct roce_conn_summary *conn), void *user)
{
    conn_fn = fn;
    conn_user = user;
    for (enum lane lane = 0; lane < LANES; lane++) {
        roce_flow_finish(flow[lane]);
        roce_flow_del(flow[lane]);
        flow[lane] = NULL;
    }
    /* If the network loses the only packet, the observed node has no frame. This is rare. If more
     * observations have no frame, the test does not pass its frames to the oracle. */
    runs++;
    empty += frames == 0;
    CU_ASSERT(empty <= 1 + runs / 20);
    EXPECT_EQ(errors, 0);
}

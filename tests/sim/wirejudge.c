/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/wirejudge.h"

#include <stdlib.h>
#include "flow/flow.h"
#include "support/suite.h"

static struct roce_flow *flow;
static unsigned watched;
static unsigned errors;
static unsigned frames;

static void on_finding(void *user, const struct roce_finding *finding)
{
    char text[400];

    (void)user;
    if (finding->severity != ROCE_SEV_ERROR || ++errors > 3)
        return;
    roce_finding_text(finding, text, sizeof(text));
    suite_fail(__FILE__, __LINE__, "frame %u: %s", frames, text);
}

static void feed(const uint8_t *frame, size_t len, uint64_t now)
{
    struct roce_pkt pkt;
    struct roce_flow_in in = {.pkt = &pkt, .frame = ++frames, .time = now};

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    in.icrc = roce_pkt_icrc_check(&pkt, NULL);
    if (in.icrc != ROCE_ICRC_GOOD)
        return; /* what the network did to a packet no device is to blame for */
    roce_flow_feed(flow, &in, NULL);
}

static void arrive(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now)
{
    (void)ctx;
    if (to == watched)
        feed(frame, len, now);
}

void wirejudge_begin(struct simnet *net, unsigned node)
{
    const struct roce_flow_opts opts = {.on_finding = on_finding};

    flow = roce_flow_new(&opts);
    if (!flow)
        abort();
    watched = node;
    errors = 0;
    frames = 0;
    net->arrive = arrive;
}

void wirejudge_sent(const struct simnet_event *event)
{
    if (event->from == watched)
        feed(event->pkt->frame, event->pkt->wire_len, event->now);
}

void wirejudge_end(void)
{
    roce_flow_finish(flow);
    roce_flow_del(flow);
    flow = NULL;
    CU_ASSERT(frames > 0);
    EXPECT_EQ(errors, 0);
}

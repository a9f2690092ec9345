/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/flow_oracle.h"

#include <stdio.h>
#include <string.h>

/* Request packets remembered: a whole send queue of ours. */
#define WINDOW_MAX 32768u

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct judge *judge = user;
    char text[JUDGE_TEXT_MAX - 64];

    /* A second NAK is a WARN in a capture only because it may hold a packet twice; here no packet
     * is seen twice that was not sent twice. */
    bool proof = finding->severity == ROCE_SEV_ERROR || finding->rule == ROCE_RULE_NAK_TWICE;

    /* While a frame is looked at, what is found is about its sender; at the end the side tells. */
    if (!proof || (finding->frame == judge->frame ? !judge->own : finding->side != judge->side))
        return;
    if (judge->doubt) {
        judge->doubtful++;
        return;
    }
    if (judge->errors++ == 0)
        snprintf(judge->first, sizeof(judge->first), "%s: frame %u: %s",
                 roce_rule_info(finding->rule)->id, finding->frame,
                 roce_finding_text(finding, text, sizeof(text)));
}

bool judge_init(struct judge *judge)
{
    struct roce_flow_opts opts = {
        .window_max = WINDOW_MAX, .user = judge, .on_finding = on_finding};

    memset(judge, 0, sizeof(*judge));
    judge->side = -1;
    judge->flow = roce_flow_new(&opts);
    return judge->flow != NULL;
}

void judge_frame(struct judge *judge, bool own, const uint8_t *data, size_t len, uint64_t now)
{
    struct roce_flow_result result;
    struct roce_flow_in in;
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, data, len, len) != 0)
        return;
    judge->own = own;
    in = (struct roce_flow_in){
        .pkt = &pkt, .frame = ++judge->frame, .time = now, .icrc = roce_pkt_icrc_check(&pkt, NULL)};
    roce_flow_feed(judge->flow, &in, &result);
    if (!own || (result.flags & ROCE_AN_DROPPED))
        return;
    judge->side = result.side;
    judge->repeated += (result.flags & ROCE_AN_RETRANSMISSION) != 0;
}

void judge_doubt(struct judge *judge)
{
    judge->doubt = true;
}

void judge_finish(struct judge *judge)
{
    judge->frame++; /* no frame is looked at any more */
    if (judge->flow)
        roce_flow_finish(judge->flow);
    roce_flow_del(judge->flow);
    judge->flow = NULL;
}

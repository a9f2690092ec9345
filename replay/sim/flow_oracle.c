/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/flow_oracle.h"

#include <stdio.h>
#include <string.h>

/* Maximum number of request packets that rnic/flow remembers: the length of our longest send
 * queue. */
#define WINDOW_MAX 32768u

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct flow_oracle *oracle = user;
    char text[FLOW_ORACLE_TEXT_MAX - 64];

    /* In a capture, rnic/flow may report a second NAK only as WARN, because the capture may contain
     * one packet twice. The oracle passes each frame of our endpoint to rnic/flow once, so a second
     * NAK is an error. */
    bool proof = finding->severity == ROCE_SEV_ERROR || finding->rule == ROCE_RULE_NAK_TWICE ||
                 (finding->severity == ROCE_SEV_WARN && oracle->counts_warn &&
                  oracle->counts_warn(oracle->user, finding->rule));

    /* Count only findings about our endpoint. A finding about the current frame concerns the sender
     * of this frame. Any other finding names its endpoint in finding->side. */
    if (!proof || (finding->frame == oracle->frame ? !oracle->own : finding->side != oracle->side))
        return;
    if (oracle->ignores && oracle->ignores(oracle->user, finding->rule))
        return;
    if (oracle->doubt) {
        oracle->doubtful++;
        return;
    }
    if (oracle->errors++ == 0)
        snprintf(oracle->first, sizeof(oracle->first), "%s: frame %u: %s",
                 roce_rule_info(finding->rule)->id, finding->frame,
                 roce_finding_text(finding, text, sizeof(text)));
}

bool flow_oracle_init(struct flow_oracle *oracle)
{
    struct roce_flow_opts opts = {
        .window_max = WINDOW_MAX, .user = oracle, .on_finding = on_finding};

    memset(oracle, 0, sizeof(*oracle));
    oracle->side = -1;
    oracle->flow = roce_flow_new(&opts);
    return oracle->flow != NULL;
}

void flow_oracle_feed(struct flow_oracle *oracle, bool own, const uint8_t *data, size_t len,
                      uint64_t now)
{
    struct roce_flow_result result;
    struct roce_flow_in in;
    struct roce_pkt pkt;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, data, len, len) != 0)
        return;
    oracle->own = own;
    in = (struct roce_flow_in){.pkt = &pkt,
                               .frame = ++oracle->frame,
                               .time = now,
                               .icrc = roce_pkt_icrc_check(&pkt, NULL)};
    roce_flow_feed(oracle->flow, &in, &result);
    if (!own || (result.flags & ROCE_AN_DROPPED))
        return;
    oracle->side = result.side;
    oracle->repeated += (result.flags & ROCE_AN_RETRANSMISSION) != 0;
}

void flow_oracle_distrust(struct flow_oracle *oracle)
{
    oracle->doubt = true;
}

void flow_oracle_finish(struct flow_oracle *oracle)
{
    oracle->frame++; /* no frame has this number, so on_finding() uses the side of the finding */
    if (oracle->flow)
        roce_flow_finish(oracle->flow);
    roce_flow_del(oracle->flow);
    oracle->flow = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "scenario.h"

#include <stdlib.h>
#include "support/suite.h"

/* Virtual time in ns after which no request is still pending. */
#define LONG_TIME UINT64_C(60000000000)

static struct scenario scenario;

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct scenario *s = user;
    char text[400];

    if (finding->severity != ROCE_SEV_ERROR || ++s->findings > 3)
        return;
    roce_finding_text(finding, text, sizeof(text));
    suite_fail(__FILE__, __LINE__, "frame %u: %s: %s", finding->frame,
               roce_rule_info(finding->rule)->id, text);
}

static bool run(uint64_t seed, const struct simnet_rule *strike)
{
    struct scenario *s = &scenario;
    const struct roce_flow_opts opts = {.user = s, .on_finding = on_finding};
    struct simnet_rule *rule = NULL;
    const char *record = getenv("ROCEDRILL_RECORD");
    bool hit;

    scenario_make(s, seed);
    if (strike) {
        s->faults = true;
        rule = simnet_rule(&s->fabric.net, strike);
    }
    if (record && !simnet_record(&s->fabric.net, record))
        suite_fail(__FILE__, __LINE__, "%s: cannot be written", record);
    s->judge = roce_flow_new(&opts);
    if (!s->judge)
        abort();
    s->fabric.net.ctx = s;
    s->fabric.net.tick = scenario_tick;
    s->fabric.net.observe = scenario_observe;
    s->fabric.net.arrive = scenario_arrive;
    s->fabric.net.switched = scenario_switched;
    /* A slow receiver posts its receive WQEs only at ticks. If the network is idle before they are
     * all posted, run again: the next tick posts some of them. */
    for (unsigned i = 0; i < 400 && (i == 0 || !scenario_idle(s)); i++)
        simnet_run(&s->fabric.net, s->fabric.net.now + LONG_TIME);
    s->resting = true;
    scenario_tick(s, s->fabric.net.now); /* a last tick polls the completions of requests that were
                                          * posted to a QP in the error state */
    roce_flow_finish(s->judge);
    roce_flow_del(s->judge);
    scenario_check(s);
    hit = rule && rule->hits;
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            oracle_free(&s->link[i].end[e].witness);
    for (unsigned d = 0; d < s->fabric.dev_cnt; d++) {
        free(s->first[d]);
        free(s->expected[d]);
    }
    fabric_free(&s->fabric);
    return hit;
}

void scenario_run(uint64_t seed)
{
    run(seed, NULL);
}

bool scenario_strike(uint64_t seed, unsigned cls, unsigned nth, enum simnet_action action,
                     uint64_t delay_ns)
{
    const struct simnet_rule rule = {
        .from = -1, .classes = 1u << cls, .nth = nth, .action = action, .delay_ns = delay_ns};

    return run(seed, &rule);
}

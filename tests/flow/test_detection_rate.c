/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Detection rate: how often the analysis engine still reports a violation (cases_*.c) if the
 * capture lacks some packets, a direction, or its beginning. In a complete capture it must report
 * every violation (test_cases.c). In an incomplete one it cannot: the packet that proves the
 * violation may be missing, or missing packets may explain what looks wrong.
 *
 * SHARES_PRINT=1 prints the current rates as rows of the table below. If a rate is lower than in
 * the table, the test fails, because the engine detects less than before.
 */
#include <stdio.h>
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

#define DRAWS 50
/* tolerance, percent: the test fails if a rate is lower than the recorded rate by more than this */
#define SLACK 4

enum spoil {
    LACKS_1, /* one percent of the packets is missing, at random */
    LACKS_5,
    LACKS_20,
    SIDE_A, /* only packets of side A are captured */
    SIDE_B,
    HEAD, /* the first packets are missing, at most half of the capture */
    SPOILS
};

/* `least`: for each kind of incomplete capture, lowest percentage of violations of the rule that
 * the analysis engine must detect */
static const struct {
    const char *rule;
    uint8_t least[SPOILS];
} rows[] = {
/* clang-format off */
#include "detection_rate.def"
    /* clang-format on */
};

static unsigned share(const struct rule_case *c, enum spoil spoil)
{
    static const uint32_t permille[] = {10, 50, 200};
    unsigned found = 0, draws = spoil == SIDE_A || spoil == SIDE_B ? 1 : DRAWS;
    struct rng rng = rng_of(7);
    static struct verdict v;
    struct flowgen g;

    flowgen_begin(&g);
    c->build(&g, true);
    for (unsigned i = 0; i < draws; i++) {
        struct judge_spoil s = {.rng = &rng};

        if (spoil <= LACKS_20)
            s.drop_permille = permille[spoil];
        s.one_side = spoil == SIDE_A || spoil == SIDE_B;
        s.side = spoil == SIDE_B;
        if (spoil == HEAD)
            s.head = 1 + rng_below(&rng, (uint32_t)(g.frame_cnt + 1) / 2);
        judge(&g, NULL, &s, &v);
        found += judge_found(&v, c->rule);
    }
    flowgen_free(&g);
    return found * 100 / draws;
}

static const uint8_t *row_of(const char *id)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].rule, id) == 0)
            return rows[i].least;
    return NULL;
}

static void every_rule_is_detected_often_enough(void)
{
    static const char *const names[] = {"1 % missing", "5 % missing", "20 % missing",
                                        "A only",      "B only",      "head missing"};
    unsigned sum[SPOILS] = {0}, cnt = 0;
    bool print = suite_env("SHARES_PRINT", 0);

    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        const struct rule_case *c = rule_case_of((enum roce_rule)i);
        const char *id = roce_rule_info((enum roce_rule)i)->id;
        const uint8_t *least = row_of(id);
        unsigned now[SPOILS];

        if (!c)
            continue;
        for (enum spoil s = 0; s < SPOILS; s++) {
            now[s] = share(c, s);
            sum[s] += now[s];
            if (least && now[s] + SLACK < least[s])
                suite_fail(__FILE__, __LINE__,
                           "%s, %s: %u %% of the violations are reported, not %u %% as before", id,
                           names[s], now[s], least[s]);
        }
        cnt++;
        if (print)
            printf("{\"%s\",%*s{%3u, %3u, %3u, %3u, %3u, %3u}},\n", id, 15 - (int)strlen(id), "",
                   now[0], now[1], now[2], now[3], now[4], now[5]);
        if (!least)
            suite_fail(__FILE__, __LINE__, "no row for %s", id);
    }
    for (enum spoil s = 0; s < SPOILS; s++)
        printf("    %-14s %u %% of the violations are reported, mean of %u rules\n", names[s],
               sum[s] / cnt, cnt);
    CU_PASS("as often as before");
}

SUITE("flow.detection_rate", TEST(every_rule_is_detected_often_enough))

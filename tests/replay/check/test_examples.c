/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The examples of --explain: for each rule, the packets of a conversation that violates the rule
 * (tests/flow/cases_*.c) and the finding that rnic/flow reports. The program includes the examples
 * from replay/check/explain_examples.def. This test generates them again and expects the text of
 * that file. If the cases or the finding texts change, generate the file with:
 *
 *   ROCEDRILL_WRITE=replay/check/explain_examples.def build/bin/test_replay_examples
 */
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "check/explain.h"
#include "flow/cases.h"
#include "support/suite.h"

#define BEFORE     3u /* number of frames shown before the frame of the finding */
#define TEXT_MAX   4096u
#define LINE_WORDS 400u

/* First finding of a rule. */
struct first {
    enum roce_rule rule;
    struct roce_finding finding;
    bool found;
};

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct first *first = user;

    if (finding->rule == first->rule && !first->found) {
        first->finding = *finding;
        first->found = true;
    }
}

static void judge_all(const struct flowgen *g, struct first *first)
{
    const struct roce_flow_opts opts = {.user = first, .on_finding = on_finding};
    struct roce_flow *flow = roce_flow_new(&opts);

    for (size_t i = 0; i < g->frame_cnt; i++) {
        const struct flowgen_frame *f = &g->frame[i];
        struct roce_pkt pkt;
        struct roce_flow_in in = {.pkt = &pkt, .frame = (uint32_t)i + 1, .time = f->time};

        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g->bytes + f->off, f->len, f->len) != 0)
            continue;
        in.icrc = roce_pkt_icrc_check(&pkt, NULL);
        roce_flow_feed(flow, &in, NULL);
    }
    roce_flow_finish(flow);
    roce_flow_del(flow);
}

static void frame_line(struct strbuf *t, const struct flowgen *g, uint32_t number)
{
    const struct flowgen_frame *f = &g->frame[number - 1];
    struct roce_pkt pkt;
    char buf[LINE_WORDS];
    struct strbuf words = strbuf_of(buf, sizeof(buf));

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g->bytes + f->off, f->len, f->len) == 0) {
        packet_text_full(&words, &pkt);
        packet_text_defects(&words, &pkt);
    } else
        strbuf_addf(&words, "cannot be read");
    strbuf_addf(t, "  frame %-4u %10.6f s  %s %s\n", number,
                (double)(f->time - g->frame[0].time) / 1e9, f->side ? "←" : "→", buf);
}

/* Returns whether the example shows a frame. The example shows the first frame, the frame of the
 * finding, up to BEFORE frames before the finding, and the earlier frame to which the finding
 * refers. */
static bool is_shown(const struct roce_finding *f, uint32_t number)
{
    return number == 1 || number == f->other_frame ||
           (number <= f->frame && number + BEFORE >= f->frame);
}

static void render(const struct rule_case *c, char *buf)
{
    struct first first = {.rule = c->rule};
    struct strbuf t = strbuf_of(buf, TEXT_MAX);
    struct flowgen g;
    uint32_t left_out = 0;
    char words[LINE_WORDS];

    flowgen_init(&g);
    g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
    c->build(&g, true);
    judge_all(&g, &first);
    for (uint32_t n = 1; first.found && n <= g.frame_cnt; n++) {
        if (!is_shown(&first.finding, n)) {
            left_out += n < first.finding.frame;
            continue;
        }
        if (left_out)
            strbuf_addf(&t, "  ... %u more\n", left_out);
        left_out = 0;
        frame_line(&t, &g, n);
    }
    if (first.found)
        strbuf_addf(&t, "  found in frame %u: %s %s\n", first.finding.frame,
                    roce_severity_name(first.finding.severity),
                    roce_finding_text(&first.finding, words, sizeof(words)));
    flowgen_free(&g);
    CU_ASSERT(first.found);
}

static const char *name_of(enum roce_rule rule)
{
    static const char *const names[ROCE_RULE_CNT] = {
#define RULE(NAME, id, severity, svc, judge, text, source) [ROCE_RULE_##NAME] = #NAME,
#include "flow/base/rules.def"
#include "util/strbuf.h"
    };

    return names[rule];
}

static void write_row(FILE *out, const char *name, const char *text)
{
    fprintf(out, "EXAMPLE(%s,\n    \"", name);
    for (const char *p = text; *p; p++)
        if (*p == '\n')
            fprintf(out, p[1] ? "\\n\"\n    \"" : "\\n");
        else if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else
            fputc(*p, out);
    fprintf(out, "\")\n");
}

static void they_are_what_is_found(void)
{
    const char *path = getenv("ROCEDRILL_WRITE");
    FILE *out = path ? fopen(path, "w") : NULL;
    char text[TEXT_MAX];

    if (out)
        fprintf(out, "/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */\n"
                     "/* Examples that --explain prints, one for each rule. "
                     "tests/replay/check/test_examples.c writes this file. */\n"
                     "/* clang-format off */\n");
    for (int i = 0; i < ROCE_RULE_CNT; i++) {
        enum roce_rule rule = (enum roce_rule)i;
        const char *kept = explain_example(rule);

        if (!rule_case_of(rule)) {
            CU_ASSERT_PTR_NULL(kept);
            continue;
        }
        render(rule_case_of(rule), text);
        if (out)
            write_row(out, name_of(rule), text);
        else if (!kept || strcmp(kept, text) != 0)
            suite_fail(__FILE__, __LINE__, "%s: the example is not what is found; it is now:\n%s",
                       roce_rule_info(rule)->id, text);
    }
    CU_PASS("all compared");
    if (!out)
        return;
    fprintf(out, "/* clang-format on */\n\n#undef EXAMPLE\n");
    CU_ASSERT(fclose(out) == 0);
}

SUITE("replay.examples", TEST(they_are_what_is_found))

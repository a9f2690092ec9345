/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Engine of drills: each way in which a device can meet or miss an expected line has the right
 * verdict. The device is the software RNIC. The examples of the documentation are played too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "drill/device/device_rnic.h"
#include "drill/engine.h"
#include "drill/parser.h"
#include "support/suite.h"
#include "wire/pkt.h"

#define HEAD                                                                                       \
    "purpose p\nrules RC-RSP-099\nrole both\n"                                                     \
    "mr M len 4096 access read,write fill 1\npeer R len 64 fill 2\nqp Q rc timeout 10\n"
/* A WRITE that the device acknowledges at once, with MSN 1. It is line 7 of the drill. */
#define WRITE_ACKED "+0 < WRITE Only PSN +0 va M+0 payload 8 fill 3 AckReq\n"

static struct drill_result play(const char *events, const char *lacking)
{
    struct drill_result result = {.verdict = DRILL_VERDICT_CNT};
    struct error error = {""};
    struct script script;
    char text[2048];

    snprintf(text, sizeof(text), HEAD "%s", events);
    if (script_parse(&script, "t.drill", text, strlen(text), 0, &error) == 0)
        drill_run(&script, &device_rnic_ops, NULL, lacking, &result);
    else
        suite_fail(__FILE__, __LINE__, "%s", error.text);
    script_free(&script);
    return result;
}

/* Plays events and expects a verdict, the line of the problem (0: none), and a part of the
 * problem's text. */
static void expect(const char *events, enum drill_verdict verdict, unsigned line,
                   const char *problem)
{
    struct drill_result r = play(events, NULL);

    if (r.verdict != verdict || r.line != line || !strstr(r.problem, problem))
        suite_fail(__FILE__, __LINE__, "expected %s line %u '%s', actual %s line %u '%s' with:\n%s",
                   drill_verdict_name(verdict), line, problem,
                   r.verdict < DRILL_VERDICT_CNT ? drill_verdict_name(r.verdict) : "?", r.line,
                   r.problem, events);
    drill_result_free(&r);
}

static void packet_as_expected_passes(void)
{
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK MSN 1\n", DRILL_PASS, 0, "");
    expect(WRITE_ACKED "+0~+1ms > acks through PSN +0 MSN 1\n", DRILL_PASS, 0, "");
}

/* Sends the frames of the software RNIC to another MAC address. */
static size_t send_to_another_mac(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now)
{
    size_t len = device_rnic_ops.output(dev, buf, cap, now);

    if (len)
        buf[5] ^= 0x40;
    return len;
}

static void packet_to_another_mac_fails(void)
{
    static const char text[] = HEAD WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK\n";
    struct drill_device_ops ops = device_rnic_ops;
    struct drill_result result;
    struct script script;
    struct error error;

    ops.output = send_to_another_mac;
    EXPECT_EQ(script_parse(&script, "t.drill", text, strlen(text), 0, &error), 0);
    drill_run(&script, &ops, NULL, NULL, &result);
    EXPECT_EQ(result.verdict, DRILL_FAIL);
    CU_ASSERT_STRING_EQUAL(result.diff.field, "eth.dst");
    drill_result_free(&result);
    script_free(&script);
}

static void packet_that_differs_fails_with_its_field(void)
{
    struct drill_result r =
        play(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 ACK MSN 2 [RC-RSP-102 RC-RSP-103]\n", NULL);

    EXPECT_EQ(r.verdict, DRILL_FAIL);
    EXPECT_EQ(r.line, 8);
    CU_ASSERT_STRING_EQUAL(r.diff.field, "aeth.msn");
    CU_ASSERT_STRING_EQUAL(r.diff.expected, "2");
    CU_ASSERT_STRING_EQUAL(r.diff.actual, "1");
    CU_ASSERT_STRING_EQUAL(r.rules, "RC-RSP-102 RC-RSP-103");
    EXPECT_EQ(r.log_cnt, 3); /* rows of the WRITE, of the ACK, and of the problem */
    EXPECT_EQ(r.log[1].mark, DRILL_MARK_DIFF);
    drill_result_free(&r);
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +1 ACK\n", DRILL_FAIL, 8,
           "expected +1, actual +0");
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN -1 ACK\n", DRILL_FAIL, 8,
           "expected -1, actual +0");
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN +0 NAK sequence\n", DRILL_FAIL, 8,
           "aeth.syndrome");
    expect("+0 < WRITE Only PSN +0 va M+0 rkey 1 payload 8 AckReq\n"
           "+0 > Acknowledge PSN +0 ACK\n",
           DRILL_FAIL, 8, "aeth.syndrome: expected ACK, actual");
    expect(WRITE_ACKED "+0~+1ms > READ Response Only PSN +0\n", DRILL_FAIL, 8, "bth.opcode");
    expect(WRITE_ACKED "+0~+1ms > acks through PSN +0 MSN 3\n", DRILL_FAIL, 8, "aeth.msn");
    expect(WRITE_ACKED "+0~+1ms > acks through PSN -1\n", DRILL_FAIL, 8,
           "expected an ACK of at most PSN -1");
    expect("+0 < READ Request PSN +0 va M+0 len 8\n+0 > READ Response Only PSN +0 payload 9\n",
           DRILL_FAIL, 8, "payload length: expected 9, actual 8");
    expect("+0 < READ Request PSN +0 va M+0 len 8\n+0 > READ Response Only PSN +0 fill 2\n",
           DRILL_FAIL, 8, "byte 0 of 8");
    expect("+0 < READ Request PSN +0 va M+0 len 8\n+0 > acks through PSN +0\n", DRILL_FAIL, 8,
           "expected an ACK");
}

static void packet_that_does_not_come_fails(void)
{
    expect("+0~+1ms > Acknowledge PSN +0 ACK\n", DRILL_FAIL, 7,
           "no packet within 1 ms after the start");
    expect("+0~+1ms > acks through PSN +0\n", DRILL_FAIL, 7, "no acknowledgement within 1 ms");
    expect("+0~+1ms >? Acknowledge PSN +0 ACK\n", DRILL_PASS, 0, "");
}

static void failure_names_a_number_that_is_probably_not_intended(void)
{
    expect("+0 < WRITE Only PSN 0 va M+0 payload 8 AckReq\n"
           "+0~+1ms > Acknowledge PSN +0 ACK\n",
           DRILL_FAIL, 8,
           "; PSN 0 of line 7 is absolute, but the connection starts at PSN 100: did you "
           "mean PSN +0?");
    expect(WRITE_ACKED "+0~+1ms > Acknowledge PSN 0 ACK\n", DRILL_FAIL, 8,
           "; PSN 0 of line 8 is absolute, but the connection starts at PSN 100");
    expect("+0 < WRITE Only PSN +0 va M+0 len 64 AckReq\n+0~+1ms > Acknowledge PSN +0 ACK\n",
           DRILL_FAIL, 8, "; line 7 has len 64 but sends 0 bytes of payload");
}

static void packet_outside_its_time_fails(void)
{
    static const char post[] = "+0 post send Q id 1 from M+0 len 8\n+0 > SEND Only PSN +0\n";
    char text[512];

    snprintf(text, sizeof(text), "%s+100ms~+200ms > SEND Only PSN +0\n", post);
    expect(text, DRILL_FAIL, 9, "after line 8, expected at least 100 ms");
    snprintf(text, sizeof(text), "%s+0~+1ms > SEND Only PSN +0\n", post);
    expect(text, DRILL_FAIL, 9, "no packet within 1 ms");
    snprintf(text, sizeof(text), "%s+4ms~+17ms > SEND Only PSN +0\n", post);
    expect(text, DRILL_PASS, 0, "");
}

static void everything_unexpected_fails(void)
{
    expect(WRITE_ACKED, DRILL_FAIL, 0,
           "after line 7: no line expects this packet of the device: Acknowledge");
    expect(WRITE_ACKED "+0~+1ms > nothing\n", DRILL_FAIL, 8, "expected none; actual: Ack");
    expect(WRITE_ACKED "* > nothing\n+0 > Acknowledge PSN +0 ACK\n", DRILL_FAIL, 8,
           "in the whole drill");
    expect("+0 post send Q id 1 from M+0 len 8\n+0 > SEND Only PSN +0\n"
           "+0 < Acknowledge PSN +0 ACK\n",
           DRILL_FAIL, 0, "after line 9: no line expects this completion: id 1 success");
    expect(
        "+0 < WRITE Only PSN +0 va M+0 rkey 1 payload 8 AckReq\n"
        "+0 > Acknowledge PSN +0 NAK remote-access\n",
        DRILL_FAIL, 0,
        "after line 8: no line expects this event; add a line: +0~+50ms  event qp-access-error Q");
    expect(
        "+0 < WRITE Only PSN +0 va M+0 rkey 1 payload 8 AckReq\n"
        "+0 > Acknowledge PSN +0 NAK remote-access\n+1ms qp Q is ERR\n",
        DRILL_FAIL, 0,
        "after line 8: no line expects this event; add a line: +0~+50ms  event qp-access-error Q");
}

static void asynchronous_event_has_a_line_and_a_mark(void)
{
    struct drill_result r = play("+0 < WRITE Only PSN +0 va M+0 rkey 1 payload 8 AckReq\n"
                                 "+0 > Acknowledge PSN +0 NAK remote-access\n"
                                 "+0~+50ms event qp-access-error Q\n",
                                 NULL);
    unsigned rows = 0;

    EXPECT_EQ(r.verdict, DRILL_PASS);
    for (size_t i = 0; i < r.log_cnt; i++) {
        if (strcmp(r.log[i].text, "event qp-access-error Q") != 0)
            continue;
        rows++;
        EXPECT_EQ(r.log[i].line, 9);
        EXPECT_EQ(r.log[i].mark, DRILL_MARK_OK);
    }
    EXPECT_EQ(rows, 1);
    drill_result_free(&r);
}

static void another_event_is_named(void)
{
    expect("+0 < WRITE Only PSN +0 va M+0 rkey 1 payload 8 AckReq\n"
           "+0 > Acknowledge PSN +0 NAK remote-access\n"
           "+0~+50ms event last-wqe-reached Q\n",
           DRILL_FAIL, 9, "event: expected last-wqe-reached Q, actual qp-access-error Q");
    /* The event communication-established is always permitted, so it is not the wrong event. */
    expect(WRITE_ACKED "+0 > Acknowledge PSN +0 ACK\n+0~+50ms event last-wqe-reached Q\n",
           DRILL_FAIL, 9, "no asynchronous event within 50 ms after line 8");
}

static void every_line_with_the_time_star_is_checked(void)
{
    char events[1024] = "";
    size_t len = 0;

    for (unsigned i = 0; i < 70; i++)
        len += (size_t)snprintf(events + len, sizeof(events) - len, "* no event\n");
    snprintf(events + len, sizeof(events) - len,
             "* > nothing\n" WRITE_ACKED "+0 > Acknowledge PSN +0 ACK\n");
    expect(events, DRILL_FAIL, 77, "in the whole drill, but 1 occurred");
}

/* The drill has a second QP B, on which nothing happens. */
static void no_comp_of_a_qp_permits_completions_of_other_qps(void)
{
    static const char events[] = "qp B rc\n%s+0 post send Q id 1 from M+0 len 8\n"
                                 "+0 > Q: SEND Only PSN +0\n+0 < Q: Acknowledge PSN +0 ACK\n"
                                 "+0 comp Q id 1 success\n";
    char text[512];

    snprintf(text, sizeof(text), events, "* no comp B\n");
    expect(text, DRILL_PASS, 0, "");
    snprintf(text, sizeof(text), events, "* no comp Q\n");
    expect(text, DRILL_FAIL, 8, "in the whole drill, but 1 occurred");
    snprintf(text, sizeof(text), events, "* no comp\n");
    expect(text, DRILL_FAIL, 8, "in the whole drill, but 1 occurred");
}

static void completions_are_compared(void)
{
#define SENT                                                                                       \
    "+0 recv Q id 5 len 64\n+0 < SEND Only with Immediate PSN +0 payload 8 fill 3 imm 7 AckReq\n"  \
    "+0 > Acknowledge PSN +0 ACK\n"
    expect(SENT "+0 comp recv Q id 5 success len 8 imm 7 fill 3\n", DRILL_PASS, 0, "");
    expect(SENT "+0 comp Q id 5 success\n", DRILL_FAIL, 10, "but a completion of a receive,");
    expect(SENT "+0 comp recv Q id 6 success\n", DRILL_FAIL, 10, "id: expected 6, actual 5");
    expect(SENT "+0 comp recv Q id 5 flushed\n", DRILL_FAIL, 10,
           "status: expected flushed, actual success");
    expect(SENT "+0 comp recv Q id 5 success len 9\n", DRILL_FAIL, 10, "len: expected 9");
    expect(SENT "+0 comp recv Q id 5 success imm 8\n", DRILL_FAIL, 10, "imm: expected 0x8");
    expect(SENT "+0 comp recv Q id 5 success fill 4\n", DRILL_FAIL, 10, "byte 0 of 8");
    expect(SENT "+0 comp recv Q id 5 success solicited\n", DRILL_FAIL, 10, "solicited");
    expect(SENT "+0 comp recv Q id 5 success invalidate M\n", DRILL_FAIL, 10, "invalidated key");
    expect(SENT "+0 no comp\n", DRILL_FAIL, 10, "completion of id 5, success");
    expect("+0~+1ms comp Q id 1 success\n", DRILL_FAIL, 7, "no completion within 1 ms");
#undef SENT
}

static void states_memory_and_counters_are_compared(void)
{
    expect("+0 qp Q is ERR\n", DRILL_FAIL, 7, "state: expected ERR, actual RTS");
    expect("+0 check M+0 len 8 is zero\n", DRILL_FAIL, 7, "byte 0 of 8: expected 0x00");
    expect("+0 check M+0 len 8 is fill 1\n+0 check M+8 len 8 is fill 1 at 8\n", DRILL_PASS, 0, "");
    expect("+0 check M+4090 len 8 is zero\n", DRILL_FAIL, 7, "not inside the memory region");
    expect("+0 counter rx_packets is 3\n", DRILL_FAIL, 7, "expected 3, actual 0");
    expect("+0 event qp-fatal\n", DRILL_FAIL, 7, "no asynchronous event");
}

static void verbs_must_do_as_the_line_says(void)
{
    expect("+0 recv Q id 1 len 8\n", DRILL_PASS, 0, "");
    expect("+0 post fetch-add Q id 1 from R to M len 7 add 1\n", DRILL_FAIL, 7,
           "the device refused the call");
    expect("+0 post fetch-add Q id 1 from R to M len 7 add 1 fails invalid\n", DRILL_PASS, 0, "");
    expect("+0 recv Q id 1 len 8 fails full\n", DRILL_FAIL, 7, "expected the call to fail with");
}

static void alternatives_decide_the_verdict(void)
{
    expect(WRITE_ACKED "+0~+1ms > nothing\n or > Acknowledge PSN +0 ACK\n", DRILL_PASS, 0, "");
    expect(WRITE_ACKED "+0~+1ms > nothing\n else > Acknowledge PSN +0 ACK known S1\n", DRILL_KNOWN,
           9, "");
    expect(WRITE_ACKED "+0~+1ms > nothing\n or > Acknowledge PSN +0 ACK inconclusive\n"
                       "+0 qp Q is ERR\n",
           DRILL_INCONCLUSIVE, 9, "no lines for the events after it");
    /* A line fails after a known deviation. The verdict must stay "known". */
    expect(WRITE_ACKED "+0~+1ms > nothing\n else > Acknowledge PSN +0 ACK known S1\n"
                       "+0 qp Q is ERR\n",
           DRILL_KNOWN, 10, "state");
    /* A packet that is only late can be a known deviation. */
    expect("+0 post send Q id 1 from M+0 len 8\n+0 > SEND Only PSN +0\n"
           "+0~+1ms > SEND Only PSN +0\n else +2ms~+20ms known S1\n",
           DRILL_KNOWN, 10, "");
    expect(WRITE_ACKED "+0~+1ms > nothing\n or > Acknowledge PSN +5 ACK\n", DRILL_FAIL, 8,
           "expected none");
}

static void alternatives_of_actions_decide_the_verdict(void)
{
    struct drill_result r;

    expect("+0 recv Q id 1 len 8 fails full\n else known S1\n", DRILL_KNOWN, 8, "");
    expect("+0 recv Q id 1 len 8\n else known S1\n", DRILL_PASS, 0, "");
    expect("+0 recv Q id 1 len 8 fails full\n or inconclusive\n+0 qp Q is ERR\n",
           DRILL_INCONCLUSIVE, 8, "no lines for the events after it");
    expect("+0 qp Q is ERR\n else qp Q is RTS known S1\n", DRILL_KNOWN, 8, "");
    expect("+0 qp Q is ERR\n or qp Q is RTS\n", DRILL_PASS, 0, "");
    expect("+0 qp Q is ERR\n else qp Q is SQD known S1\n", DRILL_FAIL, 7, "actual RTS");
    /* The result lists each known deviation once. */
    r = play("+0 qp Q is ERR\n else qp Q is RTS known S15\n"
             "+0 qp Q is ERR\n else qp Q is RTS known S1\n"
             "+0 qp Q is ERR\n else qp Q is RTS known S15\n",
             "");
    if (strcmp(r.known, "S15 S1") != 0)
        suite_fail(__FILE__, __LINE__, "expected the ids 'S15 S1', actual '%s'", r.known);
    drill_result_free(&r);
}

static void a_need_that_the_device_lacks_is_unsupported(void)
{
    struct drill_result r = play("+0 qp Q is RTS\n", "uc,xrc");

    EXPECT_EQ(r.verdict, DRILL_PASS);
    drill_result_free(&r);
    {
        static const char text[] =
            "purpose p\nrules R\nrole both\nneeds uc\nqp Q uc\n+0 qp Q is RTS\n";
        struct script script;
        struct error error;

        EXPECT_EQ(script_parse(&script, "t", text, strlen(text), 0, &error), 0);
        drill_run(&script, &device_rnic_ops, NULL, "ud,uc", &r);
        EXPECT_EQ(r.verdict, DRILL_UNSUPPORTED);
        CU_ASSERT_STRING_EQUAL(r.problem, "the device has no uc");
        drill_result_free(&r);
        drill_run(&script, &device_rnic_ops, NULL, "ud,u", &r);
        EXPECT_EQ(r.verdict, DRILL_PASS);
        drill_result_free(&r);
        script_free(&script);
    }
}

static void an_object_that_cannot_be_made_fails(void)
{
    static const char text[] =
        "purpose p\nrules R\nrole both\nqp Q rc sends 4000000000\n+0 qp Q is RTS\n";
    struct script script;
    struct error error;
    struct drill_result r;

    EXPECT_EQ(script_parse(&script, "t", text, strlen(text), 0, &error), 0);
    drill_run(&script, &device_rnic_ops, NULL, NULL, &r);
    EXPECT_EQ(r.verdict, DRILL_FAIL);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.problem, "t:4: Q: "));
    drill_result_free(&r);
    script_free(&script);
}

static void time_is_virtual_and_exact(void)
{
    struct drill_result r =
        play("+1ms recv Q id 1 len 8\n+2ms~+2ms > nothing\n+1s qp Q is RTS\n", NULL);

    EXPECT_EQ(r.verdict, DRILL_PASS);
    EXPECT_EQ(r.end, 1003000000);
    drill_result_free(&r);
}

/* ---- examples of the documentation ----------------------------------------------------------- */

static char *read_doc(void)
{
    FILE *file = fopen(DRILL_DOC, "rb");
    char *text = calloc(1, 1 << 20);

    if (file && text)
        CU_ASSERT(fread(text, 1, (1 << 20) - 1, file) > 0);
    if (file)
        fclose(file);
    return text;
}

/* Plays events and expects this MSN in the last frame that the drill sent. */
static void expect_own_msn(const char *events, uint32_t msn)
{
    struct drill_result r = play(events, NULL);
    struct roce_pkt pkt = {0};

    for (size_t i = 0; i < r.log_cnt; i++)
        if (r.log[i].frame && !r.log[i].from_dut)
            (void)roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, r.log[i].bytes, r.log[i].len,
                                 r.log[i].len);
    if (pkt.aeth.msn != msn)
        suite_fail(__FILE__, __LINE__, "MSN %u, expected %u: %s", pkt.aeth.msn, msn, events);
    drill_result_free(&r);
}

/* The drill, acting as responder, refuses a message with a NAK. The MSN of the NAK does not count
 * that message (RC-RSP-096). */
static void an_own_nak_does_not_count_the_refused_message(void)
{
    static const char two_sends[] =
        "+0 post send Q id 1 from M+0 len 8\n+0 post send Q id 2 from M+0 len 8\n"
        "+0 > SEND Only PSN +0\n+0 > SEND Only PSN +1\n";
    static const struct {
        const char *answer;
        uint32_t msn;
    } rows[] = {
        {"+0 < Acknowledge PSN +1 ACK\n", 2},
        {"+0 < Acknowledge PSN +0 ACK\n", 1},
        {"+0 < Acknowledge PSN +1 RNR NAK timer 1\n", 1},
        {"+0 < Acknowledge PSN +0 NAK sequence\n", 0},
        {"+0 < Acknowledge PSN +1 NAK remote-access\n", 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char events[512];

        snprintf(events, sizeof(events), "%s%s", two_sends, rows[i].answer);
        expect_own_msn(events, rows[i].msn);
    }
}

static void documentation_has_the_grammar(void)
{
    char *text = read_doc();

    CU_ASSERT_PTR_NOT_NULL(strstr(text, script_grammar));
    free(text);
}

static void examples_of_the_documentation_pass(void)
{
    char *text = read_doc(), *at = text;
    unsigned cnt = 0;

    while ((at = strstr(at, "```drill\n")) != NULL) {
        char *start = at + strlen("```drill\n"), *end = strstr(start, "```");
        struct script script;
        struct error error = {""};
        unsigned combinations = 1;

        for (unsigned i = 0; i < combinations; i++) {
            struct drill_result r;

            if (script_parse(&script, "drill.md", start, (size_t)(end - start), i, &error) != 0) {
                suite_fail(__FILE__, __LINE__, "example %u: %s", cnt + 1, error.text);
                script_free(&script);
                break;
            }
            combinations = script_combinations(&script);
            drill_run(&script, &device_rnic_ops, NULL, NULL, &r);
            if (r.verdict != DRILL_PASS)
                suite_fail(__FILE__, __LINE__, "example %u: line %u: %s", cnt + 1, r.line,
                           r.problem);
            drill_result_free(&r);
            script_free(&script);
        }
        cnt++;
        at = end;
    }
    EXPECT_EQ(cnt, 10);
    free(text);
}

SUITE("replay.drill_engine", TEST(packet_as_expected_passes), TEST(packet_to_another_mac_fails),
      TEST(packet_that_differs_fails_with_its_field), TEST(packet_that_does_not_come_fails),
      TEST(failure_names_a_number_that_is_probably_not_intended),
      TEST(packet_outside_its_time_fails), TEST(everything_unexpected_fails),
      TEST(asynchronous_event_has_a_line_and_a_mark), TEST(another_event_is_named),
      TEST(every_line_with_the_time_star_is_checked),
      TEST(no_comp_of_a_qp_permits_completions_of_other_qps), TEST(completions_are_compared),
      TEST(states_memory_and_counters_are_compared), TEST(verbs_must_do_as_the_line_says),
      TEST(alternatives_decide_the_verdict), TEST(alternatives_of_actions_decide_the_verdict),
      TEST(a_need_that_the_device_lacks_is_unsupported), TEST(an_object_that_cannot_be_made_fails),
      TEST(time_is_virtual_and_exact), TEST(an_own_nak_does_not_count_the_refused_message),
      TEST(documentation_has_the_grammar), TEST(examples_of_the_documentation_pass))

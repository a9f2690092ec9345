/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parser of drills: it accepts each form of the grammar, and reports each error with its line and
 * column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "drill/parser.h"
#include "drill/words.h"
#include "support/suite.h"

#define HEAD "purpose p\nrules RC-RSP-099\nrole responder\n"
#define OBJECTS                                                                                    \
    "mr M len 4096 access write\npeer R len 64\nqp Q rc\nqp U ud\ncq C\nsrq S\nmw W type 2\n"
#define EVENTS HEAD OBJECTS

static int parse(struct script *script, const char *text, unsigned variant, struct error *error)
{
    error->text[0] = '\0';
    return script_parse(script, "t.drill", text, strlen(text), variant, error);
}

static void expect_parsed(const char *text)
{
    struct script script;
    struct error error;

    if (parse(&script, text, 0, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s\n%s", error.text, text);
    script_free(&script);
}

/* Appends an error message to the file that messages.py reads. */
static void note_message(const char *text)
{
    const char *path = getenv("ROCEDRILL_MESSAGES");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (!file)
        return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* Expects that the parser refuses the text with the error "t.drill:AT: ...PROBLEM...". */
static void expect_refused(const char *text, const char *at, const char *problem)
{
    struct script script;
    struct error error;
    char start[64];

    snprintf(start, sizeof(start), "t.drill:%s: ", at);
    if (parse(&script, text, 0, &error) == 0)
        suite_fail(__FILE__, __LINE__, "accepted, expected %s: %s", problem, text);
    else if (strncmp(error.text, start, strlen(start)) != 0 || !strstr(error.text, problem))
        suite_fail(__FILE__, __LINE__, "expected '%s%s', actual '%s'", start, problem, error.text);
    note_message(error.text);
    script_free(&script);
}

/* Expects that the parser accepts a line after EVENTS, a drill of 10 lines. */
static void expect_line(const char *line)
{
    char text[1024];

    snprintf(text, sizeof(text), EVENTS "%s\n", line);
    expect_parsed(text);
}

static void expect_bad_line(const char *line, unsigned column, const char *problem)
{
    char text[1024], at[32];

    snprintf(text, sizeof(text), EVENTS "%s\n", line);
    snprintf(at, sizeof(at), "11:%u", column);
    expect_refused(text, at, problem);
}

static void head_needs_purpose_rules_role_and_event(void)
{
    expect_refused("", "1:1", "no purpose");
    expect_refused("purpose p\n", "2:1",
                   "names no rules: expected 'rules ID...' above "
                   "('rocedrill check --rules' lists the ids)");
    expect_refused("purpose p\nrules R\n", "3:1", "names no role");
    /* after the last line of the head */
    expect_refused("rules R\nrole both\n\nqp Q rc\n+0 qp Q is RTS\n", "4:1", "no purpose");
    expect_refused("purpose p\nrole both\nqp Q rc\n+0 qp Q is RTS\n", "3:1", "names no rules");
    expect_refused("purpose p\nrules R\n+0 no event\n", "3:1", "names no role");
    expect_refused(HEAD, "4:1", "no event");
    expect_refused("purpose\n", "1:8", "expected a text, found the end of the line");
    expect_refused("purpose p\nrules 7\n", "2:7", "expected the id of a rule, found '7'");
    expect_refused("purpose p\nrules R\nrole judge\n", "3:6", "responder, requester or both");
    expect_refused("porpose p\n", "1:1", "purpose, rules, coverage");
    expect_refused("purpose p\n@\n", "2:1", "found '@'");
    expect_refused("purpose p\npurpose q\n", "2:9", "two purposes");
    expect_refused("role both\nrole both\n", "2:6", "two roles");
}

static void purpose_goes_on_in_lines_that_begin_with_a_blank(void)
{
    struct script script;
    struct error error;

    EXPECT_EQ(parse(&script,
                    "purpose one\n   two # no\n  three\nrules A B, C\nrole both\nqp Q rc\n"
                    "+0 qp Q is RTS\n",
                    0, &error),
              0);
    CU_ASSERT_STRING_EQUAL(script.purpose, "one two three");
    EXPECT_EQ(script.rule_cnt, 3);
    CU_ASSERT_STRING_EQUAL(script.rule[2], "C");
    script_free(&script);
}

static void variants_are_combined_the_last_one_changes_first(void)
{
    static const char text[] =
        HEAD "mtu = 256, 1024\nip = 4, 6\nqp Q rc mtu $mtu\n+0 qp Q is RTS\n";
    static const char *const expected[] = {"mtu=256 ip=4", "mtu=256 ip=6", "mtu=1024 ip=4",
                                           "mtu=1024 ip=6"};
    struct script script;
    struct error error;
    char buf[64];

    for (unsigned i = 0; i < 4; i++) {
        EXPECT_EQ(parse(&script, text, i, &error), 0);
        EXPECT_EQ(script_combinations(&script), 4);
        script_variant_text(&script, buf, sizeof(buf));
        CU_ASSERT_STRING_EQUAL(buf, expected[i]);
        EXPECT_EQ(script.object[0].options.value[SCRIPT_OPT_MTU].num, i < 2 ? 256 : 1024);
        script_free(&script);
    }
    EXPECT_EQ(parse(&script, text, 4, &error), -1);
    script_free(&script);
}

static void variant_errors(void)
{
    expect_refused(HEAD "ip = 5\n", "4:7", "a value of ip must be 4 or 6");
    expect_refused(HEAD "n = 1,\n", "4:7", "a value of the variant");
    expect_refused(HEAD "n = 1,2,3,4,5,6,7,8,9\n", "4:21", "more than 8 values");
    expect_refused(HEAD "qp Q rc\nn = 1\n+0 qp Q is RTS\n", "5:1",
                   "a variant must come before the first object");
    expect_refused(HEAD "qp Q rc mtu $mtu\n", "4:14",
                   "the name of a variant that a line above defines");
}

static void numbers_are_decimal_hexadecimal_or_expressions(void)
{
    struct script script;
    struct error error;

    EXPECT_EQ(parse(&script,
                    HEAD
                    "n = 0x10\nlet T = timeout(14)\nlet W = rnr(0)\nlet D = 20ms\n"
                    "mr A len ($n*2+4-2/2) access none\nqp Q rc psn (2+3*4)\n+4T qp Q is RTS\n",
                    0, &error),
              0);
    EXPECT_EQ(script.object[0].options.value[SCRIPT_OPT_LEN].num, 35);
    EXPECT_EQ(script.object[1].options.value[SCRIPT_OPT_PSN].num, 14);
    EXPECT_EQ(script.event[0].time.to, 4 * 67108864ull);
    script_free(&script);
    expect_refused(HEAD "mr M len 0xG access none\n", "4:10", "a hexadecimal digit");
    expect_refused(HEAD "mr M len 18446744073709551616 access none\n", "4:10",
                   "number above 64 bits");
    expect_refused(HEAD "qp Q rc\n+0.64ms qp Q is RTS\n", "5:2", "0.64ms is 640us");
    expect_bad_line("+0 > Q: Acknowledge PSN +0 RNR NAK 12", 36, "expected timer");
    expect_refused(HEAD "mr M len 4096k access none\n", "4:10", "a number without a unit");
    expect_refused(HEAD "mr M len 4294967296 access none\n", "4:10",
                   "above the maximum of 4294967295 (expected: len)");
    expect_refused(HEAD "mr M len (1+2 access none\n", "4:15", "'+', '-', '*', '/' or ')'");
    expect_refused(HEAD "mr M len (1/0) access none\n", "4:14", "division by zero");
    expect_refused(HEAD "mr M len ) access none\n", "4:10", "expected len, found ')'");
    expect_refused(HEAD "let T = timeout(32)\n", "4:19", "code above 31");
    expect_refused(HEAD "let T = timeout 14\n", "4:17", "'('");
    expect_refused(HEAD "let T = timeout(0)\n", "4:9", "above the maximum");
    expect_refused(HEAD "mr M len ((((((((((((((((((((((1)))))))))))))))))))))) access none\n",
                   "4:31", "at most 20 levels");
}

static void objects_are_declared_once_and_with_what_they_need(void)
{
    expect_refused(HEAD "qp Q rc mtu 300\n", "4:16", "the mtu of a QP must be 256, 512, 1024");
    expect_refused(HEAD "mw W type 3\n", "4:12", "the type of a memory window must be 1 or 2");
    expect_refused(EVENTS "+0 qp Q is RTS\nqp Q is RTS\n", "12:4", "an event begins with its time");
    expect_bad_line("+0 < Q: WRITE Only PSN +0 va W+8 payload 8", 30, "name of an mr or peer");
    expect_refused(HEAD "mr M access none\n", "4:17", "mr needs len");
    expect_refused(HEAD "mr M len 5 access none len 6\n", "4:24", "'len' twice");
    expect_refused(HEAD "qp Q rc timeout 32\n", "4:17", "32 is above the maximum of 31");
    expect_refused(HEAD "qp Q rc rnr-timer 99\n", "4:19", "(expected: rnr-timer)");
    expect_refused(HEAD "qp Q rc retry 8\n", "4:15", "8 is above the maximum of 7");
    expect_refused(HEAD "qp Q rc rnr-retry 8\n", "4:19", "8 is above the maximum of 7");
    expect_line("+0 modify Q retry 8 fails invalid"); /* the device refuses the value */
    expect_refused(HEAD "mr M len 5 access none\nmr M len 5 access none\n", "5:4",
                   "the name 'M' is already used");
    expect_refused(HEAD "let M = 1us\nmr M len 5 access none\n", "5:4",
                   "the name 'M' is already used");
    expect_refused(HEAD "mr fill len 5 access none\n", "4:4",
                   "'fill' is a word of the drill language and cannot be a name");
    expect_refused(HEAD "mr 5 len 5 access none\n", "4:4", "the name of the object");
    expect_refused(HEAD "mr M len 5 access speak\n", "4:19", "none, local, write");
    expect_refused(HEAD "mr M len 5 access write, 7\n", "4:26", "none, local, write");
    expect_refused(HEAD "mr M len 5 access write mtu 7\n", "4:25", "the end of the line");
    expect_refused(HEAD "mr abcdefghijklmnopqrstuvwxyz0123456 len 5 access none\n", "4:4",
                   "at most 31 characters");
    expect_refused(HEAD "qp Q rd\n", "4:6", "rc, uc, ud, xrc, xrc-send or gsi");
    expect_refused(HEAD "qp Q rc state ON\n", "4:15", "RESET, INIT, RTR, RTS, SQD, SQE or ERR");
    expect_refused(HEAD "qp Q rc srq S\n", "4:13", "the name of a srq");
    expect_refused(HEAD "qp Q rc\n+0 qp Q is RTS\nqp P rc\n", "6:4",
                   "an object must come before the first");
    expect_refused(HEAD "mr M len 8 access none data 0g\n", "4:31", "hexadecimal digits");
    expect_refused(HEAD "mr M len 8 access none data 012\n", "4:32", "two hexadecimal digits");
    expect_refused(HEAD "let 5 = 1us\n", "4:5", "a name");
    expect_refused(HEAD "let T 1us\n", "4:7", "'='");
    expect_refused(HEAD "let T = 5\n", "4:9", "a unit after the number");
    expect_refused(HEAD "let T = 5km\n", "4:9", "unknown unit 'km'");
}

static void times_are_points_ranges_or_the_whole_drill(void)
{
    expect_line("+0 qp Q is RTS");
    expect_line("+0~+20ms > Q: nothing");
    expect_line("* > nothing");
    expect_line("* no comp");
    expect_bad_line("+ qp Q is RTS", 3, "a duration");
    expect_bad_line("+1 qp Q is RTS", 2, "a unit after the number");
    expect_bad_line("+0~20ms > nothing", 4, "'+' and the end of the time range");
    expect_bad_line("+2ms~+1ms > nothing", 11, "ends before it begins");
    expect_bad_line("+0~+1ms qp Q is RTS", 20, "a time range is allowed only");
    expect_bad_line("* > Q: SEND Only PSN +0", 24, "the time * is allowed only");
    expect_bad_line("+1ms~+2ms > nothing", 20, "must begin at +0");
    expect_bad_line("+9999999s qp Q is RTS", 2, "at most 11 days");
}

static void packets_are_written_in_the_words_of_decode(void)
{
    expect_line("+0 < Q: SEND First PSN +0 fill 1");
    expect_line(
        "+0 < Q: SEND Only with Immediate PSN +0 imm 7 payload 3 data 010203 AckReq solicited");
    expect_line("+0 < Q: WRITE First PSN -1 va M+5 len 2000");
    expect_line("+0 < Q: READ Request PSN 5 va 0x10 rkey M len 8");
    expect_line("+0 < Q: Compare and Swap PSN +0 va M compare 1 swap 2");
    expect_line("+0 < Q: Fetch and Add PSN +0 va M add 2");
    expect_line("+0 < Q: FLUSH PSN +0 va M len 5 flush type 1 level 0");
    expect_line("+0 < Q: SEND Only with Invalidate PSN +0 invalidate M");
    expect_line("+0 < Q: opcode 0x1f PSN +0 payload 7");
    expect_line("+0 < U: SEND Only PSN +0 Q_Key 7 from QP 5 group 3");
    expect_line("+0 < Q: CNP cnp.resv=00000000000000000000000000000001");
    expect_line("+0 < Q: Acknowledge PSN +0 RNR NAK timer 5 MSN 7");
    expect_line("+0 < Q: Acknowledge PSN +0 ACK, 12 credits, MSN 4");
    expect_line("+0 < Q: Acknowledge PSN +0 ACK, credits not valid, MSN 4");
    expect_line("+0 < Q: Acknowledge PSN +0 NAK, PSN sequence error, MSN 4");
    expect_line("+0 > Q: READ Response First PSN +0 MSN * payload 1024 fill M+3");
    expect_line("+0 < Q: SEND Only PSN +0 ip.ttl=3 eth.src=02:00:00:00:00:09 ip4.src=192.0.2.5");
    expect_line("+0 < Q: SEND Only PSN +0 bth.padcnt=3 bad ICRC cut 4 altered udp.csum=5");
    expect_line("+0 < CM REQ starting_psn=5 local_qpn=Q mad.tid=7 service_id=*");
}

static void packet_errors(void)
{
    expect_bad_line("+0 < SEND Only PSN +0", 6, "the QP of the packet, one of Q or U, and ':'");
    expect_bad_line("+0 < M: SEND Only PSN +0", 6, "the name of a qp");
    expect_bad_line("+0 < Q SEND Only PSN +0", 8, "':' after the QP");
    expect_bad_line("+0 < Q: SEND Nothing PSN +0", 9, "SEND First, SEND Middle");
    expect_bad_line("+0 < Q: Acknowlege PSN +0 ACK", 9, "did you mean 'Acknowledge'?");
    expect_bad_line("+0 < Q: SEND Onyl PSN +0", 9, "did you mean 'SEND Only'?");
    expect_bad_line("+0 < Q: SEND Only PSN +0 Ackreq", 26, "did you mean 'AckReq'?");
    expect_bad_line("+0 < U: READ Request PSN +0", 9, "SEND Only, SEND Only with Immediate or CNP");
    expect_bad_line("+0 < Q: opcode 256 PSN +0", 16, "above the maximum");
    expect_bad_line("+0 < Q: SEND Only", 18, "PSN and its number");
    expect_bad_line("+0 < Q: SEND Only PSN", 22, "a PSN, as +1");
    expect_bad_line("+0 < Q: SEND Only PSN +16777216", 24, "(expected: a PSN)");
    expect_bad_line("+0 < Q: WRITE Only PSN +0 va N+0", 30, "no object has the name 'N'");
    expect_bad_line("+0 < Q: SEND Only PSN +0 PSN +1", 30, "bth.psn is set twice");
    expect_bad_line("+0 < Q: SEND Only PSN +0 cut 4 cut 4", 36, "'cut' twice in one line");
    expect_bad_line("+0 < Q: SEND Only PSN +0 fill 1 data 00", 38, "the contents are set twice");
    expect_bad_line("+0 < Q: SEND Only PSN +0 payload 8 data 00", 43,
                    "a payload of 8 bytes, but data of 1 bytes");
    expect_bad_line("+0 store M+0 fill 1 data 00", 21, "the contents are set twice");
    expect_bad_line("+0 post send Q id 1 imm 3 invalidate 5", 39, "both 'imm' and 'invalidate'");
    expect_bad_line("+0 < Q: SEND Only PSN +0 va M", 26, "the end of the line");
    expect_bad_line("+0 < Q: WRITE First PSN +0 va M", 32, "'len' and the length of the message");
    expect_bad_line("+0 < Q: WRITE Only PSN +0 va X", 30, "Virtual address");
    expect_bad_line("+0 < Q: Acknowledge PSN +0", 27, "ACK, NAK or RNR NAK");
    expect_bad_line("+0 < Q: Acknowledge PSN +0 NAK late", 32, "sequence, PSN sequence error");
    expect_bad_line("+0 < Q: Acknowledge PSN +0 ACK 5 credits", 41, "an AETH cannot express 5");
    expect_bad_line("+0 < Q: Acknowledge PSN +0 ACK 5 MSN 1", 34, "credits");
    expect_bad_line("+0 < Q: Acknowledge PSN +0 ACK credits not ok", 44, "valid");
    expect_bad_line("+0 < Q: Acknowledge PSN +0 RNR NAK timer 32", 42, "above the maximum");
    expect_bad_line("+0 < Q: SEND Only PSN +0 reth.va=5", 26, "this packet has no RETH");
    expect_bad_line("+0 < Q: SEND Only PSN +0 bth.flavour=5", 26, "a header and one of its fields");
    expect_bad_line("+0 < Q: SEND Only PSN +0 bth.se 5", 33, "'='");
    expect_bad_line("+0 < Q: SEND Only PSN +0 bth.se=2", 33, "above the maximum");
    expect_bad_line("+0 < Q: SEND Only PSN +0 eth.src=02:00", 39, "a MAC address");
    expect_bad_line("+0 < Q: SEND Only PSN +0 ip4.src=192", 37, "an IP address");
    expect_bad_line("+0 < Q: SEND Only PSN +0 altered AckReq", 34, "for example ip.ttl");
    expect_bad_line("+0 < Q: CNP cnp.resv=0", 23, "expected 32 hexadecimal digits");
    expect_bad_line("+0 < CM HELLO", 9, "REQ, MRA");
    expect_bad_line("+0 < CM REQ colour=5", 13, "has no field 'colour'");
    expect_bad_line("+0 < CM REQ mad.tid 5", 21, "'='");
    expect_bad_line("+0 > Q: SEND Only PSN +0 altered ip.ttl=1", 26, "the end of the line");
    expect_bad_line("+0 < Q: SEND Only PSN +0 payload 99999", 34, "above the maximum");
    expect_bad_line("+0 < Q: SEND Only PSN +0 fill X", 31, "the number of a pattern");
}

static void what_the_device_does(void)
{
    expect_line("+0 >? Q: SEND Only PSN +0");
    expect_line("+0 > Q: acks through PSN +3 MSN 4");
    expect_line("+0 comp Q id 1 success len 8 [RC-RSP-099 RC-RSP-100]");
    expect_line("+0 comp recv Q id 1 local-length");
    expect_line("+0 no comp Q");
    expect_line("+0 event qp-fatal Q");
    expect_line("+0 no event");
    expect_line("+0 notified C");
    expect_line("+0 no notification");
    expect_line("+0 check M+5 len 6 is data 010203040506");
    /* the hexadecimal bytes after `data` may look like a decimal number of more than 64 bits */
    expect_line("+0 check M+5 len 12 is data 999999999999999999999999");
    expect_line("+0 check M len 8 is u64 5");
    expect_line("+0 counter rx_packets is 5");
    expect_line("+0 cm-event established");
    expect_bad_line("+0 >? nothing", 14, "a packet after '>?'");
    expect_bad_line("+0 > Q: acks PSN +3", 14, "through");
    expect_bad_line("+0 > Q: acks through +3", 22, "PSN");
    expect_bad_line("+0 > Q: acks through PSN 3", 27, "a relative PSN");
    expect_bad_line("+0 comp M id 1 success", 9, "the name of a qp");
    expect_bad_line("+0 comp Q", 10, "comp needs id");
    expect_bad_line("+0 comp Q success", 11, "expected id, found 'success'");
    expect_bad_line("+0 comp Q id 1 fine", 16, "success, local-length");
    expect_bad_line("+0 no packet", 7, "comp, event or notification");
    expect_bad_line("+0 event birthday", 10, "cq-error, qp-fatal");
    expect_bad_line("+0 notified Q", 13, "the name of a cq");
    expect_bad_line("+0 check R+0 len 8 is zero", 20, "check needs the name of an mr");
    expect_bad_line("+0 check M is zero", 12, "expected len, found 'is'");
    expect_bad_line("+0 check M len 8 zero", 18, "len or is");
    expect_bad_line("+0 check M len 8 is one", 21, "zero, fill, data or u64");
    expect_bad_line("+0 qp Q RTS", 9, "is");
    expect_bad_line("+0 qp Q is UP", 12, "RESET, INIT");
    expect_bad_line("+0 counter 5 is 5", 12, "the name of a counter");
    expect_bad_line("+0 counter foo is 0", 12, "no counter has the name foo");
    expect_bad_line("+0 cm-event party", 13, "request, response");
    expect_bad_line("+0 gone", 8, "'gone' is allowed only in an alternative");
    expect_bad_line("+0 comp Q id 1 success [5]", 25, "the id of a rule, or ']'");
    expect_bad_line("+0 dance", 4, "'<', '>', '>?', comp");
}

static void verbs_have_their_operands_and_options(void)
{
    expect_line("+0 recv Q id 1 len 5");
    expect_line("+0 recv S id 1 len 5 to M+8");
    expect_line("+0 post send Q id 1 from M len 5 imm 1 solicited fence inline unsignaled");
    expect_line("+0 post write Q id 1 from M to R+5 len 5 fails state");
    expect_line("+0 post read Q id 1 from R to M len 5");
    expect_line("+0 post cmp-swap Q id 1 from R to M compare 1 swap 2");
    expect_line("+0 post fetch-add Q id 1 from R to M add 2");
    expect_line("+0 post flush Q id 1 to R len 5 type 1 level mr");
    expect_line("+0 post atomic-write Q id 1 from M to R");
    expect_line("+0 post bind Q id 1 mw W mr M+5 len 5 access read key 7");
    expect_line("+0 post local-inv Q id 1 key M");
    expect_line("+0 store M+5 fill 7 len 8");
    expect_line("+0 modify Q state ERR");
    expect_line("+0 modify S limit 3");
    expect_line("+0 destroy M fails busy");
    expect_line("+0 arm C solicited");
    expect_line("+0 attach U group 5");
    expect_line("+0 listen port 5");
    expect_line("+0 connect Q port 5");
    expect_line("+0 reject reason 28");
    expect_bad_line("+0 recv M id 1 len 5", 9, "the name of a qp or srq");
    expect_bad_line("+0 recv Q id 1", 15, "recv needs len");
    expect_refused(EVENTS "+0 recv Q id 1 len 8\n+0 post send Q id 1\n+0 recv S id 1 len 8\n",
                   "13:21", "id 1 is already used in line 11");
    expect_bad_line("+0 post dance Q", 9, "send, write, read, cmp-swap");
    expect_bad_line("+0 post send Q from M", 22, "post send needs id");
    expect_bad_line("+0 post bind Q id 1 mr M len 5", 21, "id or mw");
    expect_bad_line("+0 post bind Q id 1 mw M", 24, "the name of a mw");
    expect_bad_line("+0 store R fill 1", 10, "the name of an mr");
    expect_bad_line("+0 modify M state ERR", 13, "modify needs a qp, srq or cq");
    expect_bad_line("+0 destroy R", 12, "an object of the device");
    expect_bad_line("+0 destroy X", 12, "the name of an object");
    expect_bad_line("+0 destroy M fails loudly", 20, "no-memory, invalid, busy");
    expect_bad_line("+0 arm Q", 8, "the name of a cq");
}

static void alternatives_follow_what_the_device_must_do(void)
{
    expect_line("+0 comp Q id 1 success\n or comp Q id 1 flushed\n else +1ms~+2ms known S1");
    expect_line("+0 > nothing\n or > Q: SEND Only PSN +0 inconclusive [RC-RSP-099]");
    expect_refused(HEAD "else known S1\n", "4:6", "an alternative must follow an event");
    expect_line("+0 recv Q id 1 len 5 fails full\n else known S1");
    expect_line("+0 recv Q id 1 len 5 fails full\n or inconclusive");
    expect_line("+0 qp Q is SQE\n else qp Q is ERR known S14");
    expect_refused(EVENTS "+0 recv Q id 1 len 5\nor no comp\n", "12:11",
                   "must be something that the device does");
    expect_refused(EVENTS "+0 recv Q id 1 len 5\nor recv Q id 2 len 5\n", "12:21",
                   "an alternative of a verb must end with 'known ID' or 'inconclusive'");
    expect_refused(EVENTS "+0 > Q: SEND Only PSN +0\nor * > nothing\n", "12:15",
                   "the time * is not allowed in an alternative");
    expect_refused(EVENTS "* > nothing\nor +0 > Q: SEND Only PSN +0\n", "12:4",
                   "a line with the time * cannot have an alternative");
    expect_refused(EVENTS "+0 < Q: SEND Only PSN +0\nor no comp\n", "12:4",
                   "after an event that must happen");
    expect_refused(EVENTS "+0 >? Q: SEND Only PSN +0\nor no comp\n", "12:4",
                   "after an event that must happen");
    expect_refused(EVENTS "+0 no comp\nor recv Q id 1 len 5\n", "12:21",
                   "must be something that the device does");
    expect_refused(EVENTS "+0 no comp\nelse known 5\n", "12:12", "the id of a known deviation");
    expect_refused(EVENTS "+0 no comp\nelse known Z99\n", "12:12",
                   "no known deviation has the id Z99");
}

static void limits_are_errors(void)
{
    char text[8192] = HEAD;

    for (unsigned i = 0; i < SCRIPT_OBJECTS_MAX + 1; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "pd P%u\n", i);
    expect_refused(text, "68:4", "more than 64 objects");
    snprintf(text, sizeof(text), "%s", HEAD);
    for (unsigned i = 0; i < 33; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "let T%u = 1us\n", i);
    expect_refused(text, "36:5", "more than 32 'let' lines");
    expect_refused(HEAD "a = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf = 1\ng = 1\n", "10:1",
                   "more than 6 variants");
    expect_refused(HEAD "a = 1, 2, 3, 4, 5, 6, 7\nb = 1, 2, 3, 4, 5, 6, 7\nc = 1, 2, 3, 4, 5, 6\n",
                   "6:21", "more than 256 combinations of variants");
}

static void patterns_are_never_zero_and_differ(void)
{
    for (unsigned n = 0; n < 16; n++)
        for (unsigned i = 0; i < 5000; i++)
            if (script_pattern(n, i) == 0)
                suite_fail(__FILE__, __LINE__, "pattern %u byte %u is 0", n, i);
    CU_ASSERT(script_pattern(1, 0) != script_pattern(2, 0));
    CU_ASSERT(script_pattern(1, 0) != script_pattern(1, 1));
    CU_ASSERT(script_pattern(1, 0) != script_pattern(1, 1024));
}

static void a_file_that_is_no_text_is_refused(void)
{
    struct script script;
    struct error error = {""};

    EXPECT_EQ(script_parse(&script, "x", "purpose\0p", 9, 0, &error), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "it contains a zero byte"));
    script_free(&script);
    EXPECT_EQ(script_read(&script, "/no/such/file", 0, &error), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "No such file"));
    script_free(&script);
}

/* Expects that the parser refuses a line that contains `part` 25 times: once more than the parser
 * allows. */
static void expect_repeated(const char *line, const char *part, const char *problem)
{
    char text[2048];
    struct script script;
    struct error error;
    size_t len = (size_t)snprintf(text, sizeof(text), EVENTS "%s", line);

    for (unsigned i = 0; i < 25; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", part);
    EXPECT_EQ(parse(&script, text, 0, &error), -1);
    if (!strstr(error.text, problem))
        suite_fail(__FILE__, __LINE__, "expected %s, actual %s", problem, error.text);
    note_message(error.text);
    script_free(&script);
}

/* Error messages that no other test causes. messages.py lists messages without a test. */
static void other_messages(void)
{
    static const struct {
        const char *line;
        unsigned column;
        const char *problem;
    } rows[] = {
        {"+0 > Q: acks through PSN +1 MSN x", 33, "expected an MSN, found 'x'"},
        {"+0 counter rx_packets is y", 26, "expected the value of the counter, found 'y'"},
        {"+0 store M+x u64 1", 12, "expected an offset, found 'x'"},
        {"+0 > Q: Acknowledge PSN +0 ACK 40000 credits", 32, "(expected: a number of credits"},
        {"+0 < Q: Acknowledge PSN +0 ACK credits x", 40,
         "expected a number of credits, or 'not valid'"},
        {"+0 < Q: Acknowledge PSN +0 NAK 32", 32,
         "32 is above the maximum of 31 (expected: a NAK code)"},
        {"+0 < Q: WRITE Only PSN +0 va M+0 cut x", 38, "expected a number of bytes"},
        {"+0 < Q: WRITE Only PSN +0 va x", 30, "expected Virtual address"},
        {"+0 < U: SEND Only PSN +0 group x", 32, "expected the number of a group"},
        {"+0 modify Q psn (+)", 18, "a number, $VARIANT, a name that 'let' defines, or '('"},
        {"+0 modify Q psn timeout(3", 26, "expected ')'"},
        {"+0 store M u64 x", 16, "expected a number, found 'x'"},
        {"+0 < Q: WRITE Only PSN +0 va M+0 fill Q", 39, "expected the name of an mr or peer"},
        {"+0 < Q: WRITE Only PSN +0 va M fill 1 at x", 42, "the offset of the first byte"},
        {"+0 post local-inv Q id 1 key x", 30, "the name of an mr or mw, or a key"},
        {"+0 post write Q id 1 from Q to R len 4", 27,
         "the name of an mr or peer and an offset, for example M+1024"},
    };
    struct script script;
    struct error error;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_bad_line(rows[i].line, rows[i].column, rows[i].problem);
    expect_refused(EVENTS "+0~+1ms > Q: Acknowledge PSN +0 ACK\nelse gone\n", "12:10",
                   "'gone' requires 'known ID', the id of a known deviation");
    expect_refused(HEAD "mr M len 4 access none\n+0 > acks through PSN +1\n", "5:11",
                   "the drill has no QP");
    expect_refused(HEAD "mr M len 4 access none\n+0 < SEND Only\n", "5:6",
                   "expected 'CM', because the drill has no QP");
    expect_line("+0ns qp Q is RTS");
    EXPECT_EQ(parse(&script, EVENTS "+0 qp Q is RTS\n", 1, &error), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "no such combination of variants"));
    note_message(error.text);
    script_free(&script);

    expect_repeated("+0 < Q: WRITE Only PSN +0 va M+0", " altered bth.se=1", "more than 24 fields");
    expect_repeated("+0 < CM REQ", " pkey=1", "more than 24 fields");
    expect_repeated("+0 qp Q is RTS [", "R ", "more than 24 rules");
    expect_repeated("rules ", "R ", "more than 24 ids");
}

SUITE("replay.script", TEST(head_needs_purpose_rules_role_and_event),
      TEST(purpose_goes_on_in_lines_that_begin_with_a_blank),
      TEST(variants_are_combined_the_last_one_changes_first), TEST(variant_errors),
      TEST(numbers_are_decimal_hexadecimal_or_expressions),
      TEST(objects_are_declared_once_and_with_what_they_need),
      TEST(times_are_points_ranges_or_the_whole_drill),
      TEST(packets_are_written_in_the_words_of_decode), TEST(packet_errors),
      TEST(what_the_device_does), TEST(verbs_have_their_operands_and_options),
      TEST(alternatives_follow_what_the_device_must_do), TEST(limits_are_errors),
      TEST(patterns_are_never_zero_and_differ), TEST(a_file_that_is_no_text_is_refused),
      TEST(other_messages))

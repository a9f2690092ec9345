/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: drills (scripts that test a device, replay/drill). If the first byte of the input is
 * below 32, the rest selects lines that are mostly valid. Otherwise the input is the text of a
 * drill.
 *
 * Invariants: the parser accepts the text, or refuses it with an error that begins with the name of
 * the file. An accepted drill, played on our RNIC, ends with a verdict. If a drill does not pass, a
 * reason is reported. All memory is freed.
 */
#include <string.h>
#include "drill/device/device_rnic.h"
#include "drill/engine.h"
#include "drill/parser.h"
#include "fuzz.h"

#define COMBINATIONS_MAX 4u

static const char head[] = "purpose p\nrules R\nrole both\nneeds uc ud srq cm\nlet T = timeout(8)\n"
                           "n = 1, 3\nmr M len 8192 access all fill 1\nmr L len 64 access local\n"
                           "peer R len 4096 fill 2\nsrq S depth 4\nmw W type 2\n"
                           "qp Q rc mtu 1024 timeout 8\nqp C uc\nqp D ud\n";

static const char *const lines[] = {
    "+0 < Q: SEND First PSN +0 fill 1",
    "+0 < Q: SEND Last PSN +1 payload 7 fill 1 AckReq",
    "+0 < Q: SEND Only PSN +$n payload 9",
    "+0 < Q: WRITE Only PSN +0 va M+8 payload 64 AckReq",
    "+0 < Q: WRITE First PSN +1 va M+0 len 2000",
    "+0 < Q: WRITE Last PSN +2 payload 976 AckReq",
    "+0 < Q: READ Request PSN +0 va M+5 len 3000",
    "+0 < Q: READ Request PSN +1 va M+1029 len 1976",
    "+0 < Q: Fetch and Add PSN +2 va M+8 add 1",
    "+0 < Q: Acknowledge PSN +0 ACK",
    "+0 < Q: Acknowledge PSN +1 NAK sequence",
    "+0 < Q: Acknowledge PSN +0 RNR NAK timer 1",
    "+0 < Q: READ Response First PSN +0 fill R",
    "+0 < Q: READ Response Last PSN +1 payload 5 fill R",
    "+0 < Q: opcode 0xbf PSN +0 payload 99 bth.padcnt=3",
    "+0 < Q: WRITE Only PSN +3 va M+8 payload 64 cut 70",
    "+0 < C: SEND Only PSN +0 payload 8",
    "+0 < D: SEND Only PSN +0 payload 8 altered ip.ttl=1",
    "+0 < Q: CNP",
    "+0 < CM REQ starting_psn=5",
    "+0 < CM DREQ remote_qpn=Q",
    "+0~+1ms > Q: Acknowledge PSN +0 ACK MSN 1",
    "+0~+1ms >? Q: SEND Only PSN +0",
    "+0~+4T > Q: READ Request PSN +0",
    "+0~+1ms > Q: acks through PSN +2 MSN 1",
    "+0~+1ms > nothing",
    "* > C: nothing",
    "or +0~+4T inconclusive",
    "else no comp known S1",
    "+0 recv Q id 1 len 4096",
    "+0 recv S id 2 len 100 to M+0",
    "+0 recv D id 3 len 48",
    "+0 post send Q id 4 from M+0 len 3000",
    "+0 post write Q id 5 from M+0 to R+0 len 8 inline",
    "+0 post read Q id 6 from R+0 to M+0 len 2000",
    "+0 post cmp-swap Q id 7 from R+0 to L+0 compare 1 swap 2",
    "+0 post bind Q id 8 mw W mr M+0 len 64 access read",
    "+0 post local-inv Q id 9 key M",
    "+0 post send D id 10 from M+0 len 8 group 3",
    "+0 modify Q state ERR",
    "+0 modify Q state RESET",
    "+0 modify S limit 2",
    "+0 destroy Q",
    "+0 destroy M",
    "+0 attach D group 3",
    "+0 listen port 7000",
    "+0 connect Q port 7000",
    "+0 accept Q",
    "+0 disconnect",
    "+0~+1ms comp Q id 4 success",
    "+0 comp recv Q id 1 success fill 1",
    "+0 check M+0 len 8192 is fill 1",
    "+0 check L+0 len 8 is u64 5",
    "+0 qp Q is RTS",
    "+0~+1ms event qp-access-error",
    "+1s no event",
};
#define LINE_CNT (sizeof(lines) / sizeof(lines[0]))

static void play(const char *text, size_t len)
{
    unsigned combinations = 1;

    for (unsigned i = 0; i < combinations && i < COMBINATIONS_MAX; i++) {
        struct drill_result result;
        struct error error = {""};
        struct script script;

        if (script_parse(&script, "drill", text, len, i, &error) == 0) {
            combinations = script_combinations(&script);
            drill_run(&script, &device_rnic_ops, NULL, NULL, &result);
            FUZZ_CHECK(result.verdict < DRILL_VERDICT_CNT);
            FUZZ_CHECK(result.verdict == DRILL_PASS || result.verdict == DRILL_KNOWN ||
                       *result.problem);
            drill_result_free(&result);
        } else {
            FUZZ_CHECK(strncmp(error.text, "drill:", 6) == 0);
        }
        script_free(&script);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[16384];
    size_t len;

    if (size == 0)
        return 0;
    if (data[0] >= ' ') {
        play((const char *)data, size > PARSER_TEXT_MAX ? PARSER_TEXT_MAX : size);
        return 0;
    }
    len = (size_t)snprintf(text, sizeof(text), "%s", head);
    for (size_t i = 1; i < size && len + 200 < sizeof(text); i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", lines[data[i] % LINE_CNT]);
    play(text, len);
    return 0;
}

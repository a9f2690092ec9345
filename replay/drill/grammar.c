/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>
#include "capture/packet_text.h"
#include "device/rnic.h"
#include "drill/parse_event.h"
#include "drill/parser.h"
#include "drill/words.h"
#include "wire/cm_msg.h"
#include "wire/opcode.h"

/* Grammar of the language. docs/drill.md contains an equal copy, and a test compares them. */
/* clang-format off */
const char script_grammar[] =
    "A drill is a text file. One line is one statement; # begins a comment; indentation is free.\n"
    "Notation: { X } is X any number of times; [ X ] is an optional X; X | Y is X or Y; X... is X once or more.\n"
    "Words in quotes stand in the drill without the quotes. Words in capitals are defined below, or are: ID, a\n"
    "rule; NAME, a word of your choice; OPT, the name of an option; WORD, its value (see --words).\n"
    "file    = { head } { object } { event }       purpose, rules, role and an event are required\n"
    "head    = \"purpose\" TEXT                      lines that begin with a blank continue it\n"
    "        | \"rules\" ID...                       the rules that the drill tests\n"
    "        | \"coverage\" ID...                    ids in other test plans, for the reports only\n"
    "        | \"needs\" WORD...                     features that the device must have\n"
    "        | \"role\" (\"responder\" | \"requester\" | \"both\")\n"
    "        | \"allow\" ID...                       violations of these rules do not fail the drill\n"
    "        | \"let\" NAME \"=\" DURATION\n"
    "        | NAME \"=\" N { \",\" N }                a variant; $NAME is its value; ip is 4 or 6;\n"
    "                                              at most 6 variants, 8 values, 256 combinations\n"
    "object  = \"qp\" NAME (\"rc\" | \"uc\" | \"ud\" | \"xrc\" | \"xrc-send\" | \"gsi\") { OPTION }\n"
    "        | (\"mr\" | \"peer\" | \"cq\" | \"srq\" | \"mw\" | \"ah\" | \"pd\" | \"xrcd\") NAME { OPTION }\n"
    "                                              peer: memory of the side that the drill plays\n"
    "event   = TIME action [\"[\" ID... \"]\"]         rules that a failure of this line violates\n"
    "        | (\"or\" | \"else\") [TIME] [action] [\"known\" ID | \"inconclusive\"] [\"[\" ID... \"]\"]\n"
    "                                              another behaviour that the line above accepts;\n"
    "                                              known ID: a known deviation of a device (--words)\n"
    "action  = \"<\" PACKET                          the drill sends this packet\n"
    "        | (\">\" | \">?\") PACKET                 the device must (>) or may (>?) send this packet\n"
    "        | \">\" [QP \":\"] (\"acks through PSN\" PSN [\"MSN\" N] | \"nothing\")\n"
    "        | VERB [\"fails\" ERROR]                the device's program calls this verb\n"
    "        | \"comp\" [\"recv\"] QP \"id\" N STATUS { OPTION } | \"no comp\" [QP]\n"
    "        | \"event\" EVENT [OBJECT] | \"no event\" | \"notified\" CQ | \"no notification\"\n"
    "        | \"check\" PLACE \"len\" N \"is\" (\"zero\" | FILL) | \"qp\" QP \"is\" STATE\n"
    "        | \"counter\" NAME \"is\" N | \"cm-event\" EVENT\n"
    "        | \"gone\"                              the device does not answer any more; only as\n"
    "                                              \"else gone known ID\"\n"
    "TIME    = \"+\" DURATION [\"~+\" DURATION] | \"*\"  counts from the previous line. +D: an action at D, or an\n"
    "                                              event until D; +A~+B: an event from A to B; *: any time\n"
    "DURATION= NUMBER UNIT | \"0\" | EXPR\n"
    "UNIT    = \"ns\" | \"us\" | \"ms\" | \"s\" | LET\n"
    "N       = NUMBER | EXPR\n"
    "EXPR    = \"$\" VARIANT | LET | \"timeout\" \"(\" SUM \")\" | \"rnr\" \"(\" SUM \")\" | \"(\" SUM \")\"\n"
    "SUM     = N { (\"+\" | \"-\" | \"*\" | \"/\") N }     a time counts in ns; a blank precedes the \"-\"\n"
    "PACKET  = [QP \":\"] (OPCODE | \"opcode\" N | \"CM\" MESSAGE) { ITEM }\n"
    "ITEM    = \"PSN\" (PSN | \"*\") | (\"va\" | \"rkey\" | \"invalidate\" | \"SRQ\") (PLACE | \"*\")\n"
    "        | (\"len\" | \"MSN\" | \"imm\" | \"add\" | \"compare\" | \"swap\" | \"original\" | \"Q_Key\" | \"from QP\"\n"
    "          | \"flush type\" | \"level\") (N | \"*\")\n"
    "        | \"payload\" N | FILL | \"ACK\" [[\",\"] (N \"credits\" | \"credits not valid\")] | \"NAK\" REASON\n"
    "        | \"RNR NAK\" [\"timer\" N] | \"AckReq\" | \"solicited\" | \"FECN\" | \"BECN\" | \"group\" N\n"
    "        | \"bad ICRC\" | \"cut\" N | [\"altered\"] FIELD \"=\" (VALUE | \"*\")\n"
    "                                              level: of a FLUSH; altered: after the ICRC was computed\n"
    "PSN     = (\"+\" | \"-\") N | N                   with a sign: from the first PSN of the direction;\n"
    "                                              without: the PSN in the packet\n"
    "FILL    = \"fill\" N [\"at\" N] | \"fill\" PLACE | \"data\" HEX | \"u64\" N\n"
    "PLACE   = NAME [\"+\" N] | N\n"
    "VERB    = (\"recv\" QUEUE | \"post\" (\"send\" | \"write\" | \"read\" | \"cmp-swap\" | \"fetch-add\" | \"flush\"\n"
    "          | \"atomic-write\" | \"local-inv\") QP | \"post bind\" QP \"id\" N \"mw\" NAME | \"store\" PLACE\n"
    "          | \"modify\" OBJECT | \"destroy\" OBJECT | \"arm\" CQ | (\"attach\" | \"detach\") QP | \"listen\"\n"
    "          | \"connect\" QP | \"accept\" QP | \"reject\" | \"establish\" | \"disconnect\") { OPTION }\n"
    "OPTION  = OPT [PLACE | WORD { \",\" WORD }] | FILL\n";
/* clang-format on */

#define WIDTH 110u /* longest printed line of a list of words, columns */

/* A list of words, printed as one line and, if needed, indented lines below it. */
struct word_line {
    FILE *out;
    size_t used;
};

static struct word_line begin_line(FILE *out, const char *title)
{
    return (struct word_line){.out = out, .used = (size_t)fprintf(out, "%s:", title)};
}

static void add_word(struct word_line *line, const char *word)
{
    size_t len = strlen(word) + (strchr(word, ' ') ? 3 : 1);

    if (line->used + len > WIDTH)
        line->used = (size_t)fprintf(line->out, "\n ") - 1;
    line->used += len;
    fprintf(line->out, strchr(word, ' ') ? " \"%s\"" : " %s", word);
}

static void print_table(FILE *out, const char *title, const struct word_number *table)
{
    struct word_line line = begin_line(out, title);

    for (; table->word; table++)
        add_word(&line, table->word);
    fputc('\n', out);
}

static void print_opcodes(FILE *out)
{
    static const struct {
        const char *title;
        enum roce_svc svc;
    } rows[] = {
        {"rc", ROCE_SVC_RC}, {"uc", ROCE_SVC_UC}, {"ud", ROCE_SVC_UD}, {"xrc", ROCE_SVC_XRC}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct word_line line = begin_line(out, rows[i].title);

        for (unsigned k = 0; k < 32; k++) {
            uint8_t opcode = (uint8_t)(rows[i].svc << 5 | k);

            if (roce_opcode(opcode)->kind != ROCE_KIND_RESERVED)
                add_word(&line, packet_text_opcode(opcode));
        }
        fputc('\n', out);
    }
    fprintf(out, "any: CNP\n");
}

/* Prints the fields of a header that a drill can name. */
static void print_fields(FILE *out, const char *title, const struct roce_hdr_info *info)
{
    struct word_line line = begin_line(out, title);

    for (unsigned i = 0; i < info->field_cnt; i++)
        add_word(&line, info->fields[i].name);
    fputc('\n', out);
}

void script_print_words(FILE *out)
{
    struct word_line line;

    fprintf(out, "Verbs and comp with their options; those in brackets may be absent:\n");
    parse_print_verbs(out);
    fprintf(out, "\nWords:\n");
    line = begin_line(out, "needs");
    for (unsigned i = 0; words_needs[i]; i++)
        add_word(&line, words_needs[i]);
    fputc('\n', out);
    print_table(out, "access", words_access);
    print_table(out, "states of a QP", words_state);
    print_table(out, "completion statuses", words_status);
    print_table(out, "events", words_event);
    print_table(out, "CM events", words_cm_event);
    print_table(out, "errors of verbs", words_error);
    print_table(out, "NAK reasons", words_nak);
    print_table(out, "FLUSH levels", words_level);
    line = begin_line(out, "known deviations");
    for (unsigned i = 0; words_known[i]; i++)
        add_word(&line, words_known[i]);
    fputc('\n', out);
    line = begin_line(out, "counters");
    for (unsigned i = 0; words_counter[i]; i++)
        add_word(&line, words_counter[i]);
    fprintf(out, "\n\nOpcodes of each service (without quotes):\n");
    print_opcodes(out);
    fprintf(out, "\nFields of headers (HEADER.FIELD):\n");
    for (unsigned i = 0; i < ROCE_HDR_CNT; i++)
        print_fields(out, roce_hdr_info((enum roce_hdr)i)->id, roce_hdr_info((enum roce_hdr)i));
    fprintf(out, "\nCM messages and their fields; mad. is the header of the MAD:\n");
    for (unsigned i = 0; i < ROCE_CM_MSG_CNT; i++)
        print_fields(out, roce_cm_name((enum roce_cm)i), roce_cm_info((enum roce_cm)i));
    print_fields(out, "mad.", roce_mad_info());
}

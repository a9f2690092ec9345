/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/parse_event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "drill/parse_packet.h"
#include "drill/words.h"
#include "util/keymap.h"

/* Kinds of objects that a verb can have as its operand. */
enum operand { ON_NONE, ON_QP, ON_QUEUE, ON_CQ, ON_ANY, ON_PLACE };

#define POST_FLAGS (SCRIPT_BIT(FENCE) | SCRIPT_BIT(SOLICITED) | SCRIPT_BIT(UNSIGNALED))
#define QP_ATTRS                                                                                   \
    (SCRIPT_BIT(MTU) | SCRIPT_BIT(TIMEOUT) | SCRIPT_BIT(RETRY) | SCRIPT_BIT(RNR_RETRY) |           \
     SCRIPT_BIT(RNR_TIMER) | SCRIPT_BIT(RD_ATOMIC) | SCRIPT_BIT(RESOURCES) | SCRIPT_BIT(PSN) |     \
     SCRIPT_BIT(PEER_PSN) | SCRIPT_BIT(PEER_QPN) | SCRIPT_BIT(PKEY) | SCRIPT_BIT(QKEY) |           \
     SCRIPT_BIT(ACCESS) | SCRIPT_BIT(STATE) | SCRIPT_BIT(TCLASS) | SCRIPT_BIT(HOP_LIMIT) |         \
     SCRIPT_BIT(PORT))

static const struct {
    const char *words;
    enum script_verb verb;
    enum operand on;
    uint64_t allowed, required;
} verbs[] = {
    {"recv", SCRIPT_VERB_RECV, ON_QUEUE, SCRIPT_BIT(ID) | SCRIPT_BIT(LEN) | SCRIPT_BIT(TO),
     SCRIPT_BIT(ID) | SCRIPT_BIT(LEN)},
    {"post send", SCRIPT_VERB_SEND, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(LEN) | SCRIPT_BIT(IMM) |
         SCRIPT_BIT(INVALIDATE) | SCRIPT_BIT(INLINE) | SCRIPT_BIT(QKEY) | SCRIPT_BIT(TO_QPN) |
         SCRIPT_BIT(SRQ) | SCRIPT_BIT(AH) | POST_FLAGS,
     SCRIPT_BIT(ID)},
    {"post write", SCRIPT_VERB_WRITE, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(LEN) | SCRIPT_BIT(IMM) |
         SCRIPT_BIT(INLINE) | SCRIPT_BIT(KEY) | POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(TO)},
    {"post read", SCRIPT_VERB_READ, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(LEN) | SCRIPT_BIT(KEY) |
         POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM)},
    {"post cmp-swap", SCRIPT_VERB_CMP_SWAP, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(LEN) | SCRIPT_BIT(COMPARE) |
         SCRIPT_BIT(SWAP) | POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(COMPARE) | SCRIPT_BIT(SWAP)},
    {"post fetch-add", SCRIPT_VERB_FETCH_ADD, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(LEN) | SCRIPT_BIT(ADD) |
         POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(ADD)},
    {"post flush", SCRIPT_VERB_FLUSH, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(TO) | SCRIPT_BIT(LEN) | SCRIPT_BIT(TYPE) | SCRIPT_BIT(LEVEL) |
         POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(TO) | SCRIPT_BIT(TYPE)},
    {"post atomic-write", SCRIPT_VERB_ATOMIC_WRITE, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO) | SCRIPT_BIT(INLINE) | POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(FROM) | SCRIPT_BIT(TO)},
    {"post bind", SCRIPT_VERB_BIND, ON_QP,
     SCRIPT_BIT(ID) | SCRIPT_BIT(INVALIDATE) | SCRIPT_BIT(MR) | SCRIPT_BIT(LEN) |
         SCRIPT_BIT(ACCESS) | SCRIPT_BIT(KEY) | SCRIPT_BIT(ZERO_BASED) | POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(MR) | SCRIPT_BIT(LEN)},
    {"post local-inv", SCRIPT_VERB_LOCAL_INV, ON_QP, SCRIPT_BIT(ID) | SCRIPT_BIT(KEY) | POST_FLAGS,
     SCRIPT_BIT(ID) | SCRIPT_BIT(KEY)},
    {"store", SCRIPT_VERB_STORE, ON_PLACE,
     SCRIPT_BIT(LEN) | SCRIPT_BIT(FILL) | SCRIPT_BIT(DATA) | SCRIPT_BIT(U64), 0},
    {"modify", SCRIPT_VERB_MODIFY, ON_ANY, QP_ATTRS | SCRIPT_BIT(LIMIT) | SCRIPT_BIT(DEPTH), 0},
    {"destroy", SCRIPT_VERB_DESTROY, ON_ANY, 0, 0},
    {"arm", SCRIPT_VERB_ARM, ON_CQ, SCRIPT_BIT(SOLICITED), 0},
    {"attach", SCRIPT_VERB_ATTACH, ON_QP, SCRIPT_BIT(GROUP), SCRIPT_BIT(GROUP)},
    {"detach", SCRIPT_VERB_DETACH, ON_QP, SCRIPT_BIT(GROUP), SCRIPT_BIT(GROUP)},
    {"listen", SCRIPT_VERB_LISTEN, ON_NONE, SCRIPT_BIT(PORT), SCRIPT_BIT(PORT)},
    {"connect", SCRIPT_VERB_CONNECT, ON_QP,
     SCRIPT_BIT(PORT) | SCRIPT_BIT(TIMEOUT) | SCRIPT_BIT(RETRY) | SCRIPT_BIT(RNR_RETRY) |
         SCRIPT_BIT(RD_ATOMIC) | SCRIPT_BIT(RESOURCES),
     SCRIPT_BIT(PORT)},
    {"accept", SCRIPT_VERB_ACCEPT, ON_QP, SCRIPT_BIT(RD_ATOMIC) | SCRIPT_BIT(RESOURCES), 0},
    {"reject", SCRIPT_VERB_REJECT, ON_NONE, SCRIPT_BIT(REASON), 0},
    {"establish", SCRIPT_VERB_ESTABLISH, ON_NONE, 0, 0},
    {"disconnect", SCRIPT_VERB_DISCONNECT, ON_NONE, 0, 0},
};
#define VERB_CNT (sizeof(verbs) / sizeof(verbs[0]))

#define COMP_OPTIONS                                                                               \
    (SCRIPT_BIT(LEN) | SCRIPT_BIT(IMM) | SCRIPT_BIT(INVALIDATE) | SCRIPT_BIT(SRC_QP) |             \
     SCRIPT_BIT(FILL) | SCRIPT_BIT(DATA) | SCRIPT_BIT(U64) | SCRIPT_BIT(SOLICITED))

void parse_print_verbs(FILE *out)
{
    for (unsigned i = 0; i < VERB_CNT; i++) {
        fprintf(out, "%-17s", verbs[i].words);
        parse_print_options(out, verbs[i].allowed, verbs[i].required);
    }
    fprintf(out, "%-17s", "comp");
    parse_print_options(out, SCRIPT_BIT(ID) | COMP_OPTIONS, SCRIPT_BIT(ID));
}

/* ---- the script's list of events ------------------------------------------------------------- */

static struct script_event *add_event(struct parser *p)
{
    struct script *s = p->script;
    struct script_event *event;

    if (!VEC_GROW(s->event, s->event_cnt, s->event_cap)) {
        lexer_fail(&p->lexer, "no memory");
        return NULL;
    }
    event = &s->event[s->event_cnt++];
    *event = (struct script_event){
        .line = p->lexer.line, .object = SCRIPT_NO_OBJECT, .place = {.object = SCRIPT_NO_OBJECT}};
    return event;
}

static bool copy_bytes(struct script_fill *fill)
{
    uint8_t *data;

    if (!fill->data)
        return true;
    data = malloc(fill->len);
    if (data)
        memcpy(data, fill->data, fill->len);
    fill->data = data;
    return data != NULL;
}

/* Copies *from to *to, with new copies of its packet and of its byte arrays. Keeps the line, column
 * and time of *to. */
static bool copy_event(struct parser *p, struct script_event *to, const struct script_event *from)
{
    unsigned line = to->line, column = to->column;
    struct script_time time = to->time;
    struct script_packet *packet = NULL;
    bool copied;

    *to = *from;
    to->line = line;
    to->column = column;
    to->time = time;
    if (from->packet) {
        packet = malloc(sizeof(*packet));
        if (packet)
            *packet = *from->packet;
    }
    to->packet = packet;
    copied = copy_bytes(&to->options.fill);
    if (packet)
        copied &= copy_bytes(&packet->fill);
    if (copied && (packet || !from->packet))
        return true;
    return lexer_fail(&p->lexer, "no memory");
}

/* ---- lines with packets ---------------------------------------------------------------------- */

static bool parse_packet_event(struct parser *p, struct script_event *event)
{
    event->packet = calloc(1, sizeof(*event->packet));
    if (!event->packet)
        return lexer_fail(&p->lexer, "no memory");
    return parse_packet(p, event->kind == SCRIPT_EXPECT, event->packet);
}

static bool parse_acks(struct parser *p, struct script_event *event)
{
    struct script_field psn = {.value = {.object = SCRIPT_NO_OBJECT}};

    event->kind = SCRIPT_ACKS;
    if (event->object == SCRIPT_NO_OBJECT && !parse_packet_qp(p, &event->object))
        return false;
    if (event->object == SCRIPT_NO_OBJECT)
        return lexer_fail(&p->lexer, "the drill has no QP");
    if (!lexer_word(&p->lexer, "through"))
        return lexer_expected(&p->lexer, "through");
    if (!lexer_word(&p->lexer, "PSN"))
        return lexer_expected(&p->lexer, "PSN");
    if (!parse_packet_psn(p, &psn))
        return false;
    if (psn.kind != SCRIPT_FIELD_PSN)
        return lexer_fail(&p->lexer, "expected a relative PSN, as +1");
    event->psn = (int64_t)psn.value.num;
    event->has_number = lexer_word(&p->lexer, "MSN");
    return !event->has_number || parse_number(p, "an MSN", 0xFFFFFF, &event->number);
}

/* Reads the rest of a line with an expected packet, after the mark ">" or ">?". */
static bool parse_expectation(struct parser *p, struct script_event *event)
{
    struct lexer start = p->lexer;
    int found = parse_find_object(p);

    event->kind = SCRIPT_EXPECT;
    event->optional = lexer_mark(&p->lexer, '?');
    if (event->optional) {
        start = p->lexer;
        found = parse_find_object(p);
    }
    if (found != SCRIPT_NO_OBJECT && !parse_packet_qp(p, &event->object))
        return false;
    if (lexer_word(&p->lexer, "nothing")) {
        event->kind = SCRIPT_SILENCE;
        return !event->optional || lexer_fail(&p->lexer, "expected a packet after '>?'");
    }
    if (lexer_is_word(&p->lexer, "acks")) {
        lexer_next(&p->lexer);
        return parse_acks(p, event);
    }
    p->lexer = start;
    event->object = SCRIPT_NO_OBJECT;
    return parse_packet_event(p, event);
}

/* ---- completions, events, state -------------------------------------------------------------- */

static bool parse_code(struct parser *p, const struct word_number *table, unsigned *out)
{
    uint64_t number;

    if (!parse_table(p, table, &number))
        return false;
    *out = (unsigned)number;
    return true;
}

static bool parse_comp(struct parser *p, struct script_event *event)
{
    event->kind = SCRIPT_COMP;
    event->recv = lexer_word(&p->lexer, "recv");
    return parse_object(p, SCRIPT_QP, &event->object) &&
           parse_options(p, SCRIPT_BIT(ID), &event->options) &&
           parse_required(p, &event->options, SCRIPT_BIT(ID), "comp") &&
           parse_code(p, words_status, &event->code) &&
           parse_options(p, COMP_OPTIONS, &event->options);
}

static bool parse_no(struct parser *p, struct script_event *event)
{
    static const char *const words[] = {"comp", "event", "notification"};
    char list[64];

    switch (lexer_phrase(&p->lexer, words, 3)) {
    case 0:
        event->kind = SCRIPT_NO_COMP;
        return parse_find_object(p) == SCRIPT_NO_OBJECT ||
               parse_object(p, SCRIPT_QP, &event->object);
    case 1: event->kind = SCRIPT_NO_ASYNC; return !p->lexer.failed;
    case 2: event->kind = SCRIPT_NO_NOTIFY; return !p->lexer.failed;
    default: return lexer_expected(&p->lexer, parse_word_list(words, 3, list, sizeof(list)));
    }
}

static bool parse_any_object(struct parser *p, int *out)
{
    *out = parse_find_object(p);
    if (*out == SCRIPT_NO_OBJECT)
        return lexer_expected(&p->lexer, "the name of an object");
    lexer_next(&p->lexer);
    return !p->lexer.failed;
}

static bool parse_check(struct parser *p, struct script_event *event)
{
    event->kind = SCRIPT_MEMORY;
    if (!parse_place(p, "the name of an mr and an offset, for example M+1024", true,
                     &event->place) ||
        !parse_options(p, SCRIPT_BIT(LEN), &event->options) ||
        !parse_required(p, &event->options, SCRIPT_BIT(LEN), "check"))
        return false;
    if (event->place.object == SCRIPT_NO_OBJECT ||
        p->script->object[event->place.object].kind != SCRIPT_MR)
        return lexer_fail(&p->lexer, "check needs the name of an mr");
    if (!lexer_word(&p->lexer, "is"))
        return lexer_expected(&p->lexer, "len or is");
    if (lexer_word(&p->lexer, "zero")) {
        event->options.fill.kind = SCRIPT_FILL_ZERO;
        return !p->lexer.failed;
    }
    if (lexer_word(&p->lexer, "fill"))
        return parse_fill(p, &event->options.fill);
    if (lexer_word(&p->lexer, "data"))
        return parse_data(p, &event->options.fill);
    if (lexer_word(&p->lexer, "u64"))
        return parse_u64(p, &event->options.fill);
    return lexer_expected(&p->lexer, "zero, fill, data or u64");
}

static bool parse_state(struct parser *p, struct script_event *event)
{
    event->kind = SCRIPT_STATE;
    if (!parse_object(p, SCRIPT_QP, &event->object))
        return false;
    if (!lexer_word(&p->lexer, "is"))
        return lexer_expected(&p->lexer, "is");
    return parse_code(p, words_state, &event->code);
}

static bool parse_counter(struct parser *p, struct script_event *event)
{
    struct lex_token start = p->lexer.token;

    event->kind = SCRIPT_COUNTER;
    if (!parse_name(p, "the name of a counter", event->word))
        return false;
    if (!words_has(words_counter, event->word)) {
        p->lexer.token = start;
        return lexer_fail(&p->lexer,
                          "no counter has the name %s; rocedrill drill --words prints the names",
                          event->word);
    }
    if (!lexer_word(&p->lexer, "is"))
        return lexer_expected(&p->lexer, "is");
    return parse_number(p, "the value of the counter", UINT64_MAX, &event->number);
}

/* ---- lines with verbs ------------------------------------------------------------------------ */

static bool parse_operand(struct parser *p, enum operand on, struct script_event *event)
{
    int found = parse_find_object(p);
    enum script_object_kind kind = SCRIPT_PD;

    if (found != SCRIPT_NO_OBJECT)
        kind = p->script->object[found].kind;
    switch (on) {
    case ON_NONE: return true;
    case ON_QP: return parse_object(p, SCRIPT_QP, &event->object);
    case ON_CQ: return parse_object(p, SCRIPT_CQ, &event->object);
    case ON_QUEUE:
        if (found == SCRIPT_NO_OBJECT || (kind != SCRIPT_QP && kind != SCRIPT_SRQ))
            return lexer_expected(&p->lexer, "the name of a qp or srq");
        return parse_any_object(p, &event->object);
    case ON_PLACE:
        if (found == SCRIPT_NO_OBJECT || kind != SCRIPT_MR)
            return lexer_expected(&p->lexer, "the name of an mr and an offset, for example M+1024");
        return parse_place(p, "the name of an mr and an offset, for example M+1024", true,
                           &event->place);
    case ON_ANY:
        if (found != SCRIPT_NO_OBJECT && kind == SCRIPT_PEER)
            return lexer_expected(&p->lexer, "an object of the device");
        return parse_any_object(p, &event->object);
    }
    return false;
}

static bool parse_fails(struct parser *p, struct script_event *event)
{
    unsigned code;

    if (!lexer_word(&p->lexer, "fails"))
        return !p->lexer.failed;
    if (!parse_code(p, words_error, &code))
        return false;
    event->fails = -(int)code;
    return true;
}

/* Reads the first operands of a bind: "id 1 mw W" in the line "post bind Q id 1 mw W mr M len 64".
 * Stores the memory window as the value of the option INVALIDATE. */
static bool parse_window(struct parser *p, struct script_event *event)
{
    struct script_value *window = &event->options.value[SCRIPT_OPT_INVALIDATE];

    if (!parse_options(p, SCRIPT_BIT(ID), &event->options))
        return false;
    if (!lexer_word(&p->lexer, "mw"))
        return lexer_expected(&p->lexer, "id or mw");
    *window = (struct script_value){0};
    event->options.given |= SCRIPT_BIT(INVALIDATE);
    return parse_object(p, SCRIPT_MW, &window->object);
}

/* Number of previous events in which check_id() searches for an id. Without a limit, the time to
 * parse a script would grow with the square of its length. */
#define IDS_CHECKED 4096u

/* Returns false and sets an error if the id of a work request is already in use. Receives must have
 * different ids, and so must requests. A receive and a request may have the same id. */
static bool check_id(struct parser *p, const struct script_event *event)
{
    const struct script *s = p->script;
    uint64_t id = script_number(&event->options, SCRIPT_OPT_ID, 0);
    size_t i = s->event_cnt > IDS_CHECKED ? s->event_cnt - IDS_CHECKED : 0;

    for (; script_given(&event->options, SCRIPT_OPT_ID) && i < s->event_cnt; i++) {
        const struct script_event *other = &s->event[i];

        if (other != event && other->kind == SCRIPT_VERB &&
            script_given(&other->options, SCRIPT_OPT_ID) &&
            script_number(&other->options, SCRIPT_OPT_ID, 0) == id &&
            (other->verb == SCRIPT_VERB_RECV) == (event->verb == SCRIPT_VERB_RECV))
            return lexer_fail(&p->lexer, "id %" PRIu64 " is already used in line %u", id,
                              other->line);
    }
    return true;
}

static bool parse_verb(struct parser *p, unsigned row, struct script_event *event)
{
    event->kind = SCRIPT_VERB;
    event->verb = verbs[row].verb;
    if (!parse_operand(p, verbs[row].on, event))
        return false;
    if (event->verb == SCRIPT_VERB_BIND && !parse_window(p, event))
        return false;
    if (event->verb == SCRIPT_VERB_MODIFY && p->script->object[event->object].kind != SCRIPT_QP &&
        p->script->object[event->object].kind != SCRIPT_SRQ &&
        p->script->object[event->object].kind != SCRIPT_CQ)
        return lexer_fail(&p->lexer, "modify needs a qp, srq or cq");
    if (!parse_options(p, verbs[row].allowed, &event->options))
        return false;
    if (event->verb == SCRIPT_VERB_SEND && script_given(&event->options, SCRIPT_OPT_IMM) &&
        script_given(&event->options, SCRIPT_OPT_INVALIDATE))
        return lexer_fail(&p->lexer, "a SEND cannot have both 'imm' and 'invalidate'");
    return parse_required(p, &event->options, verbs[row].required, verbs[row].words) &&
           check_id(p, event) && parse_fails(p, event);
}

/* ---- whole lines ----------------------------------------------------------------------------- */

static bool parse_body(struct parser *p, struct script_event *event)
{
    static const char *const others[] = {"comp", "no",      "event",    "notified", "check",
                                         "qp",   "counter", "cm-event", "gone"};
    struct lexer *l = &p->lexer;
    const char *words[VERB_CNT];
    int at;

    event->column = l->token.column;
    if (lexer_mark(l, '<')) {
        event->kind = SCRIPT_SEND;
        return parse_packet_event(p, event);
    }
    if (lexer_mark(l, '>'))
        return parse_expectation(p, event);
    for (unsigned i = 0; i < VERB_CNT; i++)
        words[i] = verbs[i].words;
    at = lexer_phrase(l, words, VERB_CNT);
    if (at >= 0)
        return parse_verb(p, (unsigned)at, event);
    if (lexer_word(l, "post"))
        return lexer_expected(l, "send, write, read, cmp-swap, fetch-add, flush, atomic-write, "
                                 "bind or local-inv");
    switch (lexer_phrase(l, others, 9)) {
    case 0: return parse_comp(p, event);
    case 1: return parse_no(p, event);
    case 2:
        event->kind = SCRIPT_ASYNC;
        return parse_code(p, words_event, &event->code) &&
               (parse_find_object(p) == SCRIPT_NO_OBJECT || parse_any_object(p, &event->object));
    case 3: event->kind = SCRIPT_NOTIFIED; return parse_object(p, SCRIPT_CQ, &event->object);
    case 4: return parse_check(p, event);
    case 5: return parse_state(p, event);
    case 6: return parse_counter(p, event);
    case 7: event->kind = SCRIPT_CM_EVENT; return parse_code(p, words_cm_event, &event->code);
    case 8: event->kind = SCRIPT_GONE; return !l->failed;
    default: break;
    }
    return lexer_expected(l, "'<', '>', '>?', comp, no, event, notified, check, qp, counter, "
                             "cm-event, recv, post, store, modify, destroy, arm, attach, detach, "
                             "listen, connect, accept, reject, establish or disconnect");
}

/* Returns whether an event is an expectation: the device must cause it within its time window. */
static bool is_expectation(const struct script_event *event)
{
    switch (event->kind) {
    case SCRIPT_EXPECT:
    case SCRIPT_ACKS:
    case SCRIPT_SILENCE:
    case SCRIPT_COMP:
    case SCRIPT_NO_COMP:
    case SCRIPT_ASYNC:
    case SCRIPT_NO_ASYNC:
    case SCRIPT_NOTIFIED:
    case SCRIPT_NO_NOTIFY:
    case SCRIPT_CM_EVENT:
    case SCRIPT_GONE: return true;
    default: return false;
    }
}

static bool check_time(struct parser *p, const struct script_event *event)
{
    bool none = event->kind == SCRIPT_SILENCE || event->kind == SCRIPT_NO_COMP ||
                event->kind == SCRIPT_NO_ASYNC || event->kind == SCRIPT_NO_NOTIFY;

    if (p->lexer.failed)
        return false;
    if (event->time.whole && !none)
        return lexer_fail(&p->lexer,
                          "the time * is allowed only for an event with 'nothing' or 'no'");
    if (event->time.from != event->time.to && !is_expectation(event))
        return lexer_fail(&p->lexer,
                          "a time range is allowed only for an event that the device must cause");
    if (none && event->time.from != event->time.to && event->time.from != 0)
        return lexer_fail(&p->lexer,
                          "the time range of an event with 'nothing' or 'no' must begin at +0");
    return true;
}

/* Reads "[ID...]" at the end of a line. */
static bool parse_rules(struct parser *p, struct script_step *step)
{
    if (!lexer_mark(&p->lexer, '['))
        return !p->lexer.failed;
    while (!lexer_mark(&p->lexer, ']')) {
        if (step->rule_cnt == SCRIPT_IDS_MAX)
            return lexer_fail(&p->lexer, "more than %d rules", SCRIPT_IDS_MAX);
        if (!parse_name(p, "the id of a rule, or ']'", step->rule[step->rule_cnt]))
            return false;
        step->rule_cnt++;
    }
    return !p->lexer.failed;
}

bool parse_event(struct parser *p)
{
    struct script *s = p->script;
    struct script_event *event;
    struct script_step *step;

    event = add_event(p);
    if (!event)
        return false;
    if (!parse_time(p, &event->time) || !parse_body(p, event) || !check_time(p, event))
        return false;
    if (event->kind == SCRIPT_GONE)
        return lexer_fail(
            &p->lexer,
            "'gone' is allowed only in an alternative, for example 'else gone known ID'");
    if (!VEC_GROW(s->step, s->step_cnt, s->step_cap))
        return lexer_fail(&p->lexer, "no memory");
    step = &s->step[s->step_cnt++];
    *step = (struct script_step){.first = (unsigned)s->event_cnt - 1, .cnt = 1};
    return parse_rules(p, step);
}

/* Reads "known ID" or "inconclusive" at the end of an alternative. */
static bool parse_outcome(struct parser *p, struct script_event *event)
{
    struct lex_token start;

    event->inconclusive = lexer_word(&p->lexer, "inconclusive");
    if (event->inconclusive || !lexer_word(&p->lexer, "known"))
        return !p->lexer.failed;
    start = p->lexer.token;
    if (!parse_name(p, "the id of a known deviation", event->known))
        return false;
    if (words_has(words_known, event->known))
        return true;
    p->lexer.token = start;
    return lexer_fail(&p->lexer, "no known deviation has the id %s", event->known);
}

bool parse_alternative(struct parser *p)
{
    struct script *s = p->script;
    struct lexer *l = &p->lexer;
    struct script_event *event;
    enum script_event_kind kind;
    unsigned main;
    bool action;

    if (s->step_cnt == 0)
        return lexer_fail(l, "an alternative must follow an event");
    main = s->step[s->step_cnt - 1].first;
    kind = s->event[main].kind;
    action = kind == SCRIPT_VERB || kind == SCRIPT_STATE || kind == SCRIPT_MEMORY ||
             kind == SCRIPT_COUNTER;
    if ((!is_expectation(&s->event[main]) && !action) || s->event[main].optional)
        return lexer_fail(l, "an alternative is allowed only after an event that must happen");
    if (s->event[main].time.whole)
        return lexer_fail(l, "a line with the time * cannot have an alternative");
    event = add_event(p);
    if (!event)
        return false;
    event->time = s->event[main].time;
    event->column = l->token.column;
    if (l->token.kind == LEX_MARK && (*l->token.text == '+' || *l->token.text == '*') &&
        !parse_time(p, &event->time))
        return false;
    if (l->token.kind == LEX_END || lexer_is_word(l, "known") || lexer_is_word(l, "inconclusive")) {
        if (!copy_event(p, event, &s->event[main]))
            return false;
    } else if (!parse_body(p, event)) {
        return false;
    }
    if (!l->failed && (action ? event->kind != kind : !is_expectation(event)))
        return lexer_fail(l, "an alternative must be something that the device does");
    s->step[s->step_cnt - 1].cnt++;
    if (!check_time(p, event))
        return false;
    if (event->time.whole)
        return lexer_fail(l, "the time * is not allowed in an alternative");
    if (!parse_outcome(p, event))
        return false;
    if (event->kind == SCRIPT_GONE && !*event->known)
        return lexer_fail(l, "'gone' requires 'known ID', the id of a known deviation");
    if (kind == SCRIPT_VERB && !*event->known && !event->inconclusive)
        return lexer_fail(l, "an alternative of a verb must end with 'known ID' or 'inconclusive'");
    return parse_rules(p, &s->step[s->step_cnt - 1]);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/parser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "drill/parse_event.h"

#define QP_OPTIONS                                                                                 \
    (SCRIPT_BIT(MTU) | SCRIPT_BIT(TIMEOUT) | SCRIPT_BIT(RETRY) | SCRIPT_BIT(RNR_RETRY) |           \
     SCRIPT_BIT(RNR_TIMER) | SCRIPT_BIT(RD_ATOMIC) | SCRIPT_BIT(RESOURCES) | SCRIPT_BIT(PSN) |     \
     SCRIPT_BIT(PEER_PSN) | SCRIPT_BIT(PKEY) | SCRIPT_BIT(QKEY) | SCRIPT_BIT(TCLASS) |             \
     SCRIPT_BIT(HOP_LIMIT) | SCRIPT_BIT(SENDS) | SCRIPT_BIT(RECVS) | SCRIPT_BIT(ACCESS) |          \
     SCRIPT_BIT(STATE) | SCRIPT_BIT(PD) | SCRIPT_BIT(CQ) | SCRIPT_BIT(RECV_CQ) | SCRIPT_BIT(SRQ) | \
     SCRIPT_BIT(XRCD))

/* For each kind of object: the options that it accepts, and those that it requires. */
static const struct {
    enum script_object_kind kind;
    uint64_t allowed, required;
} object_rows[] = {
    {SCRIPT_PD, 0, 0},
    {SCRIPT_CQ, SCRIPT_BIT(DEPTH), 0},
    {SCRIPT_SRQ,
     SCRIPT_BIT(DEPTH) | SCRIPT_BIT(LIMIT) | SCRIPT_BIT(XRCD) | SCRIPT_BIT(PD) | SCRIPT_BIT(CQ), 0},
    {SCRIPT_XRCD, 0, 0},
    {SCRIPT_QP, QP_OPTIONS, 0},
    {SCRIPT_MR,
     SCRIPT_BIT(LEN) | SCRIPT_BIT(ACCESS) | SCRIPT_BIT(FILL) | SCRIPT_BIT(DATA) | SCRIPT_BIT(U64) |
         SCRIPT_BIT(PD) | SCRIPT_BIT(IOVA) | SCRIPT_BIT(ZERO_BASED) | SCRIPT_BIT(INVALIDATES),
     SCRIPT_BIT(LEN) | SCRIPT_BIT(ACCESS)},
    {SCRIPT_MW, SCRIPT_BIT(TYPE) | SCRIPT_BIT(PD), SCRIPT_BIT(TYPE)},
    {SCRIPT_AH, SCRIPT_BIT(TCLASS) | SCRIPT_BIT(HOP_LIMIT) | SCRIPT_BIT(GROUP) | SCRIPT_BIT(PD), 0},
    {SCRIPT_PEER, SCRIPT_BIT(LEN) | SCRIPT_BIT(FILL), SCRIPT_BIT(LEN)},
};
#define OBJECT_KINDS (sizeof(object_rows) / sizeof(object_rows[0]))

void script_print_options(FILE *out)
{
    fprintf(out, "Options of objects; those in brackets may be absent:\n");
    for (unsigned i = 0; i < OBJECT_KINDS; i++) {
        fprintf(out, "%-5s", parse_object_kind_name(object_rows[i].kind));
        parse_print_options(out, object_rows[i].allowed, object_rows[i].required);
    }
}

/* Reserved words: an object, a `let` constant or a variant cannot have such a name. */
static const char *const reserved[] = {
    "purpose", "rules",   "coverage", "needs", "role",    "allow", "let", "or",
    "else",    "timeout", "rnr",      "is",    "fill",    "data",  "at",  "recv",
    "nothing", "acks",    "CM",       "known", "through", "zero",  "PSN", "fails",
};

/* ---- reading the head ------------------------------------------------------------------------ */

static bool parse_ids(struct parser *p, const char *what, char (*list)[SCRIPT_NAME_MAX],
                      unsigned *cnt)
{
    do {
        if (*cnt == SCRIPT_IDS_MAX)
            return lexer_fail(&p->lexer, "more than %d ids", SCRIPT_IDS_MAX);
        if (!parse_name(p, what, list[*cnt]))
            return false;
        (*cnt)++;
        lexer_mark(&p->lexer, ',');
    } while (p->lexer.token.kind == LEX_WORD);
    return !p->lexer.failed;
}

/* Appends the rest of the line to the purpose of the drill. */
static bool parse_purpose(struct parser *p)
{
    char *text = lexer_rest(&p->lexer);
    size_t len = text ? strlen(text) : 0, end = p->purpose_len;
    size_t need = end + len + 2; /* one byte for a blank, one for the final zero */
    char *joined = p->script->purpose;

    if (text && need > p->purpose_cap) {
        p->purpose_cap = 2 * need;
        joined = realloc(joined, p->purpose_cap);
    }
    if (!text || !joined) {
        free(text);
        return lexer_fail(&p->lexer, "no memory");
    }
    if (end > 0)
        joined[end++] = ' ';
    memcpy(joined + end, text, len + 1);
    free(text);
    p->script->purpose = joined;
    p->purpose_len = end + len;
    return p->purpose_len ? !p->lexer.failed : lexer_expected(&p->lexer, "a text");
}

static bool parse_role(struct parser *p)
{
    static const char *const words[] = {NULL, "responder", "requester", "both"};
    int at = lexer_phrase(&p->lexer, words, 4);

    if (at < 0)
        return lexer_expected(&p->lexer, "responder, requester or both");
    p->script->role = (enum script_role)at;
    return !p->lexer.failed;
}

/* Returns false and sets an error if the token is a reserved word, or the name of an object,
 * constant or variant that a previous line defines. */
static bool check_new_name(struct parser *p)
{
    struct lexer *l = &p->lexer;

    for (unsigned i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (lexer_is_word(l, reserved[i]))
            return lexer_fail(l, "'%s' is a word of the drill language and cannot be a name",
                              reserved[i]);
    if (parse_find_object(p) != SCRIPT_NO_OBJECT)
        return lexer_fail(l, "the name '%.*s' is already used", (int)l->token.len, l->token.text);
    for (unsigned i = 0; i < p->let_cnt; i++)
        if (lexer_is_word(l, p->let[i].name))
            return lexer_fail(l, "the name '%s' is already used", p->let[i].name);
    return !l->failed;
}

static bool parse_let(struct parser *p)
{
    char name[SCRIPT_NAME_MAX];

    if (p->let_cnt == PARSE_LETS_MAX)
        return lexer_fail(&p->lexer, "more than %d 'let' lines", PARSE_LETS_MAX);
    if (!check_new_name(p) || !parse_name(p, "a name", name))
        return false;
    if (!lexer_mark(&p->lexer, '='))
        return lexer_expected(&p->lexer, "'='");
    if (!parse_duration(p, &p->let[p->let_cnt].value))
        return false;
    memcpy(p->let[p->let_cnt++].name, name, sizeof(name));
    return true;
}

/* A variant is a name with several values, such as `mtu = 1024, 4096`. Selects one value of each
 * variant. `number` is the index of the combination of values. */
static void choose_values(struct script *s, unsigned number)
{
    for (unsigned i = s->variant_cnt; i-- > 0;) {
        s->variant[i].chosen = number % s->variant[i].cnt;
        number /= s->variant[i].cnt;
    }
}

static bool parse_variant_values(struct parser *p)
{
    struct script *s = p->script;
    struct script_variant *v = &s->variant[s->variant_cnt];

    if (s->object_cnt || s->step_cnt)
        return lexer_fail(&p->lexer,
                          "a variant must come before the first object and the first event");
    if (s->variant_cnt == SCRIPT_VARIANTS_MAX)
        return lexer_fail(&p->lexer, "more than %d variants", SCRIPT_VARIANTS_MAX);
    *v = (struct script_variant){0};
    if (!parse_name(p, "a name", v->name) || !lexer_mark(&p->lexer, '='))
        return lexer_expected(&p->lexer, "'='");
    do {
        if (v->cnt == SCRIPT_VALUES_MAX)
            return lexer_fail(&p->lexer, "more than %d values", SCRIPT_VALUES_MAX);
        if (!parse_number(p, "a value of the variant", UINT32_MAX, &v->value[v->cnt]))
            return false;
        if (strcmp(v->name, "ip") == 0 && v->value[v->cnt] != 4 && v->value[v->cnt] != 6)
            return lexer_fail(&p->lexer, "a value of ip must be 4 or 6");
        v->cnt++;
    } while (lexer_mark(&p->lexer, ','));
    s->variant_cnt++;
    if (script_combinations(s) > SCRIPT_COMBINATIONS_MAX)
        return lexer_fail(&p->lexer, "more than %d combinations of variants",
                          SCRIPT_COMBINATIONS_MAX);
    return !p->lexer.failed;
}

/* ---- reading objects ------------------------------------------------------------------------- */

static bool parse_service(struct parser *p, struct script_object *object)
{
    static const char *const words[] = {"rc", "uc", "ud", "xrc", "xrc-send", "gsi"};
    int at = lexer_phrase(&p->lexer, words, 6);

    if (at < 0)
        return lexer_expected(&p->lexer, "rc, uc, ud, xrc, xrc-send or gsi");
    object->service = (enum script_service)at;
    return !p->lexer.failed;
}

/* Returns false and sets an error if no device can create an object with these values. */
static bool check_values(struct parser *p, const struct script_object *object)
{
    uint64_t mtu = script_number(&object->options, SCRIPT_OPT_MTU, 1024);
    uint64_t type = script_number(&object->options, SCRIPT_OPT_TYPE, 1);

    if (object->kind == SCRIPT_QP && (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0))
        return lexer_fail(&p->lexer, "the mtu of a QP must be 256, 512, 1024, 2048 or 4096");
    if (object->kind == SCRIPT_MW && (type < 1 || type > 2))
        return lexer_fail(&p->lexer, "the type of a memory window must be 1 or 2; type 2 is 2A if "
                                     "the drill has 'needs mw-2a', else 2B");
    return true;
}

static bool parse_declaration(struct parser *p, unsigned row)
{
    struct script *s = p->script;
    struct script_object *object = &s->object[s->object_cnt];
    bool parsed;

    if (s->step_cnt)
        return lexer_fail(&p->lexer, "an object must come before the first event; an event begins "
                                     "with its time, for example +0");
    if (s->object_cnt == SCRIPT_OBJECTS_MAX)
        return lexer_fail(&p->lexer, "more than %d objects", SCRIPT_OBJECTS_MAX);
    if (!check_new_name(p))
        return false;
    *object = (struct script_object){.kind = object_rows[row].kind, .line = p->lexer.line};
    if (!parse_name(p, "the name of the object", object->name))
        return false;
    s->object_cnt++;
    if (object->kind == SCRIPT_QP && !parse_service(p, object))
        return false;
    p->declares = true;
    parsed = parse_options(p, object_rows[row].allowed, &object->options);
    p->declares = false;
    return parsed &&
           parse_required(p, &object->options, object_rows[row].required,
                          parse_object_kind_name(object->kind)) &&
           check_values(p, object);
}

/* ---- reading all lines ----------------------------------------------------------------------- */

static bool parse_head_or_object(struct parser *p)
{
    static const char *const heads[] = {"purpose", "rules", "coverage", "needs", "role",
                                        "allow",   "let",   "or",       "else"};
    struct lexer *l = &p->lexer;
    struct script *s = p->script;
    const char *kinds[OBJECT_KINDS];
    int at;

    for (unsigned i = 0; i < OBJECT_KINDS; i++)
        kinds[i] = parse_object_kind_name(object_rows[i].kind);
    at = lexer_phrase(l, kinds, OBJECT_KINDS);
    if (at >= 0 && !p->heads_end)
        p->heads_end = l->line;
    if (at >= 0)
        return parse_declaration(p, (unsigned)at);
    switch (lexer_phrase(l, heads, 9)) {
    case 0:
        if (s->purpose)
            return lexer_fail(l, "the drill has two purposes");
        return parse_purpose(p);
    case 1: return parse_ids(p, "the id of a rule", s->rule, &s->rule_cnt);
    case 2: return parse_ids(p, "the number of a test or rule", s->coverage, &s->coverage_cnt);
    case 3: return parse_ids(p, "the name of a capability", s->need, &s->need_cnt);
    case 4:
        if (s->role != SCRIPT_ROLE_NONE)
            return lexer_fail(l, "the drill has two roles");
        return parse_role(p);
    case 5: return parse_ids(p, "the id of a rule", s->allow, &s->allow_cnt);
    case 6: return parse_let(p);
    case 7:
    case 8: return parse_alternative(p);
    default: break;
    }
    if (l->token.kind == LEX_WORD && l->at[strspn(l->at, " \t")] == '=')
        return parse_variant_values(p);
    return lexer_expected(l, "a time, an object (pd, cq, srq, xrcd, qp, mr, mw, ah, peer), or "
                             "purpose, rules, coverage, needs, role, allow, let, or, else, "
                             "NAME = VALUE");
}

static bool parse_line(struct parser *p, unsigned line, bool *in_purpose)
{
    struct lexer *l = &p->lexer;
    const char *text = p->script->line[line];

    lexer_begin(l, text, line + 1);
    if (l->token.kind == LEX_END) {
        *in_purpose = false;
        return !l->failed;
    }
    if (*in_purpose && (*text == ' ' || *text == '\t'))
        return parse_purpose(p);
    *in_purpose = lexer_is_word(l, "purpose");
    if (l->token.kind == LEX_MARK && (*l->token.text == '+' || *l->token.text == '*')) {
        if (!p->heads_end)
            p->heads_end = line + 1;
        if (!parse_event(p))
            return false;
    } else {
        if (!parse_head_or_object(p))
            return false;
    }
    return l->token.kind == LEX_END || lexer_expected(l, "the end of the line");
}

/* Splits the text of the script into lines. */
static bool split_lines(struct script *s, size_t len)
{
    unsigned cnt = 1;
    char *at = s->text;

    for (size_t i = 0; i < len; i++)
        cnt += s->text[i] == '\n';
    s->line = malloc(cnt * sizeof(*s->line));
    if (!s->line)
        return false;
    for (;;) {
        char *end = strchr(at, '\n');

        s->line[s->line_cnt++] = at;
        if (!end)
            break;
        *end = '\0';
        at = end + 1;
    }
    return true;
}

static bool check_whole(struct parser *p)
{
    unsigned end = p->lexer.line;

    p->lexer.token = (struct lex_token){.column = 1};
    if (p->heads_end)
        p->lexer.line = p->heads_end;
    if (!p->script->purpose)
        return lexer_fail(&p->lexer, "the drill has no purpose: expected 'purpose TEXT' above");
    if (p->script->rule_cnt == 0)
        return lexer_fail(&p->lexer, "the drill names no rules: expected 'rules ID...' above "
                                     "('rocedrill check --rules' lists the ids)");
    if (p->script->role == SCRIPT_ROLE_NONE)
        return lexer_fail(&p->lexer, "the drill names no role: expected 'role responder', 'role "
                                     "requester' or 'role both' above");
    p->lexer.line = end;
    if (p->script->step_cnt == 0)
        return lexer_fail(&p->lexer, "the drill has no event");
    return true;
}

/* Reads all variants of the drill and chooses their values. Must precede the parsing of the lines,
 * because every line may use the chosen values. */
static bool read_variants(struct parser *p, unsigned variant)
{
    struct script *s = p->script;
    bool in_purpose = false;

    for (unsigned i = 0; i < s->line_cnt; i++) {
        lexer_begin(&p->lexer, s->line[i], i + 1);
        if (in_purpose && (*s->line[i] == ' ' || *s->line[i] == '\t'))
            continue;
        in_purpose = lexer_is_word(&p->lexer, "purpose");
        if (p->lexer.token.kind == LEX_WORD && p->lexer.at[strspn(p->lexer.at, " \t")] == '=' &&
            !parse_variant_values(p))
            return false;
        if (p->lexer.failed) { /* script_parse() will report this error */
            p->lexer.failed = false;
            continue;
        }
    }
    if (variant >= script_combinations(s))
        return lexer_fail(&p->lexer, "no such combination of variants");
    choose_values(s, variant);
    return true;
}

int script_parse(struct script *out, const char *path, const char *text, size_t len,
                 unsigned variant, struct error *error)
{
    struct parser p = {.script = out, .lexer = {.path = path, .error = error}};
    bool in_purpose = false;
    struct script_variant chosen[SCRIPT_VARIANTS_MAX];

    memset(out, 0, sizeof(*out));
    out->path = strdup(path);
    out->text = malloc(len + 1);
    if (!out->path || !out->text)
        return error_set(error, "%s: no memory", path);
    memcpy(out->text, text, len);
    out->text[len] = '\0';
    if (memchr(text, '\0', len))
        return error_set(error, "%s: not a text file: it contains a zero byte", path);
    if (!split_lines(out, len))
        return error_set(error, "%s: no memory", path);
    if (!read_variants(&p, variant))
        return -1;
    memcpy(chosen, out->variant, sizeof(chosen));
    out->variant_cnt = 0;
    for (unsigned i = 0; i < out->line_cnt; i++) {
        unsigned before = out->variant_cnt;

        if (!parse_line(&p, i, &in_purpose))
            return -1;
        if (out->variant_cnt != before)
            out->variant[before].chosen = chosen[before].chosen;
    }
    p.lexer.line = out->line_cnt;
    return check_whole(&p) ? 0 : -1;
}

int script_read(struct script *out, const char *path, unsigned variant, struct error *error)
{
    FILE *file = fopen(path, "rb");
    char *text;
    size_t len;
    int rc;

    memset(out, 0, sizeof(*out));
    if (!file)
        return error_set(error, "%s: %s", path, strerror(errno));
    text = malloc(PARSER_TEXT_MAX + 1);
    if (!text) {
        fclose(file);
        return error_set(error, "%s: no memory", path);
    }
    len = fread(text, 1, PARSER_TEXT_MAX + 1, file);
    if (ferror(file))
        rc = error_set(error, "%s: %s", path, strerror(errno));
    else if (len > PARSER_TEXT_MAX)
        rc = error_set(error, "%s: longer than %u bytes", path, PARSER_TEXT_MAX);
    else
        rc = script_parse(out, path, text, len, variant, error);
    fclose(file);
    free(text);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/parse_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "drill/words.h"
#include "util/hex.h"
#include "util/strbuf.h"
#include "wire/codes.h"

enum option_type {
    TYPE_NUMBER,
    TYPE_KEY,
    TYPE_ACCESS,
    TYPE_STATE,
    TYPE_LEVEL,
    TYPE_PLACE,
    TYPE_PD,
    TYPE_CQ,
    TYPE_SRQ,
    TYPE_XRCD,
    TYPE_MR,
    TYPE_AH,
    TYPE_FLAG,
    TYPE_FILL,
};

static const struct {
    const char *word;
    enum option_type type;
    uint64_t max;
} option_rows[SCRIPT_OPT_CNT] = {
#define X(NAME, word, type, max) [SCRIPT_OPT_##NAME] = {word, TYPE_##type, max},
    SCRIPT_OPTIONS(X)
#undef X
};

static const char *const kind_names[] = {
    [SCRIPT_PD] = "pd",     [SCRIPT_CQ] = "cq", [SCRIPT_SRQ] = "srq",
    [SCRIPT_XRCD] = "xrcd", [SCRIPT_QP] = "qp", [SCRIPT_MR] = "mr",
    [SCRIPT_MW] = "mw",     [SCRIPT_AH] = "ah", [SCRIPT_PEER] = "peer",
};

const char *parse_object_kind_name(enum script_object_kind kind)
{
    return kind_names[kind];
}

const char *parse_word_list(const char *const *words, unsigned cnt, char *buf, size_t cap)
{
    struct strbuf t = strbuf_of(buf, cap);
    unsigned left = 0;

    for (unsigned i = 0; i < cnt; i++)
        left += words[i] != NULL;
    for (unsigned i = 0; i < cnt; i++)
        if (words[i])
            strbuf_addf(&t, "%s%s", words[i], --left > 1 ? ", " : left == 1 ? " or " : "");
    return buf;
}

const char *parse_option_list(uint64_t set, char *buf, size_t cap)
{
    const char *words[SCRIPT_OPT_CNT];

    for (unsigned i = 0; i < SCRIPT_OPT_CNT; i++)
        words[i] = set >> i & 1 ? option_rows[i].word : NULL;
    return parse_word_list(words, SCRIPT_OPT_CNT, buf, cap);
}

bool parse_name(struct parser *p, const char *what, char *out)
{
    const struct lex_token *token = &p->lexer.token;

    if (token->kind != LEX_WORD)
        return lexer_expected(&p->lexer, what);
    if (token->len >= SCRIPT_NAME_MAX)
        return lexer_fail(&p->lexer, "a name has at most %d characters", SCRIPT_NAME_MAX - 1);
    memcpy(out, token->text, token->len);
    out[token->len] = '\0';
    lexer_next(&p->lexer);
    return !p->lexer.failed;
}

/* ---- reading numbers ------------------------------------------------------------------------- */

static bool parse_sum(struct parser *p, unsigned depth, uint64_t *out);

static bool find_let(const struct parser *p, const char *name, size_t len, uint64_t *out)
{
    for (unsigned i = 0; i < p->let_cnt; i++)
        if (strlen(p->let[i].name) == len && strncmp(p->let[i].name, name, len) == 0) {
            *out = p->let[i].value;
            return true;
        }
    return false;
}

static bool parse_variant(struct parser *p, uint64_t *out)
{
    const struct script *s = p->script;

    for (unsigned i = 0; i < s->variant_cnt; i++)
        if (lexer_word(&p->lexer, s->variant[i].name)) {
            *out = s->variant[i].value[s->variant[i].chosen];
            return !p->lexer.failed;
        }
    return lexer_expected(&p->lexer, "the name of a variant that a line above defines");
}

/* Reads "(CODE)" after "timeout" or "rnr". CODE is at most 31. */
static bool parse_code(struct parser *p, unsigned depth, uint64_t *out)
{
    if (!lexer_mark(&p->lexer, '('))
        return lexer_expected(&p->lexer, "'('");
    if (!parse_sum(p, depth + 1, out))
        return false;
    if (*out > 31)
        return lexer_fail(&p->lexer, "code above 31");
    return lexer_mark(&p->lexer, ')') || lexer_expected(&p->lexer, "')'");
}

static bool parse_factor(struct parser *p, unsigned depth, uint64_t *out)
{
    struct lexer *l = &p->lexer;

    if (depth > 20)
        return lexer_fail(l, "an expression has at most 20 levels");
    if (l->token.kind == LEX_NUMBER) {
        if (*l->token.unit)
            return lexer_expected(l, "a number without a unit (in a sum, times are ns)");
        *out = l->token.number;
        lexer_next(l);
        return !l->failed;
    }
    if (lexer_mark(l, '$'))
        return parse_variant(p, out);
    if (lexer_mark(l, '('))
        return parse_sum(p, depth + 1, out) &&
               (lexer_mark(l, ')') || lexer_expected(l, "'+', '-', '*', '/' or ')'"));
    if (lexer_word(l, "timeout")) {
        if (!parse_code(p, depth, out))
            return false;
        *out = roce_ack_timeout_ns((uint8_t)*out);
        return true;
    }
    if (lexer_word(l, "rnr")) {
        if (!parse_code(p, depth, out))
            return false;
        *out = roce_rnr_ns((uint8_t)*out);
        return true;
    }
    if (l->token.kind == LEX_WORD && find_let(p, l->token.text, l->token.len, out)) {
        lexer_next(l);
        return !l->failed;
    }
    return lexer_expected(l, "a number, $VARIANT, a name that 'let' defines, or '('");
}

static bool parse_product(struct parser *p, unsigned depth, uint64_t *out)
{
    uint64_t right;

    if (!parse_factor(p, depth, out))
        return false;
    for (;;) {
        if (lexer_mark(&p->lexer, '*')) {
            if (!parse_factor(p, depth, &right))
                return false;
            *out *= right;
        } else if (lexer_mark(&p->lexer, '/')) {
            if (!parse_factor(p, depth, &right))
                return false;
            if (right == 0)
                return lexer_fail(&p->lexer, "division by zero");
            *out /= right;
        } else {
            return !p->lexer.failed;
        }
    }
}

static bool parse_sum(struct parser *p, unsigned depth, uint64_t *out)
{
    uint64_t right;

    if (!parse_product(p, depth, out))
        return false;
    for (;;) {
        bool minus = lexer_mark(&p->lexer, '-');

        if (!minus && !lexer_mark(&p->lexer, '+'))
            return !p->lexer.failed;
        if (!parse_product(p, depth, &right))
            return false;
        *out = minus ? *out - right : *out + right;
    }
}

bool parse_number(struct parser *p, const char *what, uint64_t max, uint64_t *out)
{
    const struct lex_token *token = &p->lexer.token;
    struct lex_token start = *token;
    uint64_t unused;
    bool begins = token->kind == LEX_NUMBER ||
                  (token->kind == LEX_MARK && (*token->text == '$' || *token->text == '(')) ||
                  lexer_is_word(&p->lexer, "timeout") || lexer_is_word(&p->lexer, "rnr") ||
                  (token->kind == LEX_WORD && find_let(p, token->text, token->len, &unused));

    if (!begins)
        return lexer_expected(&p->lexer, what);
    if (!parse_factor(p, 0, out))
        return false;
    if (*out <= max)
        return true;
    p->lexer.token = start;
    return lexer_fail(&p->lexer, "%" PRIu64 " is above the maximum of %" PRIu64 " (expected: %s)",
                      *out, max, what);
}

/* ---- reading times --------------------------------------------------------------------------- */

static bool unit_ns(const struct parser *p, const char *unit, uint64_t *out)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(units[i].name, unit) == 0) {
            *out = units[i].ns;
            return true;
        }
    return find_let(p, unit, strlen(unit), out);
}

bool parse_duration(struct parser *p, uint64_t *out)
{
    struct lexer *l = &p->lexer;
    struct lex_token start = l->token;
    uint64_t unit;

    if (l->token.kind != LEX_NUMBER)
        return parse_number(p, "a duration, for example 100us, 20ms or 4T", SCRIPT_TIME_MAX, out);
    if (*l->token.unit == '\0' && l->token.number != 0)
        return lexer_expected(
            l, "a unit after the number: ns, us, ms, s or a name that 'let' defines");
    *out = 0;
    if (*l->token.unit) {
        if (!unit_ns(p, l->token.unit, &unit))
            return lexer_fail(
                l, "unknown unit '%s': expected ns, us, ms, s or a name that 'let' defines",
                l->token.unit);
        if (unit != 0 && l->token.number > SCRIPT_TIME_MAX / unit) {
            l->token = start;
            return lexer_fail(l, "a duration is at most 11 days");
        }
        *out = l->token.number * unit;
    }
    lexer_next(l);
    return !l->failed;
}

bool parse_time(struct parser *p, struct script_time *out)
{
    struct lexer *l = &p->lexer;

    *out = (struct script_time){0};
    if (lexer_mark(l, '*')) {
        out->whole = true;
        return !l->failed;
    }
    lexer_mark(l, '+'); /* skip the '+'; a '*' was handled above */
    if (!parse_duration(p, &out->from))
        return false;
    out->to = out->from;
    if (!lexer_mark(l, '~'))
        return !l->failed;
    if (!lexer_mark(l, '+'))
        return lexer_expected(l, "'+' and the end of the time range");
    if (!parse_duration(p, &out->to))
        return false;
    if (out->to < out->from)
        return lexer_fail(l, "the time range ends before it begins");
    return true;
}

/* ---- objects and places ---------------------------------------------------------------------- */

int parse_find_object(const struct parser *p)
{
    const struct lex_token *token = &p->lexer.token;

    if (token->kind != LEX_WORD)
        return SCRIPT_NO_OBJECT;
    for (int i = 0; i < p->script->object_cnt; i++)
        if (lexer_is_word(&p->lexer, p->script->object[i].name))
            return i;
    return SCRIPT_NO_OBJECT;
}

bool parse_object(struct parser *p, enum script_object_kind kind, int *out)
{
    char what[40];
    int found = parse_find_object(p);

    snprintf(what, sizeof(what), "the name of a %s", kind_names[kind]);
    if (found == SCRIPT_NO_OBJECT || p->script->object[found].kind != kind)
        return lexer_expected(&p->lexer, what);
    *out = found;
    lexer_next(&p->lexer);
    return !p->lexer.failed;
}

bool parse_place(struct parser *p, const char *what, bool memory, struct script_value *out)
{
    int found = parse_find_object(p);

    *out = (struct script_value){.object = SCRIPT_NO_OBJECT};
    if (found == SCRIPT_NO_OBJECT)
        return parse_number(p, what, UINT64_MAX, &out->num);
    if (memory && p->script->object[found].kind != SCRIPT_MR &&
        p->script->object[found].kind != SCRIPT_PEER)
        return lexer_expected(&p->lexer, what);
    out->object = found;
    lexer_next(&p->lexer);
    if (!lexer_mark(&p->lexer, '+'))
        return !p->lexer.failed;
    return parse_number(p, "an offset", UINT64_MAX, &out->num);
}

bool parse_data(struct parser *p, struct script_fill *out)
{
    char digits[4097];
    size_t len;

    lexer_raw(&p->lexer, digits, sizeof(digits));
    len = strlen(digits);
    free(out->data);
    *out = (struct script_fill){.kind = SCRIPT_FILL_DATA, .len = (uint32_t)(len / 2)};
    if (len == 0 || len % 2 || len >= sizeof(digits) - 1)
        return lexer_fail(&p->lexer, "expected 1 to 2047 bytes, two hexadecimal digits each");
    out->data = malloc(len / 2);
    if (!out->data)
        return lexer_fail(&p->lexer, "no memory");
    if (!hex_parse(digits, out->data, len / 2))
        return lexer_fail(&p->lexer, "expected hexadecimal digits");
    return !p->lexer.failed;
}

bool parse_u64(struct parser *p, struct script_fill *out)
{
    uint64_t number;

    free(out->data);
    *out = (struct script_fill){.kind = SCRIPT_FILL_DATA, .len = sizeof(number)};
    if (!parse_number(p, "a number", UINT64_MAX, &number))
        return false;
    out->data = malloc(sizeof(number));
    if (!out->data)
        return lexer_fail(&p->lexer, "no memory");
    memcpy(out->data, &number, sizeof(number));
    return true;
}

bool parse_fill(struct parser *p, struct script_fill *out)
{
    int found = parse_find_object(p);

    free(out->data);
    *out = (struct script_fill){.kind = SCRIPT_FILL_MEMORY};
    if (found != SCRIPT_NO_OBJECT) {
        if (!parse_place(p, "the name of an mr or peer", true, &out->place))
            return false;
        out->has_off = out->place.num != 0;
        return true;
    }
    out->kind = SCRIPT_FILL_PATTERN;
    if (!parse_number(p, "the number of a pattern, or the name of an mr or peer", UINT32_MAX,
                      &out->pattern))
        return false;
    if (!lexer_word(&p->lexer, "at"))
        return !p->lexer.failed;
    out->has_off = true;
    return parse_number(p, "the offset of the first byte", UINT32_MAX, &out->off);
}

/* ---- reading options ------------------------------------------------------------------------- */

static bool parse_access(struct parser *p, uint64_t *out)
{
    char list[160];
    const char *words[16];
    unsigned cnt = 0;

    for (; words_access[cnt].word; cnt++)
        words[cnt] = words_access[cnt].word;
    *out = 0;
    do {
        int at = lexer_phrase(&p->lexer, words, cnt);

        if (at < 0)
            return lexer_expected(&p->lexer, parse_word_list(words, cnt, list, sizeof(list)));
        *out |= words_access[at].number;
    } while (lexer_mark(&p->lexer, ','));
    return !p->lexer.failed;
}

bool parse_table(struct parser *p, const struct word_number *table, uint64_t *out)
{
    char list[400];
    const char *words[40];
    unsigned cnt = 0;
    int at;

    for (; table[cnt].word; cnt++)
        words[cnt] = table[cnt].word;
    at = lexer_phrase(&p->lexer, words, cnt);
    if (at < 0)
        return lexer_expected(&p->lexer, parse_word_list(words, cnt, list, sizeof(list)));
    *out = table[at].number;
    return !p->lexer.failed;
}

/* Returns the largest permitted value of an option. If the current line declares a QP, larger
 * values than a device accepts are errors. A `modify` line may test them. */
static uint64_t option_max(const struct parser *p, enum script_opt opt)
{
    if (p->declares && (opt == SCRIPT_OPT_TIMEOUT || opt == SCRIPT_OPT_RNR_TIMER))
        return 31;
    if (p->declares && (opt == SCRIPT_OPT_RETRY || opt == SCRIPT_OPT_RNR_RETRY))
        return 7;
    return option_rows[opt].max;
}

static bool parse_option_value(struct parser *p, enum script_opt opt, struct script_options *out)
{
    struct script_value *value = &out->value[opt];
    char what[48];

    *value = (struct script_value){.object = SCRIPT_NO_OBJECT};
    snprintf(what, sizeof(what), "%s", option_rows[opt].word);
    switch (option_rows[opt].type) {
    case TYPE_NUMBER: return parse_number(p, what, option_max(p, opt), &value->num);
    case TYPE_KEY: return parse_place(p, "the name of an mr or mw, or a key", false, value);
    case TYPE_ACCESS: return parse_access(p, &value->num);
    case TYPE_STATE: return parse_table(p, words_state, &value->num);
    case TYPE_LEVEL: return parse_table(p, words_level, &value->num);
    case TYPE_PLACE:
        return parse_place(
            p, "the name of an mr or peer and an offset, for example M+1024, or an address", true,
            value);
    case TYPE_PD: return parse_object(p, SCRIPT_PD, &value->object);
    case TYPE_CQ: return parse_object(p, SCRIPT_CQ, &value->object);
    case TYPE_SRQ: return parse_object(p, SCRIPT_SRQ, &value->object);
    case TYPE_AH: return parse_object(p, SCRIPT_AH, &value->object);
    case TYPE_XRCD: return parse_object(p, SCRIPT_XRCD, &value->object);
    case TYPE_MR:
        return parse_place(p, "the name of an mr and an offset, for example M+1024", true, value);
    case TYPE_FLAG: value->num = 1; return !p->lexer.failed;
    case TYPE_FILL:
        return opt == SCRIPT_OPT_DATA  ? parse_data(p, &out->fill)
               : opt == SCRIPT_OPT_U64 ? parse_u64(p, &out->fill)
                                       : parse_fill(p, &out->fill);
    }
    return false;
}

bool parse_options(struct parser *p, uint64_t allowed, struct script_options *out)
{
    const uint64_t contents = SCRIPT_BIT(FILL) | SCRIPT_BIT(DATA) | SCRIPT_BIT(U64);
    const char *words[SCRIPT_OPT_CNT];

    for (unsigned i = 0; i < SCRIPT_OPT_CNT; i++)
        words[i] = allowed >> i & 1 ? option_rows[i].word : NULL;
    for (;;) {
        struct lex_token start = p->lexer.token;
        int opt = lexer_phrase(&p->lexer, words, SCRIPT_OPT_CNT);

        if (opt < 0)
            return !p->lexer.failed;
        if (out->given >> opt & 1) {
            p->lexer.token = start;
            return lexer_fail(&p->lexer, "'%s' twice in one line", option_rows[opt].word);
        }
        if (out->given & contents && contents >> opt & 1) {
            p->lexer.token = start;
            return lexer_fail(&p->lexer, "the contents are set twice");
        }
        out->given |= UINT64_C(1) << opt;
        if (!parse_option_value(p, (enum script_opt)opt, out))
            return false;
    }
}

bool parse_required(struct parser *p, const struct script_options *options, uint64_t required,
                    const char *what)
{
    char list[256];
    uint64_t missing = required & ~options->given;

    if (p->lexer.failed)
        return false;
    if (!missing)
        return true;
    parse_option_list(missing, list, sizeof(list));
    if (p->lexer.token.kind != LEX_END)
        return lexer_expected(&p->lexer, list);
    return lexer_fail(&p->lexer, "%s needs %s", what, list);
}

void parse_print_options(FILE *out, uint64_t allowed, uint64_t required)
{
#define X(NAME, word, type, max) word,
    static const char *const words[] = {SCRIPT_OPTIONS(X)};
#undef X
    for (unsigned opt = 0; opt < SCRIPT_OPT_CNT; opt++)
        if (allowed >> opt & 1)
            fprintf(out, required >> opt & 1 ? " %s" : " [%s]", words[opt]);
    fputc('\n', out);
}

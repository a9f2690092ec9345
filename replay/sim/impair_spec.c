/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/impair_spec.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 128
#define PPM      1000000.0

const char impair_help[] =
    "edits, ACTION[@WHERE,...]: drop, dup[=COPIES], delay=TIME, reorder[=FRAMES],\n"
    "  corrupt[=payload|header|icrc[+BYTE]], ce, set=[roce.]HEADER.FIELD=VALUE\n"
    "  where: conn=N, stream=N, dir=request|response|cm, psn=[+]N[..N] (+ counts from the first), "
    "op=NAME,\n"
    "  nth=N[..N]|all, p=CHANCE, icrc=fix|keep; such as drop@p=0.01, drop@psn=+3,\n"
    "  set=aeth.syndrome=0x60@dir=response,nth=2 (replay/docs/replay.md has the whole grammar)\n";

static int bad(const struct impair_rule *spec, struct error *error, const char *word,
               const char *what)
{
    return error_set(error, "--impair %s: \"%s\": %s", spec->text, word, what);
}

/* A number in any base of C, all of the text and at most `max`. */
static bool number(const char *text, uint64_t max, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 0);
    return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *out <= max;
}

static bool duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double n = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (isdigit((unsigned char)*text) && strcmp(end, units[i].unit) == 0 &&
            n * units[i].ns <= 3600e9) {
            *ns = (uint64_t)(n * units[i].ns);
            return true;
        }
    return false;
}

/* "N" or "N..M" with N <= M. */
static bool range(const char *text, uint64_t max, uint32_t *from, uint32_t *to)
{
    char word[WORD_MAX];
    const char *dots = strstr(text, "..");
    size_t len = dots ? (size_t)(dots - text) : strlen(text);
    uint64_t n;

    if (len >= sizeof(word))
        return false;
    memcpy(word, text, len);
    word[len] = '\0';
    if (!number(word, max, &n))
        return false;
    *from = *to = (uint32_t)n;
    if (!dots)
        return true;
    dots += dots[2] == '+' ? 3 : 2;
    if (!number(dots, max, &n) || n < *from)
        return false;
    *to = (uint32_t)n;
    return true;
}

/* ---- actions -----------------------------------------------------------------------------------
 */

/* The bytes of a MAC address, of an IPv4 or IPv6 one, or hex digits of a field that stays bytes. */
static bool field_bytes(const struct roce_field *field, const char *text, uint8_t *out)
{
    size_t len = field->width / 8;

    if (field->fmt == ROCE_FMT_IP4)
        return inet_pton(AF_INET, text, out) == 1;
    if (field->fmt == ROCE_FMT_GID)
        return inet_pton(AF_INET6, text, out) == 1;
    for (size_t i = 0; i < len; i++) {
        unsigned n;

        if (field->fmt == ROCE_FMT_MAC && i && *text++ != ':')
            return false;
        if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
            sscanf(text, "%2x", &n) != 1)
            return false;
        out[i] = (uint8_t)n;
        text += 2;
    }
    return *text == '\0';
}

static int read_set(struct impair_rule *spec, char *arg, struct error *error)
{
    const struct roce_hdr_info *info = NULL;
    char *value = strchr(arg, '=');
    char *name = strncmp(arg, "roce.", 5) == 0 ? arg + 5 : arg;
    char *dot = strchr(name, '.');
    uint64_t max;

    if (!value || !dot || dot > value)
        return bad(spec, error, arg, "set wants HEADER.FIELD=VALUE");
    *value++ = '\0';
    *dot++ = '\0';
    for (unsigned h = 0; h < ROCE_HDR_CNT && !spec->field; h++) {
        info = roce_hdr_info((enum roce_hdr)h);
        if (strcmp(info->id, name) == 0) {
            spec->hdr = (enum roce_hdr)h;
            spec->field = roce_field_find(info, dot);
            if (!spec->field)
                return bad(spec, error, dot, "the header has no such field");
        }
    }
    if (!spec->field)
        return bad(spec, error, name, "no such header");
    if (spec->field->fmt == ROCE_FMT_MAC || spec->field->fmt == ROCE_FMT_IP4 ||
        spec->field->width > 64) {
        if (spec->field->width > 8 * sizeof(spec->bytes))
            return bad(spec, error, dot, "the field is too long to be set");
        return field_bytes(spec->field, value, spec->bytes)
                   ? 0
                   : bad(spec, error, value, "not a value of this field");
    }
    max = spec->field->width == 64 ? UINT64_MAX : (UINT64_C(1) << spec->field->width) - 1;
    return number(value, max, &spec->value)
               ? 0
               : bad(spec, error, value, "not a number that fits the field");
}

static int read_corrupt(struct impair_rule *spec, char *arg, struct error *error)
{
    static const char *const parts[] = {
        [IMPAIR_PAYLOAD] = "payload", [IMPAIR_HEADER] = "header", [IMPAIR_ICRC] = "icrc"};
    char *plus = strchr(arg, '+');
    uint64_t n;

    if (plus) {
        *plus++ = '\0';
        if (!number(plus, ROCE_FRAME_MAX, &n))
            return bad(spec, error, plus, "not a byte of a frame");
        spec->byte = (uint32_t)n;
    }
    for (unsigned i = 0; i <= IMPAIR_ICRC; i++)
        if (strcmp(arg, parts[i]) == 0) {
            spec->part = (enum impair_part)i;
            return 0;
        }
    return bad(spec, error, arg, "none of payload, header, icrc");
}

static int read_action(struct impair_rule *spec, char *word, struct error *error)
{
    static const struct {
        const char *name;
        enum impair_action action;
        char arg; /* n: none, o: optional, w: wanted */
    } actions[] = {
        {"drop", IMPAIR_DROP, 'n'},       {"dup", IMPAIR_DUP, 'o'},
        {"delay", IMPAIR_DELAY, 'w'},     {"reorder", IMPAIR_REORDER, 'o'},
        {"corrupt", IMPAIR_CORRUPT, 'o'}, {"ce", IMPAIR_CE, 'n'},
        {"set", IMPAIR_SET, 'w'},
    };
    char *arg = strchr(word, '=');
    uint64_t n = 1;
    size_t i;

    if (arg)
        *arg++ = '\0';
    for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strcmp(word, actions[i].name) == 0)
            break;
    if (i == sizeof(actions) / sizeof(actions[0]))
        return bad(spec, error, word, "none of drop, dup, delay, reorder, corrupt, ce, set");
    if (arg ? actions[i].arg == 'n' : actions[i].arg == 'w')
        return bad(spec, error, word, arg ? "takes no argument" : "wants an argument");
    spec->action = actions[i].action;
    switch (spec->action) {
    case IMPAIR_DUP:
    case IMPAIR_REORDER:
        if (arg &&
            (!number(arg, spec->action == IMPAIR_DUP ? IMPAIR_COPIES_MAX : IMPAIR_HOLD_MAX, &n) ||
             n == 0))
            return bad(spec, error, arg, "not a number in range");
        spec->cnt = (uint32_t)n;
        return 0;
    case IMPAIR_DELAY:
        return duration(arg, &spec->ns) ? 0 : bad(spec, error, arg, "not a time such as 100us");
    case IMPAIR_CORRUPT: spec->keep_icrc = true; return arg ? read_corrupt(spec, arg, error) : 0;
    case IMPAIR_SET: return read_set(spec, arg, error);
    default: return 0;
    }
}

/* ---- places ------------------------------------------------------------------------------------
 */

static int read_place(struct impair_rule *spec, char *word, bool *nth, struct error *error)
{
    char *arg = strchr(word, '=');
    char *end;
    double chance;
    uint64_t n;

    if (!arg || arg[1] == '\0')
        return bad(spec, error, word, "none of conn=, stream=, dir=, psn=, op=, nth=, p=, icrc=");
    *arg++ = '\0';
    if (strcmp(word, "conn") == 0) {
        if (!number(arg, UINT32_MAX, &n) || n == 0)
            return bad(spec, error, arg, "not a connection");
        spec->conn = (uint32_t)n;
    } else if (strcmp(word, "stream") == 0) {
        if (!number(arg, UINT32_MAX, &n) || n == 0)
            return bad(spec, error, arg, "not a stream");
        spec->stream = (uint32_t)n;
    } else if (strcmp(word, "dir") == 0) {
        spec->ways = strcmp(arg, "request") == 0    ? IMPAIR_REQUEST
                     : strcmp(arg, "response") == 0 ? IMPAIR_RESPONSE
                     : strcmp(arg, "cm") == 0       ? IMPAIR_CM
                                                    : 0;
        if (!spec->ways)
            return bad(spec, error, arg, "none of request, response, cm");
    } else if (strcmp(word, "psn") == 0) {
        spec->psn = true;
        spec->relative = *arg == '+';
        if (!range(arg + spec->relative, ROCE_PSN_MASK, &spec->psn_from, &spec->psn_to))
            return bad(spec, error, arg, "not a PSN, nor a range of them");
    } else if (strcmp(word, "op") == 0) {
        if (strlen(arg) >= sizeof(spec->op))
            return bad(spec, error, arg, "longer than any opcode's name");
        strcpy(spec->op, arg);
    } else if (strcmp(word, "nth") == 0) {
        *nth = true;
        if (strcmp(arg, "all") != 0 &&
            (!range(arg, UINT32_MAX, &spec->nth_from, &spec->nth_to) || spec->nth_from == 0))
            return bad(spec, error, arg, "not a count from 1 on, a range of them, or all");
    } else if (strcmp(word, "p") == 0) {
        chance = strtod(arg, &end);
        if (*end || !(chance >= 0 && chance <= 1))
            return bad(spec, error, arg, "not a chance from 0 to 1");
        spec->chance = true;
        spec->ppm = (uint32_t)(chance * PPM + 0.5);
    } else if (strcmp(word, "icrc") == 0) {
        if (strcmp(arg, "fix") != 0 && strcmp(arg, "keep") != 0)
            return bad(spec, error, arg, "none of fix, keep");
        spec->keep_icrc = strcmp(arg, "keep") == 0;
    } else {
        return bad(spec, error, word, "none of conn=, stream=, dir=, psn=, op=, nth=, p=, icrc=");
    }
    return 0;
}

int impair_rule_parse(struct impair_rule *spec, const char *text, struct error *error)
{
    char word[2 * WORD_MAX];
    char *place, *next;
    bool nth = false;
    int rc;

    *spec = (struct impair_rule){.text = text,
                                 .byte = IMPAIR_ANY_BYTE,
                                 .ways = IMPAIR_ANY,
                                 .nth_from = 1,
                                 .nth_to = UINT32_MAX};
    if (strlen(text) >= sizeof(word))
        return error_set(error, "--impair: longer than %zu characters", sizeof(word) - 1);
    strcpy(word, text);
    place = strchr(word, '@');
    if (place)
        *place++ = '\0';
    rc = read_action(spec, word, error);
    while (rc == 0 && place) {
        next = strchr(place, ',');
        if (next)
            *next++ = '\0';
        rc = read_place(spec, place, &nth, error);
        place = next;
    }
    if (rc == 0 && spec->psn && !nth && !spec->chance)
        spec->nth_to = 1;
    return rc;
}

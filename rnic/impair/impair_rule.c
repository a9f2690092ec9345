/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "impair/impair_rule.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MAX_NS 3600e9 /* maximum delay: one hour */

static const char grammar[] =
    "Impairments: --impair RULE[,RULE...]\n"
    "\n"
    "  RULE    = ACTION[@WHERE,...]; ';' may also separate rules\n"
    "  ACTION  = drop                    drop the frame\n"
    "          | dup[=COPIES]            send 1 extra copy, or COPIES extra copies (1..16)\n"
    "          | delay=TIME[..TIME]      delay the frame by TIME or by a random time in the range\n"
    "          | reorder[=N[..N]]        send the frame after N later frames (1..64,\n"
    "                                    default 1), but at most 1 ms late\n"
    "          | corrupt[=PART[+BYTE]]   invert one random bit; PART is payload (default),\n"
    "                                    header, icrc or frame (all but the Ethernet header)\n"
    "          | ce                      set ECN to congestion experienced\n"
    "          | ecn                     as ce, but only in ECN-capable packets\n"
    "          | set=HEADER.FIELD=VALUE  set a header field: set=aeth.syndrome=0x60;\n"
    "                                    the names of all fields are below\n"
    "  Short   = loss=CHANCE, dup=CHANCE, reorder=CHANCE, corrupt=CHANCE, ecn=CHANCE\n"
    "            mean ACTION@p=CHANCE: loss is drop, reorder is by 1..4 frames, and corrupt\n"
    "            changes any part of the frame. With a whole number, dup= and\n"
    "            reorder= are the actions above: the number is COPIES or N.\n"
    "  WHERE   = p=CHANCE                probability for each frame: 0.03 or 3%\n"
    "          | frame=N[..N]            rocedrill edit only: number of the frame\n"
    "          | dir=request | response | cm   kind of packet\n"
    "          | dir=out | in | both     live only: sent frames, received frames or both\n"
    "                                    (default: out); a separate rule dir= holds for all rules\n"
    "          | psn=PSN[..PSN]          +5 counts from the first PSN of the connection\n"
    "                                    (closed loop only), 5 is the PSN itself\n"
    "          | op=TEXT                 the opcode's name contains TEXT, for example read\n"
    "          | nth=N[..N] | nth=all    number of the matching frame: the N-th, or all; for\n"
    "                                    set, of those that have the header, and for\n"
    "                                    corrupt, of those that have payload\n"
    "          | conn=N, stream=N        closed loop only: number of the connection or of\n"
    "                                    the datagram stream in the report\n"
    "          | icrc=fix | keep         fix: recompute the ICRC (default for set);\n"
    "                                    keep: do not (default for corrupt), so that the\n"
    "                                    receiver drops the frame\n"
    "  TIME is a number with ns, us, ms or s, at most 1 hour.\n"
    "  With psn= but without nth= and p=, a rule applies to the first packet with each PSN;\n"
    "  otherwise it applies to every packet that matches. The same seed and frames give the\n"
    "  same impairments. A rule added at the end changes nothing for the rules before it.\n"
    "\n"
    "  --impair loss=3%,delay=10us..50us    --impair drop@psn=+3,dir=response\n";

/* Layout of the text that `--impair help` prints: maximum length of a line in the list of header
 * fields, and indentation of the field names. */
#define HELP_COLUMNS 90
#define HELP_INDENT  15

#define ACTIONS                                                                                    \
    "drop, dup, delay=, reorder, corrupt, ce, ecn, set=, or loss=, dup=, reorder=, corrupt=, "     \
    "ecn= with a chance"
#define PLACES "p=, dir=, frame=, psn=, op=, nth=, conn=, stream= or icrc="
#define CHANCE "a probability: 0% to 100%, or below 1"

/* One item of the rule text, for example "drop" or "p=0.1". If the item is wrong, `expected`
 * describes the correct syntax. */
struct item {
    char text[IMPAIR_RULE_TEXT_MAX];
    const char *expected; /* description of the expected syntax; NULL: no error yet */
    char names[400];      /* buffer for a list of names in `expected` */
};

/* Stores `expected`, the expected syntax, for the error message. Always returns false. */
static bool want(struct item *item, const char *expected)
{
    item->expected = expected;
    return false;
}

/* ---- reading numbers ------------------------------------------------------------------------- */

/* Reads a decimal number such as 3, 0.1, .5 or 1e-3; the locale has no effect. Returns a pointer to
 * the first byte after the number, or NULL if there is no number. */
static const char *read_decimal(const char *p, double *out)
{
    double value = 0, scale = 1;
    bool any = false;

    for (bool point = false;; p++) {
        if (*p == '.' && !point && p[1] >= '0' && p[1] <= '9') {
            point = true;
        } else if (*p >= '0' && *p <= '9') {
            value = value * 10 + (*p - '0');
            scale *= point ? 10 : 1;
            any = true;
        } else {
            break;
        }
    }
    if (!any)
        return NULL;
    value /= scale;
    if (*p == 'e' && (isdigit((unsigned char)p[1]) ||
                      ((p[1] == '-' || p[1] == '+') && isdigit((unsigned char)p[2])))) {
        char *end;
        long exponent = strtol(p + 1, &end, 10);

        for (; exponent > 0 && value < 1e300; exponent--)
            value *= 10;
        for (; exponent < 0 && value > 1e-300; exponent++)
            value /= 10;
        p = end;
    }
    *out = value;
    return p;
}

/* Reads a probability and converts it to units of 2^-32. Returns true, or false if the text is not
 * a probability. `1` without a percent sign is refused, because it could mean 1 % or 100 %. */
static bool read_chance(const char *text, uint64_t *out)
{
    double value;
    const char *end = read_decimal(text, &value);

    if (end && *end == '%') {
        value /= 100;
        end++;
    }
    if (!end || *end || value > 1 || (value == 1 && end[-1] != '%'))
        return false;
    value *= 4294967296.0;
    *out = (uint64_t)value;
    *out += (double)*out < value; /* round up, so that a probability above 0 never becomes 0 */
    return true;
}

/* Reads an integer of at most `max`: decimal, octal (0...) or hexadecimal (0x...). Returns a
 * pointer to the first byte after the integer, or NULL if there is no such integer. */
static const char *read_whole(const char *text, uint64_t max, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = isdigit((unsigned char)*text) ? strtoull(text, &end, 0) : 0;
    return isdigit((unsigned char)*text) && errno == 0 && *out <= max ? end : NULL;
}

/* Reads "N" or "N..M" with N <= M. A '+' may precede M; a '+' before N was skipped by the caller.
 * Returns true, or false on a syntax error. */
static bool read_range(const char *text, uint64_t max, uint32_t *from, uint32_t *to)
{
    uint64_t n;
    const char *end = read_whole(text, max, &n);

    if (!end)
        return false;
    *from = *to = (uint32_t)n;
    if (*end == '\0')
        return true;
    if (strncmp(end, "..", 2) != 0)
        return false;
    end = read_whole(end + (end[2] == '+' ? 3 : 2), max, &n);
    *to = (uint32_t)n;
    return end && *end == '\0' && *to >= *from;
}

/* Reads a time with its unit, such as 5us. Returns a pointer to the first byte after the unit, or
 * NULL on a syntax error. */
static const char *read_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double value;
    const char *end = read_decimal(text, &value);

    for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++) {
        size_t len = strlen(units[i].unit);

        if (strncmp(end, units[i].unit, len) != 0)
            continue;
        if (value * units[i].ns > DELAY_MAX_NS)
            return NULL;
        *ns = (uint64_t)(value * units[i].ns);
        return end + len;
    }
    return NULL;
}

/* Reads "TIME" or "TIME..TIME" into *from and *to, ns. Returns true, or false on a syntax error. */
static bool read_times(const char *text, uint64_t *from, uint64_t *to)
{
    const char *end = read_time(text, from);

    *to = *from;
    if (end && strncmp(end, "..", 2) == 0)
        end = read_time(end + 2, to);
    return end && *end == '\0' && *from <= *to;
}

/* ---- reading an action ----------------------------------------------------------------------- */

/* Reads the value of a field that is not a number: an address, or hexadecimal digits. Returns true,
 * or false on a syntax error. */
static bool read_field_bytes(const struct roce_field *field, const char *text, uint8_t *out)
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

/* Records, for the error message, that the parser expected the name of a field of this header.
 * Always returns false. */
static bool want_field(struct item *item, const struct roce_hdr_info *info)
{
    size_t len =
        (size_t)snprintf(item->names, sizeof(item->names), "a field of %s, which has", info->id);

    for (unsigned i = 0; i < info->field_cnt && len < sizeof(item->names); i++)
        len += (size_t)snprintf(item->names + len, sizeof(item->names) - len, "%s %s", i ? "," : "",
                                info->fields[i].name);
    return want(item, item->names);
}

/* Records, for the error message, that the parser expected the name of a header. Always returns
 * false. */
static bool want_header(struct item *item)
{
    size_t len = (size_t)snprintf(item->names, sizeof(item->names), "one of the headers");

    for (unsigned h = 0; h < ROCE_HDR_CNT && len < sizeof(item->names); h++)
        len += (size_t)snprintf(item->names + len, sizeof(item->names) - len, "%s %s", h ? "," : "",
                                roce_hdr_info((enum roce_hdr)h)->id);
    return want(item, item->names);
}

void impair_print_help(FILE *out)
{
    fputs(grammar, out);
    fputs("\n  HEADER        FIELDs (rocedrill decode -v prints the fields of a capture)\n", out);
    for (unsigned h = 0; h < ROCE_HDR_CNT; h++) {
        const struct roce_hdr_info *info = roce_hdr_info((enum roce_hdr)h);
        int column = fprintf(out, "  %-*s", HELP_INDENT - 2, info->id);

        for (unsigned i = 0; i < info->field_cnt; i++) {
            const char *name = info->fields[i].name;

            if (column + (int)strlen(name) + 2 > HELP_COLUMNS)
                column = fprintf(out, "\n%*s", HELP_INDENT, "") - 1;
            column += fprintf(out, " %s%s", name, i + 1 < info->field_cnt ? "," : "\n");
        }
    }
}

/* Reads HEADER.FIELD=VALUE into the rule. Returns true, or false on an error. */
static bool read_set(struct impair_rule *rule, char *arg, struct item *item)
{
    char *value = strchr(arg, '=');
    char *name = strncmp(arg, "roce.", 5) == 0 ? arg + 5 : arg;
    char *dot = strchr(name, '.');
    const struct roce_field *field = NULL;
    const struct roce_hdr_info *known = NULL;
    const char *end;

    if (!value || !dot || dot > value)
        return want(item, "set=HEADER.FIELD=VALUE");
    *value++ = '\0';
    *dot++ = '\0';
    for (unsigned h = 0; h < ROCE_HDR_CNT && !field; h++) {
        const struct roce_hdr_info *info = roce_hdr_info((enum roce_hdr)h);

        if (strcmp(info->id, name) != 0)
            continue;
        known = info;
        rule->hdr = (enum roce_hdr)h;
        field = roce_field_find(info, dot);
    }
    if (!known)
        return want_header(item);
    if (!field)
        return want_field(item, known);
    rule->field = field;
    if (field->fmt == ROCE_FMT_MAC || field->fmt == ROCE_FMT_IP4 || field->width > 64)
        return (field->width <= 8 * sizeof(rule->bytes) &&
                read_field_bytes(field, value, rule->bytes)) ||
               want(item, "an address or the bytes of this field");
    end = read_whole(value, field->width == 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1,
                     &rule->value);
    return (end && *end == '\0') || want(item, "a number that fits the field");
}

/* Reads PART[+BYTE] into the rule. Returns true, or false on an error. */
static bool read_corrupt(struct impair_rule *rule, char *arg, struct item *item)
{
    static const char *const parts[] = {[IMPAIR_PAYLOAD] = "payload",
                                        [IMPAIR_HEADER] = "header",
                                        [IMPAIR_ICRC] = "icrc",
                                        [IMPAIR_FRAME] = "frame"};
    char *plus = strchr(arg, '+');
    uint64_t n;

    if (plus) {
        const char *end = read_whole(plus + 1, ROCE_FRAME_MAX, &n);

        if (!end || *end)
            return want(item, "a byte offset after the +");
        rule->byte = (uint32_t)n;
        *plus = '\0';
    }
    for (unsigned i = 0; i <= IMPAIR_FRAME; i++)
        if (strcmp(arg, parts[i]) == 0) {
            rule->part = (enum impair_part)i;
            return true;
        }
    return want(item, "payload, header, icrc, frame or a probability");
}

enum argument { ARG_NONE, ARG_OPTIONAL, ARG_REQUIRED };

static const struct action {
    const char *name;
    enum impair_action action;
    enum argument arg;
    bool short_form; /* the action may be written as ACTION=PROBABILITY */
} actions[] = {
    {"drop", IMPAIR_DROP, ARG_NONE, false},
    {"loss", IMPAIR_DROP, ARG_REQUIRED, true},
    {"dup", IMPAIR_DUP, ARG_OPTIONAL, true},
    {"delay", IMPAIR_DELAY, ARG_REQUIRED, false},
    {"reorder", IMPAIR_REORDER, ARG_OPTIONAL, true},
    {"corrupt", IMPAIR_CORRUPT, ARG_OPTIONAL, true},
    {"ce", IMPAIR_CE, ARG_NONE, false},
    {"ecn", IMPAIR_ECN, ARG_OPTIONAL, true},
    {"set", IMPAIR_SET, ARG_REQUIRED, false},
};

/* Returns the action that `text` names at its start, up to '=' or its end, or NULL if there is
 * none. */
static const struct action *find_action(const char *text)
{
    size_t len = strcspn(text, "=@,;");

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
        if (strlen(actions[i].name) == len && strncmp(text, actions[i].name, len) == 0)
            return &actions[i];
    return NULL;
}

/* Reads the argument of an action, if it is not a probability. Returns true, or false on an
 * error. */
static bool read_argument(struct impair_rule *rule, char *arg, struct item *item)
{
    switch (rule->action) {
    case IMPAIR_DUP:
        return (arg == NULL ||
                (read_range(arg, IMPAIR_COPIES_MAX, &rule->cnt_min, &rule->cnt_max) &&
                 rule->cnt_min > 0 && rule->cnt_min == rule->cnt_max)) ||
               want(item, "1 to 16 copies, or " CHANCE);
    case IMPAIR_REORDER:
        return (arg == NULL ||
                (read_range(arg, IMPAIR_OVERTAKE_MAX, &rule->cnt_min, &rule->cnt_max) &&
                 rule->cnt_min > 0)) ||
               want(item, "1 to 64 frames, or " CHANCE);
    case IMPAIR_DELAY:
        return read_times(arg, &rule->delay_min, &rule->delay_max) ||
               want(item, "a time such as 10us or a range such as 10us..50us, at most one hour");
    case IMPAIR_CORRUPT: return arg == NULL || read_corrupt(rule, arg, item);
    case IMPAIR_SET: return read_set(rule, arg, item);
    default: return arg == NULL || want(item, CHANCE);
    }
}

/* Reads ACTION, ACTION=ARGUMENT or the short form ACTION=PROBABILITY. Returns true, or false on an
 * error. */
static bool read_action(struct impair_rule *rule, struct item *item)
{
    const struct action *action = find_action(item->text);
    char *arg = strchr(item->text, '=');
    uint64_t chance;

    if (!action)
        return want(item, ACTIONS);
    if (arg)
        arg++;
    if (arg && action->arg == ARG_NONE)
        return want(item, "no argument; @p=3% chooses a share of the frames");
    rule->action = action->action;
    rule->keep_icrc = rule->action == IMPAIR_CORRUPT;
    if (!arg && action->arg == ARG_REQUIRED)
        return want(item, action->short_form           ? "loss=CHANCE"
                          : rule->action == IMPAIR_SET ? "set=HEADER.FIELD=VALUE"
                                                       : "delay=TIME");
    /* dup= and reorder= also accept a count, so "1" is a count there and not a probability */
    if (arg && action->short_form && read_chance(arg, &chance) &&
        (!(rule->action == IMPAIR_DUP || rule->action == IMPAIR_REORDER) ||
         strcmp(arg, "1") != 0)) {
        rule->chance = chance;
        rule->cnt_max = rule->action == IMPAIR_REORDER ? 4 : 1;
        rule->part = rule->action == IMPAIR_CORRUPT ? IMPAIR_FRAME : IMPAIR_PAYLOAD;
        return true;
    }
    return read_argument(rule, arg, item);
}

/* ---- reading the conditions of a rule -------------------------------------------------------- */

/* Reads the value of dir= into *kinds and *sides. Returns true, or false on an error. */
static bool read_direction(const char *arg, enum impair_use use, unsigned *kinds, unsigned *sides,
                           struct item *item)
{
    static const struct {
        const char *name;
        unsigned kinds, sides;
    } names[] = {{"request", IMPAIR_REQUEST, 0}, {"response", IMPAIR_RESPONSE, 0},
                 {"cm", IMPAIR_CM, 0},           {"out", 0, IMPAIR_OUT},
                 {"in", 0, IMPAIR_IN},           {"both", 0, IMPAIR_OUT | IMPAIR_IN}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(arg, names[i].name) != 0)
            continue;
        if (names[i].kinds)
            *kinds = names[i].kinds;
        else if (use == IMPAIR_LIVE)
            *sides = names[i].sides;
        else
            return want(
                item,
                "request, response or cm (out, in and both are valid only for a live device)");
        return true;
    }
    return want(item, use == IMPAIR_LIVE ? "out, in, both, request, response or cm"
                                         : "request, response or cm");
}

static bool read_count(const char *arg, uint32_t *out)
{
    uint64_t n;
    const char *end = read_whole(arg, UINT32_MAX, &n);

    *out = (uint32_t)n;
    return end && *end == '\0' && n > 0;
}

static const char *const places[] = {"p",    "dir",    "psn",  "op",   "nth",
                                     "conn", "stream", "icrc", "frame"};

enum place {
    PLACE_P,
    PLACE_DIR,
    PLACE_PSN,
    PLACE_OP,
    PLACE_NTH,
    PLACE_CONN,
    PLACE_STREAM,
    PLACE_ICRC,
    PLACE_FRAME,
    PLACE_CNT
};

/* Returns the condition that `text` names before '='; PLACE_CNT if there is none. */
static enum place find_place(const char *text)
{
    size_t len = strcspn(text, "=,;");
    unsigned i = 0;

    while (i < PLACE_CNT &&
           (text[len] != '=' || strlen(places[i]) != len || strncmp(text, places[i], len) != 0))
        i++;
    return (enum place)i;
}

/* Reads one condition after the '@'. Sets *nth if the condition is nth=. Returns true, or false on
 * an error. */
static bool read_place(struct impair_rule *rule, enum impair_use use, bool *nth, struct item *item)
{
    enum place place = find_place(item->text);
    const char *arg = strchr(item->text, '=');

    arg = arg ? arg + 1 : "";
    if (use != IMPAIR_OFFLINE && (place == PLACE_CONN || place == PLACE_STREAM))
        return want(item, use == IMPAIR_LIVE ? "a condition for a live device (conn= and stream= "
                                               "are valid only for rocedrill replay --closed-loop)"
                                             : "another condition (conn= and stream= are valid "
                                               "only for rocedrill replay --closed-loop)");
    if (use != IMPAIR_OFFLINE && place == PLACE_PSN && *arg == '+')
        return want(item, "an absolute PSN (+N is valid only for rocedrill replay --closed-loop)");
    if (use != IMPAIR_CAPTURE && place == PLACE_FRAME)
        return want(item, "another condition (frame= is valid only for rocedrill edit)");
    switch (place) {
    case PLACE_P: return read_chance(arg, &rule->chance) || want(item, CHANCE);
    case PLACE_DIR: return read_direction(arg, use, &rule->kinds, &rule->sides, item);
    case PLACE_PSN:
        rule->psn = true;
        rule->relative = *arg == '+';
        return read_range(arg + rule->relative, ROCE_PSN_MASK, &rule->psn_from, &rule->psn_to) ||
               want(item, "a PSN or a range of PSNs");
    case PLACE_OP:
        if (*arg == '\0' || strlen(arg) >= sizeof(rule->op))
            return want(item, "part of an opcode's name");
        strcpy(rule->op, arg);
        return true;
    case PLACE_NTH:
        *nth = true;
        return strcmp(arg, "all") == 0 ||
               (read_range(arg, UINT32_MAX, &rule->nth_from, &rule->nth_to) &&
                rule->nth_from > 0) ||
               want(item, "a number from 1 on, a range, or all");
    case PLACE_CONN:
        return read_count(arg, &rule->conn) || want(item, "the number of a connection");
    case PLACE_STREAM:
        return read_count(arg, &rule->stream) || want(item, "the number of a datagram stream");
    case PLACE_FRAME:
        return (read_range(arg, UINT32_MAX, &rule->frame_from, &rule->frame_to) &&
                rule->frame_from > 0) ||
               want(item, "the number of a frame or a range of them");
    case PLACE_ICRC:
        rule->keep_icrc = strcmp(arg, "keep") == 0;
        return rule->keep_icrc || strcmp(arg, "fix") == 0 || want(item, "fix or keep");
    case PLACE_CNT: break;
    }
    return want(item, PLACES);
}

/* ---- reading the rules ----------------------------------------------------------------------- */

/* Copies the text from `at` up to one of the characters `ends` into *item. Returns a pointer to the
 * end of this text. */
static const char *take_item(struct item *item, const char *at, const char *ends)
{
    size_t len = strcspn(at, ends);

    item->expected = len < sizeof(item->text) ? NULL : "an item of at most 255 characters";
    len = len < sizeof(item->text) ? len : sizeof(item->text) - 1;
    memcpy(item->text, at, len);
    item->text[len] = '\0';
    return at + len;
}

/* Reads one rule. Returns a pointer to its end. On an error returns NULL and sets *where to the
 * part of the rule that is wrong. */
static const char *read_rule(struct impair_rule *rule, const char *at, enum impair_use use,
                             struct item *item, const char **where)
{
    const char *begin = at, *end;
    bool nth = false;

    *rule = (struct impair_rule){.cnt_min = 1,
                                 .cnt_max = 1,
                                 .byte = IMPAIR_ANY_BYTE,
                                 .kinds = IMPAIR_ANY,
                                 .nth_from = 1,
                                 .nth_to = UINT32_MAX,
                                 .chance = IMPAIR_ALWAYS};
    *where = at;
    end = take_item(item, at, "@,;");
    if (item->expected || !read_action(rule, item))
        return NULL;
    if (*end == '@')
        do {
            *where = end + 1;
            end = take_item(item, end + 1, ",;");
            if (item->expected || !read_place(rule, use, &nth, item))
                return NULL;
        } while (*end == ',' && find_action(end + 1) == NULL && end[1] != '\0');
    if (rule->psn && !nth && rule->chance == IMPAIR_ALWAYS)
        rule->nth_to = 1;
    if ((size_t)(end - begin) >= sizeof(rule->text)) {
        *where = begin;
        want(item, "a rule of at most 255 characters");
        return NULL;
    }
    memcpy(rule->text, begin, (size_t)(end - begin));
    rule->text[end - begin] = '\0';
    return end;
}

int impair_rules_add(struct impair_rules *rules, const char *text, enum impair_use use,
                     struct error *error)
{
    const char *at = text, *where = text;
    unsigned kinds = IMPAIR_ANY, sides = 0;
    size_t cnt = rules->cnt;
    struct item item = {.expected = NULL};

    while (at && *at) {
        where = at;
        if (strncmp(at, "dir=", 4) == 0) {
            at = take_item(&item, at, ",;");
            if (!read_direction(item.text + 4, use, &kinds, &sides, &item))
                break;
        } else if (cnt == IMPAIR_RULES_MAX) {
            want(&item, "the end (at most 32 rules)");
            break;
        } else {
            at = read_rule(&rules->rule[cnt], at, use, &item, &where);
            if (!at)
                break;
            cnt++;
        }
        if (*at && *++at == '\0') {
            where = at - 1;
            want(&item, "a rule after the separator");
        }
    }
    if (item.expected)
        return error_set(error, "\"%s\": at \"%.*s\": expected %s (see --impair help)", text,
                         (int)strcspn(where, where[0] == ',' || where[0] == ';' ? "" : ",;"), where,
                         item.expected);
    for (; rules->cnt < cnt; rules->cnt++) {
        struct impair_rule *rule = &rules->rule[rules->cnt];

        if (rule->kinds == IMPAIR_ANY)
            rule->kinds = kinds;
        if (!rule->sides)
            rule->sides = sides;
    }
    return 0;
}

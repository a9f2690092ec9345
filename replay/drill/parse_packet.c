/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/parse_packet.h"

#include <stdio.h>
#include <string.h>
#include "capture/packet_text.h"
#include "drill/words.h"
#include "util/hex.h"
#include "util/strbuf.h"
#include "wire/cm_msg.h"
#include "wire/codes.h"
#include "wire/opcode.h"

enum item_kind {
    ITEM_PSN,
    ITEM_ADDRESS,
    ITEM_KEY,
    ITEM_SRQN,
    ITEM_NUMBER,
    ITEM_FLAG,
    ITEM_ACK,
    ITEM_NAK,
    ITEM_RNR,
    ITEM_PAYLOAD,
    ITEM_FILL,
    ITEM_DATA,
    ITEM_U64,
    ITEM_BAD_ICRC,
    ITEM_CUT,
    ITEM_GROUP,
};

/* Words that a line can have for a packet, and the field that each word sets. If a word can set a
 * field in several headers, it has one row for each header. The parser uses the row for a header
 * that the packet has. */
static const struct {
    const char *word;
    enum item_kind kind;
    enum roce_hdr hdr;
    const char *field;
} items[] = {
    {"PSN", ITEM_PSN, ROCE_HDR_BTH, "psn"},
    {"va", ITEM_ADDRESS, ROCE_HDR_RETH, "va"},
    {"va", ITEM_ADDRESS, ROCE_HDR_ATOMICETH, "va"},
    {"rkey", ITEM_KEY, ROCE_HDR_RETH, "rkey"},
    {"rkey", ITEM_KEY, ROCE_HDR_ATOMICETH, "rkey"},
    {"len", ITEM_NUMBER, ROCE_HDR_RETH, "dma_len"},
    {"add", ITEM_NUMBER, ROCE_HDR_ATOMICETH, "swap_add"},
    {"swap", ITEM_NUMBER, ROCE_HDR_ATOMICETH, "swap_add"},
    {"compare", ITEM_NUMBER, ROCE_HDR_ATOMICETH, "compare"},
    {"original", ITEM_NUMBER, ROCE_HDR_ATOMICACKETH, "orig"},
    {"imm", ITEM_NUMBER, ROCE_HDR_IMMDT, "imm"},
    {"invalidate", ITEM_KEY, ROCE_HDR_IETH, "rkey"},
    {"MSN", ITEM_NUMBER, ROCE_HDR_AETH, "msn"},
    {"SRQ", ITEM_SRQN, ROCE_HDR_XRCETH, "srqn"},
    {"Q_Key", ITEM_NUMBER, ROCE_HDR_DETH, "qkey"},
    {"from QP", ITEM_NUMBER, ROCE_HDR_DETH, "src_qp"},
    {"flush type", ITEM_NUMBER, ROCE_HDR_FETH, "plt"},
    {"level", ITEM_NUMBER, ROCE_HDR_FETH, "sel"},
    {"AckReq", ITEM_FLAG, ROCE_HDR_BTH, "ackreq"},
    {"solicited", ITEM_FLAG, ROCE_HDR_BTH, "se"},
    {"FECN", ITEM_FLAG, ROCE_HDR_BTH, "fecn"},
    {"BECN", ITEM_FLAG, ROCE_HDR_BTH, "becn"},
    {"ACK", ITEM_ACK, ROCE_HDR_AETH, "syndrome"},
    {"NAK", ITEM_NAK, ROCE_HDR_AETH, "syndrome"},
    {"RNR NAK", ITEM_RNR, ROCE_HDR_AETH, "syndrome"},
    {"payload", ITEM_PAYLOAD, ROCE_HDR_BTH, NULL},
    {"fill", ITEM_FILL, ROCE_HDR_BTH, NULL},
    {"data", ITEM_DATA, ROCE_HDR_BTH, NULL},
    {"u64", ITEM_U64, ROCE_HDR_BTH, NULL},
    {"bad ICRC", ITEM_BAD_ICRC, ROCE_HDR_BTH, NULL},
    {"cut", ITEM_CUT, ROCE_HDR_BTH, NULL},
    {"group", ITEM_GROUP, ROCE_HDR_BTH, NULL},
};
#define ITEM_CNT (sizeof(items) / sizeof(items[0]))

/* State of the parser while it reads the packet of one line. */
struct packet_parser {
    struct parser *p;
    struct script_packet *out;
    bool expected;
    bool altered; /* the network alters the next field, after the sender has computed the ICRC */
    const struct roce_opcode *op;
    uint64_t given; /* items of the line that set no header field: bit set of enum item_kind */
};

bool parse_packet_qp(struct parser *p, int *qp)
{
    int found = parse_find_object(p), only = SCRIPT_NO_OBJECT;
    const char *words[SCRIPT_OBJECTS_MAX];
    char list[300], what[340];
    unsigned cnt = 0;

    if (found != SCRIPT_NO_OBJECT) {
        if (!parse_object(p, SCRIPT_QP, qp))
            return false;
        return lexer_mark(&p->lexer, ':') || lexer_expected(&p->lexer, "':' after the QP");
    }
    for (int i = 0; i < p->script->object_cnt; i++)
        if (p->script->object[i].kind == SCRIPT_QP) {
            words[cnt++] = p->script->object[i].name;
            only = i;
        }
    if (cnt > 1) {
        snprintf(what, sizeof(what), "the QP of the packet, one of %s, and ':'",
                 parse_word_list(words, cnt, list, sizeof(list)));
        return lexer_expected(&p->lexer, what);
    }
    *qp = only;
    return true;
}

/* ---- reading the opcode ---------------------------------------------------------------------- */

static enum roce_svc service_of(const struct parser *p, int qp)
{
    static const enum roce_svc services[] = {
        [SCRIPT_RC] = ROCE_SVC_RC,   [SCRIPT_UC] = ROCE_SVC_UC,        [SCRIPT_UD] = ROCE_SVC_UD,
        [SCRIPT_XRC] = ROCE_SVC_XRC, [SCRIPT_XRC_SEND] = ROCE_SVC_XRC, [SCRIPT_GSI] = ROCE_SVC_UD,
    };

    return services[p->script->object[qp].service];
}

static bool parse_cm_kind(struct packet_parser *s)
{
    char names[ROCE_CM_MSG_CNT][24];
    const char *words[ROCE_CM_MSG_CNT];
    char list[256];
    int at;

    for (unsigned i = 0; i < ROCE_CM_MSG_CNT; i++) {
        snprintf(names[i], sizeof(names[i]), "%s", roce_cm_name((enum roce_cm)i));
        words[i] = names[i];
    }
    at = lexer_phrase(&s->p->lexer, words, ROCE_CM_MSG_CNT);
    if (at < 0)
        return lexer_expected(&s->p->lexer,
                              parse_word_list(words, ROCE_CM_MSG_CNT, list, sizeof(list)));
    s->out->is_cm = true;
    s->out->cm_kind = (uint8_t)at;
    s->out->opcode = ROCE_OP_UD_SEND_ONLY;
    return !s->p->lexer.failed;
}

static bool parse_opcode(struct packet_parser *s)
{
    struct lexer *l = &s->p->lexer;
    const char *words[33] = {NULL}, *meant;
    char list[1024];
    uint64_t number;
    uint8_t base;
    int at;

    if (lexer_word(l, "CM"))
        return parse_cm_kind(s);
    if (s->out->qp == SCRIPT_NO_OBJECT)
        return lexer_expected(l, "'CM', because the drill has no QP");
    if (lexer_word(l, "opcode")) {
        if (!parse_number(s->p, "an opcode", 255, &number))
            return false;
        s->out->opcode = (uint8_t)number;
        return true;
    }
    base = (uint8_t)(service_of(s->p, s->out->qp) << 5);
    for (unsigned i = 0; i < 32; i++)
        if (roce_opcode((uint8_t)(base + i))->kind != ROCE_KIND_RESERVED)
            words[i] = packet_text_opcode((uint8_t)(base + i));
    words[32] = "CNP";
    at = lexer_phrase(l, words, 33);
    if (at < 0 && (meant = lexer_meant(l, words, 33)) != NULL)
        return lexer_fail(l, "no such opcode; did you mean '%s'?", meant);
    if (at < 0)
        return lexer_expected(l, parse_word_list(words, 33, list, sizeof(list)));
    s->out->opcode = at == 32 ? ROCE_OP_CNP_ROCE : (uint8_t)(base + (unsigned)at);
    return !l->failed;
}

/* ---- reading fields -------------------------------------------------------------------------- */

static struct script_field *add_field(struct packet_parser *s, enum roce_hdr hdr,
                                      const struct roce_field *field)
{
    struct script_field *f = &s->out->field[s->out->field_cnt];

    if (s->out->field_cnt == SCRIPT_FIELDS_MAX) {
        lexer_fail(&s->p->lexer, "more than %d fields", SCRIPT_FIELDS_MAX);
        return NULL;
    }
    for (unsigned i = 0; i < s->out->field_cnt && !s->altered; i++)
        if (s->out->field[i].field == field && !s->out->field[i].altered) {
            lexer_fail(&s->p->lexer, "%s.%s is set twice", roce_hdr_info(hdr)->id, field->name);
            return NULL;
        }
    *f = (struct script_field){
        .hdr = hdr, .field = field, .altered = s->altered, .value = {.object = SCRIPT_NO_OBJECT}};
    s->altered = false;
    s->out->field_cnt++;
    return f;
}

static bool has_header(const struct packet_parser *s, enum roce_hdr hdr)
{
    bool ip6 = script_variant_value(s->p->script, "ip", 4) == 6;

    switch (hdr) {
    case ROCE_HDR_ETH:
    case ROCE_HDR_UDP:
    case ROCE_HDR_BTH: return true;
    case ROCE_HDR_IP4: return !ip6;
    case ROCE_HDR_IP6: return ip6;
    default: return roce_opcode_has(s->op, hdr);
    }
}

bool parse_packet_psn(struct parser *p, struct script_field *out)
{
    bool minus = lexer_mark(&p->lexer, '-');

    if (minus || lexer_mark(&p->lexer, '+')) {
        out->kind = SCRIPT_FIELD_PSN;
        if (!parse_number(p, "a PSN", 0xFFFFFF, &out->value.num))
            return false;
        if (minus)
            out->value.num = (uint64_t)0 - out->value.num;
        return true;
    }
    return parse_number(p, "a PSN, as +1", 0xFFFFFF, &out->value.num);
}

static uint64_t field_max(const struct roce_field *field)
{
    return field->width >= 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
}

/* Reads the value of a field: a number, or the name of an object. */
static bool parse_object_field(struct packet_parser *s, enum script_field_kind kind,
                               struct script_field *f)
{
    const struct lexer *l = &s->p->lexer;

    if (parse_find_object(s->p) == SCRIPT_NO_OBJECT) {
        if (l->token.kind == LEX_WORD && l->at[strspn(l->at, " \t")] == '+')
            return lexer_fail(&s->p->lexer, "no object has the name '%.*s'", (int)l->token.len,
                              l->token.text);
        return parse_number(s->p, f->field->label, field_max(f->field), &f->value.num);
    }
    f->kind = kind;
    if (kind == SCRIPT_FIELD_SRQN)
        return parse_object(s->p, SCRIPT_SRQ, &f->value.object);
    if (kind == SCRIPT_FIELD_QPN)
        return parse_object(s->p, SCRIPT_QP, &f->value.object);
    if (kind == SCRIPT_FIELD_ADDRESS)
        return parse_place(s->p, "the name of an mr or peer and an offset, for example M+1024",
                           true, &f->value);
    return parse_place(s->p, f->field->label, false, &f->value);
}

/* Adds the R_Key of an object if the name of the object is the value of an address field. Does
 * nothing if the line names an R_Key. */
static bool add_key_of_address(struct packet_parser *s, enum roce_hdr hdr, int object)
{
    const struct roce_field *rkey = roce_field_find(roce_hdr_info(hdr), "rkey");
    struct script_field *f;

    if (script_packet_field(s->out, hdr, "rkey"))
        return true;
    f = add_field(s, hdr, rkey);
    if (!f)
        return false;
    f->kind = SCRIPT_FIELD_KEY;
    f->value.object = object;
    return true;
}

static bool parse_ack(struct packet_parser *s, struct script_field *f)
{
    struct lexer *l = &s->p->lexer;
    struct lex_token before;
    uint64_t credits;
    bool words;

    f->value.num = ROCE_CREDIT_NONE;
    f->kind_only = true;
    lexer_mark(l, ',');
    before = l->token;
    words = lexer_word(l, "credits");
    if (!words && before.kind != LEX_NUMBER)
        return !l->failed;
    f->kind_only = false;
    if (words && lexer_word(l, "not"))
        return lexer_word(l, "valid") || lexer_expected(l, "valid");
    if (!parse_number(s->p, "a number of credits, or 'not valid'", 32768, &credits))
        return false;
    if (!words && !lexer_word(l, "credits") && !lexer_word(l, "credit"))
        return lexer_expected(l, "credits");
    f->value.num = roce_credit_code((uint32_t)credits);
    if (roce_credits((uint8_t)f->value.num) != credits)
        return lexer_fail(l, "an AETH cannot express %u credits", (unsigned)credits);
    return true;
}

static bool parse_nak(struct packet_parser *s, struct script_field *f)
{
    const char *words[16];
    char list[256];
    unsigned cnt = 0;
    uint64_t code;
    int at;

    for (; words_nak[cnt].word; cnt++)
        words[cnt] = words_nak[cnt].word;
    lexer_mark(&s->p->lexer, ',');
    at = lexer_phrase(&s->p->lexer, words, cnt);
    if (at >= 0)
        code = words_nak[at].number;
    else if (s->p->lexer.token.kind == LEX_NUMBER) {
        if (!parse_number(s->p, "a NAK code", 31, &code))
            return false;
    } else
        return lexer_expected(&s->p->lexer, parse_word_list(words, cnt, list, sizeof(list)));
    f->value.num = ROCE_SYNDROME_NAK | code;
    return !s->p->lexer.failed;
}

static bool parse_rnr(struct packet_parser *s, struct script_field *f)
{
    uint64_t code;

    f->value.num = ROCE_SYNDROME_RNR | 12;
    f->kind_only = true;
    if (!lexer_word(&s->p->lexer, "timer"))
        return s->p->lexer.token.kind != LEX_NUMBER || lexer_expected(&s->p->lexer, "timer");
    f->kind_only = false;
    if (!parse_number(s->p, "an RNR timer code", 31, &code))
        return false;
    f->value.num = ROCE_SYNDROME_RNR | code;
    return true;
}

/* Reads a MAC or IP address, which ends before the next blank. */
static bool parse_bytes(struct packet_parser *s, struct script_field *f)
{
    char text[64];
    uint8_t addr[16];

    f->kind = SCRIPT_FIELD_BYTES;
    lexer_raw(&s->p->lexer, text, sizeof(text));
    if (f->field->fmt == ROCE_FMT_MAC) {
        for (unsigned i = 0; i < 6; i++)
            if (strlen(text) != 17 || !hex_parse(text + 3 * i, &f->bytes[i], 1))
                return lexer_fail(&s->p->lexer, "expected a MAC address, as 02:00:00:00:00:01");
        return true;
    }
    if (!parse_ip_addr(text, addr))
        return lexer_fail(&s->p->lexer, "expected an IP address");
    memcpy(f->bytes, f->field->width == 32 ? addr + 12 : addr, f->field->width / 8);
    return true;
}

/* Reads the value of a field of more than 64 bits: all its bytes in hexadecimal. */
static bool parse_raw_bytes(struct packet_parser *s, struct script_field *f)
{
    char text[64];
    size_t len = f->field->width / 8;

    f->kind = SCRIPT_FIELD_BYTES;
    lexer_raw(&s->p->lexer, text, sizeof(text));
    if (strlen(text) != 2 * len || !hex_parse(text, f->bytes, len))
        return lexer_fail(&s->p->lexer, "expected %u hexadecimal digits", (unsigned)(2 * len));
    return true;
}

/* Finds a field by its name "header.field". The header "ip" means the header of the drill's IP
 * version. */
static const struct roce_field *find_field(struct packet_parser *s, enum roce_hdr *hdr)
{
    const struct lex_token *token = &s->p->lexer.token;
    bool ip6 = script_variant_value(s->p->script, "ip", 4) == 6;
    const char *dot = memchr(token->text, '.', token->len);
    char name[40];
    size_t len;

    if (!dot)
        return NULL;
    len = (size_t)(dot - token->text);
    snprintf(name, sizeof(name), "%.*s", (int)(token->len - len - 1), dot + 1);
    for (unsigned i = 0; i < ROCE_HDR_CNT; i++) {
        const struct roce_hdr_info *info = roce_hdr_info((enum roce_hdr)i);
        bool same = strlen(info->id) == len && strncmp(info->id, token->text, len) == 0;

        if (len == 2 && strncmp(token->text, "ip", 2) == 0) {
            same = i == (ip6 ? ROCE_HDR_IP6 : ROCE_HDR_IP4);
            if (same && ip6 && strcmp(name, "ttl") == 0)
                snprintf(name, sizeof(name), "hop");
        }
        if (same) {
            *hdr = (enum roce_hdr)i;
            return roce_field_find(info, name);
        }
    }
    return NULL;
}

static bool parse_header_field(struct packet_parser *s)
{
    struct lexer *l = &s->p->lexer;
    enum roce_hdr hdr = ROCE_HDR_BTH;
    const struct roce_field *field = find_field(s, &hdr);
    struct script_field *f;

    if (!field)
        return lexer_expected(l, "a header and one of its fields, for example bth.migreq");
    if (!has_header(s, hdr))
        return lexer_fail(l, "this packet has no %s", roce_hdr_info(hdr)->name);
    f = add_field(s, hdr, field);
    if (!f)
        return false;
    lexer_next(l);
    if (!lexer_mark(l, '='))
        return lexer_expected(l, "'='");
    if (lexer_mark(l, '*')) {
        f->kind = SCRIPT_FIELD_ANY;
        return !l->failed;
    }
    if (field->fmt == ROCE_FMT_MAC || field->fmt == ROCE_FMT_IP4 || field->fmt == ROCE_FMT_GID)
        return parse_bytes(s, f);
    if (field->width > 64)
        return parse_raw_bytes(s, f);
    if (strcmp(field->name, "psn") == 0)
        return parse_packet_psn(s->p, f);
    if (strcmp(field->name, "va") == 0)
        return parse_object_field(s, SCRIPT_FIELD_ADDRESS, f);
    if (strcmp(field->name, "rkey") == 0)
        return parse_object_field(s, SCRIPT_FIELD_KEY, f);
    if (strcmp(field->name, "srqn") == 0)
        return parse_object_field(s, SCRIPT_FIELD_SRQN, f);
    if (strcmp(field->name, "dest_qp") == 0 || strcmp(field->name, "src_qp") == 0)
        return parse_object_field(s, SCRIPT_FIELD_QPN, f);
    return parse_number(s->p, field->label, field_max(field), &f->value.num);
}

/* ---- CM messages ----------------------------------------------------------------------------- */

static bool parse_cm_field(struct packet_parser *s)
{
    struct lexer *l = &s->p->lexer;
    const struct lex_token *token = &l->token;
    const struct roce_hdr_info *info = roce_cm_info((enum roce_cm)s->out->cm_kind);
    struct script_cm_field *f = &s->out->cm[s->out->cm_cnt];
    char name[40];

    if (s->out->cm_cnt == SCRIPT_FIELDS_MAX)
        return lexer_fail(l, "more than %d fields", SCRIPT_FIELDS_MAX);
    *f = (struct script_cm_field){.value = {.object = SCRIPT_NO_OBJECT}};
    snprintf(name, sizeof(name), "%.*s", (int)token->len, token->text);
    if (strncmp(name, "mad.", 4) == 0) {
        f->mad = true;
        f->field = roce_field_find(roce_mad_info(), name + 4);
    } else {
        f->field = roce_field_find(info, name);
    }
    if (!f->field || f->field->width > 64)
        return lexer_fail(l, "%s has no field '%s' that can be set", info->name, name);
    lexer_next(l);
    if (!lexer_mark(l, '='))
        return lexer_expected(l, "'='");
    s->out->cm_cnt++;
    if (lexer_mark(l, '*')) {
        f->any = true;
        return !l->failed;
    }
    if (parse_find_object(s->p) != SCRIPT_NO_OBJECT)
        return parse_object(s->p, SCRIPT_QP, &f->value.object);
    return parse_number(s->p, f->field->label, field_max(f->field), &f->value.num);
}

/* ---- reading items --------------------------------------------------------------------------- */

/* Returns the index of the item that begins at the current token and is permitted in this packet,
 * or -1 if there is none. If the token is then similar to the word of an item, sets an error. */
static int find_item(struct packet_parser *s)
{
    const char *words[ITEM_CNT], *meant;
    int item;

    for (unsigned i = 0; i < ITEM_CNT; i++)
        words[i] = has_header(s, items[i].hdr) ? items[i].word : NULL;
    item = lexer_phrase(&s->p->lexer, words, ITEM_CNT);
    if (item < 0 && (meant = lexer_meant(&s->p->lexer, words, ITEM_CNT)) != NULL)
        lexer_fail(&s->p->lexer, "unknown word; did you mean '%s'?", meant);
    return item;
}

/* Records that the line has an item that sets no field of a header. Returns false and sets an error
 * if the line has this item twice, or sets the contents of the payload twice. */
static bool note_item(struct packet_parser *s, unsigned item)
{
    const uint64_t contents =
        UINT64_C(1) << ITEM_FILL | UINT64_C(1) << ITEM_DATA | UINT64_C(1) << ITEM_U64;
    uint64_t bit = UINT64_C(1) << items[item].kind;

    if (s->given & bit & ~contents)
        return lexer_fail(&s->p->lexer, "'%s' twice in one line", items[item].word);
    if (bit & contents && s->given & contents)
        return lexer_fail(&s->p->lexer, "the contents are set twice");
    s->given |= bit;
    return true;
}

static bool parse_item(struct packet_parser *s, unsigned item)
{
    struct parser *p = s->p;
    struct script_packet *out = s->out;
    struct script_field *f = NULL;
    uint64_t number;

    if (!items[item].field && !note_item(s, item))
        return false;
    if (items[item].field) {
        f = add_field(s, items[item].hdr,
                      roce_field_find(roce_hdr_info(items[item].hdr), items[item].field));
        if (!f)
            return false;
        if (lexer_mark(&p->lexer, '*')) {
            f->kind = SCRIPT_FIELD_ANY;
            return !p->lexer.failed;
        }
    }
    switch (items[item].kind) {
    case ITEM_PSN: return parse_packet_psn(p, f);
    case ITEM_ADDRESS: return parse_object_field(s, SCRIPT_FIELD_ADDRESS, f);
    case ITEM_KEY: return parse_object_field(s, SCRIPT_FIELD_KEY, f);
    case ITEM_SRQN: return parse_object_field(s, SCRIPT_FIELD_SRQN, f);
    case ITEM_NUMBER: return parse_number(p, f->field->label, field_max(f->field), &f->value.num);
    case ITEM_FLAG: f->value.num = 1; return true;
    case ITEM_ACK: return parse_ack(s, f);
    case ITEM_NAK: return parse_nak(s, f);
    case ITEM_RNR: return parse_rnr(s, f);
    case ITEM_PAYLOAD:
        if (!parse_number(p, "a payload length", 16384, &number))
            return false;
        out->has_payload = true;
        out->payload = (uint32_t)number;
        return true;
    case ITEM_FILL: return parse_fill(p, &out->fill);
    case ITEM_DATA: return parse_data(p, &out->fill);
    case ITEM_U64: return parse_u64(p, &out->fill);
    case ITEM_BAD_ICRC: out->bad_icrc = true; return true;
    case ITEM_CUT:
        if (!parse_number(p, "a number of bytes", 4096, &number))
            return false;
        out->cut = (uint32_t)number;
        return true;
    case ITEM_GROUP: return parse_number(p, "the number of a group", 255, &out->group);
    }
    return false;
}

static bool parse_items(struct packet_parser *s)
{
    struct lexer *l = &s->p->lexer;

    for (;;) {
        int item;

        lexer_mark(l, ',');
        if (!s->expected && lexer_word(l, "altered")) {
            s->altered = true;
            if (l->token.kind != LEX_WORD || !memchr(l->token.text, '.', l->token.len))
                return lexer_expected(l, "a header and one of its fields, for example ip.ttl");
        }
        if (l->token.kind != LEX_WORD)
            return !l->failed;
        if (s->out->is_cm && strncmp(l->token.text, "mad.", 4) == 0) {
            if (!parse_cm_field(s))
                return false;
            continue;
        }
        if (memchr(l->token.text, '.', l->token.len)) {
            if (!parse_header_field(s))
                return false;
            continue;
        }
        if (s->out->is_cm && *l->at == '=') {
            if (!parse_cm_field(s))
                return false;
            continue;
        }
        item = find_item(s);
        if (item < 0)
            return !l->failed;
        if (!parse_item(s, (unsigned)item))
            return false;
    }
}

/* ---- required fields ------------------------------------------------------------------------- */

/* Adds the fields that follow from other fields of the line: the R_Key from an address, the kind of
 * the syndrome from the opcode. Returns false if a required field is missing. */
static bool complete_packet(struct packet_parser *s)
{
    struct script_packet *out = s->out;
    struct lexer *l = &s->p->lexer;

    if (out->has_payload && out->fill.kind == SCRIPT_FILL_DATA && out->fill.len != out->payload)
        return lexer_fail(l, "a payload of %u bytes, but data of %u bytes", (unsigned)out->payload,
                          (unsigned)out->fill.len);
    for (unsigned i = 0; i < out->field_cnt; i++)
        if (out->field[i].kind == SCRIPT_FIELD_ADDRESS &&
            !add_key_of_address(s, out->field[i].hdr, out->field[i].value.object))
            return false;
    if (!out->is_cm && s->op->kind != ROCE_KIND_CNP && s->op->svc != ROCE_SVC_UD &&
        !script_packet_field(out, ROCE_HDR_BTH, "psn"))
        return lexer_expected(l, "PSN and its number");
    if (roce_opcode_has(s->op, ROCE_HDR_AETH) &&
        !script_packet_field(out, ROCE_HDR_AETH, "syndrome")) {
        struct script_field *f;

        if (s->op->kind == ROCE_KIND_ACK)
            return lexer_expected(l, "ACK, NAK or RNR NAK");
        f = add_field(s, ROCE_HDR_AETH, roce_field_find(roce_hdr_info(ROCE_HDR_AETH), "syndrome"));
        if (!f)
            return false;
        f->value.num = ROCE_CREDIT_NONE;
        f->kind_only = true;
    }
    if (!s->expected && s->op->kind == ROCE_KIND_WRITE && s->op->pos == ROCE_POS_FIRST &&
        !script_packet_field(out, ROCE_HDR_RETH, "dma_len"))
        return lexer_expected(l, "'len' and the length of the message");
    return !l->failed;
}

bool parse_packet(struct parser *p, bool expected, struct script_packet *out)
{
    struct packet_parser s = {.p = p, .out = out, .expected = expected};

    memset(out, 0, sizeof(*out));
    if (lexer_is_word(&p->lexer, "CM"))
        out->qp = SCRIPT_NO_OBJECT;
    else if (!parse_packet_qp(p, &out->qp))
        return false;
    if (!parse_opcode(&s))
        return false;
    s.op = roce_opcode(out->opcode);
    return parse_items(&s) && complete_packet(&s);
}

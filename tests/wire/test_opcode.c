/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks the 256 opcodes against a second, shorter description: a table of operations (the low five
 * bits of the opcode), and, for each service, the headers that it adds.
 */
#include <stdio.h>
#include "support/suite.h"
#include "wire/opcode.h"

/*
 * Headers by letter:  R RETH  A AETH  K AtomicAckETH  T AtomicETH  I ImmDt  V IETH  F FETH
 *                     e RDETH D DETH  X XRCETH        C CNP
 * The lengths are those of R032 and Annex A19.
 */
static unsigned letter_len(char c)
{
    switch (c) {
    case 'R': return 16;
    case 'T': return 28;
    case 'K':
    case 'D': return 8;
    case 'C': return 16;
    default: return 4;
    }
}

static enum roce_hdr letter_hdr(char c)
{
    switch (c) {
    case 'R': return ROCE_HDR_RETH;
    case 'A': return ROCE_HDR_AETH;
    case 'K': return ROCE_HDR_ATOMICACKETH;
    case 'T': return ROCE_HDR_ATOMICETH;
    case 'I': return ROCE_HDR_IMMDT;
    case 'V': return ROCE_HDR_IETH;
    case 'F': return ROCE_HDR_FETH;
    case 'e': return ROCE_HDR_RDETH;
    case 'D': return ROCE_HDR_DETH;
    case 'X': return ROCE_HDR_XRCETH;
    default: return ROCE_HDR_CNP;
    }
}

/* transport services as bits; an operation has the bits of the services that have it */
enum { RC = 1, UC = 2, RD = 4, UD = 8, XRC = 16 };

/* clang-format off */
static const struct base {
    uint8_t low; /* low five bits of the opcode */
    unsigned services;
    enum roce_kind kind;
    enum roce_pos pos;
    enum roce_payload payload;
    const char *hdrs;
    const char *name;
} bases[] = {
    {0x00, RC|UC|RD|XRC,    ROCE_KIND_SEND,         ROCE_POS_FIRST,  ROCE_PAYLOAD_MTU,  "",   "SEND First"},
    {0x01, RC|UC|RD|XRC,    ROCE_KIND_SEND,         ROCE_POS_MIDDLE, ROCE_PAYLOAD_MTU,  "",   "SEND Middle"},
    {0x02, RC|UC|RD|XRC,    ROCE_KIND_SEND,         ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "",   "SEND Last"},
    {0x03, RC|UC|RD|XRC,    ROCE_KIND_SEND,         ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "I",  "SEND Last with Immediate"},
    {0x04, RC|UC|RD|UD|XRC, ROCE_KIND_SEND,         ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "",   "SEND Only"},
    {0x05, RC|UC|RD|UD|XRC, ROCE_KIND_SEND,         ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "I",  "SEND Only with Immediate"},
    {0x06, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_FIRST,  ROCE_PAYLOAD_MTU,  "R",  "WRITE First"},
    {0x07, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_MIDDLE, ROCE_PAYLOAD_MTU,  "",   "WRITE Middle"},
    {0x08, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "",   "WRITE Last"},
    {0x09, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "I",  "WRITE Last with Immediate"},
    {0x0A, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "R",  "WRITE Only"},
    {0x0B, RC|UC|RD|XRC,    ROCE_KIND_WRITE,        ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "RI", "WRITE Only with Immediate"},
    {0x0C, RC|RD|XRC,       ROCE_KIND_READ,         ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "R",  "READ Request"},
    {0x0D, RC|RD|XRC,       ROCE_KIND_READ_RESP,    ROCE_POS_FIRST,  ROCE_PAYLOAD_MTU,  "A",  "READ Response First"},
    {0x0E, RC|RD|XRC,       ROCE_KIND_READ_RESP,    ROCE_POS_MIDDLE, ROCE_PAYLOAD_MTU,  "",   "READ Response Middle"},
    {0x0F, RC|RD|XRC,       ROCE_KIND_READ_RESP,    ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "A",  "READ Response Last"},
    {0x10, RC|RD|XRC,       ROCE_KIND_READ_RESP,    ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "A",  "READ Response Only"},
    {0x11, RC|RD|XRC,       ROCE_KIND_ACK,          ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "A",  "Acknowledge"},
    {0x12, RC|RD|XRC,       ROCE_KIND_ATOMIC_ACK,   ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "AK", "Atomic Acknowledge"},
    {0x13, RC|RD|XRC,       ROCE_KIND_CMP_SWAP,     ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "T",  "Compare and Swap"},
    {0x14, RC|RD|XRC,       ROCE_KIND_FETCH_ADD,    ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "T",  "Fetch and Add"},
    {0x15, RD,              ROCE_KIND_RESYNC,       ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "",   "RESYNC"},
    {0x16, RC|XRC,          ROCE_KIND_SEND,         ROCE_POS_LAST,   ROCE_PAYLOAD_TAIL, "V",  "SEND Last with Invalidate"},
    {0x17, RC|XRC,          ROCE_KIND_SEND,         ROCE_POS_ONLY,   ROCE_PAYLOAD_ANY,  "V",  "SEND Only with Invalidate"},
    {0x1C, RC|RD|XRC,       ROCE_KIND_FLUSH,        ROCE_POS_ONLY,   ROCE_PAYLOAD_NONE, "FR", "FLUSH"},
    {0x1D, RC|RD|XRC,       ROCE_KIND_ATOMIC_WRITE, ROCE_POS_ONLY,   ROCE_PAYLOAD_8,    "R",  "ATOMIC WRITE"},
};
/* clang-format on */

static bool answers(enum roce_kind kind)
{
    return kind == ROCE_KIND_READ_RESP || kind == ROCE_KIND_ACK || kind == ROCE_KIND_ATOMIC_ACK;
}

/* Returns the letters of the headers that a service inserts before the headers of an operation. */
static const char *prefix(unsigned service, enum roce_kind kind)
{
    switch (service) {
    case RD: return answers(kind) ? "e" : "eD";
    case UD: return "D";
    case XRC: return answers(kind) ? "" : "X";
    default: return "";
    }
}

static const struct base *base_of(uint8_t low)
{
    for (unsigned i = 0; i < sizeof(bases) / sizeof(*bases); i++)
        if (bases[i].low == low)
            return &bases[i];
    return NULL;
}

static void expect_row(uint8_t value, enum roce_kind kind, enum roce_pos pos,
                       enum roce_payload payload, const char *hdrs, const char *name)
{
    const struct roce_opcode *op = roce_opcode(value);
    unsigned off = 12, n = 0;
    roce_hdr_set set = 0;

    EXPECT_EQ(op->value, value);
    EXPECT_EQ(op->svc, value >> 5);
    EXPECT_EQ(op->kind, kind);
    EXPECT_EQ(op->pos, pos);
    EXPECT_EQ(op->payload, payload);
    CU_ASSERT_STRING_EQUAL(op->name, name);
    for (; hdrs[n]; n++) {
        EXPECT_EQ(op->hdr[n], letter_hdr(hdrs[n]));
        EXPECT_EQ(op->hdr_off[n], off);
        off += letter_len(hdrs[n]);
        set |= ROCE_HDR_BIT(letter_hdr(hdrs[n]));
    }
    EXPECT_EQ(op->hdr_cnt, n);
    EXPECT_EQ(op->len, off);
    EXPECT_EQ(op->hdrs, set);
    for (; n < ROCE_OPCODE_HDRS; n++) {
        EXPECT_EQ(op->hdr[n], ROCE_HDR_CNT);
        EXPECT_EQ(op->hdr_off[n], 0);
    }
    for (unsigned h = 0; h < ROCE_HDR_CNT; h++)
        EXPECT_EQ(roce_opcode_has(op, (enum roce_hdr)h), set >> h & 1);
}

/* Checks service, headers, order and offsets of all 256 opcodes (R030, R032-R036). */
static void every_row_is_recomputed(void)
{
    static const unsigned service_of[8] = {RC, UC, RD, UD, 0, XRC, 0, 0};
    unsigned named = 0;

    for (unsigned v = 0; v < 256; v++) {
        const struct base *base = base_of(v & 0x1F);
        unsigned service = service_of[v >> 5];

        if (v >= 0xC0) {
            expect_row((uint8_t)v, ROCE_KIND_MANUFACTURER, ROCE_POS_ONLY, ROCE_PAYLOAD_FREE, "",
                       "manufacturer specific");
        } else if (v == 0x80) {
            expect_row(0x80, ROCE_KIND_CNP, ROCE_POS_ONLY, ROCE_PAYLOAD_FREE, "", "InfiniBand CNP");
        } else if (v == 0x81) {
            expect_row(0x81, ROCE_KIND_CNP, ROCE_POS_ONLY, ROCE_PAYLOAD_NONE, "C", "CNP");
        } else if (base && base->services & service) {
            char hdrs[8], name[64];

            snprintf(hdrs, sizeof(hdrs), "%s%s", prefix(service, base->kind), base->hdrs);
            snprintf(name, sizeof(name), "%s %s", roce_svc_name((enum roce_svc)(v >> 5)),
                     base->name);
            expect_row((uint8_t)v, base->kind, base->pos, base->payload, hdrs, name);
            named++;
        } else {
            expect_row((uint8_t)v, ROCE_KIND_RESERVED, ROCE_POS_ONLY, ROCE_PAYLOAD_FREE, "",
                       "reserved");
        }
    }
    /* number of opcodes with a name: RC 25, UC 12, RD 24, UD 2, XRC 25 */
    EXPECT_EQ(named, 88);
}

static void names_are_unique(void)
{
    for (unsigned v = 0; v < 256; v++)
        for (unsigned w = 0; w < v; w++)
            if (roce_opcode((uint8_t)v)->kind > ROCE_KIND_MANUFACTURER)
                CU_ASSERT_STRING_NOT_EQUAL(roce_opcode((uint8_t)v)->name,
                                           roce_opcode((uint8_t)w)->name);
    for (unsigned s = 0; s < 8; s++)
        for (unsigned t = 0; t < s; t++)
            CU_ASSERT_STRING_NOT_EQUAL(roce_svc_name((enum roce_svc)s),
                                       roce_svc_name((enum roce_svc)t));
    for (unsigned k = 0; k <= ROCE_KIND_CNP; k++)
        for (unsigned l = 0; l < k; l++)
            CU_ASSERT_STRING_NOT_EQUAL(roce_kind_name((enum roce_kind)k),
                                       roce_kind_name((enum roce_kind)l));
}

/* Each opcode must be either a request, a response, a CNP, or undefined. */
static void classes_do_not_overlap(void)
{
    for (unsigned v = 0; v < 256; v++) {
        const struct roce_opcode *op = roce_opcode((uint8_t)v);
        bool other = op->kind <= ROCE_KIND_MANUFACTURER || op->kind == ROCE_KIND_CNP;

        EXPECT_EQ(roce_opcode_is_request(op) + roce_opcode_is_response(op) + other, 1);
        EXPECT_EQ(roce_opcode_is_response(op), answers(op->kind));
        EXPECT_EQ(roce_opcode_is_atomic(op), roce_opcode_has(op, ROCE_HDR_ATOMICETH));
        EXPECT_EQ(roce_opcode_starts(op), op->pos == ROCE_POS_FIRST || op->pos == ROCE_POS_ONLY);
        EXPECT_EQ(roce_opcode_ends(op), op->pos == ROCE_POS_LAST || op->pos == ROCE_POS_ONLY);
    }
}

static void receive_queue_is_used_by_send_and_immediate(void)
{
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_SEND_MIDDLE)), 1);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_SEND_ONLY_INV)), 1);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_UD_SEND_ONLY)), 1);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_XRC_WRITE_LAST_IMM)), 1);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_UC_WRITE_ONLY_IMM)), 1);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_WRITE_ONLY)), 0);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_READ_REQUEST)), 0);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_FETCH_ADD)), 0);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(ROCE_OP_RC_FLUSH)), 0);
    EXPECT_EQ(roce_opcode_uses_rq(roce_opcode(0x15)), 0);
}

SUITE("wire.opcode", TEST(every_row_is_recomputed), TEST(names_are_unique),
      TEST(classes_do_not_overlap), TEST(receive_queue_is_used_by_send_and_immediate))

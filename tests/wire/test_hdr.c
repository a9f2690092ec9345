/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks the tables of headers against facts that are not from the tables: the fields fill their
 * header without gaps, each field changes only its own bits, and the lengths are those of the
 * standards. A BTH written by hand must be decoded correctly.
 */
#include <stdlib.h>
#include "support/rng.h"
#include "support/suite.h"
#include "wire/cm_msg.h"
#include "wire/hdr.h"

#define HDR_MAX 256

/* Stores the descriptions of all headers, of the MAD header and of all CM messages in `infos`.
 * Returns their number. */
static unsigned all_infos(const struct roce_hdr_info **infos)
{
    unsigned n = 0;

    for (unsigned h = 0; h < ROCE_HDR_CNT; h++)
        infos[n++] = roce_hdr_info((enum roce_hdr)h);
    infos[n++] = roce_mad_info();
    for (unsigned c = 0; c < ROCE_CM_CNT; c++)
        infos[n++] = roce_cm_info((enum roce_cm)c);
    return n;
}

#define INFOS_MAX (ROCE_HDR_CNT + 1 + ROCE_CM_CNT)

/* In the order of the table, each field must begin where the previous one ends. */
static void fields_tile_their_header(void)
{
    const struct roce_hdr_info *infos[INFOS_MAX];
    unsigned n = all_infos(infos);

    for (unsigned h = 0; h < n; h++) {
        unsigned next = 0;

        for (unsigned i = 0; i < infos[h]->field_cnt; i++) {
            const struct roce_field *f = &infos[h]->fields[i];

            EXPECT_EQ(f->byte * 8u + f->bit, next);
            CU_ASSERT(f->bit < 8 && f->width > 0);
            if (f->width > 64 || f->fmt >= ROCE_FMT_MAC)
                CU_ASSERT(f->bit == 0 && f->width % 8 == 0 && f->fmt >= ROCE_FMT_MAC);
            if (f->fmt == ROCE_FMT_FLAG)
                EXPECT_EQ(f->width, 1);
            next = f->byte * 8u + f->bit + f->width;
        }
        EXPECT_EQ(next, infos[h]->len * 8u);
        CU_ASSERT(infos[h]->len <= HDR_MAX);
    }
}

static void names_are_unique(void)
{
    const struct roce_hdr_info *infos[INFOS_MAX];
    unsigned n = all_infos(infos);

    for (unsigned h = 0; h < n; h++) {
        CU_ASSERT(*infos[h]->title && *infos[h]->source);
        for (unsigned g = 0; g < h; g++) {
            CU_ASSERT_STRING_NOT_EQUAL(infos[h]->id, infos[g]->id);
            CU_ASSERT_STRING_NOT_EQUAL(infos[h]->name, infos[g]->name);
        }
        for (unsigned i = 0; i < infos[h]->field_cnt; i++) {
            const struct roce_field *f = &infos[h]->fields[i];

            CU_ASSERT(*f->label);
            CU_ASSERT_PTR_EQUAL(roce_field_find(infos[h], f->name), f);
        }
        CU_ASSERT_PTR_NULL(roce_field_find(infos[h], "no_such_field"));
    }
}

/* If a field is set to ones in a header of zeros, or to zeros in a header of ones, only the bits of
 * this field may change. */
static void each_field_is_alone(void)
{
    const struct roce_hdr_info *infos[INFOS_MAX];
    unsigned n = all_infos(infos);

    for (unsigned h = 0; h < n; h++)
        for (unsigned i = 0; i < infos[h]->field_cnt; i++) {
            const struct roce_field *f = &infos[h]->fields[i];
            uint8_t ones[HDR_MAX], zeros[HDR_MAX];
            unsigned first = f->byte * 8u + f->bit;

            if (f->width > 64)
                continue;
            memset(ones, 0xFF, sizeof(ones));
            memset(zeros, 0, sizeof(zeros));
            roce_field_put(f, ones, 0);
            roce_field_put(f, zeros, UINT64_MAX);
            for (unsigned b = 0; b < sizeof(ones) * 8; b++) {
                bool inside = b >= first && b < first + f->width;

                EXPECT_EQ(ones[b / 8] >> (7 - b % 8) & 1, !inside);
                EXPECT_EQ(zeros[b / 8] >> (7 - b % 8) & 1, inside);
            }
            EXPECT_EQ(roce_field_get(f, ones), 0);
            EXPECT_EQ(roce_field_get(f, zeros), UINT64_MAX >> (64 - f->width));
        }
}

/* clang-format off */
/* For each member of a generated struct: if all its bits are ones, the built header must have ones
 * exactly at the bits of the field's description. Parsing must give back the value. */
#define HDR_BEGIN(id, ID, n, shrt, title, source)                                                  \
    static void members_of_##id(void)                                                              \
    {                                                                                              \
        const struct roce_hdr_info *info = INFO(ID);                                               \
        uint8_t wire[HDR_MAX], want[HDR_MAX];                                                      \
        unsigned i = 0;                                                                            \
        STRUCT(id) in, out;
#define FIELD(hdr, name, at, start, width, ctype, fmt, vals, label)                                \
        memset(&in, 0, sizeof(in));                                                                \
        in.name = (ctype) ~(ctype)0; /* wider than the field: the upper bits must be dropped */          \
        memset(wire, 0xFF, sizeof(wire));                                                          \
        memset(want, 0, sizeof(want));                                                             \
        BUILD(hdr)(&in, wire);                                                                     \
        roce_field_put(&info->fields[i++], want, UINT64_MAX);                                      \
        CU_ASSERT(memcmp(wire, want, info->len) == 0);                                             \
        CU_ASSERT(sizeof(ctype) * 8 >= (width));                                                   \
        PARSE(hdr)(wire, &out);                                                                    \
        EXPECT_EQ(out.name, UINT64_MAX >> (64 - (width)));
#define BYTES(hdr, name, at, n, fmt, label)                                                        \
        memset(&in, 0, sizeof(in));                                                                \
        memset(in.name, 0xFF, n);                                                                  \
        memset(wire, 0xFF, sizeof(wire));                                                          \
        memset(want, 0, sizeof(want));                                                             \
        BUILD(hdr)(&in, wire);                                                                     \
        memset(want + info->fields[i++].byte, 0xFF, n);                                            \
        CU_ASSERT(memcmp(wire, want, info->len) == 0);                                             \
        PARSE(hdr)(wire, &out);                                                                    \
        CU_ASSERT(memcmp(out.name, in.name, n) == 0);
#define HDR_END(id)                                                                                \
        EXPECT_EQ(i, info->field_cnt);                                                             \
    }

#define INFO(ID)   roce_hdr_info(ROCE_HDR_##ID)
#define STRUCT(id) struct roce_##id
#define BUILD(id)  roce_##id##_build
#define PARSE(id)  roce_##id##_parse
#include "wire/headers.def"
/* clang-format on */

static void members_move_their_bits(void)
{
#define HDR_BEGIN(id, ID, len, shrt, title, source) members_of_##id();
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
}

/* A header of any bytes, parsed and built again, must have the same bytes. */
static void build_is_the_inverse_of_parse(void)
{
    struct rng rng = rng_seed();

    for (int round = 0; round < 1000; round++) {
        uint8_t in[HDR_MAX], out[HDR_MAX];

        rng_fill(&rng, in, sizeof(in));
        rng_fill(&rng, out, sizeof(out));
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    {                                                                                              \
        struct roce_##id x;                                                                        \
                                                                                                   \
        roce_##id##_parse(in, &x);                                                                 \
        roce_##id##_build(&x, out);                                                                \
        CU_ASSERT(memcmp(in, out, len) == 0);                                                      \
    }
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
    }
}

/* Lengths of the headers in the standards, written by hand. */
static void lengths_are_the_standards(void)
{
    static const struct {
        enum roce_hdr hdr;
        unsigned len;
    } want[] = {
        {ROCE_HDR_ETH, 14}, {ROCE_HDR_VLAN, 4},         {ROCE_HDR_IP4, 20},
        {ROCE_HDR_IP6, 40}, {ROCE_HDR_UDP, 8},          {ROCE_HDR_LRH, 8},
        {ROCE_HDR_GRH, 40}, {ROCE_HDR_BTH, 12},         {ROCE_HDR_RDETH, 4},
        {ROCE_HDR_DETH, 8}, {ROCE_HDR_RETH, 16},        {ROCE_HDR_ATOMICETH, 28},
        {ROCE_HDR_AETH, 4}, {ROCE_HDR_ATOMICACKETH, 8}, {ROCE_HDR_IMMDT, 4},
        {ROCE_HDR_IETH, 4}, {ROCE_HDR_XRCETH, 4},       {ROCE_HDR_FETH, 4},
        {ROCE_HDR_CNP, 16},
    };

    EXPECT_EQ(sizeof(want) / sizeof(*want), ROCE_HDR_CNT);
    for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++)
        EXPECT_EQ(roce_hdr_info(want[i].hdr)->len, want[i].len);
    EXPECT_EQ(ROCE_ATOMICETH_LEN, 28);
}

/* A BTH with a different value in every field, written byte by byte from the figure of IBTA ch. 9.
 */
static void bth_by_hand(void)
{
    static const uint8_t p[12] = {
        0x0A,             /* opcode */
        0xD3,             /* SE 1, M 1, PadCnt 01, TVer 0011 */
        0x12, 0x34,       /* P_Key */
        0xAA,             /* FECN 1, BECN 0, reserved 101010 */
        0x56, 0x78, 0x9A, /* destination QP */
        0xB5,             /* A 1, reserved 0110101 */
        0xBC, 0xDE, 0xF0, /* PSN */
    };
    struct roce_bth bth;

    roce_bth_parse(p, &bth);
    EXPECT_EQ(bth.opcode, 0x0A);
    EXPECT_EQ(bth.se, 1);
    EXPECT_EQ(bth.migreq, 1);
    EXPECT_EQ(bth.padcnt, 1);
    EXPECT_EQ(bth.tver, 3);
    EXPECT_EQ(bth.pkey, 0x1234);
    EXPECT_EQ(bth.fecn, 1);
    EXPECT_EQ(bth.becn, 0);
    EXPECT_EQ(bth.resv6, 0x2A);
    EXPECT_EQ(bth.dest_qp, 0x56789A);
    EXPECT_EQ(bth.ackreq, 1);
    EXPECT_EQ(bth.resv7, 0x35);
    EXPECT_EQ(bth.psn, 0xBCDEF0);
}

static void expect_text(enum roce_hdr hdr, const char *name, const uint8_t *p, const char *want)
{
    char buf[128];

    CU_ASSERT_STRING_EQUAL(
        roce_field_text(roce_field_find(roce_hdr_info(hdr), name), p, buf, sizeof(buf)), want);
}

static void text_reads_as_people_read(void)
{
    static const uint8_t eth[14] = {2, 0x52, 0x6F, 0x43, 0x45, 1, [12] = 0x89, [13] = 0x15};
    static const uint8_t ip4[20] = {[1] = 0x03, [12] = 192, [13] = 0, [14] = 2, [15] = 1};
    static const uint8_t bth[12] = {0x0A, 0x40, 0xFF, 0xFF, [5] = 0, 0, 0x11, [9] = 0, 1, 0};
    static const uint8_t aeth[4] = {0x2C};
    static const uint8_t cnp[16] = {0xAB};
    uint8_t grh[40] = {[8] = 0xFE, [9] = 0x80, [23] = 1, [34] = 0xFF, [35] = 0xFF, 10, 0, 0, 1};
    char buf[8];

    expect_text(ROCE_HDR_ETH, "dst", eth, "02:52:6f:43:45:01");
    expect_text(ROCE_HDR_ETH, "type", eth, "0x8915 (RoCEv1)");
    expect_text(ROCE_HDR_IP4, "src", ip4, "192.0.2.1");
    expect_text(ROCE_HDR_IP4, "ecn", ip4, "3 (CE)");
    expect_text(ROCE_HDR_GRH, "sgid", grh, "fe80::1");
    expect_text(ROCE_HDR_GRH, "dgid", grh, "::ffff:10.0.0.1");
    expect_text(ROCE_HDR_BTH, "opcode", bth, "0x0a (RC WRITE Only)");
    expect_text(ROCE_HDR_BTH, "migreq", bth, "1");
    expect_text(ROCE_HDR_BTH, "dest_qp", bth, "0x000011");
    expect_text(ROCE_HDR_BTH, "psn", bth, "256");
    expect_text(ROCE_HDR_AETH, "syndrome", aeth, "0x2c (RNR NAK, 0.64 ms)");
    expect_text(ROCE_HDR_CNP, "resv", cnp, "ab000000000000000000000000000000");
    roce_field_text(roce_field_find(roce_hdr_info(ROCE_HDR_CNP), "resv"), cnp, buf, sizeof(buf));
    CU_ASSERT_STRING_EQUAL(buf, "ab00..");
}

/* With an output buffer of any small size, the text of each field must end with a zero byte inside
 * the buffer. */
static void text_stays_in_its_buffer(void)
{
    const struct roce_hdr_info *infos[INFOS_MAX];
    unsigned n = all_infos(infos);
    uint8_t p[HDR_MAX];

    memset(p, 0xFF, sizeof(p));
    for (unsigned h = 0; h < n; h++)
        for (unsigned i = 0; i < infos[h]->field_cnt; i++)
            for (size_t cap = 0; cap < 80; cap++) {
                char *buf = malloc(cap ? cap : 1);

                CU_ASSERT_PTR_EQUAL(roce_field_text(&infos[h]->fields[i], p, buf, cap), buf);
                if (cap)
                    CU_ASSERT_PTR_NOT_NULL(memchr(buf, 0, cap));
                free(buf);
            }
}

SUITE("wire.hdr", TEST(fields_tile_their_header), TEST(names_are_unique), TEST(each_field_is_alone),
      TEST(members_move_their_bits), TEST(build_is_the_inverse_of_parse),
      TEST(lengths_are_the_standards), TEST(bth_by_hand), TEST(text_reads_as_people_read),
      TEST(text_stays_in_its_buffer))

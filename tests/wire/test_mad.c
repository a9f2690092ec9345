/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include "support/sample.h"
#include "support/suite.h"
#include "wire/mad.h"

/* A MAD header with a different value in every field, written by hand from the figure of ch. 13. */
static const uint8_t by_hand[ROCE_MAD_SIZE] = {
    1,    0x07, 2,    0x03,                         /* base version, class, version, method */
    0x12, 0x34, 0x56, 0x78,                         /* status, class specific */
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* transaction id */
    0x00, 0x10, 0x9A, 0xBC,                         /* attribute id, reserved */
    0xDE, 0xAD, 0xBE, 0xEF,                         /* attribute modifier */
};

static void header_by_hand(void)
{
    struct roce_mad mad;
    uint8_t back[ROCE_MAD_LEN];

    EXPECT_EQ(roce_mad_read(&mad, by_hand, sizeof(by_hand), sizeof(by_hand)), 0);
    EXPECT_EQ(mad.base_version, 1);
    EXPECT_EQ(mad.mgmt_class, ROCE_MAD_CLASS_CM);
    EXPECT_EQ(mad.class_version, ROCE_MAD_CM_VER);
    EXPECT_EQ(mad.method, ROCE_MAD_SEND);
    EXPECT_EQ(mad.status, 0x1234);
    EXPECT_EQ(mad.class_specific, 0x5678);
    EXPECT_EQ(mad.tid, 0x0102030405060708);
    EXPECT_EQ(mad.attr_id, 0x10);
    EXPECT_EQ(mad.resv18, 0x9ABC);
    EXPECT_EQ(mad.attr_mod, 0xDEADBEEF);
    roce_mad_build(&mad, back);
    CU_ASSERT(memcmp(back, by_hand, sizeof(back)) == 0);
}

/* Parses the first bytes of the MAD, any number of them, from a memory block of exactly this size.
 */
static void cut_at_every_length(void)
{
    for (size_t len = 0; len <= ROCE_MAD_SIZE; len++) {
        uint8_t *p = sample_exact(by_hand, len);
        struct roce_mad mad;

        EXPECT_EQ(roce_mad_read(&mad, p, len, ROCE_MAD_SIZE),
                  len < ROCE_MAD_LEN ? ROCE_ERR_CUT : ROCE_OK);
        EXPECT_EQ(mad.attr_id, len < ROCE_MAD_LEN ? 0 : 0x10);
        EXPECT_EQ(roce_mad_read(&mad, p, len, len),
                  len == ROCE_MAD_SIZE ? ROCE_OK : ROCE_ERR_MALFORMED);
        free(p);
    }
}

static void other_lengths_and_versions_are_malformed(void)
{
    uint8_t p[300] = {0};
    struct roce_mad mad;

    memcpy(p, by_hand, sizeof(by_hand));
    EXPECT_EQ(roce_mad_read(&mad, p, 256, 257), ROCE_ERR_MALFORMED);
    EXPECT_EQ(roce_mad_read(&mad, p, 300, 300), ROCE_ERR_MALFORMED);
    EXPECT_EQ(roce_mad_read(&mad, p, 257, 256), ROCE_ERR_MALFORMED);
    EXPECT_EQ(roce_mad_read(&mad, NULL, 0, 0), ROCE_ERR_MALFORMED);
    EXPECT_EQ(roce_mad_read(&mad, NULL, 0, 256), ROCE_ERR_CUT);
    p[0] = 2;
    EXPECT_EQ(roce_mad_read(&mad, p, 256, 256), ROCE_ERR_MALFORMED);
    EXPECT_EQ(mad.base_version, 2); /* the header is stored although its base version is invalid, so
                                     * that it can be printed */
}

static void description_names_class_and_method(void)
{
    const struct roce_hdr_info *info = roce_mad_info();
    char buf[80];

    EXPECT_EQ(info->len, 24);
    CU_ASSERT_STRING_EQUAL(
        roce_field_text(roce_field_find(info, "mgmt_class"), by_hand, buf, sizeof(buf)),
        "0x07 (communication management)");
    CU_ASSERT_STRING_EQUAL(
        roce_field_text(roce_field_find(info, "method"), by_hand, buf, sizeof(buf)), "0x03 (Send)");
    CU_ASSERT_STRING_EQUAL(
        roce_field_text(roce_field_find(info, "attr_id"), by_hand, buf, sizeof(buf)),
        "0x0010 (REQ)");
}

SUITE("wire.mad", TEST(header_by_hand), TEST(cut_at_every_length),
      TEST(other_lengths_and_versions_are_malformed), TEST(description_names_class_and_method))

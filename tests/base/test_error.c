/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "base/error.h"
#include "support/suite.h"

static void short_text_is_kept_whole(void)
{
    struct error error;

    EXPECT_EQ(error_set(&error, "%s: %s", "a.pcap", "no such file"), -1);
    CU_ASSERT_STRING_EQUAL(error.text, "a.pcap: no such file");
}

static void reason_after_a_long_path_is_kept(void)
{
    char path[5000];
    struct error error;

    for (size_t len = 900; len < sizeof(path); len += 41) {
        memset(path, 'x', len);
        path[len] = '\0';
        EXPECT_EQ(error_set(&error, "%s: no such file", path), -1);
        CU_ASSERT(strlen(error.text) < sizeof(error.text));
        CU_ASSERT(strlen(error.text) == len + 14 || strlen(error.text) == sizeof(error.text) - 1);
        CU_ASSERT(strstr(error.text, "xxx: no such file") != NULL);
        CU_ASSERT((strstr(error.text, "x...x") != NULL) == (len + 14 >= sizeof(error.text)));
    }
}

SUITE("base.error", TEST(short_text_is_kept_whole), TEST(reason_after_a_long_path_is_kept))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include "support/suite.h"
#include "verbs/config.h"

static char error[CONFIG_TEXT_MAX + 128];

static void file_sets_options(void)
{
    struct verbs_config config = {0};
    CU_ASSERT(config_parse(&config, "rnic.conf",
                           "# devices\n"
                           "  ifaces = eth0, !lo # two\n"
                           "\n"
                           "impair=loss=3%\r\n"
                           "windows = 2A\n"
                           "seed\t=\t0x10",
                           error));
    CU_ASSERT(config.mw_2a);
    CU_ASSERT_STRING_EQUAL(config.ifaces, "eth0, !lo");
    CU_ASSERT_STRING_EQUAL(config.impair, "loss=3%");
    EXPECT_EQ(config.seed, 16);
    CU_ASSERT_STRING_EQUAL(config.record, "");
}

/* Each text is refused with an error that names its line. */
static void invalid_values_are_refused(void)
{
    static const char *const texts[] = {"seed = x",     "seed = -1", "seed = 1 2", "seed =",
                                        "colour = red", "ifaces",    "= 3",        "windows = 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct verbs_config config = {0};
        char text[64] = "\n";
        strcat(text, texts[i]);
        error[0] = 0;
        CU_ASSERT_FALSE(config_parse(&config, "f", text, error));
        CU_ASSERT(strncmp(error, "f:2: ", 5) == 0);
    }
}

static void long_lines_are_refused(void)
{
    struct verbs_config config = {0};
    char text[4 * CONFIG_TEXT_MAX];
    for (size_t len = CONFIG_TEXT_MAX; len < sizeof text - 16; len += 100) {
        strcpy(text, "ifaces = ");
        memset(text + 9, 'x', len);
        text[9 + len] = 0;
        CU_ASSERT_FALSE(config_parse(&config, "f", text, error));
    }
}

static void environment_overrides_file(void)
{
    struct verbs_config config;
    setenv("RNIC_CONFIG", "/dev/null", 1);
    setenv("RNIC_IFACES", "veth*", 1);
    setenv("RNIC_SEED", "7", 1);
    setenv("RNIC_WINDOWS", "2A", 1);
    CU_ASSERT(config_load(&config, error));
    CU_ASSERT_STRING_EQUAL(config.ifaces, "veth*");
    EXPECT_EQ(config.seed, 7);
    CU_ASSERT(config.mw_2a);
    setenv("RNIC_WINDOWS", "2B", 1);
    CU_ASSERT(config_load(&config, error));
    CU_ASSERT(!config.mw_2a);
    unsetenv("RNIC_WINDOWS");
    setenv("RNIC_SEED", "seven", 1);
    CU_ASSERT_FALSE(config_load(&config, error));
    setenv("RNIC_CONFIG", "/nonexistent/rnic.conf", 1);
    CU_ASSERT_FALSE(config_load(&config, error));
    CU_ASSERT(strstr(error, "/nonexistent/rnic.conf") != NULL);
    unsetenv("RNIC_CONFIG");
    unsetenv("RNIC_IFACES");
    unsetenv("RNIC_SEED");
}

static void patterns_select_interfaces(void)
{
    static const struct {
        const char *ifaces, *name;
        bool wanted, named;
    } rows[] = {
        {"", "eth0", true, false},
        {"eth0", "eth0", true, true},
        {"eth0", "eth1", false, false},
        {"eth*", "eth1", true, false},
        {"lo,eth1", "eth1", true, true},
        {" lo ,\teth1 ", "lo", true, true},
        {"!lo", "lo", false, false},
        {"!lo", "eth0", true, false},
        {"eth* !eth3", "eth3", false, false},
        {"eth* !eth3", "eth2", true, false},
        {"eth? !eth3 eth3", "eth3", true, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_config config = {.seed = 0};
        bool named;
        strcpy(config.ifaces, rows[i].ifaces);
        EXPECT_EQ(config_wants(&config, rows[i].name, &named), rows[i].wanted);
        EXPECT_EQ(named, rows[i].named);
    }
}

SUITE("verbs.config", TEST(file_sets_options), TEST(invalid_values_are_refused),
      TEST(long_lines_are_refused), TEST(environment_overrides_file),
      TEST(patterns_select_interfaces))

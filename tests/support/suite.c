/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite.h"

#include <CUnit/Basic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned skipped;

int suite_main(const char *title, const struct suite_test *tests, unsigned cnt, int argc,
               char **argv)
{
    CU_pSuite suite;
    unsigned ran;
    unsigned failed;

    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    suite = CU_add_suite(title, NULL, NULL);
    for (unsigned i = 0; suite && i < cnt; i++)
        if (argc < 2 || strcmp(argv[1], tests[i].name) == 0)
            CU_add_test(suite, tests[i].name, tests[i].run);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    ran = CU_get_number_of_tests_run();
    failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    if (ran == 0 || failed != 0)
        return 1;
    return skipped ? SUITE_SKIP : 0;
}

void suite_fail(const char *file, unsigned line, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    CU_assertImplementation(CU_FALSE, line, text, file, "", CU_FALSE);
}

void suite_skip(const char *why)
{
    printf("skipped: %s ", why);
    skipped++;
}

uint64_t suite_env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

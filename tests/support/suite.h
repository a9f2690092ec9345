/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Suite: the list of the tests in one test program, and the program's main(). A test file ends with
 *
 *     SUITE("wire.psn", TEST(psn_wraps), TEST(psn_orders))
 *
 * Each test is a function such as `static void psn_wraps(void)`, which uses CUnit's assertions. The
 * exit status is 0 only if at least one test ran, all assertions passed, and no test was skipped.
 * With an argument, the program runs only the test of that name.
 */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <CUnit/CUnit.h>
#include <stdint.h>

/* Exit status of a suite with a skipped test; equals SKIP_RETURN_CODE in ctest. */
#define SUITE_SKIP 77

struct suite_test {
    const char *name;
    void (*run)(void);
};

#define TEST(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }

#define SUITE(title, ...)                                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct suite_test tests[] = {__VA_ARGS__};                                    \
                                                                                                   \
        return suite_main(title, tests, sizeof(tests) / sizeof(tests[0]), argc, argv);             \
    }

int suite_main(const char *title, const struct suite_test *tests, unsigned cnt, int argc,
               char **argv);

/* Marks the current test as failed, with a formatted reason. The test continues. */
void suite_fail(const char *file, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Marks the current test as skipped, and prints the reason. The test must return. ctest then counts
 * the whole suite as skipped, unless a test fails. */
void suite_skip(const char *why);

/* Returns the number in the environment variable `name` (ROCEDRILL_SEED, ROCEDRILL_RUNS, ...), or
 * `otherwise` if it is not set. */
uint64_t suite_env(const char *name, uint64_t otherwise);

/* Number of turns of a random test: with sanitizers a tenth of `turns`, rounded up. The build with
 * sanitizers plays the first turns of the other build, which are enough to find memory errors. */
#ifdef TEST_SANITIZED
#define SUITE_TURNS(turns) (((turns) + 9) / 10)
#else
#define SUITE_TURNS(turns) (turns)
#endif

/* Asserts that two integers are equal, and prints both if not. */
#define EXPECT_EQ(actual, expected)                                                                \
    do {                                                                                           \
        unsigned long long a_ = (unsigned long long)(actual);                                      \
        unsigned long long e_ = (unsigned long long)(expected);                                    \
                                                                                                   \
        if (a_ == e_) { /* braces, because a CUnit assertion is a block */                         \
            CU_ASSERT_EQUAL(a_, e_);                                                               \
        } else {                                                                                   \
            suite_fail(__FILE__, __LINE__,                                                         \
                       "%s: expected %s = %llu (0x%llx), actual %llu (0x%llx)", __func__, #actual, \
                       e_, e_, a_, a_);                                                            \
        }                                                                                          \
    } while (0)

#endif

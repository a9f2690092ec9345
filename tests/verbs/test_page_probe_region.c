/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "support/suite.h"
#include "verbs/page_probe.h"

static char *map(size_t len, int rights)
{
    char *at = mmap(NULL, len, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_FATAL(at != MAP_FAILED);
    return at;
}

static void heap_stack_and_code_are_found(void)
{
    static char data[100];
    char stack[100];
    static const char constant[] = "read only";
    char *heap = malloc(100);
    EXPECT_EQ(page_probe_region(data, sizeof data, true), 0);
    EXPECT_EQ(page_probe_region(stack, sizeof stack, true), 0);
    EXPECT_EQ(page_probe_region(heap, 100, true), 0);
    EXPECT_EQ(page_probe_region(constant, sizeof constant, false), 0);
    EXPECT_EQ(page_probe_region(constant, sizeof constant, true), EFAULT);
    free(heap);
}

static void unmapped_memory_is_efault(void)
{
    EXPECT_EQ(page_probe_region(NULL, 0, true), 0);
    EXPECT_EQ(page_probe_region(NULL, 1, false), EFAULT);
    EXPECT_EQ(page_probe_region((void *)UINTPTR_MAX, 1, false), EFAULT);
    EXPECT_EQ(page_probe_region((void *)16, SIZE_MAX - 16, false), EFAULT);
    EXPECT_EQ(page_probe_region((void *)16, SIZE_MAX, false), EFAULT);
}

/* The pages of one mapping have different access rights, and one page is unmapped. A range is
 * invalid as soon as it contains one byte of the unmapped page, or of a page without the right. */
static void region_ends_are_exact(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = map(8 * page, PROT_READ | PROT_WRITE);
    mprotect(at + 2 * page, page, PROT_READ);
    mprotect(at + 4 * page, page, PROT_NONE);
    munmap(at + 6 * page, page);
    EXPECT_EQ(page_probe_region(at, 2 * page, true), 0);
    EXPECT_EQ(page_probe_region(at, 2 * page + 1, true), EFAULT);
    EXPECT_EQ(page_probe_region(at, 4 * page, false), 0);
    EXPECT_EQ(page_probe_region(at, 4 * page + 1, false), EFAULT);
    EXPECT_EQ(page_probe_region(at + 5 * page - 1, 1, false), EFAULT);
    EXPECT_EQ(page_probe_region(at + 5 * page, page, true), 0);
    EXPECT_EQ(page_probe_region(at + 5 * page, page + 1, true), EFAULT);
    EXPECT_EQ(page_probe_region(at + 7 * page - 1, 1, true), EFAULT);
    EXPECT_EQ(page_probe_region(at + 7 * page, page, true), 0);
    munmap(at, 8 * page);
}

/* The kernel's list of mappings is longer than the buffer into which page_probe reads it. */
static void region_over_many_mappings_is_found(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), cnt = 2000;
    char *at = map(cnt * page, PROT_READ);
    for (size_t i = 0; i < cnt; i += 2)
        mprotect(at + i * page, page, PROT_READ | PROT_WRITE);
    EXPECT_EQ(page_probe_region(at, cnt * page, false), 0);
    EXPECT_EQ(page_probe_region(at, cnt * page, true), EFAULT);
    for (size_t i = 0; i < cnt; i += 97)
        EXPECT_EQ(page_probe_region(at + i * page, page, true), i % 2 ? EFAULT : 0);
    munmap(at, cnt * page);
}

/* Pages are faulted in, and missing pages and rights are reported. */
static void pages_are_populated(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = map(8 * page, PROT_READ | PROT_WRITE);
    unsigned char is = 1;
    CU_ASSERT(mincore(at, page, &is) == 0 && !(is & 1));
    EXPECT_EQ(page_probe_populate(at + 5, 0, true), 0);
    EXPECT_EQ(page_probe_populate(at + 5, 3 * page, true), 0);
    for (size_t i = 0; i < 8; i++) {
        CU_ASSERT(mincore(at + i * page, page, &is) == 0);
        EXPECT_EQ(is & 1, i < 4);
    }
    mprotect(at + 6 * page, page, PROT_READ);
    EXPECT_EQ(page_probe_populate(at + 5 * page, 2 * page, false), 0);
    EXPECT_EQ(page_probe_populate(at + 5 * page, 2 * page, true), EFAULT);
    munmap(at + 7 * page, page);
    EXPECT_EQ(page_probe_populate(at, 8 * page, false), EFAULT);
    EXPECT_EQ(page_probe_populate((void *)16, SIZE_MAX, false), EFAULT);
    munmap(at, 7 * page);
}

SUITE("verbs.page_probe_region", TEST(heap_stack_and_code_are_found),
      TEST(unmapped_memory_is_efault), TEST(region_ends_are_exact),
      TEST(region_over_many_mappings_is_found), TEST(pages_are_populated))

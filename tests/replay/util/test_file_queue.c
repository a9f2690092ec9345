/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the file queue: the order in which files are processed, the order of the results, and which
 * files count as big. */
#define _GNU_SOURCE /* declares mkstemp() */
#include "util/file_queue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/suite.h"
#include "util/cli_opts.h"

#define FILES 4u

static const char *path_of(const void *list, size_t i)
{
    return ((char *const *)list)[i];
}

static char *paths[FILES];

/* Makes files of some sizes, KiB. */
static void make_files(const unsigned kib[FILES])
{
    for (unsigned i = 0; i < FILES; i++) {
        int fd;

        paths[i] = strdup("/tmp/file_queue_XXXXXX");
        fd = mkstemp(paths[i]);
        CU_ASSERT_FATAL(fd >= 0);
        CU_ASSERT_EQUAL(ftruncate(fd, (off_t)kib[i] * 1024), 0);
        close(fd);
    }
}

static void remove_files(void)
{
    for (unsigned i = 0; i < FILES; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

static void expect_order(struct file_queue *queue, const size_t order[FILES])
{
    size_t at = 0;

    for (unsigned i = 0; i < FILES; i++) {
        CU_ASSERT_TRUE(file_queue_take(queue, &at));
        EXPECT_EQ(at, order[i]);
    }
    CU_ASSERT_FALSE(file_queue_take(queue, &at));
}

static void several_workers_take_the_biggest_file_first(void)
{
    static const size_t order[FILES] = {2, 0, 3, 1};
    struct file_queue queue;
    size_t at = 0;

    make_files((const unsigned[FILES]){20, 1, 70, 20});
    CU_ASSERT_TRUE(file_queue_init(&queue, path_of, paths, FILES, 2));
    expect_order(&queue, order);
    /* One file has 70 KiB, more than half of the bytes of all files. */
    for (unsigned i = 0; i < FILES; i++)
        EXPECT_EQ(file_queue_is_big(&queue, i), i == 2);
    file_queue_finish(&queue, 1);
    CU_ASSERT_FALSE(file_queue_return(&queue, &at));
    file_queue_finish(&queue, 0);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(file_queue_return(&queue, &at));
        EXPECT_EQ(at, i);
    }
    CU_ASSERT_FALSE(file_queue_return(&queue, &at));
    file_queue_free(&queue);
    remove_files();
}

static void one_worker_takes_the_files_in_their_order(void)
{
    static const size_t order[FILES] = {0, 1, 2, 3};
    struct file_queue queue;

    make_files((const unsigned[FILES]){20, 1, 70, 20});
    CU_ASSERT_TRUE(file_queue_init(&queue, path_of, paths, FILES, 1));
    expect_order(&queue, order);
    CU_ASSERT_FALSE(file_queue_is_big(&queue, 2));
    file_queue_free(&queue);
    remove_files();
}

static void there_are_at_most_as_many_workers_as_files(void)
{
    EXPECT_EQ(file_queue_workers(5, 3), 3);
    EXPECT_EQ(file_queue_workers(2, 3), 2);
    EXPECT_EQ(file_queue_workers(7, 0), 1);
    EXPECT_EQ(file_queue_workers(1000, 2000), CLI_JOBS_MAX);
    CU_ASSERT(file_queue_workers(0, 1000) >= 1);
}

SUITE("replay.file_queue", TEST(several_workers_take_the_biggest_file_first),
      TEST(one_worker_takes_the_files_in_their_order),
      TEST(there_are_at_most_as_many_workers_as_files))

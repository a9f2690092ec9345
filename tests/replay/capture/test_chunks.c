/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the read buffer: it returns all bytes of a file in order, whatever the sizes of the
 * requests are. The tests read on demand, read ahead, map the file, and let the file grow. */
#include "capture/read_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture/mmap_file.h"
#include "replay/checkrun.h"
#include "support/rng.h"
#include "support/suite.h"

/* Length of the file: several pieces of the read buffer and a part of one. */
#define FILE_LEN (9 * READ_CHUNK_LEN + 12345)

/* Length of the largest request in bytes: longer than one piece of the read buffer. */
#define ASK_MAX (2 * READ_CHUNK_LEN)

/* Ways of reading a file. */
enum way { IN_ORDER, AHEAD, MAPPED, WAY_CNT };

static const char *const way_names[] = {"in order", "ahead", "mapped"};

static uint8_t *bytes; /* contents of the file */

static FILE *open_file(const char *path, size_t len)
{
    FILE *file = fopen(path, "wb");
    struct rng rng = rng_of(1);

    if (!bytes) {
        bytes = malloc(2 * FILE_LEN);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        rng_fill(&rng, bytes, 2 * FILE_LEN);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    EXPECT_EQ(fwrite(bytes, 1, len, file), len);
    EXPECT_EQ(fclose(file), 0);
    file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    return file;
}

/* Opens a read buffer and reads the file header, as a capture reader does. If `way` is MAPPED, also
 * maps the file and returns the mapping, which must be closed after the buffer. Otherwise returns
 * NULL. */
static struct mmap_file *begin(struct read_buffer *c, FILE *file, enum way way, size_t len)
{
    struct mmap_file *mapped;

    read_buffer_open(c, file, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(read_buffer_peek(c, 24));
    if (way == IN_ORDER)
        return NULL;
    if (way == AHEAD) {
        read_buffer_begin_ahead(c);
        return NULL;
    }
    mapped = mmap_file_open(fileno(file), len, "the file");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mapped);
    read_buffer_map(c, mmap_file_bytes(mapped), len);
    return mapped;
}

static size_t ask(struct rng *rng)
{
    switch (rng_below(rng, 40)) {
    case 0: return rng_below(rng, 100000);
    case 1: return rng_below(rng, 20) ? 1 : rng_below(rng, ASK_MAX);
    default: return 1 + rng_below(rng, 9000);
    }
}

/* Reads to the end of the file and returns the number of bytes. Calls read_buffer_keep() for most
 * of the returned bytes, and compares these bytes with the file again after the next request. Also
 * reads ahead at random, as two read-ahead threads would. */
static size_t read_to_end(struct read_buffer *c, enum way way, struct rng *rng)
{
    const uint8_t *kept = NULL, *p;
    size_t at = 0, kept_at = 0, kept_len = 0, want;

    while ((p = read_buffer_peek(c, want = ask(rng))) || (p = read_buffer_peek(c, want = 1))) {
        if (memcmp(p, bytes + at, want) != 0 ||
            memcmp(kept ? kept : p, bytes + (kept ? kept_at : at), kept ? kept_len : want) != 0) {
            suite_fail(__FILE__, __LINE__,
                       "%s: the bytes from %zu or from %zu on differ from the file", way_names[way],
                       at, kept_at);
            break;
        }
        if (rng_below(rng, 8)) { /* keep these bytes in 7 of 8 cases */
            read_buffer_keep(c);
            kept = p;
            kept_at = at;
            kept_len = want;
            read_buffer_release(c, read_buffer_piece(c));
        }
        read_buffer_take(c, want);
        at += want;
        if (rng_below(rng, 4))
            read_buffer_read_ahead(c, 1 + rng_below(rng, 2));
        CU_ASSERT_TRUE(read_buffer_position(c) >= at || way == MAPPED);
    }
    CU_ASSERT_TRUE(c->end && read_buffer_left(c) == 0);
    return at;
}

static void every_way_returns_equal_bytes(void)
{
    static const size_t lens[] = {FILE_LEN,
                                  READ_CHUNK_LEN,
                                  2 * READ_CHUNK_LEN,
                                  READ_CHUNK_LEN + 1,
                                  3 * READ_CHUNK_LEN - 1,
                                  100000,
                                  24};
    struct rng rng = rng_seed();

    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        for (enum way way = 0; way < WAY_CNT; way++) {
            FILE *file = open_file(checkrun_path("bytes"), lens[i]);
            struct read_buffer c;
            struct mmap_file *mapped = begin(&c, file, way, lens[i]);

            EXPECT_EQ(read_to_end(&c, way, &rng), lens[i]);
            read_buffer_close(&c);
            mmap_file_close(mapped);
            fclose(file);
        }
}

static void bytes_appended_during_a_read_are_returned(void)
{
    struct rng rng = rng_seed();

    for (enum way way = IN_ORDER; way <= AHEAD; way++) {
        const char *path = checkrun_path("grows");
        FILE *file = open_file(path, FILE_LEN), *more = fopen(path, "ab");
        struct read_buffer c;

        begin(&c, file, way, FILE_LEN);
        CU_ASSERT_PTR_NOT_NULL_FATAL(more);
        EXPECT_EQ(fwrite(bytes + FILE_LEN, 1, 2 * READ_CHUNK_LEN + 77, more),
                  2 * READ_CHUNK_LEN + 77);
        fclose(more);
        EXPECT_EQ(read_to_end(&c, way, &rng), FILE_LEN + 2 * READ_CHUNK_LEN + 77);
        read_buffer_close(&c);
        fclose(file);
    }
}

static void pipe_and_invalid_descriptor_are_not_mapped(void)
{
    int ends[2];

    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_PTR_NULL(mmap_file_open(ends[0], 4096, "a pipe"));
    close(ends[0]);
    close(ends[1]);
    CU_ASSERT_PTR_NULL(mmap_file_open(-1, 4096, "nothing"));
}

SUITE("replay.chunks", TEST(every_way_returns_equal_bytes),
      TEST(bytes_appended_during_a_read_are_returned),
      TEST(pipe_and_invalid_descriptor_are_not_mapped))

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the ring of shared memory: order, room, the flags that wake the other end, and every wrong
 * word that a hostile other end can write. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "port/shm/segment.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/pkt.h"

#define RING SHM_RING_MIN

static struct shm_segment segment;
static struct shm_writer writer;
static struct shm_reader reader;

static void open_ring(void)
{
    CU_ASSERT_FATAL(shm_segment_private(RING, &segment) == 0);
    shm_writer_init(&writer, &segment.memory);
    shm_reader_init(&reader, &segment.memory);
}

static void close_ring(void)
{
    shm_segment_unmap(&segment);
}

/* Fills a frame with bytes that depend on its number. */
static void fill(uint8_t *frame, uint32_t len, unsigned number)
{
    for (uint32_t i = 0; i < len; i++)
        frame[i] = (uint8_t)(number * 31 + i * 7 + 1);
}

static uint32_t len_of(unsigned number)
{
    return number % 5 == 0 ? ROCE_FRAME_MAX : 1 + number * 131 % ROCE_FRAME_MAX;
}

/* Writes and reads frames of all lengths, with up to `ahead` frames in the ring. */
static void pass_frames(unsigned cnt, unsigned ahead)
{
    uint8_t sent[ROCE_FRAME_MAX], got[ROCE_FRAME_MAX];
    unsigned written = 0, bad = 0;

    for (unsigned read = 0; read < cnt;) {
        unsigned flags = 99;
        int len;

        while (written < cnt && written - read < ahead) {
            fill(sent, len_of(written), written);
            if (shm_write(&writer, sent, len_of(written), written % 2) == 0)
                break;
            written++;
        }
        len = shm_read(&reader, got, &flags);
        fill(sent, len_of(read), read);
        bad += len != (int)len_of(read) || flags != read % 2 || memcmp(got, sent, len_of(read));
        if (len <= 0)
            break;
        shm_reader_rings(&reader);
        read++;
    }
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(written, cnt);
    EXPECT_EQ(shm_read(&reader, got, &(unsigned){0}), 0);
}

static void frames_of_all_lengths_arrive_in_order(void)
{
    for (unsigned ahead = 1; ahead < 40; ahead += 3) {
        open_ring();
        pass_frames(2000, ahead);
        close_ring();
    }
}

static void full_ring_refuses_and_reader_wakes_the_writer_once(void)
{
    uint8_t frame[ROCE_FRAME_MAX] = {1};
    unsigned flags, written = 0, wakes = 0;

    open_ring();
    while (shm_write(&writer, frame, 1000, 0) == 1)
        written++;
    CU_ASSERT(written >= RING / 1024 - 2);
    CU_ASSERT(shm_writer_waits(&writer));
    while (shm_read(&reader, frame, &flags) > 0)
        wakes += shm_reader_rings(&reader);
    EXPECT_EQ(wakes, 1);
    EXPECT_EQ(shm_write(&writer, frame, ROCE_FRAME_MAX, 0), 1);
    CU_ASSERT(!shm_writer_waits(&writer)); /* the ring has room again */
    close_ring();
}

static void sleeping_reader_is_woken_once(void)
{
    uint8_t frame[64] = {1};
    unsigned flags;

    open_ring();
    CU_ASSERT(!shm_writer_rings(&writer));
    CU_ASSERT(shm_reader_sleeps(&reader, true));
    EXPECT_EQ(shm_write(&writer, frame, 64, 0), 1);
    CU_ASSERT(shm_writer_rings(&writer));
    CU_ASSERT(!shm_writer_rings(&writer));
    CU_ASSERT(!shm_reader_sleeps(&reader, true)); /* a frame waits */
    EXPECT_EQ(shm_read(&reader, frame, &flags), 64);
    CU_ASSERT(shm_reader_sleeps(&reader, true));
    CU_ASSERT(shm_reader_sleeps(&reader, false));
    CU_ASSERT(!shm_writer_rings(&writer));
    close_ring();
}

/* A frame contains bytes that look like a header word. They must never be read as a header word of
 * a later frame. */
static void bytes_of_an_old_frame_are_no_header(void)
{
    const uint32_t word = 64;
    uint8_t frame[ROCE_FRAME_MAX];
    unsigned flags;

    open_ring();
    for (size_t at = 0; at + 4 <= sizeof(frame); at += 4)
        memcpy(frame + at, &word, 4);
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t len = len_of(i) | 8;

        EXPECT_EQ(shm_write(&writer, frame, len < ROCE_FRAME_MAX ? len : 8, 0), 1);
        CU_ASSERT(shm_read(&reader, frame, &flags) > 0);
        EXPECT_EQ(shm_read(&reader, frame, &flags), 0);
        shm_reader_rings(&reader);
    }
    close_ring();
}

/* ---- a hostile other end --------------------------------------------------------------------- */

/* Passes `before` records of 4000 bytes, then writes `word` as the header word of the next record.
 * Returns the result of shm_read(). */
static int read_word(uint32_t word, unsigned before)
{
    uint8_t frame[ROCE_FRAME_MAX] = {0};
    unsigned flags;
    int len;

    open_ring();
    for (unsigned i = 0; i < before; i++) {
        CU_ASSERT(shm_write(&writer, frame, 4000, 0) == 1);
        CU_ASSERT(shm_read(&reader, frame, &flags) == 4000);
    }
    memcpy(segment.memory.data + (reader.head & (RING - 1)), &word, sizeof(word));
    len = shm_read(&reader, frame, &flags);
    close_ring();
    return len;
}

static void wrong_header_word_breaks_the_ring(void)
{
    static const uint32_t skip = UINT32_C(1) << 31;

    EXPECT_EQ(read_word(ROCE_FRAME_MAX, 0), ROCE_FRAME_MAX);
    EXPECT_EQ(read_word(ROCE_FRAME_MAX + 1, 0), -EPROTO);
    EXPECT_EQ(read_word(UINT32_MAX, 0), -EPROTO);
    EXPECT_EQ(read_word(UINT32_C(1) << 16, 0), -EPROTO);       /* flags without a length */
    EXPECT_EQ(read_word(UINT32_C(1) << 24 | 100, 0), -EPROTO); /* unknown bits */
    EXPECT_EQ(read_word(skip | 1, 1), -EPROTO);                /* skip with a length */
    EXPECT_EQ(read_word(skip, 0), -EPROTO);                    /* skip of a whole ring */
    EXPECT_EQ(read_word(4000, 7), 4000);                       /* the last record that fits */
    EXPECT_EQ(read_word(4000, 8), -EPROTO);                    /* the record would cross the end
                                                                * of the ring */
    EXPECT_EQ(read_word(skip, 7), 4000); /* skip to the start of the ring, where an old record is */
}

static void wrong_head_breaks_the_ring(void)
{
    static const uint64_t wrong[] = {UINT64_MAX, 5 * 1024, RING * 4};
    uint8_t frame[ROCE_FRAME_MAX] = {0};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        unsigned cnt = 0;
        int put;

        open_ring();
        EXPECT_EQ(shm_write(&writer, frame, 1000, 0), 1);
        writer.head = i == 1 ? 6 * 1024 : 0; /* the position must not move back */
        writer.tail = i == 1 ? 6 * 1024 : writer.tail;
        atomic_store(&segment.memory.control->head, wrong[i]);
        do
            put = shm_write(&writer, frame, 1000, 0);
        while (put == 1 && cnt++ < 1000);
        EXPECT_EQ(put, -EPROTO);
        close_ring();
    }
}

/* Random words anywhere in shared memory: the reader returns frames of a valid length or reports
 * the broken ring, and never reads outside of the ring (checked by the sanitizers' build). */
static void random_words_never_lead_outside(void)
{
    struct rng rng = rng_of(suite_env("ROCEDRILL_SEED", 1));
    uint8_t frame[ROCE_FRAME_MAX];

    for (unsigned turn = 0; turn < 300; turn++) {
        unsigned flags;
        int len;

        open_ring();
        for (unsigned i = 0; i < RING / 8; i += 1 + (unsigned)rng_below(&rng, 16)) {
            uint64_t word = rng_below(&rng, 3) ? rng_below(&rng, 5000) : rng_u64(&rng);

            memcpy(segment.memory.data + i * 8, &word, 8);
        }
        for (unsigned i = 0; i < 1000; i++) {
            len = shm_read(&reader, frame, &flags);
            CU_ASSERT(len <= ROCE_FRAME_MAX);
            if (len <= 0)
                break;
        }
        close_ring();
    }
}

/* ---- two threads ----------------------------------------------------------------------------- */

#define THREAD_FRAMES 20000u

static void *write_frames(void *user)
{
    uint8_t frame[ROCE_FRAME_MAX];

    (void)user;
    for (unsigned i = 0; i < THREAD_FRAMES; i++) {
        fill(frame, len_of(i), i);
        while (shm_write(&writer, frame, len_of(i), 0) == 0)
            sched_yield();
    }
    return NULL;
}

static void frames_cross_threads_intact(void)
{
    uint8_t got[ROCE_FRAME_MAX], want[ROCE_FRAME_MAX];
    pthread_t thread;
    unsigned bad = 0;

    open_ring();
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, write_frames, NULL) == 0);
    for (unsigned i = 0; i < THREAD_FRAMES; i++) {
        unsigned flags;
        int len;

        while ((len = shm_read(&reader, got, &flags)) == 0)
            sched_yield();
        fill(want, len_of(i), i);
        bad += len != (int)len_of(i) || memcmp(got, want, len_of(i)) != 0;
        shm_reader_rings(&reader);
        if (len < 0)
            break;
    }
    pthread_join(thread, NULL);
    EXPECT_EQ(bad, 0);
    close_ring();
}

/* ---- the memory file ------------------------------------------------------------------------- */

static void memory_file_is_shared_and_sealed(void)
{
    struct shm_segment mine, other;
    uint8_t frame[64] = {42};
    unsigned flags;
    int fd = shm_segment_new(RING, &mine);

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_FATAL(shm_segment_map(fd, &other) == 0);
    EXPECT_EQ(other.memory.size, RING);
    CU_ASSERT(ftruncate(fd, 0) < 0);
    CU_ASSERT(ftruncate(fd, 1 << 24) < 0);
    shm_writer_init(&writer, &mine.memory);
    shm_reader_init(&reader, &other.memory);
    EXPECT_EQ(shm_write(&writer, frame, 64, 0), 1);
    frame[0] = 0;
    EXPECT_EQ(shm_read(&reader, frame, &flags), 64);
    EXPECT_EQ(frame[0], 42);
    shm_segment_unmap(&mine);
    shm_segment_unmap(&other);
    close(fd);
}

static void unsealed_or_odd_files_are_refused(void)
{
    static const off_t sizes[] = {4096 + RING, 4096 + RING + 1, 4096, 0, 4096 + 3 * RING};
    struct shm_segment other;
    int null = open("/dev/null", O_RDWR);
    int pipes[2];

    EXPECT_EQ(shm_segment_map(null, &other), -EPROTO);
    close(null);
    CU_ASSERT_FATAL(pipe(pipes) == 0);
    EXPECT_EQ(shm_segment_map(pipes[0], &other), -EPROTO);
    close(pipes[0]);
    close(pipes[1]);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int fd = memfd_create("test", MFD_ALLOW_SEALING);

        CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, sizes[i]) == 0);
        if (i > 0) /* the first file has a right size but no seals */
            CU_ASSERT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
        EXPECT_EQ(shm_segment_map(fd, &other), -EPROTO);
        close(fd);
    }
}

SUITE("port.ring", TEST(frames_of_all_lengths_arrive_in_order),
      TEST(full_ring_refuses_and_reader_wakes_the_writer_once), TEST(sleeping_reader_is_woken_once),
      TEST(bytes_of_an_old_frame_are_no_header), TEST(wrong_header_word_breaks_the_ring),
      TEST(wrong_head_breaks_the_ring), TEST(random_words_never_lead_outside),
      TEST(frames_cross_threads_intact), TEST(memory_file_is_shared_and_sealed),
      TEST(unsealed_or_odd_files_are_refused))

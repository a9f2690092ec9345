/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the ring of shared memory (port/shm/ring.h), where a hostile process writes to the
 * shared memory between any two calls.
 *
 * The input is a list of operations of 4 bytes each: write a frame, read a frame, wait, sleep, or
 * overwrite a word. The list is executed several times, so that short inputs also reach the end of
 * the ring. Invariants: no access outside of the ring (the sanitizers check this), and only
 * documented results. Until the first word is overwritten, all frames arrive in order and
 * unchanged.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "fuzz.h"
#include "port/shm/ring.h"
#include "wire/pkt.h"

#define RING   SHM_RING_MIN
#define ROUNDS 8u

struct both_ends {
    struct shm_memory memory;
    struct shm_writer writer;
    struct shm_reader reader;
    bool hostile; /* a word of the shared memory was overwritten */
    unsigned written, read;
    uint16_t len[RING / SHM_LINE]; /* lengths of the frames in the ring */
};

static void fill(uint8_t *frame, uint32_t len, unsigned number)
{
    memset(frame, (int)(number * 37 + 1), len);
}

static void write_frame(struct both_ends *ends, uint32_t arg)
{
    uint32_t len = 1 + arg % ROCE_FRAME_MAX;
    uint8_t *frame = malloc(len);
    int put;

    FUZZ_CHECK(frame);
    fill(frame, len, ends->written);
    put = shm_write(&ends->writer, frame, len, arg & 1);
    FUZZ_CHECK(put == 1 || put == 0 || (put == -EPROTO && ends->hostile));
    if (put == 1)
        ends->len[ends->written++ % (RING / SHM_LINE)] = (uint16_t)len;
    free(frame);
    shm_writer_rings(&ends->writer);
}

static void read_frame(struct both_ends *ends)
{
    uint8_t *frame = malloc(ROCE_FRAME_MAX), *want = malloc(ROCE_FRAME_MAX);
    uint64_t before = ends->reader.head;
    unsigned flags = 0;
    int len = shm_read(&ends->reader, frame, &flags);

    FUZZ_CHECK(want && (len >= 0 || (len == -EPROTO && ends->hostile)) && len <= ROCE_FRAME_MAX);
    FUZZ_CHECK(ends->reader.head - before <= RING);
    if (!ends->hostile && len > 0) {
        FUZZ_CHECK(ends->read < ends->written);
        FUZZ_CHECK(len == ends->len[ends->read % (RING / SHM_LINE)]);
        fill(want, (uint32_t)len, ends->read);
        FUZZ_CHECK(memcmp(frame, want, (size_t)len) == 0);
    }
    if (!ends->hostile)
        FUZZ_CHECK(len > 0 || ends->read == ends->written);
    ends->read += len > 0;
    shm_reader_rings(&ends->reader);
    free(frame);
    free(want);
}

/* Overwrites a word that both ends share: a header word with `value`, or the reader's position. */
static void overwrite_word(struct both_ends *ends, unsigned what, uint32_t at, uint64_t value)
{
    static const uint64_t skip = UINT64_C(1) << 31;

    ends->hostile = true;
    if (what & 1)
        value |= skip;
    if (what & 2)
        memcpy(ends->memory.data + at % (RING / 8) * 8, &value, 8);
    else if (what & 4)
        memcpy(ends->memory.data + (ends->reader.head & (RING - 1)), &value, 8);
    else
        atomic_store(&ends->memory.control->head, ends->writer.head + value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct both_ends *ends = calloc(1, sizeof(*ends));
    struct shm_control *control = aligned_alloc(SHM_LINE, sizeof(*control));
    uint8_t *memory = aligned_alloc(SHM_LINE, RING);

    FUZZ_CHECK(ends && control && memory);
    memset(control, 0, sizeof(*control));
    memset(memory, 0, RING);
    ends->memory = (struct shm_memory){.control = control, .data = memory, .size = RING};
    shm_writer_init(&ends->writer, &ends->memory);
    shm_reader_init(&ends->reader, &ends->memory);
    for (size_t turn = 0; turn < size / 4 * ROUNDS; turn++) {
        size_t i = turn % (size / 4) * 4;
        uint32_t arg = (uint32_t)data[i + 1] | (uint32_t)data[i + 2] << 8;

        switch (data[i] % 8) {
        case 0:
        case 1:
        case 2: write_frame(ends, arg); break;
        case 3:
        case 4:
        case 5: read_frame(ends); break;
        case 6:
            shm_writer_waits(&ends->writer);
            shm_reader_sleeps(&ends->reader, data[i + 3] & 1);
            break;
        default:
            if (size % 4 == 0) /* inputs of other lengths are without a hostile process */
                overwrite_word(ends, data[i + 3], arg, arg);
            break;
        }
    }
    free(memory);
    free(control);
    free(ends);
    return 0;
}

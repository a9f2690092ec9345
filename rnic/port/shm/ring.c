/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shm/ring.h"

#include <errno.h>
#include <string.h>
#include "wire/pkt.h"

#define WORD       sizeof(uint32_t) /* size of a header word */
#define SKIP       (UINT32_C(1) << 31)
#define FLAGS_AT   16u /* bit at which the flags begin; the lower bits of the word are the length */
#define LEN_MASK   0xffffu
#define FLAGS_MASK 0xffu /* bits of the flags in a header word */
/* The reader stores its position in the shared memory each time it has consumed 1/PUBLISH_PART of
 * the ring. */
#define PUBLISH_PART 8u

/* Bytes of the ring that the longest record may need: the record itself, and the skipped bytes at
 * the end of the ring, which are fewer than the record's bytes. */
#define ROOM_MAX (2 * (ROCE_FRAME_MAX + 2 * SHM_LINE))

static uint32_t record_len(uint32_t frame_len)
{
    return (uint32_t)(WORD + frame_len + SHM_LINE - 1) & ~(SHM_LINE - 1);
}

/* Returns the header word of the record at byte position `at` of the ring. */
static _Atomic uint32_t *word_at(const struct shm_memory *memory, uint64_t at)
{
    return (_Atomic uint32_t *)(void *)(memory->data + (at & (memory->size - 1)));
}

static void put_word(const struct shm_memory *memory, uint64_t at, uint32_t word,
                     memory_order order)
{
    atomic_store_explicit(word_at(memory, at), word, order);
}

/* ---- the writer's end ------------------------------------------------------------------------ */

void shm_writer_init(struct shm_writer *writer, const struct shm_memory *memory)
{
    *writer = (struct shm_writer){.memory = *memory};
}

/* Reads the position that the reader stored in the shared memory. Returns 0, or -EPROTO if the
 * value is impossible. */
static int read_head(struct shm_writer *writer)
{
    uint64_t head = atomic_load_explicit(&writer->memory.control->head, memory_order_acquire);

    if (head < writer->head || head > writer->tail)
        return -EPROTO;
    writer->head = head;
    return 0;
}

static bool has_room(const struct shm_writer *writer, uint64_t needed)
{
    return writer->memory.size - (writer->tail - writer->head) >= needed;
}

int shm_write(struct shm_writer *writer, const uint8_t *frame, uint32_t len, unsigned flags)
{
    const struct shm_memory *memory = &writer->memory;
    uint32_t needed = record_len(len);
    uint32_t to_end = memory->size - (uint32_t)(writer->tail & (memory->size - 1));
    uint32_t skipped = needed > to_end ? to_end : 0;
    uint64_t at = writer->tail + skipped;
    uint8_t *data = memory->data + (at & (memory->size - 1)) + WORD;
    /* The reader spins on the cache line of the header word. Each move of this line to the reader's
     * CPU and back takes as long as hundreds of instructions. So the writer writes this line last
     * and in one piece. */
    uint32_t first = len < SHM_LINE - WORD ? len : SHM_LINE - (uint32_t)WORD;

    /* room for the record and for one more cache line, the header word of the next record */
    if (!has_room(writer, skipped + (uint64_t)needed + SHM_LINE)) {
        int error = read_head(writer);

        if (error)
            return error;
        if (!has_room(writer, skipped + (uint64_t)needed + SHM_LINE))
            return 0;
    }
    put_word(memory, at + needed, 0, memory_order_relaxed);
    memcpy(data + first, frame + first, len - first);
    memcpy(data, frame, first);
    put_word(memory, at, len | (flags & FLAGS_MASK) << FLAGS_AT, memory_order_release);
    if (skipped)
        put_word(memory, writer->tail, SKIP, memory_order_release);
    writer->tail = at + needed;
    return 1;
}

/* Clears a flag that the other end sets before it sleeps. Returns true if the flag was set. Each
 * end stores its own word, executes a fence, and then reads the word of the other end. This order
 * guarantees that at least one of the two ends sees the other's store. */
static bool take_flag(_Atomic uint32_t *flag)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(flag, memory_order_relaxed) != 0 && atomic_exchange(flag, 0) != 0;
}

bool shm_writer_rings(struct shm_writer *writer)
{
    return take_flag(&writer->memory.control->reader_sleeps);
}

bool shm_writer_waits(struct shm_writer *writer)
{
    struct shm_control *control = writer->memory.control;

    atomic_store_explicit(&control->writer_waits, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (read_head(writer) != 0 || has_room(writer, ROOM_MAX)) {
        atomic_store_explicit(&control->writer_waits, 0, memory_order_relaxed);
        return false;
    }
    return true;
}

/* ---- the reader's end ------------------------------------------------------------------------ */

void shm_reader_init(struct shm_reader *reader, const struct shm_memory *memory)
{
    *reader = (struct shm_reader){.memory = *memory};
}

bool shm_reader_ready(const struct shm_reader *reader)
{
    return atomic_load_explicit(word_at(&reader->memory, reader->head), memory_order_acquire) != 0;
}

int shm_read(struct shm_reader *reader, uint8_t *buf, unsigned *flags)
{
    const struct shm_memory *memory = &reader->memory;
    uint32_t word = atomic_load_explicit(word_at(memory, reader->head), memory_order_acquire);
    uint32_t to_end = memory->size - (uint32_t)(reader->head & (memory->size - 1));
    uint32_t len;

    if (word == SKIP && to_end < memory->size) {
        reader->head += to_end;
        to_end = memory->size;
        word = atomic_load_explicit(word_at(memory, reader->head), memory_order_acquire);
        if (word == 0)
            return -EPROTO;
    }
    if (word == 0)
        return 0;
    len = word & LEN_MASK;
    if (word >> (FLAGS_AT + 8) || len == 0 || len > ROCE_FRAME_MAX || record_len(len) > to_end)
        return -EPROTO;
    /* Fetches the second line of the record and the first two of the next one from the writer's
     * CPU, all at the same time: an ACK often follows a WRITE. */
    __builtin_prefetch(word_at(memory, reader->head + SHM_LINE));
    __builtin_prefetch(word_at(memory, reader->head + record_len(len)));
    __builtin_prefetch(word_at(memory, reader->head + record_len(len) + SHM_LINE));
    /* Hides the maximum of `len` from gcc. For a copy with such a small maximum, gcc would replace
     * memcpy() by a string instruction, which takes 200 cycles longer. */
    __asm__("" : "+r"(len));
    memcpy(buf, memory->data + (reader->head & (memory->size - 1)) + WORD, len);
    *flags = word >> FLAGS_AT & FLAGS_MASK;
    reader->head += record_len(len);
    return (int)len;
}

bool shm_reader_rings(struct shm_reader *reader)
{
    struct shm_control *control = reader->memory.control;

    if (reader->head - reader->published < reader->memory.size / PUBLISH_PART)
        return false;
    reader->published = reader->head;
    atomic_store_explicit(&control->head, reader->head, memory_order_release);
    return take_flag(&control->writer_waits);
}

bool shm_reader_sleeps(struct shm_reader *reader, bool sleeps)
{
    atomic_store_explicit(&reader->memory.control->reader_sleeps, sleeps, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    return !sleeps || !shm_reader_ready(reader);
}

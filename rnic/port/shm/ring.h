/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ring: frames from one writer to one reader through shared memory. Used by port/shm/peers.c.
 *
 * 1. shm_writer_init() and shm_reader_init() initialize the writer's and the reader's end of a ring
 *    in zeroed memory.
 * 2. shm_write() appends frames; shm_writer_rings() reports whether the reader sleeps.
 * 3. shm_read() copies the next frame out of the ring.
 *
 * A record is a 32-bit header word and a frame, aligned to a cache line. The writer stores the
 * header word last. A reader that spins reads only this word. Before the writer publishes a record,
 * it clears the header word of the next one, so that no byte of an earlier frame is read as a
 * header. A record never crosses the end of the ring. If the next record is too long for the bytes
 * up to the end, a skip record fills them.
 *
 * Neither end trusts the other. Each keeps its own position in private memory. A word of the shared
 * memory is read once, checked, and not read again. A wrong word makes the ring broken, which the
 * functions report as -EPROTO. The frame itself may change while it is copied, so its bytes are as
 * untrusted as those of a frame from a network.
 *
 * One thread at a time may use an end. The two ends may be in different processes.
 */
#ifndef PORT_SHM_RING_H
#define PORT_SHM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_LINE     64u /* size of a cache line, bytes */
#define SHM_RING_MIN 32768u
#define SHM_RING_MAX (16u << 20)

/* Flags of a record. */
enum {
    SHM_NO_ICRC = 1u << 0, /* the sender has not computed the ICRC of the frame, and the record does
                            * not contain its four bytes. So an ACK fits into one cache line. */
};

/* The words that both ends share, each in its own cache line. */
struct shm_control {
    _Alignas(SHM_LINE) _Atomic uint64_t head; /* number of bytes that the reader has consumed */
    /* 1: the reader sleeps. After writing a record, the writer clears this word and wakes the
     * reader. */
    _Alignas(SHM_LINE) _Atomic uint32_t reader_sleeps;
    /* 1: the writer waits for room. The reader clears this word and wakes the writer. */
    _Alignas(SHM_LINE) _Atomic uint32_t writer_waits;
};

/* Shared memory of one ring. */
struct shm_memory {
    struct shm_control *control;
    uint8_t *data; /* `size` bytes, aligned to a cache line */
    uint32_t size; /* a power of two, SHM_RING_MIN to SHM_RING_MAX */
};

struct shm_writer {
    struct shm_memory memory;
    uint64_t tail; /* number of bytes written */
    uint64_t head; /* last checked value of shm_control.head */
};

struct shm_reader {
    struct shm_memory memory;
    uint64_t head;      /* number of bytes consumed */
    uint64_t published; /* last value stored in shm_control.head */
};

void shm_writer_init(struct shm_writer *writer, const struct shm_memory *memory);

/* Appends a frame of 1 to ROCE_FRAME_MAX bytes. Returns 1, 0 if the ring is full, or -EPROTO. */
int shm_write(struct shm_writer *writer, const uint8_t *frame, uint32_t len, unsigned flags);

/* Returns whether the reader sleeps and must be woken. To be called after the last shm_write() of
 * a batch. Returns true once for each sleep. */
bool shm_writer_rings(struct shm_writer *writer);

/* Asks the reader to wake this writer when the ring has room for a frame. Returns false if the ring
 * already has room for the longest frame. */
bool shm_writer_waits(struct shm_writer *writer);

void shm_reader_init(struct shm_reader *reader, const struct shm_memory *memory);

/* Copies the next frame to `buf`, which has room for ROCE_FRAME_MAX bytes. Returns its length, 0
 * if the ring is empty, or -EPROTO. */
int shm_read(struct shm_reader *reader, uint8_t *buf, unsigned *flags);

/* Returns whether the ring has an unread record. */
bool shm_reader_ready(const struct shm_reader *reader);

/* Lets the writer reuse the room of the frames that were read, if it is at least 1/8 of the ring.
 * Returns whether the writer waits for room and must be woken. To be called after a batch of
 * shm_read(). */
bool shm_reader_rings(struct shm_reader *reader);

/* Stores whether the reader sleeps. Returns false if the ring has an unread record: the reader must
 * not sleep. */
bool shm_reader_sleeps(struct shm_reader *reader, bool sleeps);

#endif

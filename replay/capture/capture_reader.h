/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Source: the frames of a capture file, one after another: pcap and pcapng through capfile.h, what
 * else libpcap reads through libpcap; also compressed with gzip or zstd, a file or standard input
 * ("-"), with any link layer that can carry RoCE. A frame that an ERF record wraps comes without
 * it. The interfaces of a pcapng file may have different link layers: frames of one that cannot
 * carry RoCE are of no bytes.
 */
#ifndef REPLAY_CAPTURE_CAPTURE_READER_H
#define REPLAY_CAPTURE_CAPTURE_READER_H

#include "capture/read_buffer.h"
#include "capture/mmap_file.h"
#include "base/error.h"
#include "wire/pkt.h"

struct capture_reader;

struct captured_frame {
    uint32_t number; /* 1 is the first of the file */
    uint64_t time;   /* ns, as the capture has it */
    enum roce_link link;
    uint32_t cap_len;
    uint32_t wire_len;   /* >= cap_len */
    const uint8_t *data; /* valid as reader_ready() says */

    /* The record as the file has it; other than `data` for ERF and BSD loopback only. An ERF record
     * of another network gives a frame of no bytes. */
    const uint8_t *record;
    uint32_t record_cap_len;
    uint32_t record_wire_len; /* >= record_cap_len */

    /* Of pcapng: the block, its byte order and where its options begin (0: it can have none). */
    const uint8_t *block;
    uint32_t block_len, block_options_off;
    bool block_big;
};

/* NULL and an error for a file that cannot be opened, is no capture, or has another link layer. */
struct capture_reader *reader_open(const char *path, struct error *error);

/* The same, called `name` in what is said of it. */
struct capture_reader *reader_open_as(const char *path, const char *name, struct error *error);

/* 1 and *out for a frame, 0 at the end, -1 and an error that names the frame for a broken file. */
int reader_next(struct capture_reader *reader, struct captured_frame *out, struct error *error);

/*
 * The same quickly, for nearly every frame that reader_ready() is true of; false for any other,
 * which reader_next() then gives. Not for the first one. Of the record and the block nothing is
 * said.
 */
bool reader_next_here(struct capture_reader *reader, struct captured_frame *out);

/* Whether it is a pipe, of which each frame is shown as soon as it has come. */
bool reader_is_live(const struct capture_reader *reader);

/*
 * Whether the next frame is in memory already. Frames stay valid while this said true before each
 * reader_next() after theirs, and then over READ_BUFFER_KEEP - 1 more times that it said false:
 * batches of frames that end where it says false can wait for another thread.
 */
bool reader_ready(const struct capture_reader *reader);

/*
 * After reader_begin_ahead(), before the first reader_next(), two threads, 1 and 2, may read pieces
 * of a plain file before they are wanted, also while one of them is in reader_next(): see buf.h,
 * where the same functions are. Frames then stay until reader_release() names a later piece than
 * that of reader_piece() after they came. Nothing of this happens where that is no plain file.
 */
void reader_begin_ahead(struct capture_reader *reader);
bool reader_may_read_ahead(const struct capture_reader *reader, unsigned who);
bool reader_read_ahead(struct capture_reader *reader, unsigned who);
uint64_t reader_piece(const struct capture_reader *reader);
void reader_release(struct capture_reader *reader, uint64_t oldest);

/* Whether thread `who` is the one to call reader_next(): the frame is in memory, or in that
 * thread's. Always so where nothing is read ahead. Not while another is in reader_next(). */
bool reader_has_turn(const struct capture_reader *reader, unsigned who);

/* Whether it is a pcapng file; then `on_block` is told each block that is no packet. To be called
 * before the first reader_next(). */
bool reader_blocks(struct capture_reader *reader,
                   void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big),
                   void *user);

/*
 * Maps the whole file: all frames then stay valid, also after reader_close(), until the caller
 * closes it with mmap_file_close(). NULL where that cannot be, or is not worth it: pipes, what is
 * compressed, small files. To be called before the first reader_next().
 */
struct mmap_file *reader_map(struct capture_reader *reader);

/* What messages call it: the path, or "standard input". */
const char *reader_name(const struct capture_reader *reader);

/* What a file that is to hold the same frames says of them: LINKTYPE_ number of tcpdump.org, and
 * the snapshot length. */
uint32_t reader_linktype(const struct capture_reader *reader);
uint32_t reader_snaplen(const struct capture_reader *reader);

/* Bytes of the file read so far and in all; both 0 where that is not known (pipes). */
void reader_progress(const struct capture_reader *reader, uint64_t *done, uint64_t *total);

void reader_close(struct capture_reader *reader); /* NULL is fine */

#endif

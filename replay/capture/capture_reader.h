/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Capture reader: the frames of a capture file or pipe, one after another. This is the main header
 * of replay/capture; check, replay, decode and import read all captures with it.
 *
 * Reads pcap and pcapng with pcap_parse.h, and other formats of libpcap with libpcap. Reads a file
 * or standard input ("-"), which may be compressed (decompress.h). The link layer must be one that
 * can carry RoCE. ERF record headers are removed. The interfaces of a pcapng file may have
 * different link layers. Frames of a link layer that cannot carry RoCE are returned with cap_len 0.
 *
 *   1. reader_open().
 *   2. Optional, before the first frame, one of: reader_blocks() to see the pcapng blocks that are
 *      not packets (check --annotate), reader_map() to keep all frames in memory (replay),
 *      reader_begin_ahead() to read with several threads (parallel_reader.h), reader_narrow() to
 *      select frames.
 *   3. reader_next(), or reader_next_here() in a tight loop, until the end.
 *   4. reader_close().
 *
 * Ownership: a frame points into the reader's memory; reader_ready() and reader_map() describe how
 * long it is valid. Errors: functions that have a `struct error` parameter set it when they fail.
 * The text names the file, and the frame if the error is in a frame.
 */
#ifndef REPLAY_CAPTURE_CAPTURE_READER_H
#define REPLAY_CAPTURE_CAPTURE_READER_H

#include "base/error.h"
#include "capture/mmap_file.h"
#include "capture/read_buffer.h"
#include "wire/pkt.h"

struct capture_reader;
struct narrow;

struct captured_frame {
    uint32_t number; /* number of the frame in the file; the first frame has 1 */
    uint64_t time;   /* capture time, ns since 1970 */
    enum roce_link link;
    uint32_t cap_len;
    uint32_t wire_len;   /* length on the wire, bytes; at least cap_len */
    const uint8_t *data; /* the captured bytes */

    /* The record as stored in the file. Usually equal to `data`. In ERF and BSD loopback captures,
     * a record header precedes the frame. */
    const uint8_t *record;
    uint32_t record_cap_len;
    uint32_t record_wire_len; /* length of the record on the wire, bytes; at least record_cap_len */

    /* pcapng only, otherwise NULL and 0. `block`: packet block that contains the frame.
     * `block_len`: its length, bytes. `block_options_off`: offset of the block's options, or 0 if
     * it cannot have options. `block_big`: the block is big-endian. */
    const uint8_t *block;
    uint32_t block_len, block_options_off;
    bool block_big;
};

/* Returns the LINKTYPE_ number of this link layer, for the header of a capture file. */
uint32_t capture_linktype(enum roce_link link);

/* Opens a capture. Returns NULL and sets the error if the file cannot be opened, is not a capture,
 * or has a link layer that cannot carry RoCE. */
struct capture_reader *reader_open(const char *path, struct error *error);

/* Opens a capture. Error messages contain `name` instead of the path. */
struct capture_reader *reader_open_as(const char *path, const char *name, struct error *error);

/* Reads the next frame. Returns 1 and fills *out, returns 0 at the end, or -1 and an error if the
 * file is malformed. */
int reader_next(struct capture_reader *reader, struct captured_frame *out, struct error *error);

/*
 * Fast path of reader_next() for little-endian pcap files. Returns true and fills *out, except its
 * members for the record and the block. Returns false for other files and at the end. Also returns
 * false if the next frame is not in memory, or if its header has an invalid value. The caller then
 * calls reader_next(). With reader_narrow(), call reader_next() for the first frame, because only
 * reader_next() stores the start time.
 */
bool reader_next_here(struct capture_reader *reader, struct captured_frame *out);

/* Returns whether the input is a pipe from which reader_next() returns each frame as soon as it
 * arrives. */
bool reader_is_live(const struct capture_reader *reader);

/*
 * Returns whether the next frame is already in memory. If not, the current batch of frames ends,
 * and reader_next() reads the first frame of the next batch. The frames of a batch stay valid until
 * READ_BUFFER_KEEP further batches have begun, so that another thread can process them later.
 */
bool reader_ready(const struct capture_reader *reader);

/*
 * Read-ahead of an uncompressed file in pieces of READ_CHUNK_LEN bytes. After reader_begin_ahead(),
 * threads 1 to READ_AHEAD_THREADS - 1 may call reader_read_ahead(), even while another thread is in
 * reader_next(). reader_may_read_ahead() returns whether thread `who` may read a piece now.
 * reader_piece() returns the number of the piece that contains the latest frame. reader_release()
 * makes the frames of all pieces before `oldest` invalid. For pipes, compressed files and files
 * shorter than READER_LONG, reader_begin_ahead() does nothing.
 */
void reader_begin_ahead(struct capture_reader *reader);
bool reader_may_read_ahead(const struct capture_reader *reader, unsigned who);
bool reader_read_ahead(struct capture_reader *reader, unsigned who);
uint64_t reader_piece(const struct capture_reader *reader);
void reader_release(struct capture_reader *reader, uint64_t oldest);

/* Returns whether thread `who` should call reader_next(), because the next frame is in the current
 * piece or in a piece that this thread has read ahead. Always returns true without read-ahead. Must
 * not be called while another thread is in reader_next(). */
bool reader_has_turn(const struct capture_reader *reader, unsigned who);

/* Sets a callback that is called with each pcapng block that is not a packet. Returns false if the
 * file is not pcapng. */
bool reader_blocks(struct capture_reader *reader,
                   void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big),
                   void *user);

/*
 * Maps the whole file. All frames then stay valid, also after reader_close(), until the caller
 * calls mmap_file_close(). Returns NULL for pipes, compressed files, short files and files longer
 * than `max` bytes. The reader then reads the file in pieces, as without this call.
 */
struct mmap_file *reader_map(struct capture_reader *reader, uint64_t max);

/* Selects frames (narrow.h). Call it before the first frame is read. If the option --first N was
 * given, the reader ends after N frames. `narrow` must live as long as the reader; NULL selects all
 * frames. */
void reader_narrow(struct capture_reader *reader, const struct narrow *narrow);

/* Returns whether the options selected this frame (reader_narrow()). The reader also returns frames
 * that are not selected, so that all frames keep their numbers. Callers skip these frames. */
bool reader_takes(const struct capture_reader *reader, const struct captured_frame *frame);

/* Returns the name for messages: the path, or "standard input". */
const char *reader_name(const struct capture_reader *reader);

/* Return the LINKTYPE_ number of tcpdump.org and the snaplen, as needed for the header of a file
 * that will contain the same frames. */
uint32_t reader_linktype(const struct capture_reader *reader);
uint32_t reader_snaplen(const struct capture_reader *reader);

/* Sets *done to the number of bytes read and *total to the size of the file, or both to 0 for a
 * pipe. */
void reader_progress(const struct capture_reader *reader, uint64_t *done, uint64_t *total);

void reader_close(struct capture_reader *reader); /* `reader` may be NULL */

#endif

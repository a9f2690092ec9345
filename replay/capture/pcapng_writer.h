/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng writer: writes a capture file with comments at its frames, which libpcap cannot write. It
 * writes either a new file with one interface, or a copy of a pcapng file with all its blocks.
 * pcapng/pcapng.h builds the blocks.
 *
 * Used by check --annotate (check/annotate.c), by edit (cmd_edit.c), and for the packets of a
 * simulation with our RNIC at both ends (sim/sim_pcap.c).
 *
 *   New file: 1. pcapng_writer_begin(), 2. pcapng_writer_frame() for each frame.
 *   Copy: 1. set only `file` of a zero-initialised writer, 2. pcapng_writer_copy_block() and
 *   pcapng_writer_copy_packet() in the order of the original.
 *   At the end: pcapng_writer_free().
 *
 * The file belongs to the caller. Each function returns 0, or -1 if the file cannot be written or
 * if out of memory.
 */
#ifndef REPLAY_CAPTURE_PCAPNG_WRITER_H
#define REPLAY_CAPTURE_PCAPNG_WRITER_H

#include <stdio.h>
#include "capture/capture_reader.h"
#include "pcapng/pcapng.h"

struct pcapng_writer {
    FILE *file;
    uint8_t *buf; /* block being written */
    size_t cap;
};

/* Begins a new file with one interface, which has the number 0. `application` is the name of the
 * writing program. */
int pcapng_writer_begin(struct pcapng_writer *out, FILE *file, uint32_t linktype, uint32_t snaplen,
                        const char *application);

/* Adds an interface, which has the next number. */
int pcapng_writer_interface(struct pcapng_writer *out, uint32_t linktype, uint32_t snaplen);
int pcapng_writer_frame(struct pcapng_writer *out, const struct pcapng_frame *frame);

/* Copies a block that is not a packet. In a section header, sets the length of the section to
 * "unknown", because added comments change the length. */
int pcapng_writer_copy_block(struct pcapng_writer *out, const uint8_t *block, uint32_t len);

/* Copies the block of a frame and adds comments. Without comments the block is not changed. */
int pcapng_writer_copy_packet(struct pcapng_writer *out, const struct captured_frame *frame,
                              const char *const *comment, size_t cnt);

void pcapng_writer_free(struct pcapng_writer *out);

#endif

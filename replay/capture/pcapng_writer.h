/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng: writes capture files with comments at their frames, which libpcap cannot write: a new one
 * of one interface, in host byte order, or a copy of another pcapng file, block by block and with
 * all that was in it. Source: draft-ietf-opsawg-pcapng, "PCAP Now Generic (pcapng) Capture File
 * Format": Section Header, Interface Description and packet blocks.
 */
#ifndef REPLAY_CAPTURE_PCAPNG_WRITER_H
#define REPLAY_CAPTURE_PCAPNG_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "util/strbuf.h"

struct pcapng {
    FILE *file;
};

/* One frame. */
struct pcapng_frame {
    uint64_t time; /* ns since 1970 */
    const uint8_t *data;
    uint32_t cap_len;
    uint32_t wire_len;
};

/* Begins the file: `linktype` and `snaplen` are those of its only interface, `application` is the
 * program that writes. The file stays the caller's. 0, or -1 if it cannot be written. */
int pcapng_begin(struct pcapng *out, FILE *file, uint32_t linktype, uint32_t snaplen,
                 const char *application);

/* A frame with `cnt` comments in UTF-8; a comment longer than an option can be is cut. */
int pcapng_write(struct pcapng *out, const struct pcapng_frame *frame, const char *const *comment,
                 size_t cnt);

/* Part of a copy: a block that is no packet, with `len` bytes, both lengths among them. A section's
 * header loses the length of its section, which comments change. */
int pcapng_copy(struct pcapng *out, const uint8_t *block, uint32_t len);

/* A packet's block, whose options begin at `options_off`, and its byte order. */
struct pcapng_block {
    const uint8_t *p;
    uint32_t len;
    uint32_t options_off; /* 0: a simple packet, which can have none */
    uint32_t cap_len;
    bool big;
};

/* Part of a copy: the packet with `cnt` more comments behind the options it has. Without any the
 * block stays as it is; a simple packet with comments becomes an enhanced one of interface 0. */
int pcapng_copy_packet(struct pcapng *out, const struct pcapng_block *block,
                       const char *const *comment, size_t cnt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng: writes a capture file of one interface with comments at its frames, which libpcap cannot
 * write. Source: draft-ietf-opsawg-pcapng, "PCAP Now Generic (pcapng) Capture File Format":
 * Section Header, Interface Description and Enhanced Packet Blocks, in host byte order.
 */
#ifndef REPLAY_PCAPNG_H
#define REPLAY_PCAPNG_H

#include <stdio.h>
#include "text.h"

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

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcap parse: finds the records of a pcap or pcapng file in the read buffer, without copying them.
 * Used only by capture_reader.c.
 *
 * libpcap is not used for these two formats, for three reasons. It copies every packet (72 ns, more
 * than half of the time that check needs for a packet). It refuses a pcapng file whose interfaces
 * have different link layers. It does not return the blocks that are not packets. libpcap reads all
 * other formats. A test reads every capture with this parser and with libpcap, and compares.
 *
 *   1. pcap_parser_knows() decides by the first bytes;
 *   2. pcap_parser_open();
 *   3. pcap_parser_next() or pcap_parser_next_here();
 *   4. pcap_parser_close().
 *
 * Errors do not contain the name of the file and the frame number.
 *
 * Sources: draft-ietf-opsawg-pcap ("PCAP Capture File Format", pcap version 2.4), and for pcapng
 * pcapng/pcapng.h.
 */
#ifndef REPLAY_CAPTURE_PCAP_PARSE_H
#define REPLAY_CAPTURE_PCAP_PARSE_H

#include "base/error.h"
#include "capture/pcap_walk.h"
#include "capture/read_buffer.h"
#include "pcapng/pcapng.h"

/* Maximum length of a block, bytes; libpcap has the same limit. */
#define PCAPNG_BLOCK_MAX (16u << 20)
/* Limit of interfaces in a section; the file format allows 2^32. */
#define PCAPNG_IFACES_MAX 65536u

struct pcap_parser {
    struct read_buffer buf;
    bool pcapng;
    bool plain; /* the file, or the current section, can be read with pcap_walk.h */
    bool big;   /* the file, or the current section, is big-endian */
    /* Unit of the time stamps, ns; pcap: unit of their fraction, 1 or 1000. In pcapng, this unit
     * and `linktype` belong to the first interface, if `plain` is true. */
    uint64_t unit_ns;
    uint64_t stamp_end; /* pcapng: member of struct pcap_walk */
    uint32_t linktype, snaplen;
    struct pcapng_iface *iface; /* interfaces of the current section */
    uint32_t iface_cnt, iface_cap;
    /* Called with each pcapng block that is not a packet. `block` is valid during the call. May be
     * NULL. */
    void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big);
    void *user;
};

/* Returns whether a file that begins with these 8 bytes is pcap 2.4 or pcapng. */
bool pcap_parser_knows(const uint8_t head[8]);

/* Reads the file header. `file` must be at its start and belongs to the caller. `decompress` is the
 * state of its decompressor, or NULL. Returns 0, or -1 and an error. */
int pcap_parser_open(struct pcap_parser *cap, FILE *file, const struct decompress *decompress,
                     struct error *error);
void pcap_parser_close(struct pcap_parser *cap); /* Frees the parser, which may be
                                                  * zero-initialised. */

/* Allocates a copy of the interfaces for `to`, which is a copy of `from` in all other members.
 * Returns false if out of memory. */
bool pcap_parser_copy_ifaces(struct pcap_parser *to, const struct pcap_parser *from);

/* Reads the next packet. Returns 1 and fills *out, returns 0 at the end, or -1 and an error.
 * read_buffer_keep() describes how long the packet is valid. */
int pcap_parser_next(struct pcap_parser *cap, struct pcap_record *out, struct error *error);

/* Reads the next packet if the parser is plain, the packet is completely in the buffer and the
 * fields of its header are valid. Returns true and fills *out. Otherwise returns false; the caller
 * then calls pcap_parser_next(). */
bool pcap_parser_next_here(struct pcap_parser *cap, struct pcap_record *out);

/* For a loop that reads many packets. pcap_parser_walk() returns a walk that begins at the next
 * packet of a plain parser. pcap_parser_walked() moves the parser to the next packet of the
 * walk. */
struct pcap_walk pcap_parser_walk(const struct pcap_parser *cap);
void pcap_parser_walked(struct pcap_parser *cap, const struct pcap_walk *walk);

/* Returns whether the next packet is completely in the buffer. */
bool pcap_parser_ready(const struct pcap_parser *cap);

#endif

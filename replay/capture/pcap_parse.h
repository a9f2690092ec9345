/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Capfile: the records of a pcap or pcapng file, looked at where they lie in what was read.
 *
 * libpcap is what reads captures elsewhere in this project. It copies every packet (72 ns a packet,
 * more than half of what judging one costs), refuses a pcapng file whose interfaces have different
 * link layers, and does not show what else is in such a file. So the two formats are read here;
 * whatever else libpcap knows is left to it (source.c). A test reads every capture both ways.
 *
 * Sources: draft-ietf-opsawg-pcap ("PCAP Capture File Format", pcap version 2.4),
 * draft-ietf-opsawg-pcapng ("PCAP Now Generic (pcapng) Capture File Format", version 1.0).
 */
#ifndef REPLAY_CAPTURE_PCAP_PARSE_H
#define REPLAY_CAPTURE_PCAP_PARSE_H

#include "capture/read_buffer.h"
#include "pcapng/pcapng.h"
#include "base/error.h"

/* Longest block; libpcap has the same limit. */
#define PCAPNG_BLOCK_MAX  (16u << 20)
#define PCAPNG_IFACES_MAX 65536u /* of a section; an interface number may have 32 bits */

/* One packet. */
struct pcap_record {
    uint64_t time; /* ns since 1970; 0 where there is none */
    uint32_t linktype;
    uint32_t cap_len;
    uint32_t wire_len; /* as the file has it */
    const uint8_t *data;
    /* pcapng: the whole block with its type and both lengths, and where its options begin; NULL of
     * pcap. `options_off` is 0 for a block that cannot have any. */
    const uint8_t *block;
    uint32_t block_len, options_off;
};

struct pcap_parser {
    struct read_buffer buf;
    bool pcapng;
    bool plain;       /* pcap, little-endian */
    bool big;         /* the file, or the present section, is big-endian */
    uint64_t unit_ns; /* pcap: of the second part of its time stamps */
    uint32_t linktype, snaplen;
    struct pcapng_iface *iface; /* of the present section */
    uint32_t iface_cnt, iface_cap;
    /* Blocks without a packet; valid during the call. May be NULL. */
    void (*on_block)(void *user, const uint8_t *block, uint32_t len, bool big);
    void *user;
};

/* Whether a file that begins with these 8 bytes is read here. */
bool pcap_parser_knows(const uint8_t head[8]);

/* `file` is at its start and stays the caller's, and `inflate` is behind it (may be NULL). 0, or -1
 * and an error. */
int pcap_parser_open(struct pcap_parser *cap, FILE *file, const struct decompress *decompress,
                     struct error *error);
void pcap_parser_close(struct pcap_parser *cap); /* a zeroed one is fine */

/* 1 and *out; 0 at the end; -1 and an error without file and frame for what cannot be read. The
 * packet is valid as read_buffer_keep() says. */
int pcap_parser_next(struct pcap_parser *cap, struct pcap_record *out, struct error *error);

/* The same, but false where the next packet is not whole in what was read, or where anything about
 * it has to be looked at twice; pcap_parser_next() then does. */
bool pcap_parser_next_here(struct pcap_parser *cap, struct pcap_record *out);

/* Whether the next packet is whole in what was read. */
bool pcap_parser_ready(const struct pcap_parser *cap);

#endif

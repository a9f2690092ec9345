/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcapng: the blocks of a capture file, read and written in memory. Source:
 * draft-ietf-opsawg-pcapng, "PCAP Now Generic (pcapng) Capture File Format", version 1.0.
 *
 * Used by the parser of captures (replay/capture/pcap_parse.c), the writer of annotated copies
 * (replay/capture/pcapng_writer.c), the recording port (port/frameio/record.c), and by
 * pcapng_merge.c and pcapng_join.c. The functions do no input or output and allocate no memory.
 *
 *   Reading: 1. pcapng_byte_order() of the section header, 2. pcapng_read_iface() of each interface
 *   block, 3. pcapng_read_packet() of each packet block, 4. pcapng_time() of its time stamp.
 *   Writing: 1. pcapng_section(), 2. pcapng_interface(), 3. pcapng_packet(), as often as needed.
 *
 * Errors: a read function sets `error` and returns -1. A write function returns 0 if the buffer is
 * too short.
 */
#ifndef RNIC_PCAPNG_PCAPNG_H
#define RNIC_PCAPNG_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "wire/bytes.h"

enum pcapng_type {
    PCAPNG_SECTION = 0x0A0D0D0A, /* section header block; the bytes of this type are the same in
                                  * both byte orders */
    PCAPNG_INTERFACE = 1,
    PCAPNG_OBSOLETE_PACKET = 2,
    PCAPNG_SIMPLE_PACKET = 3,
    PCAPNG_PACKET = 6, /* enhanced packet block */
};

/* minimum length of a block, bytes: type, length, and the length again */
#define PCAPNG_BLOCK_MIN   12u
#define PCAPNG_SECTION_MIN 28u
#define PCAPNG_RECORD_MAX  262144u /* maximum captured bytes of a packet, as in libpcap */

#define PCAPNG_LINKTYPE_ETHERNET 1u

/* ---- reading blocks -------------------------------------------------------------------------- */

static inline uint16_t pcapng_u16(bool big, const uint8_t *p)
{
    return big ? (uint16_t)roce_bits_get(p, 0, 0, 16) : roce_le16_get(p);
}

static inline uint32_t pcapng_u32(bool big, const uint8_t *p)
{
    return big ? (uint32_t)roce_bits_get(p, 0, 0, 32) : roce_le32_get(p);
}

/* Sets *big from the first 12 bytes of a section header: true if the section is big-endian. Returns
 * whether the bytes are a section header. */
bool pcapng_byte_order(const uint8_t *p, bool *big);

/* Returns the length of the block at `p`. Returns 0 if the block is longer than `len` bytes, or if
 * its two length fields differ. */
uint32_t pcapng_block_len(bool big, const uint8_t *p, size_t len);

static inline bool pcapng_is_packet(uint32_t type)
{
    return type == PCAPNG_PACKET || type == PCAPNG_SIMPLE_PACKET || type == PCAPNG_OBSOLETE_PACKET;
}

struct pcapng_iface {
    uint16_t linktype; /* link type: LINKTYPE_ value of tcpdump.org */
    uint32_t snaplen;
    uint64_t units; /* time stamp units per second */
    int64_t offset; /* seconds to add to time stamps */
};

/* Reads an interface block of `len` bytes. Returns 0, or -1 with `error` set. */
int pcapng_read_iface(struct pcapng_iface *out, bool big, const uint8_t *block, uint32_t len,
                      struct error *error);

struct pcapng_packet {
    uint32_t iface; /* interface number within the section */
    uint64_t stamp; /* time stamp in units of the interface; 0 for a simple packet block, which has
                     * no time stamp */
    uint32_t cap_len, wire_len;
    uint32_t data_off;    /* offset of the captured bytes in the block */
    uint32_t options_off; /* offset of the options in the block; 0 for a simple packet block, which
                           * has no options */
};

/* Reads a packet block of any of the three types. Returns 0, or -1 with `error` set. */
int pcapng_read_packet(struct pcapng_packet *out, bool big, const uint8_t *block, uint32_t len,
                       struct error *error);

/* Returns the id of the process that sent or received the packet, from the options at `options_off`
 * of its block, or 0 if the options do not contain the process id. */
uint32_t pcapng_process(bool big, const uint8_t *block, uint32_t len, uint32_t options_off);

/* Name of the application in the section header of recordings of the software RNIC (rnic-run -w).
 */
#define PCAPNG_RNIC "RoCEdrill software RNIC"

/* Start of the comment in the section header of a recording, if rnic-run --impair dropped packets
 * of the recorded programs. The number of dropped packets and the rules follow. */
#define PCAPNG_RNIC_DROPPED "rnic-run dropped "

/* Returns whether a section header names the application `name` as the writer of the capture file.
 */
bool pcapng_is_written_by(bool big, const uint8_t *block, uint32_t len, const char *application);

/* Copies the first comment of a section header to `text`, but not the spaces at the end of the
 * comment. `text` has room for `cap` bytes, at least 1. Truncates a longer comment. Returns the
 * length; 0 if there is no comment. */
size_t pcapng_section_comment(bool big, const uint8_t *block, uint32_t len, char *text, size_t cap);

/* Copies the description of an interface block to `text`, as pcapng_section_comment() copies a
 * comment. */
size_t pcapng_iface_description(bool big, const uint8_t *block, uint32_t len, char *text,
                                size_t cap);

/* Converts a time stamp to nanoseconds since 1970. Returns 0 if the time is before 1970 or needs
 * more than 64 bits. */
uint64_t pcapng_time(const struct pcapng_iface *iface, uint64_t stamp);

/* ---- writing blocks (little-endian) ---------------------------------------------------------- */

/* Maximum length of a comment, bytes. A longer comment is truncated, but not inside a UTF-8
 * character. */
#define PCAPNG_COMMENT_MAX 1024u

/* upper limit of the length of a packet block without its captured bytes, bytes; `comments` is the
 * number of comments */
#define PCAPNG_OVERHEAD(comments) (64u + (comments) * (PCAPNG_COMMENT_MAX + 4u))

enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_IN, PCAPNG_OUT };

struct pcapng_frame {
    uint32_t iface;
    uint64_t time; /* time stamp, ns since 1970 */
    enum pcapng_direction direction;
    const uint8_t *data;
    uint32_t cap_len, wire_len;
    uint32_t process;           /* id of the process that sent or received the packet (option
                                 * epb_processid_threadid); 0: unknown */
    const char *const *comment; /* comments of the packet, UTF-8 */
    size_t comment_cnt;
};

/* Each function writes one block to `buf`. It returns the length of the block, or 0 if the length
 * exceeds `cap`. The section header has no section length. Interfaces have time stamps in
 * nanoseconds; `name` and `description` may be NULL. */
size_t pcapng_section(uint8_t *buf, size_t cap, const char *application);

/* Writes a section header like pcapng_section(), with `comment` of at most PCAPNG_COMMENT_MAX
 * bytes, or without a comment if it is NULL. */
size_t pcapng_section_with(uint8_t *buf, size_t cap, const char *application, const char *comment);
size_t pcapng_interface(uint8_t *buf, size_t cap, const char *name, const char *description,
                        uint32_t linktype, uint32_t snaplen);
size_t pcapng_packet(uint8_t *buf, size_t cap, const struct pcapng_frame *frame);

/* Writes a copy of a packet block with comments added after its options. A simple packet block
 * becomes an enhanced packet block of interface 0 with time 0. The byte order is that of `block`.
 * Returns the length, or 0 if it exceeds `cap`. */
size_t pcapng_add_comments(uint8_t *buf, size_t cap, bool big, const uint8_t *block, uint32_t len,
                           const struct pcapng_packet *packet, const char *const *comment,
                           size_t cnt);

#endif

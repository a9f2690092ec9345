/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pcap walk: the fast path over the records of a little-endian pcap or pcapng file in memory. The
 * functions are inline, because split_index.c finds millions of records per second with them; for
 * all other callers, pcap_parser_next_here() wraps them.
 *
 * A walk has copies of the members of struct pcap_parser that it needs, so that the compiler keeps
 * them in registers. pcap_walk_next() accepts only a record without any peculiarity. At every other
 * record it returns false, and pcap_parser_next() then reads this record or reports the error.
 */
#ifndef REPLAY_CAPTURE_PCAP_WALK_H
#define REPLAY_CAPTURE_PCAP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "pcapng/pcapng.h"
#include "wire/bytes.h"

#define PCAP_MAGIC_US   0xA1B2C3D4u /* first word of a pcap file, time stamps in us */
#define PCAP_MAGIC_NS   0xA1B23C4Du /* magic number of a pcap file with time stamps in ns */
#define PCAP_RECORD_LEN 16u         /* length of a record header of pcap, bytes */
#define PCAP_NS         UINT64_C(1000000000)
/* Length of a packet block of pcapng before the captured bytes, and of the length after them. */
#define PCAPNG_HEAD_LEN 28u
#define PCAPNG_TAIL_LEN 4u

#define PCAP_WALK_INLINE static inline __attribute__((always_inline))

/* One packet. */
struct pcap_record {
    uint64_t time; /* capture time, ns since 1970; 0 if unknown */
    uint32_t linktype;
    uint32_t cap_len;
    uint32_t wire_len; /* length on the wire as stored in the file, bytes */
    const uint8_t *data;
    /* pcapng only (otherwise NULL): the whole packet block, its length, and the offset of its
     * options (0 if it cannot have options). */
    const uint8_t *block;
    uint32_t block_len, options_off;
};

struct pcap_walk {
    const uint8_t *at, *end; /* the next record, and the end of the bytes in memory */
    uint64_t unit_ns;        /* unit of the time stamps, ns: 1 or 1000; pcap: of their fraction */
    uint32_t seconds;        /* pcap: seconds of the latest time stamp; at first 0 */
    uint32_t snaplen;        /* pcap: largest valid captured length, bytes */
    uint32_t iface_cnt;      /* pcapng: number of interfaces */
    uint64_t stamp_end;      /* pcapng: least time stamp that the slow path handles */
    uint32_t linktype;       /* of all records */
};

/* Returns whether `word` may be the magic number of another capture file. If so, the slow path
 * decides. */
static inline bool pcap_may_be_joined(uint32_t word)
{
    switch (word) {
    case PCAPNG_SECTION:
    case PCAP_MAGIC_US:
    case PCAP_MAGIC_NS: return true;
    default:
        return word == __builtin_bswap32(PCAP_MAGIC_US) || word == __builtin_bswap32(PCAP_MAGIC_NS);
    }
}

PCAP_WALK_INLINE bool pcap_walk_pcap(struct pcap_walk *walk, struct pcap_record *out)
{
    const uint8_t *p = walk->at;
    const size_t left = (size_t)(walk->end - p);
    uint32_t seconds, cap_len;
    uint64_t ns;

    if (left < PCAP_RECORD_LEN)
        return false;
    seconds = roce_le32_get(p);
    ns = roce_le32_get(p + 4) * walk->unit_ns;
    cap_len = roce_le32_get(p + 8);
    if (ns >= PCAP_NS || cap_len > walk->snaplen || cap_len > left - PCAP_RECORD_LEN)
        return false;
    if (seconds != walk->seconds && pcap_may_be_joined(seconds))
        return false;
    walk->seconds = seconds;
    *out = (struct pcap_record){.time = seconds * PCAP_NS + ns,
                                .linktype = walk->linktype,
                                .cap_len = cap_len,
                                .wire_len = roce_le32_get(p + 12),
                                .data = p + PCAP_RECORD_LEN};
    walk->at = p + PCAP_RECORD_LEN + cap_len;
    return true;
}

PCAP_WALK_INLINE bool pcap_walk_pcapng(struct pcap_walk *walk, struct pcap_record *out)
{
    const uint32_t around = PCAPNG_HEAD_LEN + PCAPNG_TAIL_LEN;
    const uint8_t *p = walk->at;
    const size_t left = (size_t)(walk->end - p);
    uint32_t len, cap_len;
    uint64_t stamp;

    if (left < around || roce_le32_get(p) != PCAPNG_PACKET)
        return false;
    len = roce_le32_get(p + 4);
    cap_len = roce_le32_get(p + 20);
    stamp = (uint64_t)roce_le32_get(p + 12) << 32 | roce_le32_get(p + 16);
    if (len < around || len > PCAPNG_RECORD_MAX || len > left || len % 4 != 0 ||
        cap_len > len - around || roce_le32_get(p + len - PCAPNG_TAIL_LEN) != len ||
        roce_le32_get(p + 8) >= walk->iface_cnt || stamp >= walk->stamp_end)
        return false;
    *out = (struct pcap_record){.time = stamp * walk->unit_ns,
                                .linktype = walk->linktype,
                                .cap_len = cap_len,
                                .wire_len = roce_le32_get(p + 24),
                                .data = p + PCAPNG_HEAD_LEN,
                                .block = p,
                                .block_len = len,
                                .options_off = PCAPNG_HEAD_LEN + (cap_len + 3) / 4 * 4};
    walk->at = p + len;
    return true;
}

/* Reads the next record. Returns true and fills *out. Returns false, and changes nothing, if the
 * record is not completely in memory, or if a field of its header is invalid or unusual. */
PCAP_WALK_INLINE bool pcap_walk_next(struct pcap_walk *walk, bool pcapng, struct pcap_record *out)
{
    return pcapng ? pcap_walk_pcapng(walk, out) : pcap_walk_pcap(walk, out);
}

#endif

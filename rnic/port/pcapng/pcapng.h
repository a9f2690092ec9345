/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Blocks of a pcapng file, little-endian (draft-ietf-opsawg-pcapng, "PCAP Now Generic"): a file of
 * one section, interfaces of Ethernet frames with times in nanoseconds, and frames. Each function
 * writes whole blocks to `buf` and returns their length, or 0 if `cap` does not hold them.
 */
#ifndef PORT_PCAPNG_PCAPNG_H
#define PORT_PCAPNG_PCAPNG_H

#include <stddef.h>
#include <stdint.h>

#define RNIC_PCAPNG_COMMENT_MAX 1024
/* Bytes of a block around the bytes of a frame, its comment included, at most. */
#define RNIC_PCAPNG_OVERHEAD (96 + RNIC_PCAPNG_COMMENT_MAX)

enum rnic_pcapng_way { RNIC_PCAPNG_IN = 1, RNIC_PCAPNG_OUT = 2 };

size_t rnic_pcapng_section(uint8_t *buf, size_t cap);
size_t rnic_pcapng_iface(uint8_t *buf, size_t cap, const char *name);
size_t rnic_pcapng_frame(uint8_t *buf, size_t cap, uint32_t iface, uint64_t stamp,
                         enum rnic_pcapng_way way, const char *comment, const uint8_t *data,
                         uint32_t len);

/* Of a type that is ours (0x80000001): frames that follow it and have the time of their sending are
 * not older than `stamp`; UINT64_MAX: none is on its way. For who reads while others still write.
 */
size_t rnic_pcapng_mark(uint8_t *buf, size_t cap, uint64_t stamp);

/*
 * Looks through a whole file of ours: the number of interfaces in *cnt, and the number of the one
 * named `name`, *cnt if there is none, as the result. -1 if the bytes are not a whole little-endian
 * pcapng file of one section.
 */
int rnic_pcapng_find(const uint8_t *file, size_t len, const char *name, uint32_t *cnt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ngfile: builds pcapng files of every shape, block by block, in either byte order (draft-ietf-
 * opsawg-pcapng). Each function that appends a block returns the offset of that block in the
 * file.
 */
#ifndef TEST_NGFILE_H
#define TEST_NGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ngfile {
    uint8_t *p;
    size_t len, cap;
    bool big; /* byte order of the current section is big-endian */
};

/* Appends a block of any type with a body of `len` bytes, a multiple of 4. */
size_t ng_block(struct ngfile *f, uint32_t type, const void *body, size_t len);

/* Begins a section with length `len`; UINT64_MAX means unspecified length. */
size_t ng_section(struct ngfile *f, bool big, uint64_t len);

/* Appends an interface with a name. The if_tsresol option is left out if `tsresol` is 0, and
 * if_tsoffset if `tsoffset` is 0. */
size_t ng_interface(struct ngfile *f, uint16_t linktype, uint32_t snaplen, uint8_t tsresol,
                    int64_t tsoffset);

/* Append a packet block: ng_enhanced() an Enhanced Packet Block (with a comment unless NULL),
 * ng_obsolete() an obsolete Packet Block, ng_simple() a Simple Packet Block. */
size_t ng_enhanced(struct ngfile *f, uint32_t iface, uint64_t stamp, const void *data, uint32_t len,
                   const char *comment);
size_t ng_obsolete(struct ngfile *f, uint16_t iface, uint64_t stamp, const void *data,
                   uint32_t len);
size_t ng_simple(struct ngfile *f, const void *data, uint32_t len);

/* Appends a Name Resolution Block with one IPv4 address and its name. */
size_t ng_name(struct ngfile *f, const uint8_t addr[4], const char *name);

/* Writes all blocks to a file. */
void ng_write(const struct ngfile *f, const char *path);
void ng_free(struct ngfile *f);

#endif

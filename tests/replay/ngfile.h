/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ngfile: pcapng files of every shape, block by block, in either byte order
 * (draft-ietf-opsawg-pcapng).
 */
#ifndef TEST_NGFILE_H
#define TEST_NGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ngfile {
    uint8_t *p;
    size_t len, cap;
    bool big; /* of the present section */
};

/* Offsets of each are returned. A block of any type around `len` bytes, a multiple of 4. */
size_t ng_block(struct ngfile *f, uint32_t type, const void *body, size_t len);

/* Begins a section; its length is given or UINT64_MAX. */
size_t ng_section(struct ngfile *f, bool big, uint64_t len);

/* An interface with a name; `tsresol` 0 leaves the option out, and `tsoffset` 0. */
size_t ng_interface(struct ngfile *f, uint16_t linktype, uint32_t snaplen, uint8_t tsresol,
                    int64_t tsoffset);

/* Packet blocks: enhanced (with a comment unless NULL), the obsolete one, and simple. */
size_t ng_enhanced(struct ngfile *f, uint32_t iface, uint64_t stamp, const void *data, uint32_t len,
                   const char *comment);
size_t ng_obsolete(struct ngfile *f, uint16_t iface, uint64_t stamp, const void *data,
                   uint32_t len);
size_t ng_simple(struct ngfile *f, const void *data, uint32_t len);

/* A name resolution block: one IPv4 address and its name. */
size_t ng_name(struct ngfile *f, const uint8_t addr[4], const char *name);

/* Writes it all to a file. */
void ng_write(const struct ngfile *f, const char *path);
void ng_free(struct ngfile *f);

#endif

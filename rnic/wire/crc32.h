/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* CRC-32 of Ethernet (polynomial 0x04C11DB7, reflected, initial and final inversion), by the
 * fastest library that the build found: ISA-L or libdeflate, else a portable table. */
#ifndef ROCE_CRC32_H
#define ROCE_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/bytes.h"

/* Continues `crc` (0 to begin, else an earlier result) over `len` bytes, as zlib's crc32() does. */
uint32_t roce_crc32(uint32_t crc, const uint8_t *p, size_t len);

#define ROCE_FCS_LEN 4u /* length of the Ethernet frame check sequence (FCS), bytes */

/* Returns whether an Ethernet frame ends with a correct FCS. */
static inline bool roce_has_fcs(const uint8_t *frame, size_t len)
{
    return len >= ROCE_FCS_LEN &&
           roce_crc32(0, frame, len - ROCE_FCS_LEN) == roce_le32_get(frame + len - ROCE_FCS_LEN);
}

/* Continues `crc` over the `len` bytes at `from`, and copies these bytes to `to`. The two areas
 * must not overlap. The result is the CRC of the copied bytes, even if a program changes the bytes
 * at `from` during the call. Processors with VPCLMULQDQ copy and compute the CRC in one pass. */
uint32_t roce_crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len);

/* maximum number of bytes that roce_crc32_ones() can mask */
#define ROCE_CRC_ONES 64

/* Continues *crc over the `len` bytes at `p`, with the first ROCE_CRC_ONES bytes ORed with `ones`.
 * Returns true. The bytes at `p` do not change. Returns false and does nothing if the processor
 * cannot do this in one pass, or if `len` is 0 or not a multiple of 4. */
bool roce_crc32_ones(uint32_t *crc, const uint8_t *p, size_t len,
                     const uint8_t ones[ROCE_CRC_ONES]);

/* Does the same as roce_crc32(), with the portable table. The tests compare other results with this
 * function. */
uint32_t roce_crc32_portable(uint32_t crc, const uint8_t *p, size_t len);

/* Returns the name of the CRC library: "isal", "libdeflate" or "portable". */
const char *roce_crc32_name(void);

/* Returns the method of roce_crc32_copy() on this processor: "vpclmulqdq" (one pass) or "memcpy"
 * (two passes). */
const char *roce_crc32_copy_name(void);

#endif

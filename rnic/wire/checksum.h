/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Internet checksum of IPv4 and UDP (RFC 1071), for code that alters frames. The parser has a
 * faster sum for IPv4 headers (envelope.c). */
#ifndef ROCE_CHECKSUM_H
#define ROCE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_IP4_CSUM 10u /* offset of the checksum in the IPv4 header, bytes */
#define ROCE_UDP_CSUM 6u  /* offset of the checksum in the UDP header, bytes */

/* Adds the 16-bit words of `len` bytes to `sum`, which is 0 at the first call. Returns the sum, at
 * most 0xFFFF. The checksum is the complement of the sum. */
static inline uint32_t roce_checksum_add(uint32_t sum, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i += 2) {
        sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0);
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
}

#endif

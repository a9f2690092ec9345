/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* GID: 16 bytes in network byte order that identify a port. A GID is an IPv6 address, or an IPv4
 * address as ::ffff:a.b.c.d (A17.4.1.1, R010). */
#ifndef ROCE_GID_H
#define ROCE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "wire/bytes.h"

static inline bool roce_gid_is_ip4(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};

    return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

/* Writes the GID of the IPv4 address at `ip4`; the two must not overlap. */
static inline void roce_gid_of_ip4(const uint8_t *ip4, uint8_t gid[16])
{
    /* use two 8-byte stores, because code that hashes a GID reads two 8-byte numbers, which would
     * have to wait for smaller stores */
    roce_be_put(gid, 8, 0);
    roce_be_put(gid + 8, 8, UINT64_C(0xFFFF) << 32 | roce_be_get(ip4, 4));
}

/* Returns whether a GID belongs to a multicast group: FFxx:..., or ::ffff:224.0.0.0 to
 * 239.255.255.255. */
static inline bool roce_gid_is_multicast(const uint8_t gid[16])
{
    return gid[0] == 0xFF || (roce_gid_is_ip4(gid) && gid[12] >> 4 == 0xE);
}

#endif

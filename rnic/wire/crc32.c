/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/crc32.h"

#ifdef ROCE_CRC_ISAL
#include <isa-l/crc.h>
#endif
#ifdef ROCE_CRC_LIBDEFLATE
#include <libdeflate.h>
#endif

uint32_t roce_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
#if defined(ROCE_CRC_ISAL)
    return crc32_gzip_refl(crc, p, len);
#elif defined(ROCE_CRC_LIBDEFLATE)
    return libdeflate_crc32(crc, p, len);
#else
    return roce_crc32_portable(crc, p, len);
#endif
}

const char *roce_crc32_name(void)
{
#if defined(ROCE_CRC_ISAL)
    return "isal";
#elif defined(ROCE_CRC_LIBDEFLATE)
    return "libdeflate";
#else
    return "portable";
#endif
}

/* Continues a CRC four bits at a time, with the 16 remainders of the reflected polynomial
 * 0xEDB88320. The function is slow but short: it is used if the build found no library, and as the
 * reference of the tests. */
uint32_t roce_crc32_portable(uint32_t crc, const uint8_t *p, size_t len)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };

    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

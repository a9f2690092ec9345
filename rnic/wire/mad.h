/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * MAD: the management datagram that a UD SEND Only to QP1 carries. Only its common header is here;
 * what follows it belongs to the management class (communication management: cm_msg.h).
 *
 * From mad.def there are struct roce_mad, ROCE_MAD_LEN, roce_mad_parse() and roce_mad_build(), as
 * hdr.h says for any header. Chapters are those of IBTA vol. 1. The names of attribute ids are
 * those of communication management, the one class whose MADs this project speaks.
 */
#ifndef ROCE_MAD_H
#define ROCE_MAD_H

#include "wire/error.h"
#include "wire/hdr.h"

#define ROCE_MAD_SIZE     256u /* header and data of every MAD, ch. 13 */
#define ROCE_MAD_BASE     1u   /* the only base version, R221 */
#define ROCE_MAD_CLASS_CM 0x07u
#define ROCE_MAD_CM_VER   2u /* class version of communication management, R221 */
#define ROCE_MAD_SEND     0x03u

enum {
#define HDR_BEGIN(id, ID, len, shrt, title, source) ROCE_##ID##_LEN = (len),
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/mad.def"
};

#define HDR_BEGIN(id, ID, len, shrt, title, source)                 struct roce_##id {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label) ctype name;
#define BYTES(hdr, name, byte, len, fmt, label)                     uint8_t name[len];
#define HDR_END(id)                                                                                \
    }                                                                                              \
    ;
#include "wire/mad.def"

#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    static inline void roce_##id##_parse(const uint8_t *p, struct roce_##id *out)                  \
    {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
    out->name = (ctype)roce_bits_get(p, byte, bit, width);
#define BYTES(hdr, name, byte, len, fmt, label) memcpy(out->name, p + (byte), len);
#define HDR_END(id)                             }
#include "wire/mad.def"

#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    static inline void roce_##id##_build(const struct roce_##id *in, uint8_t *p)                   \
    {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
    roce_bits_put(p, byte, bit, width, in->name);
#define BYTES(hdr, name, byte, len, fmt, label) memcpy(p + (byte), in->name, len);
#define HDR_END(id)                             }
#include "wire/mad.def"

/* The description of the MAD header, for code that shows fields it does not know by name. */
const struct roce_hdr_info *roce_mad_info(void);

/*
 * Reads the header of the MAD in the payload of a UD packet: `cap_len` bytes are there, `wire_len`
 * >= cap_len were on the wire.
 *
 * 0                   *out is the header. The class and what it carries are the caller's to check.
 * ROCE_ERR_CUT        the capture ends before the header does; *out is zero
 * ROCE_ERR_MALFORMED  not 256 bytes, or not base version 1 (R246); *out is the header as far as a
 *                     whole one is there, else zero
 */
int roce_mad_read(struct roce_mad *out, const uint8_t *p, size_t cap_len, size_t wire_len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Headers: the C declarations generated from headers.def. For each header `x`, this file
 * declares
 *
 *   enum roce_hdr          ROCE_HDR_X
 *   struct roce_x          its fields in host order
 *   ROCE_X_LEN             its length in bytes
 *   roce_x_parse(p, out)   reads the ROCE_X_LEN bytes at `p` and sets every field
 *   roce_x_build(in, p)    writes all ROCE_X_LEN bytes; bits above a field's width are dropped
 *
 * Code that processes all headers in the same way, such as the plugin, uses roce_hdr_info() and
 * struct roce_field. These describe the headers as data.
 *
 * CM messages use the same macros: see cm_msg.h.
 */
#ifndef ROCE_HDR_H
#define ROCE_HDR_H

#include "wire/bytes.h"

enum roce_hdr {
#define HDR_BEGIN(id, ID, len, shrt, title, source) ROCE_HDR_##ID,
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/headers.def"
    ROCE_HDR_CNT
};

/* Set of headers; header h has bit ROCE_HDR_BIT(h). */
typedef uint32_t roce_hdr_set;
_Static_assert(ROCE_HDR_CNT <= 32, "roce_hdr_set holds one bit for each header");
#define ROCE_HDR_BIT(h) (UINT32_C(1) << (h))

#define HDR_TABLE        "wire/headers.def"
#define HDR_LEN(ID)      ROCE_##ID##_LEN
#define HDR_NAME(id)     roce_##id
#define HDR_FN(id, verb) roce_##id##_##verb
#include "wire/hdr_gen.h"

/* Format of a field's text. */
enum roce_fmt {
    ROCE_FMT_DEC,
    ROCE_FMT_HEX,  /* hexadecimal with 0x and leading zeros for the whole width of the field */
    ROCE_FMT_FLAG, /* flag of one bit */
    ROCE_FMT_MAC,
    ROCE_FMT_IP4,
    ROCE_FMT_GID, /* GID: 16 bytes, written as an IPv6 address, or as ::ffff:a.b.c.d for IPv4 */
    ROCE_FMT_RAW, /* raw bytes in hexadecimal */
};

/* Table in codes.c with the names of a field's values. */
enum roce_vals {
    ROCE_VALS_NONE,
    ROCE_VALS_OPCODE,
    ROCE_VALS_SYNDROME,
    ROCE_VALS_LNH,
    ROCE_VALS_ETHERTYPE,
    ROCE_VALS_IPPROTO,
    ROCE_VALS_ECN,
    ROCE_VALS_FLUSH_SEL,
    ROCE_VALS_FLUSH_PLT,
    ROCE_VALS_MAD_CLASS,
    ROCE_VALS_MAD_METHOD,
    ROCE_VALS_CM_ATTR,
    ROCE_VALS_CM_TRANSPORT,
    ROCE_VALS_CM_EXT_TRANSPORT,
    ROCE_VALS_CM_REJ_MSG,
    ROCE_VALS_CM_REJ_REASON,
    ROCE_VALS_CM_MRA_MSG,
    ROCE_VALS_CM_SIDR_STATUS,
    ROCE_VALS_CM_APR_STATUS,
    ROCE_VALS_MTU,
    ROCE_VALS_ACK_TIMEOUT, /* ACK timeout: 4.096 us * 2^value; 0 means infinite */
    ROCE_VALS_CM_TIMEOUT,  /* CM timeout: 4.096 us * 2^value, also for 0 */
    ROCE_VALS_RNR_RETRY,
    ROCE_VALS_CNT
};

/* One field of a header. */
struct roce_field {
    const char *name;  /* field name as in headers.def, for example "dest_qp" */
    const char *label; /* text for users, for example "Destination QP" */
    uint16_t byte;     /* byte offset from the start of the header */
    uint8_t bit;       /* bit offset in the byte; 0 = most significant bit */
    uint16_t width;    /* width in bits; above 64 only for MAC, GID and RAW */
    enum roce_fmt fmt;
    enum roce_vals vals;
};

/* Description of one header. */
struct roce_hdr_info {
    const char *id;     /* lower-case name, for example "bth", as in the filter name roce.bth.psn */
    const char *name;   /* short name, for example "BTH" */
    const char *title;  /* full name, for example "Base Transport Header" */
    const char *source; /* specification and section of the header */
    uint16_t len;       /* length, bytes */
    uint16_t field_cnt;
    const struct roce_field *fields;
};

/* Returns the description of a header; `hdr` must be < ROCE_HDR_CNT. */
const struct roce_hdr_info *roce_hdr_info(enum roce_hdr hdr);

/* Returns the field called `name` of a header description, or NULL. */
const struct roce_field *roce_field_find(const struct roce_hdr_info *info, const char *name);

/* Returns the value of a field of at most 64 bits. */
static inline uint64_t roce_field_get(const struct roce_field *field, const uint8_t *hdr)
{
    return roce_bits_get(hdr, field->byte, field->bit, field->width);
}

static inline void roce_field_put(const struct roce_field *field, uint8_t *hdr, uint64_t value)
{
    roce_bits_put(hdr, field->byte, field->bit, field->width, value);
}

/* Writes the value of a field as text, with the value's name if there is one: "0x0a (RC WRITE
 * Only)". Writes at most `cap` bytes including the final zero, and returns `buf`. */
const char *roce_field_text(const struct roce_field *field, const uint8_t *hdr, char *buf,
                            size_t cap);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * MAD: the management datagram in a UD SEND Only to QP1. This file declares only the common header.
 * The rest of a MAD depends on the management class (communication management: cm_msg.h).
 *
 * mad.def generates struct roce_mad, ROCE_MAD_LEN, roce_mad_parse() and roce_mad_build(), as hdr.h
 * describes for any header. Chapters are those of IBTA vol. 1. Names of attribute ids exist only
 * for communication management, the only class that this project uses.
 */
#ifndef ROCE_MAD_H
#define ROCE_MAD_H

#include "wire/error.h"
#include "wire/hdr.h"

#define ROCE_MAD_SIZE     256u /* length of every MAD including its header, bytes (ch. 13) */
#define ROCE_MAD_BASE     1u   /* the only base version (R221) */
#define ROCE_MAD_CLASS_CM 0x07u
#define ROCE_MAD_CM_VER   2u /* class version of communication management (R221) */
#define ROCE_MAD_SEND     0x03u

#define HDR_TABLE        "wire/mad.def"
#define HDR_LEN(ID)      ROCE_##ID##_LEN
#define HDR_NAME(id)     roce_##id
#define HDR_FN(id, verb) roce_##id##_##verb
#include "wire/hdr_gen.h"

/* Returns the description of the MAD header, for code that prints all fields. */
const struct roce_hdr_info *roce_mad_info(void);

/*
 * Parses the header of the MAD in the payload of a UD packet, of which `cap_len` bytes were
 * captured. On the wire the payload had `wire_len` >= cap_len bytes. Returns
 *
 * 0                   and sets *out; the caller checks the class and the rest of the MAD
 * ROCE_ERR_CUT        if the capture ends inside the header; *out is zero
 * ROCE_ERR_MALFORMED  if the length is not 256 bytes, or the base version is not 1 (R246); *out is
 *                     the header, or zero if the header is incomplete
 */
int roce_mad_read(struct roce_mad *out, const uint8_t *p, size_t cap_len, size_t wire_len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/erf.h"

#include "wire/bytes.h"

/* Fields of the record header, with their lengths in bytes: time stamp 8, type 1, flags 1, record
 * length 2, loss or color 2, wire length 2. */
#define ERF_LEN     16u
#define ERF_EXT_LEN 8u
/* This bit of the type byte, or of the first byte of an extension header, means that another
 * extension header follows. */
#define ERF_EXT_MORE 0x80u
#define ERF_ETH_PAD  2u

enum erf_type {
    ERF_ETH = 2,
    ERF_COLOR_ETH = 11,
    ERF_DSM_COLOR_ETH = 16,
    ERF_COLOR_HASH_ETH = 20,
    ERF_INFINIBAND = 21,
    ERF_IPV4 = 22,
    ERF_IPV6 = 23,
};

bool erf_frame(struct erf_frame *out, const uint8_t *record, uint32_t len)
{
    struct roce_rd rd = roce_rd(record, len);
    uint32_t off = ERF_LEN, wire_len;
    uint8_t type, more;

    if (len < ERF_LEN)
        return false;
    rd.off = 8;
    type = roce_rd_u8(&rd);
    rd.off = 14;
    wire_len = roce_rd_be16(&rd);
    for (more = type; more & ERF_EXT_MORE; off += ERF_EXT_LEN) {
        if (off + ERF_EXT_LEN > len)
            return false;
        more = record[off];
    }
    switch (type & ~ERF_EXT_MORE) {
    case ERF_ETH:
    case ERF_COLOR_ETH:
    case ERF_DSM_COLOR_ETH:
    case ERF_COLOR_HASH_ETH:
        out->link = ROCE_LINK_ETHERNET;
        off += ERF_ETH_PAD;
        break;
    case ERF_INFINIBAND: out->link = ROCE_LINK_IB; break;
    case ERF_IPV4:
    case ERF_IPV6: out->link = ROCE_LINK_IP; break;
    default: return false;
    }
    if (off > len)
        return false;
    out->data = record + off;
    /* ERF pads records to a multiple of eight bytes, so the frame may end before the record. */
    out->cap_len = len - off < wire_len ? len - off : wire_len;
    out->wire_len = wire_len;
    return true;
}

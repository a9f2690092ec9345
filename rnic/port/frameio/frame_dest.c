/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/frame_dest.h"

#include "wire/bytes.h"
#include "wire/pkt.h"

uint32_t rnic_frame_qpn(const struct rnic_frame *frame)
{
    unsigned type;
    size_t bth = 0;

    if (frame->len < ROCE_ETH_LEN)
        return 0;
    type = (unsigned)roce_bits_get(frame->data, 12, 0, 16);
    if (type == ROCE_ETHERTYPE_IP4 && frame->len > 14)
        bth = 14 + (frame->data[14] & 0xfu) * 4u + 8;
    else if (type == ROCE_ETHERTYPE_IP6 || type == ROCE_ETHERTYPE_V1)
        bth = 14 + 40 + (type == ROCE_ETHERTYPE_IP6 ? 8 : 0);
    if (bth == 0 || bth + 8 > frame->len)
        return 0;
    return (uint32_t)roce_bits_get(frame->data, (unsigned)bth + 5, 0, 24);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/base/inject.h"

#include <string.h>

void inject_macs(const struct trace_packet *p, uint8_t dst[6], uint8_t src[6])
{
    static const uint8_t responder[6] = {0x02, 0, 0, 0, 0, 0x02};
    static const uint8_t requester[6] = {0x02, 0, 0, 0, 0, 0x01};
    bool answer = roce_opcode_is_response(roce_opcode(p->opcode));
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_ETH)) {
        memcpy(dst, pkt.eth.dst, 6);
        memcpy(src, pkt.eth.src, 6);
    } else {
        memcpy(dst, answer ? requester : responder, 6);
        memcpy(src, answer ? responder : requester, 6);
    }
}

size_t inject_frame(const struct trace_packet *p, uint8_t *buf)
{
    struct roce_pkt pkt;
    size_t len;

    if (p->link == ROCE_LINK_ETHERNET) {
        if (p->cap_len > ROCE_FRAME_MAX)
            return 0;
        memcpy(buf, p->data, p->cap_len);
        return p->cap_len;
    }
    /* Our RNIC needs an Ethernet header, so the packet is copied without its captured link
     * header. */
    trace_parse(p, &pkt);
    len = p->cap_len - pkt.net_off;
    if (len + ROCE_ETH_LEN > ROCE_FRAME_MAX)
        return 0;
    inject_macs(p, buf, buf + 6);
    roce_bits_put(buf, 12, 0, 16,
                  pkt.encap == ROCE_ENCAP_V2_IP4   ? ROCE_ETHERTYPE_IP4
                  : pkt.encap == ROCE_ENCAP_V2_IP6 ? ROCE_ETHERTYPE_IP6
                                                   : ROCE_ETHERTYPE_V1);
    memcpy(buf + ROCE_ETH_LEN, p->data + pkt.net_off, len);
    return len + ROCE_ETH_LEN;
}

void inject(struct rnic *rnic, const struct trace_packet *p, rnic_time now)
{
    uint8_t buf[ROCE_FRAME_MAX];
    size_t len;

    if (p->link == ROCE_LINK_ETHERNET && p->icrc == ROCE_ICRC_GOOD) {
        rnic_input_without_icrc(rnic, p->data, p->cap_len, now); /* trace_read() checked the ICRC */
        return;
    }
    len = inject_frame(p, buf);
    if (len)
        rnic_input(rnic, buf, len, now);
}

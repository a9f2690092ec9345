/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device.h"

#include <string.h>

struct drill_net drill_net_of(unsigned ip)
{
    static const uint8_t prefix4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 0, 2, 0};
    static const uint8_t prefix6[16] = {0x20, 0x01, 0x0d, 0xb8};
    struct drill_net net = {.encap = ip == 6 ? ROCE_ENCAP_V2_IP6 : ROCE_ENCAP_V2_IP4,
                            .dut_mac = {2, 0, 0, 0, 0, 2},
                            .own_mac = {2, 0, 0, 0, 0, 1},
                            .own_qpn = DRILL_OWN_QPN};

    memcpy(net.dut_addr, ip == 6 ? prefix6 : prefix4, 16);
    memcpy(net.own_addr, net.dut_addr, 16);
    net.dut_addr[15] = 2;
    net.own_addr[15] = 1;
    return net;
}

void drill_net_group(const struct drill_net *net, uint64_t group, uint8_t addr[16])
{
    memset(addr, 0, 16);
    if (net->encap == ROCE_ENCAP_V2_IP4) {
        addr[10] = addr[11] = 0xFF;
        addr[12] = 239;
    } else {
        addr[0] = 0xFF;
        addr[1] = 0x0E;
    }
    addr[15] = (uint8_t)group;
}

uint32_t drill_own_qpn(const struct drill_net *net, int object)
{
    return net->own_qpn + (uint32_t)object;
}

uint32_t drill_qpn(const struct drill_net *net, uint64_t qpn)
{
    return (uint32_t)(qpn >= DRILL_OWN_QPN && qpn < DRILL_OWN_QPN + DRILL_OWN_QPNS
                          ? net->own_qpn + (qpn - DRILL_OWN_QPN)
                          : qpn);
}

uint32_t drill_own_key(int object)
{
    return 0x5A0001u + ((uint32_t)object << 8);
}

uint64_t drill_own_address(int object)
{
    return UINT64_C(0x550000000000) + ((uint64_t)object << 32);
}

uint32_t drill_dut_psn(const struct script_object *qp)
{
    return (uint32_t)script_number(&qp->options, SCRIPT_OPT_PSN, 700);
}

uint32_t drill_own_psn(const struct script_object *qp)
{
    return (uint32_t)script_number(&qp->options, SCRIPT_OPT_PEER_PSN, 100);
}

bool device_is_unsupported(const char *text)
{
    return strncmp(text, DRILL_UNSUPPORTED_TEXT, strlen(DRILL_UNSUPPORTED_TEXT)) == 0;
}

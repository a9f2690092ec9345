/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Env: the envelope of a connection, built once. All packets of a QP have the same Ethernet, IP and
 * UDP headers but for two lengths and the IPv4 header checksum; who sends many gives the model this
 * in roce_pkt.env, and roce_pkt_build() then writes the same bytes as from the model's headers.
 */
#ifndef ROCE_HEADER_TEMPLATE_H
#define ROCE_HEADER_TEMPLATE_H

#include "wire/pkt.h"

#define ROCE_HEADER_TEMPLATE_MAX   72 /* Ethernet, one tag, IPv6 and UDP are 66 bytes */
#define ROCE_HEADER_TEMPLATE_SHORT 48 /* Ethernet, one tag, IPv4 and UDP are 46 bytes */

struct roce_header_template {
    enum roce_encap encap;
    uint8_t len;
    uint8_t net_off; /* of the IP header or GRH */
    uint8_t
        bytes[ROCE_HEADER_TEMPLATE_MAX]; /* with lengths and checksum of an empty transport part */
};

/* Builds the envelope of a model that has an encapsulation on Ethernet, at most one VLAN tag and no
 * IPv4 options: ROCE_OK, or ROCE_ERR_INVALID for another. */
int roce_header_template_init(struct roce_header_template *env, const struct roce_pkt *model);

/* Changes the UDP source port; a RoCEv1 envelope has none and stays as it is. */
void roce_header_template_set_sport(struct roce_header_template *env, uint16_t sport);

/* Writes the envelope around a transport part of `bth_len` bytes, as roce_envelope_build() does. */
int roce_header_template_build(const struct roce_header_template *env, size_t bth_len,
                               struct roce_wr *wr);

#endif

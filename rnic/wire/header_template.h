/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Header template: the headers before the BTH, built once for a connection. All packets of a QP
 * have the same Ethernet, IP and UDP headers, except for two lengths and the IPv4 header checksum.
 * If roce_pkt.header_template points to a template, roce_pkt_build() copies it, which is faster
 * than building the headers. */
#ifndef ROCE_HEADER_TEMPLATE_H
#define ROCE_HEADER_TEMPLATE_H

#include "wire/pkt.h"

/* size of the buffer: Ethernet, one tag, IPv6 and UDP are 66 bytes */
#define ROCE_HEADER_TEMPLATE_MAX 72
/* number of bytes copied for a short template: Ethernet, one tag, IPv4 and UDP are 46 bytes */
#define ROCE_HEADER_TEMPLATE_SHORT 48

struct roce_header_template {
    enum roce_encap encap;
    uint8_t len;
    uint8_t net_off;                         /* offset of the IP header or GRH */
    uint8_t bytes[ROCE_HEADER_TEMPLATE_MAX]; /* the headers of a packet; lengths and checksum are
                                              * right for an empty transport part (BTH to ICRC) */
};

/* Builds the template of `model`, which must have an encapsulation on Ethernet, at most one VLAN
 * tag and no IPv4 options. Returns ROCE_OK, or ROCE_ERR_INVALID for any other model. */
int roce_header_template_init(struct roce_header_template *env, const struct roce_pkt *model);

/* Changes the UDP source port of a template. A RoCEv1 template has no UDP header and is not
 * changed. */
void roce_header_template_set_sport(struct roce_header_template *env, uint16_t sport);

/* Writes the headers for a transport part (BTH to ICRC) of `bth_len` bytes. Returns the same as
 * roce_envelope_build(). */
int roce_header_template_build(const struct roce_header_template *env, size_t bth_len,
                               struct roce_wr *wr);

#endif

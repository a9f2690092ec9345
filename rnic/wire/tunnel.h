/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tunnel: RoCE packets inside other packets, as mirror ports (ERSPAN, GRE) and overlay networks
 * (VXLAN, GENEVE) send them. Only readers of captures parse the inner packets; a device does not,
 * because the inner packets are not for it. */
#ifndef ROCE_TUNNEL_H
#define ROCE_TUNNEL_H

#include "wire/pkt.h"

#define ROCE_TUNNEL_DEPTH 4 /* maximum number of nested tunnels */

enum roce_tunnel {
    ROCE_TUNNEL_NONE,
#define TUNNEL(ID, name, open) ROCE_TUNNEL_##ID,
#include "wire/tunnel.def"
    ROCE_TUNNEL_CNT
};

struct roce_tunnel_info {
    const char *name; /* name of the tunnel, for example "VXLAN" */
    bool open;        /* packets in this kind of tunnel can be parsed */
};

/* Returns the properties of a tunnel, or NULL for ROCE_TUNNEL_NONE and any undefined number. */
const struct roce_tunnel_info *roce_tunnel_info(unsigned tunnel);

/*
 * Parses a frame of a capture. For a frame without tunnel, does the same as
 * roce_pkt_parse_captured(). If a RoCE packet is inside tunnels, *pkt describes the inner frame:
 * pkt->frame and its lengths, and pkt->link, the first header of the inner frame. pkt->tunnel is
 * then the outermost tunnel, and pkt->overlay the network of the innermost VXLAN or GENEVE header.
 *
 * If the result is ROCE_ERR_NOT_ROCE, pkt->tunnel is the tunnel whose inner packet cannot be
 * parsed, for example because it is encrypted. If there is no such tunnel, pkt->tunnel is
 * ROCE_TUNNEL_NONE.
 */
int roce_tunnel_parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                      size_t cap_len, size_t wire_len);

#endif

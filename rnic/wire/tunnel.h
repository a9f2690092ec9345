/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tunnel: RoCE packets inside of other packets, as mirror ports (ERSPAN, GRE) and overlay networks
 * (VXLAN, GENEVE) show them. Only what reads captures looks into tunnels: a device that gets such a
 * frame is not whom the packet inside is for.
 */
#ifndef ROCE_TUNNEL_H
#define ROCE_TUNNEL_H

#include "wire/pkt.h"

#define ROCE_TUNNEL_DEPTH 4 /* tunnels in tunnels that are opened */

enum roce_tunnel {
    ROCE_TUNNEL_NONE,
#define TUNNEL(ID, name, open) ROCE_TUNNEL_##ID,
#include "wire/tunnel.def"
    ROCE_TUNNEL_CNT
};

struct roce_tunnel_info {
    const char *name; /* "VXLAN" */
    bool open;        /* what is inside was read */
};

/* NULL for ROCE_TUNNEL_NONE and any other number. */
const struct roce_tunnel_info *roce_tunnel_info(unsigned tunnel);

/*
 * As roce_pkt_parse_captured(), for a frame that may hold the RoCE packet inside of tunnels. If it
 * does, the model is that of the inner frame: pkt->frame and its lengths are the inner one's,
 * pkt->link how it begins, pkt->tunnel the outermost tunnel and pkt->overlay the network that the
 * innermost VXLAN or GENEVE header names.
 *
 * With ROCE_ERR_NOT_ROCE pkt->tunnel is a tunnel that was not opened, if there was one: nobody
 * knows what is inside.
 */
int roce_tunnel_parse(struct roce_pkt *pkt, enum roce_link link, const uint8_t *frame,
                      size_t cap_len, size_t wire_len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Interface: what the kernel says of a network interface that a device can live on: Ethernet in all
 * its forms (veth, tap, VLAN, bridge, bond) and the loopback.
 *
 * GIDs stand in the order in which Linux fills the GID table of a RoCE port
 * (drivers/infiniband/core/roce_gid_mgmt.c): first the link-local GID made of the MAC address
 * (EUI-64), then the IPv4 addresses as ::ffff:a.b.c.d, then the IPv6 addresses, each once as RoCEv1
 * and once as RoCEv2.
 */
#ifndef PORT_NET_IFACE_H
#define PORT_NET_IFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "device/rnic.h"
#include "base/error.h"

#define RNIC_IFNAME_MAX    16 /* IFNAMSIZ */
#define RNIC_IFACE_GID_MAX RNIC_GID_MAX

struct rnic_iface {
    char name[RNIC_IFNAME_MAX];
    unsigned index;    /* the kernel's, from 1 */
    uint8_t mac[6];    /* all zero on the loopback */
    uint32_t mtu;      /* of the interface: bytes of an IP packet */
    uint32_t path_mtu; /* largest RoCE path MTU that fits: 256..4096; 0: not even 256 does */
    bool up;           /* administratively up and with a carrier */
    bool loopback;
    uint16_t vlan; /* 802.1Q id if it is a VLAN interface, else RNIC_VLAN_NONE. Its frames carry no
                      tag here: the kernel adds and takes it. */
    struct rnic_gid gid[RNIC_IFACE_GID_MAX];
    bool gid_kernel[RNIC_IFACE_GID_MAX]; /* an address of the kernel's, which answers ARP and ND */
    unsigned gid_cnt;                    /* those beyond RNIC_IFACE_GID_MAX are left out */
};

/*
 * All interfaces a device can live on, in the kernel's order; the loopback last. *out is an array
 * to free() with *cnt members, NULL when there is none. 0 or a negative errno.
 */
int rnic_iface_list(struct rnic_iface **out, size_t *cnt, struct error *why);

/* One by name. -ENODEV if there is none or it is of a kind that cannot carry RoCE. */
int rnic_iface_get(const char *name, struct rnic_iface *out, struct error *why);

/* The RoCE path MTU that fits an interface MTU; 0 if none does. Annex A17: IP, UDP, BTH, the
 * longest extension headers and the ICRC come on top of the payload. */
uint32_t rnic_iface_path_mtu(uint32_t mtu);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Interface: the kernel's description of a network interface that a device can use. It may be
 * any kind of Ethernet interface (veth, tap, VLAN, bridge, bond) or the loopback.
 *
 * GIDs have the order of the GID table of a RoCE port in Linux
 * (drivers/infiniband/core/roce_gid_mgmt.c). First is the link-local GID made of the MAC address
 * (EUI-64), then the IPv4 addresses as ::ffff:a.b.c.d, then the IPv6 addresses. Each has two
 * entries, one for RoCEv1 and one for RoCEv2.
 */
#ifndef PORT_NET_IFACE_H
#define PORT_NET_IFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "device/rnic.h"

#define RNIC_IFNAME_MAX    16 /* size of an interface name, equal to IFNAMSIZ */
#define RNIC_IFACE_GID_MAX RNIC_GID_MAX

struct rnic_iface {
    char name[RNIC_IFNAME_MAX];
    unsigned index;    /* interface index of the kernel, from 1 */
    uint8_t mac[6];    /* MAC address; all zero on the loopback */
    uint32_t mtu;      /* MTU of the interface: bytes of an IP packet */
    uint32_t path_mtu; /* largest RoCE path MTU that fits, 256..4096; 0: none fits */
    bool up;           /* administratively up and with a carrier */
    bool loopback;
    uint16_t vlan;      /* 802.1Q id of a VLAN interface, else RNIC_VLAN_NONE. Frames on such an
                         * interface have no tag: the kernel adds and removes the tag. */
    unsigned master;    /* index of the bridge or bond of which this is a port; 0: none */
    unsigned vlan_link; /* VLAN interface: index of the interface that carries the tagged frames;
                         * else 0 */
    struct rnic_gid gid[RNIC_IFACE_GID_MAX];
    bool gid_kernel[RNIC_IFACE_GID_MAX]; /* the kernel has this GID's address and answers ARP and ND
                                          * for it */
    unsigned gid_cnt;                    /* number of GIDs, at most RNIC_IFACE_GID_MAX; further ones
                                          * are left out */
};

/*
 * Lists all interfaces that a device can use, in the kernel's order, but the loopback last. Returns
 * 0 or a negative errno. *out is an array of *cnt members that the caller frees, or NULL if the
 * list is empty.
 */
int rnic_iface_list(struct rnic_iface **out, size_t *cnt, struct error *why);

/* Finds the interface called `name`. Returns 0 or a negative errno: -ENODEV if the interface does
 * not exist or cannot carry RoCE. */
int rnic_iface_get(const char *name, struct rnic_iface *out, struct error *why);

/* Returns the loopback of a list if it is up, else NULL. Its name need not be "lo". */
const struct rnic_iface *rnic_iface_loopback(const struct rnic_iface *list, size_t cnt);

/* Returns the largest RoCE path MTU for the interface MTU `mtu`, or 0 if none fits. The interface
 * MTU must fit payload, IP, UDP, BTH, the longest extension headers and the ICRC (Annex A17). */
uint32_t rnic_iface_path_mtu(uint32_t mtu);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Route: the kernel's route to an address, and the next hop's entry in the kernel's neighbour
 * table. Addresses are GIDs: IPv4 as ::ffff:a.b.c.d.
 */
#ifndef PORT_NET_ROUTE_H
#define PORT_NET_ROUTE_H

#include "port/net/iface.h"
#include "port/net/netlink.h"

struct rnic_route {
    bool local;      /* the destination is an address of this machine */
    bool gateway;    /* `hop` is a gateway */
    unsigned oif;    /* index of the outgoing interface */
    uint8_t hop[16]; /* next hop: the gateway, or the destination itself */
    uint8_t src[16]; /* source address that the kernel prefers; all zero: none */
};

static inline bool rnic_gid_is_link_local(const uint8_t gid[16])
{
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* Finds the kernel's route to `dgid`, through interface `oif` or, if `oif` is 0, through any
 * interface. Returns 0 or a negative errno such as -ENETUNREACH. */
int rnic_route_get(const uint8_t dgid[16], unsigned oif, struct rnic_route *out);

/* Parses one message of the answer to a route request. Returns whether it is a usable route. */
bool rnic_route_parse(const struct nlmsghdr *msg, struct rnic_route *out);

/* Returns 1 if a default route of the kernel, IPv4 or IPv6, leads through interface `oif`, or
 * through a bridge, bond or VLAN interface that sends through `oif`. Returns 0 if none does, or a
 * negative errno. */
int rnic_route_is_default(unsigned oif);

/* Returns whether one message of a list of routes is a default route through interface `oif`. A
 * route to half of all addresses counts, because VPNs replace the default route by two of them. */
bool rnic_route_parse_default(const struct nlmsghdr *msg, unsigned oif);

/* Looks up `hop` in the kernel's neighbour table of interface `oif`. Returns true and the MAC
 * address of `hop` if its entry is usable: reachable, stale, being probed or permanent. */
bool rnic_neigh_lookup(unsigned oif, const uint8_t hop[16], uint8_t mac[6]);

/* Parses one message of a neighbour table. Returns true and the MAC address if it is a usable entry
 * for `hop` on interface `oif`. */
bool rnic_neigh_parse(const struct nlmsghdr *msg, unsigned oif, const uint8_t hop[16],
                      uint8_t mac[6]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Route: which way the kernel sends to an address, and whether its neighbour table knows the next
 * hop. Addresses are GIDs: IPv4 as ::ffff:a.b.c.d.
 */
#ifndef PORT_NET_ROUTE_H
#define PORT_NET_ROUTE_H

#include "port/net/iface.h"
#include "port/net/netlink.h"

struct rnic_route {
    bool local;      /* an address of this machine */
    bool gateway;    /* next_hop is a gateway's */
    unsigned oif;    /* interface index */
    uint8_t hop[16]; /* the next hop: gateway, or the destination itself */
    uint8_t src[16]; /* the source the kernel prefers; all zero: it has none */
};

static inline bool rnic_gid_is_link_local(const uint8_t gid[16])
{
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* The route to `dgid`; through interface `oif` if that is not 0. -ENETUNREACH and the like. */
int rnic_route_get(const uint8_t dgid[16], unsigned oif, struct rnic_route *out);

/* Reads one message of the answer to a route request. */
bool rnic_route_parse(const struct nlmsghdr *msg, struct rnic_route *out);

/* Looks `hop` up in the kernel's neighbour table of an interface: true and its MAC address if the
 * kernel would send to it now (reachable, stale, being probed, permanent). */
bool rnic_neigh_lookup(unsigned oif, const uint8_t hop[16], uint8_t mac[6]);

/* Reads one message of a neighbour table: true if it is a usable entry of that interface for `hop`.
 */
bool rnic_neigh_parse(const struct nlmsghdr *msg, unsigned oif, const uint8_t hop[16],
                      uint8_t mac[6]);

#endif

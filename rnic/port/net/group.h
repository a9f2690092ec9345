/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Multicast group: the kernel's membership of a group on an interface. A NIC drops multicast MAC
 * addresses that it was not configured to receive. A switch with IGMP or MLD snooping forwards a
 * group only to ports where a host reported it (RFC 3376, RFC 3810). The kernel's membership does
 * both: it configures the NIC and sends the report. Linux also becomes a member when a QP joins a
 * RoCEv2 group.
 */
#ifndef PORT_NET_GROUP_H
#define PORT_NET_GROUP_H

#include <stdint.h>

/* Joins the group of a multicast GID on the interface with index `iface`. Returns a descriptor;
 * closing it leaves the group, and the kernel counts memberships. Otherwise returns a negative
 * errno: -EINVAL if the GID is not multicast; -ENODEV, -EADDRNOTAVAIL or -EAFNOSUPPORT if the
 * interface has no IPv4 or no IPv6. */
int rnic_group_join(unsigned iface, const uint8_t gid[16]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Group: makes the interface take the frames of a multicast group, and the network send them: a
 * NIC drops the multicast MAC addresses that nobody asked it for, and a switch that listens to IGMP
 * or MLD forwards a group to those that reported it (RFC 3376, RFC 3810). Linux does the same when
 * a QP joins a group of RoCEv2.
 */
#ifndef PORT_NET_GROUP_H
#define PORT_NET_GROUP_H

#include <stdint.h>

/* Joins the group of a multicast GID on the interface with that index. A descriptor, which the
 * caller closes to leave (the kernel counts), or a negative errno: -EINVAL if the GID is no
 * group's; -ENODEV, -EADDRNOTAVAIL, -EAFNOSUPPORT where the interface does not speak IPv4 or IPv6.
 */
int rnic_group_join(unsigned iface, const uint8_t gid[16]);

#endif

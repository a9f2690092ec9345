/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UDP port reservation: sockets bound to UDP port 4791. Without them, the kernel would answer
 * RoCEv2 packets with ICMP port unreachable. The sockets receive nothing. Several processes can
 * have the port reserved at the same time.
 */
#ifndef PORT_NET_UDP_RESERVE_H
#define PORT_NET_UDP_RESERVE_H

#include "base/error.h"

struct rnic_udp_reserve {
    int fd[2]; /* sockets for IPv4 and IPv6; -1: not open */
};

/* Reserves UDP port 4791. Returns 0 or a negative errno: -EADDRINUSE if another owner of the port
 * does not share it; usually this is the kernel's rdma_rxe. */
int rnic_udp_reserve_open(struct rnic_udp_reserve *reserve, struct error *why);
void rnic_udp_reserve_close(struct rnic_udp_reserve *reserve);

#endif

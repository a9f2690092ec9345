/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Guard: holds UDP port 4791 so that the kernel does not answer RoCEv2 packets, which it does not
 * understand, with ICMP port unreachable. The sockets take nothing in. Every process with a device
 * holds them at the same time.
 */
#ifndef PORT_NET_UDP_RESERVE_H
#define PORT_NET_UDP_RESERVE_H

#include "base/error.h"

struct rnic_udp_reserve {
    int fd[2]; /* IPv4 and IPv6; -1: not open */
};

/* 0, or -EADDRINUSE where something does not share the port: the kernel's rdma_rxe, as a rule. */
int rnic_udp_reserve_open(struct rnic_udp_reserve *reserve, struct error *why);
void rnic_udp_reserve_close(struct rnic_udp_reserve *reserve);

#endif

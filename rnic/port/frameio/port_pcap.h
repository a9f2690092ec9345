/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live port: libpcap on a network interface, and on the loopback for what stays on this machine.
 *
 * Frames for a MAC address of this machine never come back from a link: as the kernel routes
 * packets to its own addresses over the loopback, they are put there, where every process with a
 * device listens and takes what is for its MAC address. Multicast goes both ways. So the processes
 * on one machine reach each other on any interface, and a process itself.
 *
 * The kernel filters: only frames for this process's QPNs, for QP 1 and for groups it joined wake
 * it.
 */
#ifndef PORT_FRAMEIO_PORT_PCAP_H
#define PORT_FRAMEIO_PORT_PCAP_H

#include "port/frameio/port.h"
#include "port/net/iface.h"

/* What is let in. */
struct rnic_port_filter {
    const uint32_t *block; /* numbers of 4096 QPNs each */
    unsigned block_cnt;
    const uint8_t (*group)[6]; /* MAC addresses of multicast groups */
    unsigned group_cnt;
};

/* `ring`: bytes of a receive ring; half of it is tried until the kernel has the memory. -EPERM
 * without CAP_NET_RAW, -ENETDOWN if the interface is down. */
int rnic_port_pcap_open(const struct rnic_iface *iface, size_t ring, struct rnic_port **out,
                        struct error *why);

/* Changes the filter without a gap. Arrays are copied. */
int rnic_port_pcap_filter(struct rnic_port *port, const struct rnic_port_filter *filter);

/* The MAC addresses of this machine's interfaces. */
void rnic_port_pcap_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt);

/* The text of the filter, for libpcap's compiler: of the link, or of the loopback, where a MAC
 * address decides. To be freed. */
char *rnic_port_pcap_expression(const struct rnic_port_filter *filter, const uint8_t mac[6],
                                bool host);

#endif

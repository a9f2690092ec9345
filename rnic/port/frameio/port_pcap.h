/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live port: sends and receives through libpcap on a network interface, and on the loopback for
 * frames between processes of this machine.
 *
 * A frame for a MAC address of this machine would never come back from a link. The port therefore
 * sends it on the loopback, as the kernel does with packets for its own addresses. Every process
 * with a device listens there and receives the frames for its MAC address. The port sends multicast
 * frames on the interface and on the loopback. So all processes of this machine reach each other,
 * and themselves, on any interface.
 *
 * A kernel filter passes only frames for this process's QPNs, for QP 1 and for the multicast groups
 * that the process has joined. Other frames do not wake the process.
 */
#ifndef PORT_FRAMEIO_PORT_PCAP_H
#define PORT_FRAMEIO_PORT_PCAP_H

#include "port/frameio/port.h"
#include "port/net/iface.h"

/* Frames that pass the kernel filter. */
struct rnic_port_filter {
    const uint32_t *block; /* numbers of QPN blocks, 4096 QPNs each */
    unsigned block_cnt;
    const uint8_t (*group)[6]; /* MAC addresses of multicast groups */
    unsigned group_cnt;
};

/* Opens a live port on `iface`. `ring` is the size of the receive ring in bytes; it is halved until
 * the kernel has the memory. Returns 0 or a negative errno: -EPERM without CAP_NET_RAW, -ENETDOWN
 * if the interface is down. */
int rnic_port_pcap_open(const struct rnic_iface *iface, size_t ring, struct rnic_port **out,
                        struct error *why);

/* Replaces the kernel filter. Frames that pass both the old and the new filter are not lost. Copies
 * the arrays. Returns 0 or a negative errno. */
int rnic_port_pcap_filter(struct rnic_port *port, const struct rnic_port_filter *filter);

/* Sets the list of this machine's interfaces. Frames for their MAC addresses are sent on the
 * loopback. If the MTU of the port's interface has grown, the port also opens its capture handles
 * again, for longer frames. Frames in the old handles that were not read yet are then lost. */
void rnic_port_pcap_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt);

/* Returns the libpcap filter expression for the loopback (`host`) or for the link. On the loopback
 * the filter also compares the destination MAC address with `mac`. The caller frees the text.
 * Returns NULL if out of memory. */
char *rnic_port_pcap_expression(const struct rnic_port_filter *filter, const uint8_t mac[6],
                                bool host);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Shared-memory port: exchanges frames between processes of one user in one network namespace,
 * through rings in shared memory. No frame reaches an interface or another machine. Used by
 * port/live/attach.c.
 *
 * The ports deliver frames like live ports of libpcap (frameio/port_pcap.h). A unicast frame
 * reaches the process that has the QPN block of its destination QPN, on the interface that has its
 * destination MAC address. A frame to QP 1 reaches all processes on that interface. A multicast
 * frame reaches all processes on the sender's interface. A process also receives its own frames
 * that have such a destination.
 *
 * If the ring to a process is full, rnic_port_send() returns early, as with a full send queue.
 * After 200 ms the port drops frames to that process until it reads again, so a stopped process
 * does not block the others for longer.
 */
#ifndef PORT_SHM_PORT_SHM_H
#define PORT_SHM_PORT_SHM_H

#include "port/frameio/port.h"
#include "port/net/iface.h"

struct rnic_port_filter; /* defined in frameio/port_pcap.h */

struct rnic_port_shm_attr {
    uint32_t ring; /* size of each ring to another process, bytes: a power of two; 0: default */
    bool icrc; /* true: sent frames have an ICRC, and the port adds one to a received frame without
                * ICRC; false: received frames can have RNIC_FRAME_NO_ICRC */
    /* Called once, with a description of the problem, if the process cannot communicate with
     * another process because it lacks descriptors or memory. May be NULL. */
    void (*warned)(void *user, const char *text);
    void *user;
};

/* Opens a port on `iface`. It has no peers until rnic_port_shm_filter(). Returns 0 or a negative
 * errno with the reason in `why`. */
int rnic_port_shm_open(const struct rnic_iface *iface, const struct rnic_port_shm_attr *attr,
                       struct rnic_port **out, struct error *why);

/* Sets the QPN blocks and the multicast groups of this process. Blocks can only be added. Returns 0
 * or a negative errno. */
int rnic_port_shm_filter(struct rnic_port *port, const struct rnic_port_filter *filter);

/* Sets the interfaces of this machine. */
void rnic_port_shm_hosts(struct rnic_port *port, const struct rnic_iface *list, size_t cnt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live port: sends frames from one address on a network interface to one target, and receives the
 * target's frames. If the kernel does not own the address, the live port answers ARP and Neighbour
 * Discovery for it.
 *
 *   1. live_port_open() opens the interface and transmits nothing.
 *   2. live_port_announce() prints what will be transmitted.
 *   3. live_port_resolve() gets the target's MAC address.
 *   4. live_port_send() and live_port_wait() send and receive.
 *   5. live_port_close()
 */
#ifndef REPLAY_LIVE_LIVE_PORT_H
#define REPLAY_LIVE_LIVE_PORT_H

#include "base/error.h"
#include "port/frameio/port.h"
#include "port/net/iface.h"
#include "port/net/udp_reserve.h"

/* Number of our QPNs, from live_port.qpn on; packets to other QPNs are not received. */
#define LIVE_QPNS 4096u

struct live_port {
    struct rnic_iface iface;
    struct rnic_port *io;
    struct rnic_udp_reserve guard;
    bool guarded;
    bool kernel; /* the kernel owns our address and answers ARP requests for it */
    uint8_t addr[16], target[16];
    uint8_t mac[6], dmac[6];
    uint32_t qpn; /* first of our LIVE_QPNS QPNs */
    uint64_t unsent;
};

/* Returns the time of CLOCK_MONOTONIC, ns. */
uint64_t live_now(void);

/* Converts an address such as "192.0.2.1" or "2001:db8::1" to 16 bytes in the form of
 * roce_pkt_addr(). Returns true, or false if the text is not an address. */
bool live_address(const char *text, uint8_t out[16]);

/* Opens the interface. If `addr` is NULL, uses an address of the interface in the target's family.
 * If a default route leads through the interface, fails unless `really` is set. Returns 0, or -1
 * and an error. Call live_port_close() in both cases. */
int live_port_open(struct live_port *port, const char *iface, const uint8_t target[16],
                   const uint8_t *addr, bool really, struct error *error);

/* Prints on standard error which packets will be transmitted, for example "36 packets of a.pcap",
 * through which interface and to which target. Does not mention ARP and Neighbour Discovery. */
void live_port_announce(const struct live_port *port, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets port->dmac from the kernel's neighbour table, or by ARP or Neighbour Discovery. Returns 0,
 * or -1 and an error. */
int live_port_resolve(struct live_port *port, struct error *error);
void live_port_close(struct live_port *port);

/* Sends frames, and waits while the transmit ring is full. Returns 0, or -1 and an error. */
int live_port_send(struct live_port *port, struct rnic_frame *frames, unsigned cnt,
                   struct error *error);

/* Waits for frames until time `until`. Passes frames other than ARP and ND to `fn`. Returns the
 * number of frames, or -1 if the interface no longer exists. */
int live_port_wait(struct live_port *port, uint64_t until, rnic_frame_fn *fn, void *user);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live wire: an address of our own on a network interface, from which frames go to one target. The
 * kernel need not own the address: then ARP and Neighbour Discovery for it are answered here.
 */
#ifndef REPLAY_LIVE_LIVE_PORT_H
#define REPLAY_LIVE_LIVE_PORT_H

#include "port/net/udp_reserve.h"
#include "port/net/iface.h"
#include "base/error.h"

#define LIVE_QPNS 4096u /* ours: from wire.qpn on */

struct live_port {
    struct rnic_iface iface;
    struct rnic_port *io;
    struct rnic_udp_reserve guard;
    bool guarded;
    bool kernel; /* the kernel owns our address, and answers for it */
    uint8_t addr[16], target[16];
    uint8_t mac[6], dmac[6];
    uint32_t qpn; /* of the first of LIVE_QPNS that we receive for */
    uint64_t unsent;
};

/* Monotonic time, ns. */
uint64_t live_now(void);

/* An address as roce_pkt_addr() has it, of "192.0.2.1" or "2001:db8::1". False if it is none. */
bool live_address(const char *text, uint8_t out[16]);

/*
 * Opens the interface and asks for the target's MAC address. `addr` NULL is the interface's own
 * address of the target's family. 0, or -1 and an error; live_port_close() is wanted in both cases.
 */
int live_port_open(struct live_port *port, const char *iface, const uint8_t target[16],
                   const uint8_t *addr, struct error *error);
void live_port_close(struct live_port *port);

/* Sends frames, waiting where the way is full. 0, or -1 and an error if the interface is gone. */
int live_port_send(struct live_port *port, struct rnic_frame *frames, unsigned cnt,
                   struct error *error);

/* Waits until `until` or for a frame, whichever is first, and gives the frames that came, but for
 * those of ARP and ND, to `fn`. How many came, or -1 if the interface is gone. */
int live_port_wait(struct live_port *port, uint64_t until, rnic_frame_fn *fn, void *user);

#endif

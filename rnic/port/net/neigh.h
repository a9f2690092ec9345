/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Neigh: reads and writes frames of ARP (RFC 826) and Neighbour Discovery (RFC 4861). A port
 * uses them where the kernel's neighbour table has no entry, or for a device's address that the
 * kernel does not have. The functions have no state and do no I/O. Addresses are GIDs.
 */
#ifndef PORT_NET_NEIGH_H
#define PORT_NET_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_NEIGH_FRAME_MAX 96 /* longest ARP or Neighbour Discovery frame, bytes */

enum rnic_neigh_kind { RNIC_NEIGH_NONE, RNIC_NEIGH_ASKS, RNIC_NEIGH_TELLS };

/* A request for the MAC address of `target`, or a reply with that MAC address. */
struct rnic_neigh_msg {
    enum rnic_neigh_kind kind;
    uint8_t mac[6];     /* request: MAC address of the sender; reply: MAC address of the target */
    uint8_t asker[16];  /* request: address of the sender, all zero in an address probe */
    uint8_t target[16]; /* IP address for which a MAC address is requested or announced */
};

/* Parses a frame. Returns true if it is a well-formed ARP request or reply over Ethernet and IPv4,
 * or a Neighbour Solicitation or Advertisement with hop limit 255 and a correct checksum (RFC 4861,
 * 7.1). */
bool rnic_neigh_read(const uint8_t *frame, size_t len, struct rnic_neigh_msg *out);

/* Writes an ARP request or Neighbour Solicitation and returns its length. `src` and `target` are
 * both IPv4 or both IPv6. */
size_t rnic_neigh_ask(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                      const uint8_t src[16], const uint8_t target[16]);

/* Writes the reply to request `question` and returns its length. `mac` is the MAC address of the
 * target. */
size_t rnic_neigh_tell(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                       const struct rnic_neigh_msg *question);

#endif

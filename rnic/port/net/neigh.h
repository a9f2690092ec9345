/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Neigh: ARP (RFC 826) and Neighbour Discovery (RFC 4861) as frames: the questions and answers of a
 * port itself, where the kernel's table does not know a neighbour, or the address asked for is the
 * device's and not the kernel's. Pure functions over bytes; addresses are GIDs.
 */
#ifndef PORT_NET_NEIGH_H
#define PORT_NET_NEIGH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_NEIGH_FRAME_MAX 96

enum rnic_neigh_kind { RNIC_NEIGH_NONE, RNIC_NEIGH_ASKS, RNIC_NEIGH_TELLS };

/* What a frame says: who asks for whom, or whose MAC address is which. */
struct rnic_neigh_msg {
    enum rnic_neigh_kind kind;
    uint8_t mac[6];     /* the asker's; or the one told */
    uint8_t asker[16];  /* ASKS: all zero in an address probe */
    uint8_t target[16]; /* the address asked for or told about */
};

/* True if the frame is a well-formed ARP request or reply over Ethernet and IPv4, Neighbour
 * Solicitation or Advertisement (hop limit 255, checksum right: RFC 4861, 7.1). */
bool rnic_neigh_read(const uint8_t *frame, size_t len, struct rnic_neigh_msg *out);

/* Writes a frame and returns its length. `src` and `target` are of one family. */
size_t rnic_neigh_ask(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                      const uint8_t src[16], const uint8_t target[16]);

/* The answer to a question read from a frame: `mac` has the address asked for. */
size_t rnic_neigh_tell(uint8_t buf[RNIC_NEIGH_FRAME_MAX], const uint8_t mac[6],
                       const struct rnic_neigh_msg *question);

#endif

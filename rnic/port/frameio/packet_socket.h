/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet socket: one capture handle of libpcap on one interface. Frames are received through the
 * handle and sent on its descriptor. A live port has up to two of them (port_pcap.h).
 */
#ifndef PORT_FRAMEIO_PACKET_SOCKET_H
#define PORT_FRAMEIO_PACKET_SOCKET_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "port/frameio/port.h"

struct packet_socket {
    pcap_t *pcap; /* capture handle; NULL: not open */
    int fd;
    bool dead; /* reading failed, for example because the interface was removed; the socket is not
                * used until it is reopened */
    uint64_t
        reopen_at;    /* time of the next attempt to reopen a dead handle, ns; UINT64_MAX: never */
    uint64_t spared;  /* time before which the handle is not reopened if it fails again, ns; 0: no
                       * limit. Set at each reopening, so that a handle that fails repeatedly is not
                       * reopened in a loop. */
    bool plain;       /* true: sendmmsg() fails on the descriptor, so pcap_inject() sends the
                       * frames one by one */
    char *expression; /* filter expression; NULL: no filter was set yet */
    uint64_t dropped_before;
    uint64_t dropped_base; /* number of frames dropped by the earlier handles of this socket */
};

/* Returns whether the socket is open and has had no fatal error. */
static inline bool packet_socket_works(const struct packet_socket *side)
{
    return side->pcap && !side->dead;
}

/* Opens the interface `name` with a receive ring of `ring` bytes, or of half, a quarter, ... if the
 * kernel lacks memory. Ring slots have room for `snaplen` bytes of a frame. The socket does not
 * receive the frames that it sends. Returns 0, or -EPERM, -ENETDOWN, -ENODEV or -EIO with the
 * reason in `why`. */
int packet_socket_open(struct packet_socket *side, const char *name, size_t ring, int snaplen,
                       struct error *why);

/* Replaces the filter. No frame that passes both the old and the new filter is lost. Does nothing
 * if the socket does not work. Returns 0, -EINVAL if libpcap cannot compile the expression, or the
 * negative errno of setsockopt(2). */
int packet_socket_attach(struct packet_socket *side, const char *expression);

#endif

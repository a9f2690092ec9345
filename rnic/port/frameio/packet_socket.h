/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A side of a live port: one capture handle of libpcap, and the descriptor that frames are sent on.
 */
#ifndef PORT_FRAMEIO_PACKET_SOCKET_H
#define PORT_FRAMEIO_PACKET_SOCKET_H

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "port/frameio/port.h"

struct packet_socket {
    pcap_t *pcap; /* NULL: there is none */
    int fd;
    bool dead;          /* it failed: the interface went away, or the kernel and libpcap disagree */
    uint64_t reopen_at; /* of a dead one: the next try; UINT64_MAX: none */
    uint64_t spared;    /* no try before: one that fails at once again is left alone for a time */
    bool plain;         /* its descriptor does not take sendmmsg() */
    char *expression;   /* its filter; NULL before there is one */
    uint64_t dropped_before;
    uint64_t dropped_base; /* by handles that failed */
};

/* Whether frames can be had from it and sent on it. */
static inline bool packet_socket_works(const struct packet_socket *side)
{
    return side->pcap && !side->dead;
}

/* Opens the handle of the interface `name` with a ring of `ring` bytes, or of as many as the kernel
 * has, and slots for frames of `snaplen`; it does not see what is sent on it. 0; -EPERM, -ENETDOWN,
 * -ENODEV, -EIO and the reason in words. */
int packet_socket_open(struct packet_socket *side, const char *name, size_t ring, int snaplen,
                       struct error *why);

/* Changes the filter without losing a frame that both let in; nothing where the side does not work.
 * 0; -EINVAL: libpcap does not take the expression; or as setsockopt(2). */
int packet_socket_attach(struct packet_socket *side, const char *expression);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ways: methods to move frames from one process to another on this machine, each with as little
 * work as possible. The speed of a method is the maximum that the live port could reach with it.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include <stdbool.h>
#include <stdint.h>

enum way {
    WAY_INJECT, /* pcap_inject(): a system call for each frame */
    WAY_MMSG,   /* sendmmsg() on the handle, 64 frames a call, as the live port does */
    /* WAY_MMSG with the work that no device can avoid: one side copies the payload and computes its
     * CRC, the other computes the CRC and copies. */
    WAY_LEAST,
    WAY_RING, /* PACKET_TX_RING: 64 frames a call, from memory shared with the kernel */
    /* As WAY_MMSG, but no process receives the frames. This is the cost of the link and a kernel
     * buffer alone. AF_XDP has the same cost if it copies, as it does on veth and the loopback. */
    WAY_BARE,
    WAY_SHARED, /* a ring in memory that both processes share; each side copies the payload and
                 * computes a CRC */
    WAY_CNT
};

extern const char *const way_names[WAY_CNT];

/* Sends `frames` frames from the client to the server, which reports its progress every 64 frames.
 * Returns the frames per second. If `roce` is true, the frames are RoCEv2 with a payload of `size`
 * bytes. Otherwise they have another EtherType, which the kernel's IP layer ignores. `fd` is a
 * stream socket to the other side. `shared` points to WAY_SHARED_LEN bytes that both sides
 * share. */
#define WAY_SHARED_LEN ((size_t)4 << 20)
double way_flood(enum way way, const char *iface, bool client, int fd, uint32_t size,
                 unsigned frames, bool roce, void *shared);

/* Returns the time of a round trip on bare libpcap, s, with the frames that a device sends: each
 * side sends a WRITE of 8 bytes, then the ACK of the WRITE that it received. Neither side waits for
 * the ACKs. */
double way_trips(const char *iface, bool client, int fd, unsigned trips);

#endif

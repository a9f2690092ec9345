/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ways: how else frames could get from one process to another on this machine, each as bare as it
 * can be: what the live port could win with it at most.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

#include <stdbool.h>
#include <stdint.h>

enum way {
    WAY_INJECT, /* pcap_inject(): a system call for each frame */
    WAY_MMSG,   /* sendmmsg() on the handle, 64 frames a call: what the live port does */
    WAY_LEAST,  /* the same with the least that a device must do: the payload copied with its CRC on
                   one side, a CRC and a copy on the other */
    WAY_RING,   /* PACKET_TX_RING: 64 frames a call, from memory shared with the kernel */
    WAY_BARE, /* the same, of a type that nobody takes: the link and a buffer of the kernel's. What
                 AF_XDP cannot save where it copies, as it does on veth and the loopback */
    WAY_SHARED, /* a ring in memory that both processes have; a copy and a CRC on each side */
    WAY_CNT
};

extern const char *const way_names[WAY_CNT];

/* Frames a second from the client to the server, which tells every 64 frames how far it is; RoCEv2
 * frames with a payload of `size` bytes, or ones of another Ethernet type, which the kernel's IP
 * does not look at. `fd`: a stream to the other side; `shared`: WAY_SHARED_LEN bytes in both. */
#define WAY_SHARED_LEN ((size_t)4 << 20)
double way_flood(enum way way, const char *iface, bool client, int fd, uint32_t size,
                 unsigned frames, bool roce, void *shared);

/* Seconds of a round trip of bare libpcap with the frames that the device has to send: in each
 * direction a WRITE of 8 bytes, and behind it the acknowledgement of the one it answers. Nobody
 * waits for the acknowledgements. */
double way_trips(const char *iface, bool client, int fd, unsigned trips);

#endif

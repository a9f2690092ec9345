/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram hosts: for each recorded address that receives UC or UD packets, one RNIC of ours. All
 * QPs of a host share its memory.
 */
#ifndef REPLAY_ENGINE_DGRAM_DGRAM_HOST_H
#define REPLAY_ENGINE_DGRAM_DGRAM_HOST_H

#include "device/rnic.h"
#include "engine/dgram/dgram_stream.h"
#include "infer/shadow_memory.h"

/* Maximum number of datagram hosts in a replay. */
#define DGRAM_HOSTS_MAX 256u

/* Recorded address that receives datagrams, and our RNIC in its place. */
struct dgram_host {
    uint8_t addr[16];
    enum roce_encap encap;
    uint8_t mac[6];     /* Ethernet address, set by dgram_host_open() */
    const char *failed; /* reason why our RNIC cannot replace this host, or NULL */
    struct shadow_memory memory;
    struct rnic *rnic; /* our RNIC, NULL before dgram_host_open() */
    struct rnic_pd *pd;
    struct rnic_cq *cq;
};

struct dgram_hosts {
    struct dgram_host host[DGRAM_HOSTS_MAX];
    size_t cnt;
};

/* Returns the host that receives the stream. Adds the host if necessary. For a multicast group,
 * the host is one member of the group. Returns NULL if there are already DGRAM_HOSTS_MAX hosts. */
struct dgram_host *dgram_hosts_find(struct dgram_hosts *hosts, const struct trace *trace,
                                    const struct dgram_stream *stream);
void dgram_hosts_close(struct dgram_hosts *hosts);

/* Adds to the host's memory the ranges that the WRITEs of the stream address. Returns 0, or -1 if
 * out of memory. */
int dgram_host_claim(struct dgram_host *host, const struct trace *trace,
                     const struct dgram_stream *stream);

/* Creates the host's RNIC with the addresses and the P_Key that the packets of the stream show.
 * Returns NULL, or the reason why the RNIC cannot be created. */
const char *dgram_host_open(struct dgram_host *host, const struct trace *trace,
                            const struct dgram_stream *stream);

#endif

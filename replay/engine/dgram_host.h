/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagram hosts: one RNIC of ours for each address that receives UC or UD packets, with the
 * memory that all its QPs share.
 */
#ifndef REPLAY_ENGINE_DGRAM_HOST_H
#define REPLAY_ENGINE_DGRAM_HOST_H

#include "device/rnic.h"
#include "infer/shadow_memory.h"
#include "engine/dgram_stream.h"

/* Limit of addresses. */
#define DGRAM_HOSTS_MAX 256u

/* One address with its RNIC. */
struct dgram_host {
    uint8_t addr[16];
    enum roce_encap encap;
    uint8_t mac[6];     /* once it is open */
    const char *failed; /* why it cannot be stood in for, or NULL */
    struct shadow_memory memory;
    struct rnic *rnic; /* NULL before dgram_host_open() */
    struct rnic_pd *pd;
    struct rnic_cq *cq;
};

struct dgram_hosts {
    struct dgram_host host[DGRAM_HOSTS_MAX];
    size_t cnt;
};

/* The host of a receiver's stream, a new one if need be; of a group, one of its members. NULL if
 * there are too many. */
struct dgram_host *dgram_hosts_find(struct dgram_hosts *hosts, const struct trace *trace,
                                    const struct dgram_stream *stream);
void dgram_hosts_close(struct dgram_hosts *hosts);

/* Its memory grows by what the WRITEs of the stream go to. Returns 0, or -1 without memory. */
int dgram_host_claim(struct dgram_host *host, const struct trace *trace,
                     const struct dgram_stream *stream);

/* Makes the RNIC, as the packets of the stream show it. NULL, or why it cannot be. */
const char *dgram_host_open(struct dgram_host *host, const struct trace *trace,
                            const struct dgram_stream *stream);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Record: what was exchanged in a closed loop (closed.h), as pcapng, seen at the requester: its
 * frames as it sent them, and those that reached it. What was done to a frame stands in a comment.
 * So the file looks like one captured at a host, and can be replayed and judged as one.
 */
#ifndef REPLAY_SIM_SIM_PCAP_H
#define REPLAY_SIM_SIM_PCAP_H

#include "base/error.h"
#include "capture/pcapng_writer.h"

struct sim_pcap {
    const char *path;
    struct pcapng_writer out;
    uint64_t base; /* added to the times: the connections follow each other */
    uint64_t last;
    bool failed;
};

/* 0, or -1 and an error. sim_pcap_close() is wanted in both cases. */
int sim_pcap_open(struct sim_pcap *pcap, const char *path, struct error *error);

/* 0, or -1 and an error if not all could be written. */
int sim_pcap_close(struct sim_pcap *pcap, struct error *error);

/* A frame; `note` is "" or what was done to it. NULL for `record` is fine. */
void sim_pcap_write(struct sim_pcap *pcap, uint64_t now, const uint8_t *data, size_t len,
                    const char *note);

/* The next frames are of another connection, whose times begin anew. */
void sim_pcap_next_conn(struct sim_pcap *pcap);

#endif

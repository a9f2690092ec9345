/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording of a closed loop as pcapng, seen at the requester: the frames that it sent, before the
 * link impaired them, and the frames that reached it. A comment says how a frame was impaired. The
 * file looks like a capture taken at that host and can be checked and replayed as one.
 *
 *   1. sim_pcap_open()
 *   2. sim_pcap_next_conn() before each connection, then sim_pcap_write() for its frames.
 *   3. sim_pcap_close()
 *
 * sim_pcap_write() and sim_pcap_next_conn() accept NULL, which records nothing.
 */
#ifndef REPLAY_SIM_SIM_PCAP_H
#define REPLAY_SIM_SIM_PCAP_H

#include "base/error.h"
#include "capture/pcapng_writer.h"

struct sim_pcap {
    const char *path;
    struct pcapng_writer out;
    uint64_t base; /* added to all times, so that connections follow each other */
    uint64_t last;
    bool failed;
};

/* Returns 0, or -1 and an error; sim_pcap_close() is needed in both cases. */
int sim_pcap_open(struct sim_pcap *pcap, const char *path, struct error *error);

/* Returns 0, or -1 and an error if not all could be written. */
int sim_pcap_close(struct sim_pcap *pcap, struct error *error);

/* Writes a frame; `note` says how it was impaired, or is "". */
void sim_pcap_write(struct sim_pcap *pcap, uint64_t now, const uint8_t *data, size_t len,
                    const char *note);

/* The next frames belong to another connection, whose times begin at 0. */
void sim_pcap_next_conn(struct sim_pcap *pcap);

#endif

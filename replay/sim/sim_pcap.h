/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recording of a closed loop as pcapng. The capture point is the requester: the file has the frames
 * that the requester sent, before the link impaired them, and the frames that reached the
 * requester. A packet comment names the impairments of a frame. `rocedrill check` and `rocedrill
 * replay` can read the file.
 *
 *   1. sim_pcap_open()
 *   2. sim_pcap_next_conn() before each connection, then sim_pcap_write() for its frames
 *   3. sim_pcap_close()
 *
 * sim_pcap_write() and sim_pcap_next_conn() do nothing if `pcap` is NULL.
 */
#ifndef REPLAY_SIM_SIM_PCAP_H
#define REPLAY_SIM_SIM_PCAP_H

#include "base/error.h"
#include "capture/pcapng_writer.h"

struct sim_pcap {
    const char *path;
    struct pcapng_writer out;
    uint64_t base; /* time added to all frame times, so that the connections follow each other in
                    * the file; ns */
    uint64_t last;
    bool failed;
};

/* Creates the file. Returns 0, or -1 and an error. Call sim_pcap_close() in both cases. */
int sim_pcap_open(struct sim_pcap *pcap, const char *path, struct error *error);

/* Closes the file. Returns 0, or -1 and an error if some frames could not be written. */
int sim_pcap_close(struct sim_pcap *pcap, struct error *error);

/* Writes a frame. `note` names its impairments, or is "". */
void sim_pcap_write(struct sim_pcap *pcap, uint64_t now, const uint8_t *data, size_t len,
                    const char *note);

/* Starts the next connection in the file. Times passed to sim_pcap_write() then begin at 0
 * again. */
void sim_pcap_next_conn(struct sim_pcap *pcap);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_pcap.h"

#include <errno.h>
#include <string.h>
#include "base/error.h"
#include "wire/pkt.h"

/* Pause between two connections in the file, ns. */
#define PAUSE_NS UINT64_C(1000000)

int sim_pcap_open(struct sim_pcap *pcap, const char *path, struct error *error)
{
    FILE *file = fopen(path, "wb");

    *pcap = (struct sim_pcap){.path = path};
    if (!file)
        return error_set(error, "%s: %s", path, strerror(errno));
    pcap->failed = pcapng_writer_begin(&pcap->out, file, PCAPNG_LINKTYPE_ETHERNET, ROCE_FRAME_MAX,
                                       "RoCEdrill") != 0;
    pcap->out.file = file;
    return 0;
}

int sim_pcap_close(struct sim_pcap *pcap, struct error *error)
{
    bool failed = pcap->failed;

    if (!pcap->out.file)
        return 0;
    failed |= fclose(pcap->out.file) != 0;
    pcap->out.file = NULL;
    pcapng_writer_free(&pcap->out);
    return failed ? error_set(error, "%s: cannot be written", pcap->path) : 0;
}

void sim_pcap_write(struct sim_pcap *pcap, uint64_t now, const uint8_t *data, size_t len,
                    const char *note)
{
    struct pcapng_frame frame;

    if (!pcap)
        return;
    pcap->last = pcap->base + now;
    frame = (struct pcapng_frame){.time = pcap->last,
                                  .data = data,
                                  .cap_len = (uint32_t)len,
                                  .wire_len = (uint32_t)len,
                                  .comment = &note,
                                  .comment_cnt = note[0] != '\0'};
    pcap->failed |= pcapng_writer_frame(&pcap->out, &frame) != 0;
}

void sim_pcap_next_conn(struct sim_pcap *pcap)
{
    if (pcap)
        pcap->base = pcap->last + PAUSE_NS;
}

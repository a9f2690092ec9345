/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_pcap.h"

#include <errno.h>
#include <string.h>
#include "wire/pkt.h"

#define LINKTYPE_ETHERNET 1u

/* Between two connections. */
#define PAUSE_NS UINT64_C(1000000)

int record_open(struct record *record, const char *path, struct fault *fault)
{
    FILE *file = fopen(path, "wb");

    *record = (struct record){.path = path};
    if (!file)
        return fault_set(fault, "%s: %s", path, strerror(errno));
    record->failed =
        pcapng_begin(&record->out, file, LINKTYPE_ETHERNET, ROCE_FRAME_MAX, "RoCEdrill") != 0;
    record->out.file = file;
    return 0;
}

int record_close(struct record *record, struct fault *fault)
{
    bool failed = record->failed;

    if (!record->out.file)
        return 0;
    failed |= fclose(record->out.file) != 0;
    record->out.file = NULL;
    return failed ? fault_set(fault, "%s: cannot be written", record->path) : 0;
}

void record_frame(struct record *record, uint64_t now, const uint8_t *data, size_t len,
                  const char *note)
{
    struct pcapng_frame frame;

    if (!record)
        return;
    record->last = record->base + now;
    frame = (struct pcapng_frame){
        .time = record->last, .data = data, .cap_len = (uint32_t)len, .wire_len = (uint32_t)len};
    record->failed |= pcapng_write(&record->out, &frame, &note, note[0] != '\0') != 0;
}

void record_next(struct record *record)
{
    if (record)
        record->base = record->last + PAUSE_NS;
}

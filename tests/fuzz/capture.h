/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The input of fuzz targets that read whole captures: a pcap file, like those in traces/.
 * fuzz_capture() copies the frames of the input to a well-formed pcap file with valid record
 * headers. So the reader accepts the file, and only the frames are unusual.
 *
 * A file that includes this header must define _GNU_SOURCE first.
 */
#ifndef FUZZ_CAPTURE_H
#define FUZZ_CAPTURE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fuzz.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define FUZZ_CAPTURE_FRAMES 400u
#define FUZZ_CAPTURE_HEAD   24u
#define FUZZ_CAPTURE_RECORD 16u

/* Corrects the ICRC of a complete frame, so that it is not dropped. Leaves one of four frames
 * unchanged (if `dice` % 4 is 3). */
static inline void fuzz_capture_mend(uint8_t *frame, uint32_t cap_len, uint32_t wire_len,
                                     uint32_t dice)
{
    struct roce_pkt pkt;
    uint32_t icrc;

    if (dice % 4 != 3 && cap_len == wire_len &&
        roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, cap_len, wire_len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD && pkt.icrc_off + 4 <= cap_len)
        roce_le32_put(frame + pkt.icrc_off, icrc);
}

/* Creates a file in memory, which disappears when it is closed. Returns its descriptor, and sets
 * `path` to a path by which it can be opened. */
static inline int fuzz_memfile(const char *name, char path[64])
{
    int fd = memfd_create(name, 0);

    FUZZ_CHECK(fd >= 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* Writes the input as a pcap file in memory, with at most `snaplen` captured bytes of each frame.
 * The input must have at least the length of a file header and a record header. Returns the
 * descriptor, and sets `path` to a path by which the file can be opened. */
static inline int fuzz_capture(const uint8_t *data, size_t size, uint32_t snaplen, char path[64])
{
    static const uint8_t head[FUZZ_CAPTURE_HEAD] = {0xD4, 0xC3, 0xB2, 0xA1,     2,
                                                    0,    4,    0,    [18] = 4, [20] = 1};
    int fd = fuzz_memfile("capture", path);
    size_t at = FUZZ_CAPTURE_HEAD;

    FUZZ_CHECK(write(fd, head, sizeof(head)) == (ssize_t)sizeof(head));
    for (unsigned i = 0; i < FUZZ_CAPTURE_FRAMES && at + FUZZ_CAPTURE_RECORD < size; i++) {
        uint8_t record[FUZZ_CAPTURE_RECORD + ROCE_FRAME_MAX], *frame = record + FUZZ_CAPTURE_RECORD;
        uint32_t cap = roce_le32_get(data + at + 8), len = roce_le32_get(data + at + 12), kept;
        size_t left = size - at - FUZZ_CAPTURE_RECORD;

        if (cap > ROCE_FRAME_MAX)
            cap %= ROCE_FRAME_MAX;
        if (cap > left)
            cap = (uint32_t)left;
        if (len < cap || len > 65535)
            len = cap;
        kept = cap < snaplen ? cap : snaplen;
        memcpy(record, data + at, FUZZ_CAPTURE_RECORD + cap);
        roce_le32_put(record + 4, roce_le32_get(record + 4) % 1000000);
        roce_le32_put(record + 8, kept);
        roce_le32_put(record + 12, len);
        fuzz_capture_mend(frame, cap, len, roce_le32_get(record + 4));
        FUZZ_CHECK(write(fd, record, FUZZ_CAPTURE_RECORD + kept) ==
                   (ssize_t)(FUZZ_CAPTURE_RECORD + kept));
        at += FUZZ_CAPTURE_RECORD + cap;
    }
    return fd;
}

#endif

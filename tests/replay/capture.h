/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Capture: a capture under construction: frames with times, to be written to a temporary pcap file
 * and replayed from there.
 */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stdint.h>
#include "report/report.h"

struct capture_frame {
    uint8_t *data;
    uint32_t len;
    uint32_t wire_len; /* 0: the same */
    uint64_t time;     /* ns */
};

struct capture {
    struct capture_frame *frame;
    size_t cnt;
    size_t cap;
};

void capture_free(struct capture *capture);

/* Appends a copy of the frame, or puts it in the place of frame `at` (0 is the first). */
void capture_add(struct capture *capture, const uint8_t *data, size_t len, uint64_t time);
void capture_put(struct capture *capture, size_t at, const uint8_t *data, size_t len);

/* Reads a capture file; false if it cannot be read. */
bool capture_load(struct capture *capture, const char *path);

/* Writes to a new temporary file and replays it; see replay_run(). The file is gone afterwards. */
int capture_replay(const struct capture *capture, const struct replay_options *options,
                   struct replay *replay, struct error *error);

/* Writes it to a file, for somebody to look at. */
void capture_keep(const struct capture *capture, const char *path);

/* A temporary file with these bytes; the caller unlinks it and frees its name. */
char *capture_temp(const void *bytes, size_t len);

/* Whether the comparison has a difference (not a known deviation) in this frame (1 is the first),
 * in `field` unless that is NULL. */
bool capture_differs(const struct replay *replay, uint32_t frame, const char *field);

#endif

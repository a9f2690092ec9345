/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Capture: a list of frames with timestamps. A test builds the list, writes it to a temporary pcap
 * file, and replays the file.
 */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <stdint.h>
#include "report/report.h"

struct capture_frame {
    uint8_t *data;
    uint32_t len;
    uint32_t wire_len; /* length on the wire in bytes; 0 if equal to `len` */
    uint64_t time;     /* timestamp in ns */
};

struct capture {
    struct capture_frame *frame;
    size_t cnt;
    size_t cap;
};

void capture_free(struct capture *capture);

/* capture_add() appends a copy of the frame. capture_put() replaces frame number `at`, counted
 * from 0, by a copy. */
void capture_add(struct capture *capture, const uint8_t *data, size_t len, uint64_t time);
void capture_put(struct capture *capture, size_t at, const uint8_t *data, size_t len);

/* Reads a capture file. Returns false if the file cannot be read. */
bool capture_load(struct capture *capture, const char *path);

/* Writes the capture to a temporary file and replays the file. Deletes the file. Returns the
 * result of replay_run(). */
int capture_replay(const struct capture *capture, const struct replay_options *options,
                   struct replay *replay, struct error *error);

/* Writes the capture to a file and keeps the file, so that a developer can examine it. */
void capture_keep(const struct capture *capture, const char *path);

/* Creates a temporary file with these bytes and returns its path. The caller unlinks the file
 * and frees the path. */
char *capture_temp(const void *bytes, size_t len);

/* Returns whether the comparison of responses found a difference in frame number `frame`,
 * counted from 1. Known deviations do not count. If `field` is not NULL, the difference must be
 * in that field. */
bool capture_differs(const struct replay *replay, uint32_t frame, const char *field);

#endif

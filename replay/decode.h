/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Decode: prints every RoCE frame of a capture. For each frame, prints one line, or every field of
 * every header, or one JSON object.
 */
#ifndef REPLAY_DECODE_H
#define REPLAY_DECODE_H

#include <stdio.h>
#include "base/error.h"
#include "capture/capture_reader.h"

struct decode_options {
    bool verbose;                /* after the line of a frame, print every field of its headers */
    FILE *text;                  /* output of text, or NULL */
    FILE *json;                  /* output of JSON, or NULL */
    const struct narrow *narrow; /* selected frames; NULL: all */
};

/* Decodes a capture. Returns 0, or -1 and an error. If a frame cannot be read, the frames before it
 * have already been printed. */
int decode_file(const char *path, const struct decode_options *options, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Decode: every RoCE frame of a capture in words: one line a frame, or every field of every header,
 * or one JSON object a frame.
 */
#ifndef REPLAY_DECODE_H
#define REPLAY_DECODE_H

#include <stdio.h>
#include "base/error.h"
#include "capture/capture_reader.h"

struct decode_options {
    bool verbose; /* every field, below the line */
    FILE *text;   /* or NULL */
    FILE *json;   /* or NULL */
};

/* 0, or -1 and an error; what came before a broken frame has been printed then. */
int decode_file(const char *path, const struct decode_options *options, struct error *error);

#endif

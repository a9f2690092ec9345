/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report, the streams of UC and UD: the part of report.h that tells what stream.h found.
 */
#ifndef REPLAY_REPORT_REPORT_STREAM_H
#define REPLAY_REPORT_REPORT_STREAM_H

#include <jansson.h>
#include <stdio.h>
#include "engine/dgram_stream.h"
#include "util/strbuf.h"

/* "192.0.2.1 → 192.0.2.2 QP 0x000011" and the like: what belongs together in it. */
void report_stream_ends(struct strbuf *text, const struct dgram_stream *stream);

/* `brief`: one line if it holds. */
void report_stream_text(FILE *out, const struct dgram_streams *streams, uint32_t idx, bool brief);

/* A new reference, or NULL without memory. */
json_t *report_stream_json(const struct dgram_streams *streams, uint32_t idx);

#endif

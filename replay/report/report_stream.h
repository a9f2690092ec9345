/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Report of UC and UD streams: the part of a replay report with the results of
 * engine/dgram/dgram_stream.h.
 */
#ifndef REPLAY_REPORT_REPORT_STREAM_H
#define REPLAY_REPORT_REPORT_STREAM_H

#include <jansson.h>
#include <stdio.h>
#include "engine/dgram/dgram_stream.h"
#include "util/strbuf.h"

/* Appends the ends of a stream, such as "192.0.2.1 → 192.0.2.2 QP 0x000011". */
void report_stream_ends(struct strbuf *text, const struct dgram_stream *stream);

/* Prints the results of a stream. With `brief`, prints only one line if the stream has no
 * difference. */
void report_stream_text(FILE *out, const struct dgram_streams *streams, uint32_t idx, bool brief);

/* Returns the results of a stream as JSON, or NULL if out of memory. The caller releases it. */
json_t *report_stream_json(const struct dgram_streams *streams, uint32_t idx);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ahead: reads a capture, parses its packets and computes their ICRC in a thread of its own, some
 * batches ahead of who judges them, so that reading and judging share the work between two cores.
 * Memory is that of a few batches. Where no thread can be had, the same happens in the caller.
 */
#ifndef REPLAY_CHECK_AHEAD_H
#define REPLAY_CHECK_AHEAD_H

#include "flow/glance.h"
#include "source.h"

struct ahead_item {
    int parsed; /* of roce_pkt_parse() */
    enum roce_icrc_status icrc;
    struct roce_glance glance;
    struct source_frame frame; /* `record` is as `data` */
    struct roce_pkt pkt;       /* points into frame.data */
};

struct ahead;

/* Starts to read; `icrc`: ICRCs are to be computed, else all are UNVERIFIED. Nobody else may use
 * the source (but for source_name() and source_progress()) until ahead_del(). NULL without memory.
 */
struct ahead *ahead_new(struct source *source, bool icrc);

/* The next frames, valid until the next call. 1; 0 at the end; -1 and a fault for a broken file,
 * after all frames before it. */
int ahead_next(struct ahead *ahead, const struct ahead_item **items, unsigned *cnt,
               struct fault *fault);

void ahead_del(struct ahead *ahead); /* NULL is fine; stops reading wherever it is */

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations of the tables: which frame starts one, which operations a frame completes, and what
 * memory a request accesses. Completions and latencies are those of rnic/flow. Only the frames of
 * the tap count, so that a display filter takes effect.
 */
#ifndef PLUGIN_SRT_H
#define PLUGIN_SRT_H

#include "ws_compat.h"
#include "analysis_store.h"

/* Calls `done` for each operation that the frame completes. */
void roce_srt_packet(const struct roce_tap *tap, const packet_info *pinfo,
                     void (*done)(void *user, const struct roce_flow_done *done), void *user);

/* Returns true if the frame starts a new operation: it is not a retransmission. */
bool roce_srt_starts_op(const struct roce_tap *tap);

/* Returns the length of remote memory that a READ, WRITE or atomic accesses, bytes; 0 for others.
 */
uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt);

#endif

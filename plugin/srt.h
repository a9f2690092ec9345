/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations, for the statistics tables: detects whether a frame starts an operation, which
 * operations a frame completes, and how much memory a request accesses. rnic/flow determines
 * completions and latencies. Only frames that the tap receives are counted, so a display filter
 * affects the tables.
 */
#ifndef PLUGIN_SRT_H
#define PLUGIN_SRT_H

#include "ws_compat.h"
#include "analysis_store.h"

/* Calls `done` for each operation that the frame completes. */
void roce_srt_packet(const struct roce_tap *tap, const packet_info *pinfo,
                     void (*done)(void *user, const struct roce_flow_done *done), void *user);

/* Returns true if the frame is the first packet of a new operation, not a retransmission. */
bool roce_srt_starts_op(const struct roce_tap *tap);

/* Returns how many bytes of remote memory a READ, WRITE or atomic request accesses; 0 for other
 * packets. */
uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt);

#endif

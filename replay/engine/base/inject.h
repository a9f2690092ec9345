/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inject: passes a recorded frame to an RNIC as if the frame had arrived from the network.
 */
#ifndef REPLAY_ENGINE_BASE_INJECT_H
#define REPLAY_ENGINE_BASE_INJECT_H

#include "device/rnic.h"
#include "infer/trace.h"

/* Sets `dst` and `src` to the Ethernet addresses of a packet. If the capture has no Ethernet
 * headers, the responder has the address 02:...:02 and the requester 02:...:01. */
void inject_macs(const struct trace_packet *p, uint8_t dst[6], uint8_t src[6]);

/* Writes the frame with an Ethernet header to `buf`, which has room for ROCE_FRAME_MAX bytes.
 * Returns the length of the frame, or 0 if the frame is too long. */
size_t inject_frame(const struct trace_packet *p, uint8_t *buf);

/* Passes a recorded frame to the RNIC. Adds an Ethernet header if the capture has none; all
 * other bytes are unchanged. */
void inject(struct rnic *rnic, const struct trace_packet *p, rnic_time now);

#endif

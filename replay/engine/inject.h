/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Inject: passes a recorded frame to an RNIC as if it came from the wire.
 */
#ifndef REPLAY_ENGINE_INJECT_H
#define REPLAY_ENGINE_INJECT_H

#include "device/rnic.h"
#include "infer/trace.h"

/* Returns the Ethernet addresses of a packet. A capture without Ethernet gets 02:...:02 for the
 * responder and 02:...:01 for the requester. */
void inject_macs(const struct trace_packet *p, uint8_t dst[6], uint8_t src[6]);

/* Writes the frame with an Ethernet header to `buf` of ROCE_FRAME_MAX bytes. Returns its length,
 * or 0 if it is too long. */
size_t inject_frame(const struct trace_packet *p, uint8_t *buf);

/* Passes the frame to the RNIC unchanged, with an Ethernet header if the capture has none. */
void inject(struct rnic *rnic, const struct trace_packet *p, rnic_time now);

#endif

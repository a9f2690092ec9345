/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Feed: a recorded frame is given to an RNIC as if it came from the wire.
 */
#ifndef REPLAY_ENGINE_INJECT_H
#define REPLAY_ENGINE_INJECT_H

#include "device/rnic.h"
#include "infer/trace.h"

/* The Ethernet addresses of a packet; those of a capture without them are made up: 02:...:02 for
 * the responder, 02:...:01 for the requester. */
void inject_macs(const struct trace_packet *p, uint8_t dst[6], uint8_t src[6]);

/* The frame as our RNIC takes it, in `buf` of ROCE_FRAME_MAX bytes: with an Ethernet header. Its
 * length, or 0 if it is too long. */
size_t inject_frame(const struct trace_packet *p, uint8_t *buf);

/* Gives the frame to the RNIC, byte for byte. One captured without Ethernet header gets one. */
void inject(struct rnic *rnic, const struct trace_packet *p, rnic_time now);

#endif

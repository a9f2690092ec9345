/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recorded peer: replaces a simulated RNIC. It sends the frames that one endpoint sent in the
 * capture, unchanged and at their times, and does not react to any packet. rc_loop.c calls these
 * functions:
 *
 *   1. recorded_peer_init() lists the frames.
 *   2. recorded_peer_due() returns the time of the next frame, recorded_peer_next() builds it.
 *   3. recorded_peer_free()
 */
#ifndef REPLAY_SIM_RECORDED_PEER_H
#define REPLAY_SIM_RECORDED_PEER_H

#include "infer/infer_setup.h"

struct recorded_peer_frame {
    uint32_t step; /* index into setup.event: the frame of this packet is sent */
    uint32_t when; /* index into setup.event: the frame is sent at the time of this packet. It
                    * differs from `step` if the responder executed a request before the request was
                    * captured */
    size_t order;
};

/* List of recorded frames. A zero-initialised list sends no frames. */
struct recorded_peer {
    const struct inferred_setup *setup;
    struct recorded_peer_frame *frame; /* frames in the order of sending */
    size_t cnt;
    size_t next;
};

/* Lists the frames to send. If `fate` is NULL, they are the requests that reached the recorded
 * responder. Otherwise they are the responses that the recorded requester accepted; `fate` has the
 * enum resp_outcome of each event. Returns 0, or -1 if out of memory. Call recorded_peer_free() in
 * both cases. */
int recorded_peer_init(struct recorded_peer *recorded, const struct inferred_setup *setup,
                       const uint8_t *fate);
void recorded_peer_free(struct recorded_peer *recorded);

/* Returns the time of the next frame, ns since the first packet of the connection, or UINT64_MAX
 * if no frame is left. */
uint64_t recorded_peer_due(const struct recorded_peer *recorded);

/* Writes the next frame to `buf` of ROCE_FRAME_MAX bytes. Returns its length, or 0 if the frame
 * cannot be sent. Must not be called if no frame is left. */
size_t recorded_peer_next(struct recorded_peer *recorded, uint8_t *buf);

#endif

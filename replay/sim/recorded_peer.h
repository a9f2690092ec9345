/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recorded peer: sends the frames that one endpoint sent in the capture, unchanged and at their
 * times, in place of a simulated RNIC. It reacts to nothing. rc_loop.c calls it:
 *
 *   1. recorded_peer_init() lists the frames.
 *   2. recorded_peer_due() is the time of the next one, recorded_peer_next() builds it.
 *   3. recorded_peer_free()
 */
#ifndef REPLAY_SIM_RECORDED_PEER_H
#define REPLAY_SIM_RECORDED_PEER_H

#include "infer/infer_setup.h"

struct recorded_peer_frame {
    uint32_t step; /* event whose frame it is */
    uint32_t when; /* event at which it is sent; differs for requests that were executed but not
                      captured in time */
    size_t order;
};

/* A peer that is all zero sends nothing. */
struct recorded_peer {
    const struct inferred_setup *setup;
    struct recorded_peer_frame *frame; /* in the order of sending */
    size_t cnt;
    size_t next;
};

/* Lists the requests that reached the recorded responder; or, if `fate` is not NULL, the
 * responses that the recorded requester took (fate of each event). Returns 0, or -1 if there is
 * no memory; recorded_peer_free() is needed in both cases. */
int recorded_peer_init(struct recorded_peer *recorded, const struct inferred_setup *setup,
                       const uint8_t *fate);
void recorded_peer_free(struct recorded_peer *recorded);

/* Returns when the next frame is sent, ns from the first packet of the connection; UINT64_MAX:
 * none is left. */
uint64_t recorded_peer_due(const struct recorded_peer *recorded);

/* Writes the next frame to `buf` of ROCE_FRAME_MAX bytes. Returns its length, or 0 if it cannot
 * be sent. A frame must be left. */
size_t recorded_peer_next(struct recorded_peer *recorded, uint8_t *buf);

#endif

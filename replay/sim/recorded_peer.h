/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Recorded end: what one end of a connection sent, byte for byte and at the times of the capture,
 * for a loop (closed.h) in which it stands where our RNIC else would. It reacts to nothing.
 */
#ifndef REPLAY_SIM_RECORDED_PEER_H
#define REPLAY_SIM_RECORDED_PEER_H

#include "infer/infer_setup.h"

struct recorded_peer_frame {
    uint32_t step; /* whose frame it is */
    uint32_t when; /* step at which it is sent: the same, but for a struct ahead */
    size_t order;
};

/* All zero is an end that is not recorded. */
struct recorded_peer {
    const struct inferred_setup *setup;
    struct recorded_peer_frame *frame; /* in the order in which they are sent */
    size_t cnt;
    size_t next;
};

/* The requests that reached the recorded responder; or, if `fate` is not NULL, the answers that the
 * recorded requester took: enum answer_fate for each step, of post.h. 0, or -1 without memory.
 * recorded_peer_free() is wanted in both cases. */
int recorded_peer_init(struct recorded_peer *recorded, const struct inferred_setup *setup,
                       const uint8_t *fate);
void recorded_peer_free(struct recorded_peer *recorded);

/* When the next frame is sent, in ns from the first of the connection; UINT64_MAX: no more. */
uint64_t recorded_peer_due(const struct recorded_peer *recorded);

/* Takes it: an Ethernet frame in `buf`, of ROCE_FRAME_MAX bytes. Its length, or 0 for one that
 * cannot be sent. There is one. */
size_t recorded_peer_next(struct recorded_peer *recorded, uint8_t *buf);

#endif

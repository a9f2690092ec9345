/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Equivalence: decides whether an altered capture that replays without a difference is in fact
 * correct, because a conformant device may have sent exactly that. Further replays decide this,
 * never a list made by hand.
 */
#ifndef TESTS_REPLAY_ENGINE_EQUIVALENCE_H
#define TESTS_REPLAY_ENGINE_EQUIVALENCE_H

#include <stdint.h>
#include "alteration.h"

/* Reasons why an altered capture is correct; WRONG if there is none. */
enum equivalence {
    WRONG,
    /* The altered bytes, count or number are the first in the capture that reveal the device's
     * state. Our RNIC sends exactly this packet if set up from the altered capture, but not if set
     * up from the original. Or the altered request is no longer a retransmission but the first
     * packet of its PSN, which shows what was posted. */
    FIRST_TOLD,
    /* The packet has a wrong ICRC now, as any link may cause. The receiver drops the packet, and no
     * other frame proves that it was not lost. */
    DAMAGED,
    /* The altered answer is an ACK for a PSN that had arrived, with the matching MSN. A responder
     * may send such an ACK at any time (R099, R100; 9.7.7.2 for its newest). Either it covers the
     * original answer, or no other frame proves that the original was not lost. */
    FREE_ACK,
    /* A requester that goes back further than necessary has not received all answers. Without the
     * answers that it cannot have received, the altered capture passes too, and no further answer
     * is missing. */
    NOT_GOT,
    /* Our RNIC sends exactly this NAK if another request is lost after the capture point than in
     * the original. Only the answers show which requests are lost there. */
    OTHER_LOST,
    /* The altered capture equals a correct one that lacks one frame, a retransmitted request. With
     * a copy of that request inserted, the answer is judged and everything passes. */
    LACKS_ONE,
    EQUIVALENCE_CNT
};

/* A capture whose packets are altered one at a time. */
struct subject {
    const char *name, *peer;
    struct capture capture, original;
    char setup[64]; /* path of the setup file dumped from the original capture */
    bool *lost;     /* result of equivalence_lost() for the original, one entry per frame */
};

/* Returns the name of the reason, such as "first told". */
const char *equivalence_name(enum equivalence equivalence);

/* Returns why the alteration of this frame is correct, or WRONG. `altered` is the replay of
 * subject->capture, which found no difference. */
enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind);

/* Returns an array with an entry for each of `cnt` frames. An entry is true if the frame is a
 * request that was lost after the capture point, as the answers show. The caller frees the array.
 * Returns NULL if out of memory. */
bool *equivalence_lost(const struct replay *replay, size_t cnt);

#endif

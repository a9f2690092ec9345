/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Equivalence: decides whether an altered capture that replays without a difference is correct,
 * because a conformant device may have sent these packets. Further replays decide this question,
 * not a list made by hand.
 */
#ifndef TESTS_REPLAY_ENGINE_EQUIVALENCE_H
#define TESTS_REPLAY_ENGINE_EQUIVALENCE_H

#include <jansson.h>
#include <stdint.h>
#include "alteration.h"

/* Reasons why an altered capture is correct. WRONG: there is no reason. */
enum equivalence {
    WRONG,
    /* FIRST_TOLD: the altered bytes, count or number are the first in the capture that reveal the
     * device's state. The software RNIC sends exactly this packet if set up from the altered
     * capture, and replay infers another setup from the original. An altered request that becomes
     * the first packet with its PSN also counts, because replay infers the posted work request from
     * it. */
    FIRST_TOLD,
    /* The packet now has a wrong ICRC, as any link may cause. The receiver drops the packet, and no
     * other frame proves that the packet was received. */
    DAMAGED,
    /* The altered response is an ACK with the right MSN, for a PSN that had arrived. A responder
     * may send such an ACK at any time (R099, R100; 9.7.7.2). The altered ACK covers the original
     * response, or no other frame proves that the original was received. */
    FREE_ACK,
    /* The altered response answers a READ or atomic of which several copies were captured, and its
     * MSN counts no more messages than were sent. The responder counts the messages executed until
     * the copy arrives that it answers, and no other frame shows when that copy arrived. */
    FREE_MSN,
    /* A requester that goes back further than necessary has not received all responses. The
     * altered capture also passes without the responses that the requester cannot have received,
     * and no further response is missing. */
    NOT_GOT,
    /* The software RNIC sends exactly this NAK if another request than in the original was lost
     * behind the capture point. Only the responses show which requests were lost there. */
    OTHER_LOST,
    /* The altered capture equals a correct capture without one frame, a retransmitted request.
     * With a copy of that request, the response is compared and the capture passes. */
    LACKS_ONE,
    /* A retransmission has other bytes than the first transmission. A requester reads its buffer
     * again, so the program may have changed the bytes. The replay counts such retransmissions. */
    BUFFER,
    /* The altered answer has a PSN before the first captured request. It may answer a request from
     * before the capture. */
    BEFORE,
    /* The altered answer is a known deviation of the recorded device, which --quirks names. */
    KNOWN,
    EQUIVALENCE_CNT
};

/* Capture whose packets are altered one at a time. */
struct subject {
    const char *name, *peer;
    struct capture capture, original;
    json_t *setup; /* what equivalence_setup() returned for `original` */
    bool *lost;    /* result of equivalence_lost() for the original, one element for each frame */
};

/* Returns the setup that a replay with a memory log inferred, without its figures for readers. The
 * caller releases it with json_decref(). */
json_t *equivalence_setup(const struct replay *replay);

/* Returns the name of the reason, such as "first told". */
const char *equivalence_name(enum equivalence equivalence);

/* Returns the reason why the alteration of a frame is correct, or WRONG. `altered` is the replay
 * of subject->capture, which found no difference. */
enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind);

/* Returns an array with one element for each of `cnt` frames. An element is true if the
 * responses show that the frame is a request lost behind the capture point. The caller frees the
 * array. Returns NULL if out of memory. */
bool *equivalence_lost(const struct replay *replay, size_t cnt);

#endif

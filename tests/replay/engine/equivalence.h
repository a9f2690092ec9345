/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Equivalence: an altered capture may replay without a difference. These functions decide whether
 * it is correct, because a conformant device could have sent these packets. Further replays decide
 * this, not a list made by hand.
 */
#ifndef TESTS_REPLAY_ENGINE_EQUIVALENCE_H
#define TESTS_REPLAY_ENGINE_EQUIVALENCE_H

#include <jansson.h>
#include <stdint.h>
#include "alteration.h"

/* Reasons why an altered capture is correct. WRONG: there is no reason. */
enum equivalence {
    WRONG,
    /* FIRST_TOLD: the altered packet is the first one in the capture that reveals a value of the
     * device's state, such as a byte of memory. The replay infers that value from it. If the
     * software RNIC is set up from the altered capture, it therefore sends exactly this packet, and
     * the setup differs from that of the original. An altered request that becomes the first packet
     * with its PSN also counts, because the replay infers the posted work request from it. */
    FIRST_TOLD,
    /* The packet now has a wrong ICRC, as any link may cause. The receiver drops the packet, and no
     * other frame proves that the receiver had accepted it. */
    DAMAGED,
    /* The altered response is an ACK with the right MSN, for a PSN that had arrived. A responder is
     * allowed to send such an ACK at any time (R099, R100; 9.7.7.2). The altered ACK covers the
     * original response, or no other frame proves that the original was received. */
    FREE_ACK,
    /* The altered response answers a READ or atomic of which several copies were captured, and its
     * MSN counts no more messages than were sent. The responder counts the messages executed until
     * the copy arrives that it answers, and no other frame shows when that copy arrived. */
    FREE_MSN,
    /* The altered request makes the requester go back further than necessary. A requester goes back
     * that far if it did not receive some responses: the altered capture also passes without these
     * responses, and no further response is missing. Or responses captured before the next request
     * acknowledge the requests that the requester then skips, so the requester received these
     * responses late. */
    NOT_GOT,
    /* The software RNIC sends exactly this NAK if another request than in the original was lost
     * after the capture point. Only the responses show which requests were lost there. Or the NAKed
     * request, the unacknowledged requests before it and a later request were captured before the
     * NAK, and no earlier response contradicts the NAK. */
    OTHER_LOST,
    /* The altered capture could also be a correct capture in which one retransmitted request was
     * not captured. With a copy of it, the response is compared, and the capture passes. */
    LACKS_ONE,
    /* A retransmission now has other bytes than the first transmission. A requester reads its
     * buffer again for a retransmission, so the program may have changed the bytes. The replay
     * counts such retransmissions. */
    BUFFER,
    /* The altered response has a PSN before the first captured request. It may answer a request
     * from before the capture. Or it is a READ response Middle or Last at the PSN of the first
     * captured request. That request may be for only the tail of a READ from before the capture. */
    BEFORE,
    /* The altered packet is a known deviation of the recorded device, which --quirks names. */
    KNOWN,
    /* The altered request follows a fatal NAK, which stops both QPs, and differs from the earlier
     * request with its PSN. So the program may have reset the two QPs and connected them again, to
     * send other requests. No CM message and no response shows the contrary. */
    NEW_USE,
    /* The altered response equals another response to the same executed READ or atomic, so a
     * responder sends it for a copy of that request. The network may have made the copy after the
     * capture point. The order of the responses does not contradict its MSN. */
    COPY,
    /* Apart from the altered response, at most one packet was sent to its QP. Without CM messages,
     * the replay pairs two QPs by the packets sent to them. So no packet shows which connection
     * this response belongs to. */
    UNPAIRED,
    EQUIVALENCE_CNT
};

/* Capture whose packets are altered one at a time. */
struct subject {
    const char *name, *peer;
    struct capture capture, original;
    json_t *setup; /* result of equivalence_setup() for the original */
    bool *lost;    /* result of equivalence_lost() for the original, one element for each frame */
};

/* Returns the setup that a replay with a memory log inferred, without those members that only
 * reports use. The caller releases it with json_decref(). */
json_t *equivalence_setup(const struct replay *replay);

/* Returns the name of the reason, such as "first told". */
const char *equivalence_name(enum equivalence equivalence);

/* Returns the reason why the alteration of a frame is correct, or WRONG. `altered` is the replay
 * of subject->capture, which found no difference. */
enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind);

/* Returns an array with one element for each of `cnt` frames. An element is true if the frame is a
 * request that, as the responses show, was lost after the capture point. The caller frees the
 * array. Returns NULL if out of memory. */
bool *equivalence_lost(const struct replay *replay, size_t cnt);

#endif

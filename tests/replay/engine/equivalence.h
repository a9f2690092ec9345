/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Equivalence: whether an altered capture that replays without a difference is right: a conformant
 * device may have sent just that. It is found out by replaying once more, never listed by hand.
 */
#ifndef TESTS_REPLAY_ENGINE_EQUIVALENCE_H
#define TESTS_REPLAY_ENGINE_EQUIVALENCE_H

#include <stdint.h>
#include "alteration.h"

/* Why an altered capture is right. */
enum equivalence {
    WRONG,
    /* Its bytes, count or number are the first that tell what the device had: our RNIC, set up as
     * the altered capture shows, sends just that, and set up as the original shows it does not. Or
     * it is no repetition now, but the first of its PSN: it tells what was posted. */
    FIRST_TOLD,
    /* It has a wrong ICRC now, which any link may do to it: the receiver drops it, and nothing in
     * the rest says that it was not lost. */
    DAMAGED,
    /* An ACK in the place of the answer, of a PSN that had arrived and with the MSN that belongs to
     * it: a responder may send one at any time (R099, R100; 9.7.7.2 for its newest). It covers the
     * answer that was there, or nothing in the rest says that this one was not lost. */
    FREE_ACK,
    /* A requester that goes back further than it has to has not got all answers: without those that
     * it cannot have got the altered capture holds too, and lacks no other. */
    NOT_GOT,
    /* A NAK that our RNIC sends just so where another request is lost behind the capture point than
     * in the original: which are, only answers tell. */
    OTHER_LOST,
    /* What a right capture looks like that lacks one frame, a request which the requester sent once
     * more: with that the answer is judged, and everything holds. */
    LACKS_ONE,
    EQUIVALENCE_CNT
};

/* A capture while its packets are altered. */
struct subject {
    const char *name, *peer;
    struct capture capture, original;
    char setup[64]; /* the file that says what its devices had */
    bool *lost;     /* for each frame of the original: equivalence_lost() */
};

/* "first told" and so on. */
const char *equivalence_name(enum equivalence equivalence);

/* Why the alteration of this frame is right, or WRONG. `altered` is the replay of subject->capture,
 * without a difference. */
enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind);

/* For each frame, of `cnt`: whether it is a request that, as the answers show, is lost behind the
 * capture point. The caller frees it; NULL without memory. */
bool *equivalence_lost(const struct replay *replay, size_t cnt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Diff: one difference between what the capture recorded and what our RNIC did, and the verdicts.
 *
 * Everywhere in the program, `expected` is what the capture recorded and `actual` is what our RNIC
 * did. The capture is the reference: if it was altered, or if the recorded device is wrong, that
 * still appears as a difference of our RNIC.
 */
#ifndef REPLAY_ENGINE_DIFF_H
#define REPLAY_ENGINE_DIFF_H

#include <stddef.h>
#include <stdint.h>

struct peer_quirk;

/* Frames with differences that are listed for one direction. Further ones are only counted, because
 * they follow from the first. */
#define DIFFS_MAX 16

/* Result for one packet of the capture. */
enum event_mark {
    MARK_NONE, /* not compared */
    MARK_OK,
    MARK_DIFF,
    MARK_KNOWN, /* a known quirk of the peer */
    MARK_NOTE,  /* damaged, duplicated on the wire, or inconclusive */
};

struct diff {
    uint32_t dir;      /* index of the direction, the datagram stream or the CM exchange */
    uint32_t pkt;      /* index into trace.pkt of the recorded packet */
    uint32_t request;  /* index into trace.pkt of the request it answers, or EVENT_NONE */
    const char *field; /* "aeth.msn" */
    char expected[96]; /* recorded value */
    char actual[96];   /* value of our RNIC */
    char reason[200];  /* one sentence */
    const struct peer_quirk *known; /* or NULL */
};

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIPPED };

/* Returns the word of a verdict in messages and JSON. */
const char *verdict_name(enum verdict verdict);

/* Appends a copy of `diff` to a growing array. Returns 0, or -1 without memory. */
int diff_append(struct diff **list, size_t *cnt, size_t *cap, const struct diff *diff);

#endif

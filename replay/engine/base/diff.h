/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Base of the engine: the parts that the replay of RC, UC, UD and CM share. play/, compare/, dgram/
 * and cm/ call them in any order.
 *
 *   inject.h      passes a recorded frame to our RNIC
 *   post_wr.h     posts a recorded work request to our RNIC
 *   field_diff.h  finds the fields in which two packets differ
 *   diff.h        a difference between the capture and our RNIC, and the verdicts
 *
 * A difference does not show the fault's place: our RNIC, the recorded device, or the capture,
 * which a program may have altered.
 *
 * The caller owns the lists of differences and the posted work requests, and frees them. The only
 * error is that memory runs out.
 */
#ifndef REPLAY_ENGINE_BASE_DIFF_H
#define REPLAY_ENGINE_BASE_DIFF_H

#include <stddef.h>
#include <stdint.h>

struct peer_quirk;

/* Maximum number of frames of one direction for which differences are listed. Further frames with
 * differences are only counted, because usually the first differences caused the later ones. */
#define DIFFS_MAX 16

/* Result for one packet of the capture. */
enum event_mark {
    MARK_NONE, /* packet was not compared */
    MARK_OK,
    MARK_DIFF,
    MARK_KNOWN, /* a known quirk of the peer explains the difference of the packet */
    MARK_NOTE,  /* the packet was damaged or was duplicated on the wire, or its difference is
                 * inconclusive */
};

struct diff {
    uint32_t dir; /* index of the direction, of the datagram stream or of the CM exchange */
    uint32_t pkt; /* index into trace.pkt of the recorded packet */
    uint32_t
        request; /* index into trace.pkt of the request that the packet answers, or EVENT_NONE */
    const char *field;              /* name of the differing field, such as "aeth.msn" */
    char recorded[96];              /* value in the recorded packet */
    char replayed[96];              /* value of our RNIC, or of the target of --live */
    uint64_t number[2];             /* both values if they are numbers: recorded, replayed */
    char reason[200];               /* explanation of the difference in one sentence */
    const struct peer_quirk *known; /* known quirk that explains the difference, or NULL */
};

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIPPED };

/* Text of diff.reason for a response that matches a response of our RNIC, but has a PSN or MSN that
 * contradicts another recorded response. One wrong PSN or MSN can cause many differences with this
 * text. */
#define DIFF_CONTRADICTION                                                                         \
    "a response that was sent before or after this one contradicts its PSN or MSN"

/* Returns the name of a verdict for messages and JSON. */
const char *verdict_name(enum verdict verdict);

/* Length of the text of a difference, with the terminating zero. Longer texts are truncated. */
#define DIFF_TEXT_MAX 1024

/* Writes "FIELD: recorded VALUE, replayed VALUE" to `text`. Returns `text`. */
const char *diff_text(char text[DIFF_TEXT_MAX], const char *field, const char *recorded,
                      const char *replayed);

/* Appends a copy of *diff to a growing array. Returns 0, or -1 if out of memory. */
int diff_append(struct diff **list, size_t *cnt, size_t *cap, const struct diff *diff);

#endif

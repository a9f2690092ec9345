/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Deviations: where a known implementation departs from the specification, so that a capture of it
 * can still be a test. With its profile chosen, a difference that one of these explains is reported
 * under its name and does not fail the run.
 */
#ifndef REPLAY_DEVIATIONS_H
#define REPLAY_DEVIATIONS_H

#include "drive.h"

/* What is known about a recorded answer that differs. */
struct deviation_case {
    const struct run *run;
    uint32_t step;             /* the recorded answer */
    const struct answer *ours; /* what it was compared with, or NULL */
    const struct step *repeat; /* the latest duplicate request before it, or NULL */
    int64_t epsn;              /* rel of the next PSN our RNIC expected by then */
    uint32_t msn;              /* our MSN by then */
    int64_t rnr;               /* rel of the latest recorded RNR NAK before it, or INT64_MIN */
    int64_t high;              /* rel of the highest PSN requested by then */
    int64_t settled;           /* PSN up to which recorded answers have shown all executed */
    bool matched;              /* all that ours answered with its PSN belongs to other answers */
    bool replaces;             /* an answer of ours without its like is the same but for the PSN */
    bool opcode;               /* it differs from `ours` in the opcode only */
    bool payload;              /* the payloads differ */
};

struct deviation {
    const char *peer;
    const char *id;    /* "D4" */
    const char *rules; /* of rnic/rules.md that it departs from */
    const char *text;
    bool (*fits)(const struct deviation_case *c);
};

/* The deviation of `peer` that explains the case, or NULL. */
const struct deviation *deviation_find(const char *peer, const struct deviation_case *c);

/* Whether there is such a profile. */
bool deviation_peer_known(const char *peer);

/* The names of all profiles, one after another; NULL at the end. */
const char *deviation_peer_name(unsigned idx);

#endif

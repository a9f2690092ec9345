/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Deviations: where a known implementation departs from the specification, so that a capture of it
 * can still be a test. With its profile chosen, a difference that one of these explains is reported
 * under its name and does not fail the run.
 */
#ifndef REPLAY_ENGINE_PEER_QUIRKS_H
#define REPLAY_ENGINE_PEER_QUIRKS_H

#include "engine/field_diff.h"
#include "engine/rc_requester.h"

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
    bool counts;               /* it differs from `ours` in the MSN only */
    bool payload;              /* the payloads differ */
};

/* What is known about a recorded request that differs. */
struct deviation_request {
    const struct trace_packet *pkt;
    const struct sent *ours;
    const struct field_diffs *diffs;
    bool again; /* the recorded requester sends it again */
};

/* What is known about a UC message that the peer's program has not received. */
struct deviation_delivery {
    bool next;  /* it follows one that lost a packet */
    bool later; /* a WRITE somewhere before it on this QP did */
    bool write;
};

struct deviation {
    const char *peer;
    const char *id;    /* "D4" */
    const char *rules; /* of rnic/rules.md that it departs from */
    const char *text;
    /* One of these; the others are NULL. */
    bool (*fits)(const struct deviation_case *c);
    bool (*fits_request)(const struct deviation_request *c);
    bool (*fits_delivery)(const struct deviation_delivery *c);
    bool (*seals)(
        const struct roce_pkt *pkt); /* a wrong ICRC that the peer takes for a right one */
};

/* The deviation of `peer` that explains the case, or NULL. */
const struct deviation *deviation_find(const char *peer, const struct deviation_case *c);

/* The same for a request. */
const struct deviation *deviation_find_request(const char *peer, const struct deviation_request *c);

/* The same for a message of UC. */
const struct deviation *deviation_find_delivery(const char *peer,
                                                const struct deviation_delivery *c);

/* Puts right the ICRCs of a trace that are wrong in the way of `peer`, which may be NULL: so what
 * its like takes for good is played as such. 0, or -1 without memory. */
int deviations_seal(struct trace *trace, const char *peer);

/* Whether there is such a profile. */
bool deviation_peer_known(const char *peer);

/* The names of all profiles, one after another; NULL at the end. */
const char *deviation_peer_name(unsigned idx);

#endif

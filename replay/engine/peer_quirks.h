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
#include "flow/base/rules.h"

/* What is known about a recorded answer that differs. */
struct response_case {
    const struct rc_direction *dir;
    uint32_t event;                    /* the recorded answer */
    const struct tx_response *ours;    /* what it was compared with, or NULL */
    const struct pkt_event *duplicate; /* the latest duplicate request before it, or NULL */
    int64_t epsn;                      /* rel of the next PSN our RNIC expected by then */
    uint32_t msn;                      /* our MSN by then */
    int64_t rnr;            /* rel of the latest recorded RNR NAK before it, or INT64_MIN */
    int64_t high;           /* rel of the highest PSN requested by then */
    int64_t recorded_acked; /* PSN up to which recorded answers have shown all executed */
    bool matched;           /* all that ours answered with its PSN belongs to other answers */
    bool replaces;          /* an answer of ours without its like is the same but for the PSN */
    bool opcode;            /* it differs from `ours` in the opcode only */
    bool counts;            /* it differs from `ours` in the MSN only */
    bool payload;           /* the payloads differ */
};

/* What is known about a recorded request that differs. */
struct request_case {
    const struct trace_packet *pkt;
    const struct tx_request *ours;
    const struct field_diffs *diffs;
    bool retransmit; /* the recorded requester sends it again */
};

/* What is known about a UC message that the peer's program has not received. */
struct delivery_case {
    bool next;  /* it follows one that lost a packet */
    bool later; /* a WRITE somewhere before it on this QP did */
    bool write;
};

struct peer_quirk {
    enum roce_profile peer;
    const struct roce_deviation *deviation;
    /* One of these; the others are NULL. */
    bool (*fits_response)(const struct response_case *c);
    bool (*fits_request)(const struct request_case *c);
    bool (*fits_delivery)(const struct delivery_case *c);
    bool (*fix_icrc)(
        const struct roce_pkt *pkt); /* a wrong ICRC that the peer takes for a right one */
};

/* The deviation of `peer` that explains the case, or NULL. */
const struct peer_quirk *peer_quirk_of_response(const char *quirks, const struct response_case *c);

/* The same for a request. */
const struct peer_quirk *peer_quirk_of_request(const char *quirks, const struct request_case *c);

/* The same for a message of UC. */
const struct peer_quirk *peer_quirk_of_delivery(const char *quirks, const struct delivery_case *c);

/* Puts right the ICRCs of a trace that are wrong in the way of `peer`, which may be NULL: so what
 * its like takes for good is played as such. 0, or -1 without memory. */
int peer_quirks_fix_icrcs(struct trace *trace, const char *quirks);

/* Returns whether `name` is a profile of known_deviations.def. */
bool peer_quirks_profile_known(const char *name);

#endif

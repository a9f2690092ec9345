/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Peer quirks: known departures of an implementation from the specification (rnic/flow's
 * known_deviations.def), so that its captures can be used as tests. With a profile chosen, a
 * difference that a quirk explains is reported under the quirk's id and does not fail the replay.
 */
#ifndef REPLAY_ENGINE_PEER_QUIRKS_H
#define REPLAY_ENGINE_PEER_QUIRKS_H

#include "engine/field_diff.h"
#include "engine/rc_requester.h"
#include "flow/base/rules.h"

/* A recorded response that differs, and the state of both responders at that event. */
struct response_case {
    const struct rc_direction *dir;
    uint32_t event;                    /* event of the recorded response */
    const struct tx_response *ours;    /* response of ours that it was compared with, or NULL */
    const struct pkt_event *duplicate; /* the latest duplicate request before it, or NULL */
    int64_t epsn;                      /* rel of the ePSN of our RNIC at that event */
    uint32_t msn;                      /* our MSN at that event */
    int64_t rnr;            /* rel of the latest recorded RNR NAK before it, or INT64_MIN */
    int64_t high;           /* rel of the highest PSN requested before it */
    int64_t recorded_acked; /* rel of the last PSN that recorded responses show executed */
    bool matched;  /* all responses of ours at this PSN are matched with other recorded ones */
    bool replaces; /* an unmatched response of ours differs in the PSN only */
    bool opcode;   /* it differs from `ours` in the opcode only */
    bool counts;   /* it differs from `ours` in the MSN only */
    bool payload;  /* the payloads differ */
};

/* A recorded request that differs. */
struct request_case {
    const struct trace_packet *pkt;
    const struct tx_request *ours;
    const struct field_diffs *diffs;
    bool retransmit; /* the recorded requester retransmits it */
};

/* A UC message that the peer's program did not receive. */
struct delivery_case {
    bool next;  /* the previous message lost a packet */
    bool later; /* an earlier WRITE on this QP lost a packet */
    bool write;
};

struct peer_quirk {
    enum roce_profile peer;
    const struct roce_deviation *deviation;
    /* Exactly one of these is set. */
    bool (*fits_response)(const struct response_case *c);
    bool (*fits_request)(const struct request_case *c);
    bool (*fits_delivery)(const struct delivery_case *c);
    bool (*fix_icrc)(const struct roce_pkt *pkt); /* a wrong ICRC that the peer accepts */
};

/* Returns the quirk of `peer` that explains a differing response, or NULL. */
const struct peer_quirk *peer_quirk_of_response(const char *quirks, const struct response_case *c);

/* Returns the quirk of `peer` that explains a differing request, or NULL. */
const struct peer_quirk *peer_quirk_of_request(const char *quirks, const struct request_case *c);

/* Returns the quirk of `peer` that explains a UC message that was not received, or NULL. */
const struct peer_quirk *peer_quirk_of_delivery(const char *quirks, const struct delivery_case *c);

/* Corrects the ICRCs that `peer` (or NULL) computes wrongly and that its own receivers accept,
 * so that our RNIC accepts them too. Returns 0, or -1 without memory. */
int peer_quirks_fix_icrcs(struct trace *trace, const char *quirks);

/* Returns whether `name` is a profile of known_deviations.def. */
bool peer_quirks_profile_known(const char *name);

#endif

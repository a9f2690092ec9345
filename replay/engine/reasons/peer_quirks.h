/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Peer quirks: known deviations of an implementation from the specification (known_deviations.def
 * of rnic/flow), grouped in profiles, one for each implementation. The user or the manifest chooses
 * a profile. A difference that a quirk of this profile explains is reported with the id of the
 * quirk, and does not fail the replay. With a profile, captures of that implementation can be used
 * as tests.
 */
#ifndef REPLAY_ENGINE_REASONS_PEER_QUIRKS_H
#define REPLAY_ENGINE_REASONS_PEER_QUIRKS_H

#include "engine/base/field_diff.h"
#include "engine/play/rc_requester.h"
#include "engine/reasons/rc_response_case.h"
#include "flow/base/rules.h"

/* Recorded request that differs from the request of our RNIC. */
struct request_case {
    const struct trace_packet *pkt;
    const struct tx_request *ours;
    const struct field_diffs *diffs;
    bool retransmit; /* the recorded request is a retransmission */
    bool beyond;     /* true: the recorded request is a retransmission beyond the largest retry
                      * count */
    bool unseen;     /* true: the capture lacks the first copy of the request, or of an empty Only
                      * packet just before it, and has only retransmissions */
};

/* UC message that the peer's program did not receive although it should have. */
struct delivery_case {
    bool next;  /* a packet of the previous message was lost */
    bool later; /* a packet of an earlier WRITE on this QP was lost */
    bool write;
};

struct peer_quirk {
    enum roce_profile peer;
    const struct roce_deviation *deviation;
    /* Exactly one of the four callbacks is set. A fits_...() callback returns whether the quirk
     * explains the difference. */
    bool (*fits_response)(const struct response_case *c);
    bool (*fits_request)(const struct request_case *c);
    bool (*fits_delivery)(const struct delivery_case *c);
    bool (*fix_icrc)(const struct roce_pkt *pkt); /* returns whether the packet has the wrong
                                                   * ICRC that the peer computes and accepts */
};

/* Profile with the quirks of all known versions of Linux rxe. These quirks apply only to packets
 * whose sender was recognised as rxe (flow/base/peer.h). */
#define PEER_QUIRKS_AUTO "auto"

#define PEER_QUIRKS_NONE "none" /* argument of --quirks that means NULL: no quirks */

/* Returns the profile that an argument of --quirks or the peer column of a manifest names. Returns
 * PEER_QUIRKS_AUTO if `name` is NULL or an implementation without a profile. */
const char *peer_quirks_named(const char *name);

/* Returns the profile with the quirks that may explain a packet of a sender. The result is
 * `quirks`, with one exception: for PEER_QUIRKS_AUTO, the result is NULL unless the sender was
 * recognised as Linux rxe (`rxe`). */
const char *peer_quirks_of_sender(const char *quirks, bool rxe);

/* Returns the name of the implementation with this quirk, for example "linux-rxe-6.1". */
const char *peer_quirk_peer(const struct peer_quirk *quirk);

/* Returns the quirk of profile `quirks` that explains a differing response, or NULL if none does.
 */
const struct peer_quirk *peer_quirk_of_response(const char *quirks, const struct response_case *c);

/* Returns the quirk of profile `quirks` that explains a differing request, or NULL if none does. */
const struct peer_quirk *peer_quirk_of_request(const char *quirks, const struct request_case *c);

/* Returns whether the quirk (known deviation) shifts the PSNs of the later requests. */
bool peer_quirk_shifts_psns(const struct peer_quirk *quirk);

/* Returns the quirk of profile `quirks` that explains a lost UC message, or NULL if none does. */
const struct peer_quirk *peer_quirk_of_delivery(const char *quirks, const struct delivery_case *c);

/* Corrects wrong ICRCs that devices of profile `quirks` compute and accept, so that our RNIC
 * accepts the packets too. `quirks` may be NULL. With PEER_QUIRKS_AUTO, corrects only packets whose
 * sender is Linux rxe: `rxe` has one element for each sender (struct trace_flow). Returns the
 * number of corrected packets, or -1 if out of memory. */
int peer_quirks_fix_icrcs(struct trace *trace, const char *quirks, const bool *rxe);

/* Returns whether `name` is a profile in known_deviations.def, or PEER_QUIRKS_AUTO. */
bool peer_quirks_profile_known(const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Response case: a recorded response that differs from the response of our RNIC, with the state of
 * both responders. peer_quirks.h decides whether a known deviation explains the difference,
 * rc_inconclusive.h whether packets that were not captured explain it.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_RESPONSE_CASE_H
#define REPLAY_ENGINE_REASONS_RC_RESPONSE_CASE_H

#include "infer/session.h"

/* Number of packets before or after a response in which its request, or another related packet, is
 * searched. A requester does not have more packets in flight. */
#define LOOK_BACK 1024u

/* Recorded response that differs from our responses, with the state of the recorded responder and
 * of our responder at that time. */
struct response_case {
    const struct rc_direction *dir;
    uint32_t event;                 /* index into setup.event of the differing recorded response */
    const struct tx_response *ours; /* response of our RNIC that was compared with the recorded
                                     * one, or NULL */
    const struct pkt_event *duplicate; /* latest duplicate request before the response, or NULL */
    int64_t epsn;           /* relative PSN that our RNIC expected when the response was captured */
    uint32_t msn;           /* MSN of our RNIC at the event */
    int64_t rnr;            /* relative PSN of the latest RNR NAK that was recorded before the
                             * response, or INT64_MIN */
    int64_t high;           /* highest relative PSN requested before the recorded response */
    int64_t recorded_acked; /* highest relative PSN that recorded responses show as executed */
    bool matched;     /* true: our RNIC sent responses with the PSN of the recorded response, but
                       * all of them are matched with other recorded responses */
    bool replaces;    /* true: an unmatched response of our RNIC differs from the recorded response
                       * only in the PSN */
    bool opcode;      /* true: the recorded response differs from `ours` in the opcode only */
    bool opcode_msn;  /* true: the recorded response differs from `ours` in opcode and MSN only */
    bool counts;      /* true: the recorded response differs from `ours` in the MSN only */
    bool payload;     /* the payloads of the two responses differ */
    bool data;        /* true: the recorded response differs from `ours` only in the payload or in
                       * the value of an Atomic ACK */
    bool reorders;    /* the capture shows that the network reorders responses */
    bool unordered;   /* true: the search for an order of the writes to the responder's memory
                       * gave up */
    bool others_lack; /* true: for some connection of the responder (also this one), the capture
                       * lacks packets or shows loss */
    bool others_gap;  /* true: a request of another connection of the responder may have arrived
                       * late; or the payloads differ, and the capture lacks an executed request
                       * of some connection of the responder (also of this one) */
    bool rxe;         /* the responder is known to be Linux rxe */
    uint32_t dir_idx; /* index of `dir` in the session */
    struct shadow_memory *memory; /* memory of the responder */
};

static inline const struct inferred_setup *setup_of(const struct response_case *c)
{
    return &c->dir->setup;
}

static inline enum roce_kind kind_of(const struct response_case *c)
{
    return event_opcode(setup_of(c), c->event)->kind;
}

/* Returns whether event `event` is a READ or an atomic, which a response with data answers. */
bool event_fetches(const struct inferred_setup *s, uint32_t event);

/* Returns whether a packet is a NAK or an RNR NAK. */
bool response_is_nak(uint8_t opcode, uint8_t syndrome);

/* Returns whether a copy of request `rel` was captured before the response and did not reach the
 * responder in the captured order, so that it may have arrived later. */
bool copy_may_be_late(const struct response_case *c, int64_t rel);

/* Returns the last advance of our ePSN before event `event`, or NULL. */
const struct epsn_advance *last_advance(const struct rc_direction *dir, uint32_t event);

/* Returns whether our RNIC also sends a NAK at PSN `rel`. */
bool sends_nak_at(const struct response_case *c, int64_t rel);

/* Returns whether the MSN of response `event` must be exactly the number of complete messages
 * (R103). */
bool counts_messages(const struct inferred_setup *s, uint32_t event);

#endif

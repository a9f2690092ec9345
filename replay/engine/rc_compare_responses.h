/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare responses: what the recorded responder sent against what our RNIC sent in its place
 * (diff.h: `expected` is recorded, `actual` is ours).
 *
 * Compared, because the specification prescribes it: which requests are executed and with which
 * bytes; each NAK with its PSN, MSN and code; READ responses and Atomic ACKs with opcode, PSN, MSN
 * and data; every recorded ACK must be covered by one of ours that counts the same messages;
 * DestQP, P_Key, solicited and AckReq bits.
 *
 * Counted only: how ACKs are coalesced, credits, the MSN of a READ First (R103), everything below
 * the BTH, and responses of ours that were not captured: frames are lost before a capture point,
 * and a requester that needed them retransmits.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_RESPONSES_H
#define REPLAY_ENGINE_RC_COMPARE_RESPONSES_H

#include "engine/diff.h"
#include "infer/session.h"

/* How many of our latest responses are candidates for a recorded response. */
#define COMPARE_RECENT 64u

struct response_result {
    enum verdict verdict;
    const char *skip; /* for SKIPPED */
    uint8_t *mark;    /* enum event_mark for each event */
    uint32_t compared;
    uint32_t diff_frames;  /* recorded responses that differ without being a known quirk */
    uint32_t known_frames; /* recorded responses that differ by a known quirk */
    uint32_t first_diff;   /* event, or EVENT_NONE */
    uint32_t inconclusive; /* recorded responses that differ, perhaps because packets were not
                              captured */
    const char *why_inconclusive; /* reason of the first of these: rc_inconclusive.h */
    uint32_t inconclusive_from;   /* first and last event of these */
    uint32_t inconclusive_to;
    uint32_t not_compared; /* responses after our QP, but not the recorded one, entered the error
                              state */
    /* Differences that the specification allows. */
    uint32_t damaged;         /* recorded responses damaged on the wire */
    uint32_t wire_duplicates; /* recorded responses that the network duplicated */
    uint32_t unsolicited;     /* recorded responses to requests that were not captured */
    uint32_t before_first;    /* responses to requests from before the capture */
    uint32_t acks_more;       /* ACKs that only our RNIC sent */
    uint32_t acks_fewer;      /* ACKs that only the recorded responder sent */
    uint32_t credits;         /* ACKs with another credit code */
    uint32_t read_msn;        /* READ Firsts with another MSN that R103 allows */
    uint32_t not_captured; /* READ responses, Atomic ACKs and NAKs of ours that were not captured */
};

struct response_comparison {
    const struct session *session;
    const struct connections *connections;
    const char *quirks;             /* name of a profile of peer_quirks.h */
    struct response_result *result; /* one for each direction */
    struct diff *diff;              /* in the order of frames within a direction */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Compares all directions. Returns 0, or -1 without memory. Call response_comparison_free() in
 * both cases. */
int rc_compare_responses(struct response_comparison *all, struct session *session,
                         const struct connections *connections, const char *quirks);
void response_comparison_free(struct response_comparison *all);

#endif

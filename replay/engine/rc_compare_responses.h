/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare responses: compares the packets of the recorded responder with those of our RNIC in
 * its place (in diff.h, `expected` is the recorded value and `actual` is ours).
 *
 * Compared, because the specification prescribes it: which requests are executed and with which
 * bytes; each NAK with its PSN, MSN and code; READ responses and Atomic ACKs with opcode, PSN,
 * MSN and data; DestQP, P_Key, solicited and AckReq bits. Each recorded ACK must be covered by
 * an ACK of our RNIC that counts the same messages.
 *
 * Only counted: how ACKs are coalesced, credits, the MSN of a READ First (R103), all headers
 * below the BTH. Responses of our RNIC that were not captured are only counted too. Frames are
 * lost before a capture point, and a requester that needs them retransmits.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_RESPONSES_H
#define REPLAY_ENGINE_RC_COMPARE_RESPONSES_H

#include "engine/diff.h"
#include "infer/session.h"

/* Number of our latest responses that are candidates for a recorded response. */
#define COMPARE_RECENT 64u

struct response_result {
    enum verdict verdict;
    const char *skip; /* reason why the direction was not compared, if SKIPPED */
    uint8_t *mark;    /* enum event_mark for each event */
    uint32_t compared;
    uint32_t diff_frames;  /* recorded responses that differ, except for known quirks */
    uint32_t known_frames; /* recorded responses that differ by a known quirk */
    uint32_t first_diff;   /* event of the first difference, or EVENT_NONE */
    uint32_t inconclusive; /* recorded responses whose difference may come from packets that were
                            * not captured */
    const char *why_inconclusive; /* reason for the first inconclusive response, see
                                   * rc_inconclusive.h */
    uint32_t inconclusive_from;   /* first inconclusive event; the next member is the last one */
    uint32_t inconclusive_to;
    uint32_t not_compared; /* responses after our QP entered the error state and the recorded one
                            * did not */
    /* Counts of differences that the specification allows. */
    uint32_t damaged;         /* recorded responses damaged on the wire */
    uint32_t wire_duplicates; /* recorded responses that the network duplicated */
    uint32_t unsolicited;     /* recorded responses to requests that were not captured */
    uint32_t before_first;    /* responses to requests from before the capture */
    uint32_t acks_more;       /* ACKs that only our RNIC sent */
    uint32_t acks_fewer;      /* ACKs that only the recorded responder sent */
    uint32_t credits;         /* ACKs whose credit code differs */
    uint32_t read_msn;        /* READ Firsts whose MSN differs as R103 allows */
    uint32_t not_captured;    /* READ responses, Atomic ACKs and NAKs that our RNIC sent but the
                               * capture lacks */
};

struct response_comparison {
    const struct session *session;
    const struct connections *connections;
    const char *quirks;             /* name of a profile of peer_quirks.h, or NULL */
    struct response_result *result; /* one result for each direction */
    struct diff *diff;              /* differences, by direction and then in the order of frames */
    size_t diff_cnt;
    size_t diff_cap;
};

/* Compares all directions. Returns 0, or -1 if out of memory. Call response_comparison_free() in
 * both cases. */
int rc_compare_responses(struct response_comparison *all, struct session *session,
                         const struct connections *connections, const char *quirks);
void response_comparison_free(struct response_comparison *all);

#endif

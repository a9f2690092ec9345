/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare: compares the packets of the recorded RC endpoints with those that our RNICs sent in
 * their place while engine/play played the session. engine/replay.c calls rc_compare_responses(),
 * rc_compare_requests() (rc_compare_requests.h) and, with `strict`, strict_compare.h. For each
 * recorded response, in capture order (rc_compare_state.h):
 *
 *   1. rc_match_at()      finds the response of our RNIC to compare with              rc_match.h
 *   2. copies_allow_*()   decide which MSNs fit if the request has several copies    rc_copies.h
 *   3. classify_diff()    decides the result: equal, differs, known, inconclusive  rc_classify.h
 *
 * At the end match_misaddressed() finds responses that reached no connection (rc_misaddressed.h).
 *
 * struct response_comparison and struct request_comparison own the results and differences. The
 * only error is that memory runs out.
 *
 * rc_compare_responses() compares the packets of each recorded responder with the packets of our
 * RNIC in its place. In diff.h, `recorded` is a value of the recorded responder, and `replayed` a
 * value of our RNIC.
 *
 * Compared, because the specification prescribes it:
 *
 * - which requests are executed, and with which bytes
 * - each NAK with its PSN, MSN and code
 * - READ responses and Atomic ACKs with opcode, PSN, MSN and data
 * - DestQP, P_Key, solicited and AckReq bits
 * - for each recorded ACK: our RNIC must send an ACK that acknowledges the same PSN and counts the
 *   same messages
 *
 * Counted but not compared: coalescing of ACKs, credits, the MSN of a READ response First (R103),
 * and all headers before the BTH. Responses of our RNIC that the capture lacks are also only
 * counted: they may have been lost before the capture point. If the requester needs a lost
 * response, it retransmits the request.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_COMPARE_RESPONSES_H
#define REPLAY_ENGINE_COMPARE_RC_COMPARE_RESPONSES_H

#include "engine/base/diff.h"
#include "engine/reasons/rc_inconclusive.h"
#include "infer/session.h"

/* Number of latest responses of our RNIC in which rc_match.h searches for the match of a recorded
 * response. */
#define COMPARE_RECENT 64u

struct response_result {
    enum verdict verdict;
    const char *skip; /* reason why the direction was not compared, if SKIPPED */
    uint8_t *mark;    /* for each packet of the direction: enum event_mark */
    uint32_t compared;
    uint32_t diff_frames;    /* number of recorded responses that differ for a reason other than a
                              * known quirk */
    uint32_t contradictions; /* number of these responses that only contradict another response */
    uint32_t known_frames;   /* number of recorded responses that differ because of a known quirk of
                              * the peer */
    uint32_t first_diff;     /* index into setup.event of the first difference, or EVENT_NONE */
    uint32_t inconclusive; /* number of recorded responses with a difference that packets missing in
                            * the capture may explain */
    bool lacks;            /* true: packets that the capture lacks may explain all differences of
                            * the direction, not only those counted in `inconclusive` */
    const char *why_inconclusive; /* reason why the first inconclusive response is inconclusive
                                   * (rc_inconclusive.h) */
    uint32_t inconclusive_from;   /* index into setup.event of the first inconclusive response;
                                   * inconclusive_to: index of the last one */
    uint32_t inconclusive_to;
    struct inconclusive_reason reason[INCONCLUSIVE_REASONS]; /* numbers of inconclusive responses,
                                                              * for each reason */
    uint32_t not_compared; /* number of responses captured after our QP entered the error state,
                            * although the recorded QP had not */
    /* Counts of differences that the specification allows. */
    uint32_t damaged;         /* number of recorded responses damaged on the wire */
    uint32_t wire_duplicates; /* number of recorded responses that the network duplicated */
    uint32_t unsolicited;     /* number of recorded responses to requests that were not captured */
    uint32_t before_first;    /* number of responses to requests sent before the first replayed
                               * message */
    uint32_t acks_more;       /* number of ACKs that only our RNIC sent */
    uint32_t acks_fewer;      /* number of ACKs that only the recorded responder sent */
    uint32_t credits;         /* number of ACKs with a different credit code */
    uint32_t read_msn;        /* number of READ response First packets whose MSN differs from ours
                               * in a way that R103 allows */
    uint32_t later_msn;       /* number of READ responses and Atomic ACKs whose MSN also counts
                               * later requests (rc_copies.h) */
    uint32_t copies_msn;      /* number of READ responses and Atomic ACKs with another MSN than
                               * ours, if they may answer another copy of the request
                               * (rc_copies.h) */
    uint32_t not_captured;    /* number of READ responses, Atomic ACKs and NAKs of our RNIC that
                               * the capture lacks */
};

struct response_comparison {
    const struct session *session;
    const struct connections *connections;
    const char *quirks;             /* name of a profile of known deviations (peer_quirks.h), or
                                     * NULL */
    struct response_result *result; /* one result for each direction */
    struct diff *diff;              /* differences, sorted by direction, then by frame */
    size_t diff_cnt;
    size_t diff_cap;
    uint32_t reordered; /* number of ACKs of all directions that the network reordered */
    uint32_t early;     /* number of ACKs of all directions that were captured before the request
                         * that they acknowledge. One reason is two mirror ports with different
                         * clocks */
    /* Lists of directions whose responses are between the same two hosts (trace_flow.hosts).
     * first_of_hosts: for each host pair, index of its first direction. next_of_hosts: for each
     * direction, index of the next one in its list. KEYMAP_NONE ends a list. */
    uint32_t *first_of_hosts, *next_of_hosts;
};

/* Compares all directions. Returns 0, or -1 if out of memory. Call response_comparison_free() in
 * both cases. */
int rc_compare_responses(struct response_comparison *all, struct session *session,
                         const struct connections *connections, const char *quirks);
void response_comparison_free(struct response_comparison *all);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare requests: compares the packets of the recorded requesters with the packets of our RNICs
 * in their place. Also compares the completions of our RNICs with those that the recorded responses
 * imply.
 *
 * Compared, because the specification prescribes it:
 *
 * - each request at its PSN, with all header fields and bytes
 * - the PSN from which the requester retransmits after a NAK, a timeout or a missing response
 * - which work requests complete, after which response, with which status and data
 *
 * Counted but not compared: AckReq, the number of requests in flight, the times at which timers
 * fire, and further retransmissions.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_COMPARE_REQUESTS_H
#define REPLAY_ENGINE_COMPARE_RC_COMPARE_REQUESTS_H

#include "engine/compare/rc_compare_responses.h"
#include "engine/play/rc_requester.h"

struct request_result {
    enum verdict verdict;
    const char *skip;      /* reason why the direction was not compared, if SKIPPED */
    uint8_t *mark;         /* for each packet of the direction: enum event_mark */
    uint32_t compared;     /* number of recorded requests compared, including retransmissions */
    uint32_t diff_frames;  /* number of recorded frames with a difference */
    uint32_t known_frames; /* number of recorded requests with a known quirk of the peer */
    uint32_t first_diff;   /* index into setup.event of the first difference, or EVENT_NONE */
    uint32_t inconclusive; /* number of frames with a difference that packets missing in the capture
                            * may explain */
    uint32_t not_compared; /* number of requests captured after our QP entered the error state,
                            * although the recorded QP had not */
    uint32_t go_backs;     /* number of times that our requester went back to an earlier PSN like
                            * the recorded one */
    uint32_t completed;    /* number of work requests completed */
    uint32_t failed;       /* number of work requests completed with an error */
    /* Counts of differences that the specification allows. */
    uint32_t ackreq;          /* number of requests with a different AckReq bit */
    uint32_t more;            /* number of requests that only our RNIC retransmitted */
    uint32_t fewer;           /* number of requests that only the recorded requester
                               * retransmitted */
    uint32_t not_captured;    /* number of requests that our RNIC sent after the last captured
                               * PSN */
    uint32_t wire_duplicates; /* number of recorded requests that the network duplicated */
    uint32_t lost;      /* number of captured responses that the recorded requester did not receive,
                         * as its later requests show */
    uint32_t rewritten; /* number of retransmissions with another payload than the original, because
                         * the requester's program changed its buffer */
    uint32_t damaged;   /* number of recorded requests damaged on the wire */
    uint32_t after_gap; /* number of recorded requests directly after a gap in the captured PSNs */
};

struct request_comparison {
    const struct rc_requester *requester;
    const char *quirks;
    struct request_result *result; /* one result for each requester_run */
    struct diff *diff;
    size_t diff_cnt;
    size_t diff_cap;
};

/* Compares all directions. Returns 0, or -1 if out of memory. Call
 * request_comparison_free() in both cases. */
int rc_compare_requests(struct request_comparison *all, struct rc_requester *requester,
                        const char *quirks);
void request_comparison_free(struct request_comparison *all);

#endif

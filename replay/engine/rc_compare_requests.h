/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Verify: what the recorded requesters sent against what our RNICs sent in their place, and what
 * ours completed against what the recorded answers say.
 *
 * Fixed by the specification, and compared: each request at its PSN, every header field and byte
 * of it; where the requester goes back to after a NAK, a timeout or a missing response; which work
 * requests complete, after which answer, with which status and data. Free, and counted: AckReq, how
 * far a requester runs ahead, when its timers fire, what it sends again beyond the recorded.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_REQUESTS_H
#define REPLAY_ENGINE_RC_COMPARE_REQUESTS_H

#include "engine/rc_compare_responses.h"
#include "engine/rc_requester.h"

struct request_result {
    enum verdict verdict;
    const char *skip;      /* for SKIPPED */
    uint8_t *mark;         /* enum mark for each step of the side */
    uint32_t compared;     /* recorded requests compared, those sent again included */
    uint32_t diff_frames;  /* recorded frames with a difference */
    uint32_t known_frames; /* recorded requests that the peer's profile explains */
    uint32_t first_diff;   /* step, or EVENT_NONE */
    uint32_t inconclusive; /* frames that differ, but may for what the capture lacks */
    uint32_t not_compared; /* requests after our QP went to error and the recorded one did not */
    uint32_t go_backs;     /* times the recorded requester went back, and ours did */
    uint32_t completed;    /* work requests completed */
    uint32_t failed;       /* ... of these, with an error */
    /* Free differences. */
    uint32_t ackreq;          /* requests with another AckReq */
    uint32_t more;            /* requests that only ours sent again */
    uint32_t fewer;           /* requests that only the recorded one sent again */
    uint32_t not_captured;    /* requests of ours after the capture's last */
    uint32_t wire_duplicates; /* recorded requests that the wire shows twice */
    uint32_t lost;            /* answers captured that the recorded requester cannot have got */
    uint32_t damaged;         /* recorded requests damaged on the wire */
    uint32_t after_gap;       /* recorded requests after one that the capture lacks */
};

struct request_comparison {
    const struct rc_requester *requester;
    const char *quirks;
    struct request_result *result; /* for each asker */
    struct diff *diff;
    size_t diff_cnt;
    size_t diff_cap;
};

/* 0, or -1 without memory. request_comparison_free() is wanted in both cases. */
int rc_compare_requests(struct request_comparison *all, struct rc_requester *requester,
                        const char *quirks);
void request_comparison_free(struct request_comparison *all);

#endif

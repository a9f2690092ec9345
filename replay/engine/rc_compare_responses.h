/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compare: what the recorded responder answered against what our RNIC answered, by obligation.
 *
 * Everywhere in the program, `expected` is what the capture recorded and `actual` is what our RNIC
 * answered. The capture is the standard that the RNIC is tested against; a capture that was
 * altered, or recorded from a responder that is wrong, shows as the RNIC's difference all the same.
 *
 * Fixed: which requests are executed and with which bytes; each NAK with its PSN, MSN and code;
 * READ responses and Atomic ACKs with opcode, PSN, MSN, data; every recorded ACK must be covered by
 * ours, with the same count of messages; DestQP, P_Key, solicited and AckReq bits. Free, and
 * counted: how acknowledgements are coalesced, credits, the MSN of a READ First (R103), everything
 * below the BTH. What our RNIC answered and the capture lacks is free too: frames are lost before a
 * capture point, and a requester that needed them asks again.
 */
#ifndef REPLAY_ENGINE_RC_COMPARE_RESPONSES_H
#define REPLAY_ENGINE_RC_COMPARE_RESPONSES_H

#include "engine/diff.h"
#include "infer/session.h"

/* How many of our latest answers are looked at for the one a wrong answer was meant to be. */
#define COMPARE_RECENT 64u

struct response_result {
    enum verdict verdict;
    const char *skip; /* for SKIPPED */
    uint8_t *mark;    /* enum mark for each step of the side */
    uint32_t compared;
    uint32_t diff_frames;  /* recorded answers that differ and are not known deviations */
    uint32_t known_frames; /* ... that are */
    uint32_t first_diff;   /* step, or EVENT_NONE */
    uint32_t inconclusive; /* recorded answers that differ, but may for what the capture lacks */
    const char *why_inconclusive; /* then: what that is, see rc_inconclusive.h */
    uint32_t inconclusive_from;   /* ... and the first and last step of these */
    uint32_t inconclusive_to;
    uint32_t not_compared; /* answers after our QP went to error while the recorded one went on */
    /* Free differences. */
    uint32_t damaged;         /* recorded answers damaged on the wire */
    uint32_t wire_duplicates; /* recorded answers the wire duplicated */
    uint32_t unsolicited;     /* recorded answers to requests that the capture lacks */
    uint32_t before_first;    /* answers to requests from before the capture */
    uint32_t acks_more;       /* ACKs only ours has: it coalesced less */
    uint32_t acks_fewer;      /* ACKs only the capture has: covered by others of ours */
    uint32_t credits;         /* ACKs with another credit code */
    uint32_t read_msn;        /* READ First with the MSN of before the READ, or after */
    uint32_t not_captured;    /* READ responses, Atomic ACKs and NAKs of ours the capture lacks */
};

struct response_comparison {
    const struct session *session;
    const struct connections *connections;
    const char *quirks;             /* profile whose deviations are known, or NULL */
    struct response_result *result; /* for each run */
    struct diff *diff;              /* in the order of frames within a side */
    size_t diff_cnt;
    size_t diff_cap;
};

/* 0, or -1 without memory. response_comparison_free() is wanted in both cases. */
int rc_compare_responses(struct response_comparison *all, struct session *session,
                         const struct connections *connections, const char *quirks);
void response_comparison_free(struct response_comparison *all);

#endif

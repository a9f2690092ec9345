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

#include "engine/rc_responder.h"

/* Differences listed for one side; more are only counted, they follow from the first. */
#define DIFFS_MAX 16

/* How many of our latest answers are looked at for the one a wrong answer was meant to be. */
#define COMPARE_RECENT 64u

enum mark {
    MARK_NONE, /* not an answer, or not compared */
    MARK_OK,
    MARK_DIFF,
    MARK_KNOWN, /* a known deviation of the peer */
    MARK_NOTE,  /* damaged or repeated on the wire: nothing to compare */
};

struct diff {
    uint32_t run;
    uint32_t pkt;      /* index into trace.pkt of the recorded answer */
    uint32_t request;  /* index into trace.pkt of the request it answers, or STEP_NONE */
    const char *field; /* "aeth.msn" */
    char expected[96]; /* recorded */
    char actual[96];   /* ours */
    char reason[200];  /* one sentence */
    const struct deviation *known; /* or NULL */
};

enum verdict { VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIPPED };

struct result {
    enum verdict verdict;
    const char *skip; /* for SKIPPED */
    uint8_t *mark;    /* enum mark for each step of the side */
    uint32_t compared;
    uint32_t diff_frames;  /* recorded answers that differ and are not known deviations */
    uint32_t known_frames; /* ... that are */
    uint32_t first_diff;   /* step, or STEP_NONE */
    uint32_t inconclusive; /* recorded answers that differ, but may for what the capture lacks */
    const char *doubt;     /* then: what that is, see doubt.h */
    uint32_t doubt_from;   /* ... and the first and last step of these */
    uint32_t doubt_to;
    uint32_t not_compared; /* answers after our QP went to error while the recorded one went on */
    /* Free differences. */
    uint32_t damaged;    /* recorded answers damaged on the wire */
    uint32_t repeated;   /* recorded answers the wire duplicated */
    uint32_t unasked;    /* recorded answers to requests that the capture lacks */
    uint32_t early;      /* answers to requests from before the capture */
    uint32_t acks_more;  /* ACKs only ours has: it coalesced less */
    uint32_t acks_fewer; /* ACKs only the capture has: covered by others of ours */
    uint32_t credits;    /* ACKs with another credit code */
    uint32_t read_msn;   /* READ First with the MSN of before the READ, or after */
    uint32_t unseen;     /* READ responses, Atomic ACKs and NAKs of ours the capture lacks */
};

struct comparison {
    const struct drive *drive;
    const struct conns *conns;
    const char *peer;      /* profile whose deviations are known, or NULL */
    struct result *result; /* for each run */
    struct diff *diff;     /* in the order of frames within a side */
    size_t diff_cnt;
    size_t diff_cap;
};

/* 0, or -1 without memory. comparison_free() is wanted in both cases. */
int compare_all(struct comparison *cmp, struct drive *drive, const struct conns *conns,
                const char *peer);
/* Lists a difference. 0, or -1 without memory. */
int comparison_add(struct comparison *cmp, const struct diff *diff);
void comparison_free(struct comparison *cmp);

const char *verdict_name(enum verdict verdict);

#endif

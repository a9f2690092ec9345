/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester oracle: computes the counters of a reliable requester from the packets that the
 * requester sent and received, in order and with their times. The oracle knows the rules of
 * rnic/rules.md and nothing of the device. The test fails if no rule explains a packet of the
 * requester: a retransmission without a cause, or for a timer that cannot have expired yet.
 *
 * The counters, as the packets show them:
 *   packet_seq_err
 *       NAK 0x60 for an outstanding request (R152, R161). Not counted if the requester already went
 *       back since the last progress, waits for an RNR timer, or has not sent since it went back.
 *   implied_nak_seq_err
 *       response to a request after an unanswered READ or atomic (R139, R140); exceptions as above
 *   rnr_nak_retry_err
 *       RNR NAK for an outstanding request, except a second one in one wait (R156)
 *   duplicate_response
 *       response for a PSN that is already answered (R144)
 *   local_ack_timeout_err
 *       the requester goes back or gives up, and no response requires that (R149)
 *
 * The packets do not show when a timer expires if the requester cannot send at that time, because
 * its link is busy or CNPs slowed it down; only its next packet shows the expiry. In between, the
 * requester ignores a NAK, because it has already gone back. If an ACK for all requests arrives, it
 * has nothing to retransmit. The oracle therefore keeps a set of explanations that obey every rule.
 * Each further packet removes those that do not fit. Usually one remains.
 */
#ifndef TEST_REQUESTER_ORACLE_H
#define TEST_REQUESTER_ORACLE_H

#include "wire/pkt.h"

#define ORACLE_COUNTS(X)                                                                           \
    X(packet_seq_err)                                                                              \
    X(implied_nak_seq_err)                                                                         \
    X(local_ack_timeout_err)                                                                       \
    X(rnr_nak_retry_err)                                                                           \
    X(duplicate_response)

enum oracle_count {
#define X(name) ORACLE_##name,
    ORACLE_COUNTS(X)
#undef X
        ORACLE_COUNT_CNT
};

const char *oracle_count_name(enum oracle_count count);

#define ORACLE_VIEWS 16u

struct oracle_range {
    uint64_t least, most;
};

/* One explanation of all packets so far. Positions count PSNs from the first PSN. */
struct oracle_view {
    uint32_t una;       /* oldest unanswered position */
    uint32_t nxt;       /* position of the next packet to send */
    bool went_back;     /* the requester went back because of a NAK, and has made no progress
                         * since */
    bool waits;         /* the requester waits for the RNR timer */
    uint64_t wait_over; /* earliest end of the RNR wait, ns */
    bool patient;       /* the ACK timer expired and no progress followed, so the next timeout is
                         * 2T */
    uint64_t armed;     /* start time of the ACK timer, ns; UINT64_MAX: not running */
    struct oracle_range cnt[ORACLE_COUNT_CNT];
};

struct requester_oracle {
    uint32_t sq_psn;
    uint32_t mtu;
    uint64_t timeout_ns; /* ACK timeout T, ns */
    uint32_t max;        /* position after the last packet sent at least once */
    uint32_t *end; /* end position of the READ or atomic that begins at each position, else 0 */
    uint32_t cap;
    bool over; /* the QP is in the error state: nothing is counted */
    /* the latest packet was a NAK; a completion in error may follow */
    bool took_nak;
    bool took_rnr;
    bool took_fatal;
    struct oracle_view view[ORACLE_VIEWS];
    unsigned view_cnt;
};

/* Initializes the oracle for a requester with this path MTU and ACK timeout T. */
void oracle_init(struct requester_oracle *w, uint32_t sq_psn, uint32_t mtu, uint64_t timeout_ns);
void oracle_free(struct requester_oracle *w);

/* Records a request packet that the requester sent. */
void oracle_sent(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now);

/* Records a response that the requester received. `behind` is true if the requester may not yet
 * have processed earlier packets. */
void oracle_got(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now, bool behind);

/* Reason why a QP entered the error state, from its first completion in error or from its user. */
enum oracle_end {
    ORACLE_END_RETRIES, /* retries exhausted: RETRY_EXC_ERR */
    ORACLE_END_RNR,     /* RNR retries exhausted: RNR_RETRY_EXC_ERR */
    ORACLE_END_NAK,     /* fatal NAK: REM_*_ERR */
    ORACLE_END_OWN      /* any other status, not caused by a packet */
};
void oracle_ended(struct requester_oracle *w, enum oracle_end why, uint64_t now);

/* Returns a counter of the requester: one number, or a range if the packets do not determine it. */
struct oracle_range oracle_count(const struct requester_oracle *w, enum oracle_count count);

/* Adds the counters of another requester, so that the sum can be compared with the counters of a
 * device. */
void oracle_add(struct oracle_range sum[ORACLE_COUNT_CNT], const struct requester_oracle *w);

/* Asserts that the counters of a device are within the expected ranges. */
void oracle_check(const struct oracle_range sum[ORACLE_COUNT_CNT],
                  const uint64_t counted[ORACLE_COUNT_CNT], unsigned device);

#endif

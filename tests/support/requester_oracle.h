/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester oracle: computes which values the counters of an RC requester must have. Its input is
 * the packets that the requester sent and received, in order and with their times. The oracle
 * implements the rules of rnic/rules.md and uses no code of the device. The test fails if no rule
 * explains a packet of the requester, for example a retransmission without a cause, or before the
 * timer can have expired.
 *
 * When each counter is incremented:
 *   packet_seq_err
 *       NAK 0x60 for an outstanding request (R152, R161). Not counted in three cases: the requester
 *       already went back since the last progress, it waits for an RNR timer, or it has sent
 *       nothing since it went back.
 *   implied_nak_seq_err
 *       response to a request although an earlier READ or atomic has no response yet (R139, R140).
 *       Not counted in the same three cases.
 *   rnr_nak_retry_err
 *       RNR NAK for an outstanding request, unless the requester already waits for an RNR timer
 *       (R156)
 *   duplicate_response
 *       response for a PSN that is already answered (R144)
 *   local_ack_timeout_err
 *       the requester goes back or gives up although no response caused it (R149)
 *
 * Sometimes the packets do not show when a timer expires: the link of the requester is busy then,
 * or CNPs slowed it down. Only the requester's next packet shows the expiry. Between the expiry and
 * this packet, the requester ignores a NAK, because it has already gone back. If an ACK for all
 * requests arrives in this time, it has nothing to retransmit. So the oracle keeps several views. A
 * view is the state of the requester under one hypothesis about when its timer expired. Each
 * further packet removes the views that contradict it. Usually one view remains.
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

/* A view: state of the requester after the latest packet, for one hypothesis about the times at
 * which its timer expired. A position is a PSN minus the first PSN. */
struct oracle_view {
    uint32_t una; /* position of the oldest request packet without an answer */
    uint32_t nxt; /* position of the next packet to send */
    /* The requester retransmitted because of a NAK and has made no progress since. */
    bool went_back;
    bool waits;         /* the requester waits for the RNR timer */
    uint64_t wait_over; /* earliest end of the RNR wait, ns */
    /* The ACK timer expired and no progress followed, so the next timeout is 2T. */
    bool patient;
    uint64_t armed; /* start time of the ACK timer, ns; UINT64_MAX: not running */
    struct oracle_range cnt[ORACLE_COUNT_CNT];
};

struct requester_oracle {
    uint32_t sq_psn;
    uint32_t mtu;
    uint64_t timeout_ns; /* ACK timeout T, ns */
    uint32_t max;        /* position after the highest sent position */
    uint32_t *end; /* for each position: end of the READ or atomic that begins there, otherwise 0 */
    uint32_t cap;
    bool over; /* the QP is in the error state: nothing is counted */
    /* The latest packet was a sequence NAK, an RNR NAK, or a fatal NAK; a completion with an error
     * may follow. */
    bool took_nak;
    bool took_rnr;
    bool took_fatal;
    struct oracle_view view[ORACLE_VIEWS];
    unsigned view_cnt;
};

/* Initializes the oracle for a requester with this first PSN, path MTU and ACK timeout T. */
void oracle_init(struct requester_oracle *w, uint32_t sq_psn, uint32_t mtu, uint64_t timeout_ns);
void oracle_free(struct requester_oracle *w);

/* Records a request packet that the requester sent. */
void oracle_sent(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now);

/* Records a response that the requester received at `now`. `behind`: the requester may not have
 * processed all earlier packets yet. */
void oracle_got(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now, bool behind);

/* Reason why a QP entered the error state: the status of its first completion with an error, or its
 * program moved it there. */
enum oracle_end {
    ORACLE_END_RETRIES, /* retries exhausted: RETRY_EXC_ERR */
    ORACLE_END_RNR,     /* RNR retries exhausted: RNR_RETRY_EXC_ERR */
    ORACLE_END_NAK,     /* fatal NAK: REM_*_ERR */
    ORACLE_END_OWN /* another completion status, or the program stopped the QP: no packet caused it
                    */
};
void oracle_ended(struct requester_oracle *w, enum oracle_end why, uint64_t now);

/* Returns the expected value of a counter: a range, because the packets do not always determine one
 * number. */
struct oracle_range oracle_count(const struct requester_oracle *w, enum oracle_count count);

/* Adds the expected counters of one requester to `sum`, which can be compared with the counters of
 * a device with several QPs. */
void oracle_add(struct oracle_range sum[ORACLE_COUNT_CNT], const struct requester_oracle *w);

/* Asserts that the counters `counted` of device number `device` are within the expected ranges. */
void oracle_check(const struct oracle_range sum[ORACLE_COUNT_CNT],
                  const uint64_t counted[ORACLE_COUNT_CNT], unsigned device);

#endif

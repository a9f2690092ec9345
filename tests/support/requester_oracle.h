/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Witness: what a reliable requester must have counted, told from the outside: from the packets
 * that it sent and those that were given to it, in order and with their times. It knows the rules
 * of rnic/rules.md and nothing of the device. A requester that does what no rule explains (goes
 * back without a cause, or for a timer that cannot have fired yet) is a failure of the test.
 *
 * What counts, by the wire:
 *   packet_seq_err         NAK 0x60 for something outstanding, unless the requester went back since
 *                          the last progress already, waits for an RNR timer, or has not yet sent
 *                          anything since it went back (R152, R161)
 *   implied_nak_seq_err    a response that reaches over a READ or atomic without its data, likewise
 *                          (R139, R140)
 *   rnr_nak_retry_err      RNR NAK for something outstanding, but a second one in the same wait
 *                          (R156)
 *   duplicate_response     of a PSN that is answered (R144)
 *   local_ack_timeout_err  going back, or giving up, with nothing received that says so (R149)
 *
 * One thing the wire may hide: a timer that fires while the requester must wait for its turn to
 * send (its wire is busy, or CNPs slowed it down) shows only with the next packet. A NAK that comes
 * in between then is ignored, for the requester has gone back already; an acknowledgement of all
 * leaves nothing to be sent again. So there is a set of explanations, each of which keeps every
 * rule, and what is sent next rules out those it does not fit; mostly one is left.
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

/* One explanation of all that was seen. Positions count PSNs from the first one. */
struct oracle_view {
    uint32_t una;       /* all before it is answered */
    uint32_t nxt;       /* what is sent next */
    bool went_back;     /* for a NAK, and no progress since */
    bool waits;         /* for the RNR timer */
    uint64_t wait_over; /* waits: when, at the earliest */
    bool patient;       /* the ACK timer fired, and no progress since: the next takes 2T */
    uint64_t armed;     /* when the ACK timer was started; UINT64_MAX: it does not run */
    struct oracle_range cnt[ORACLE_COUNT_CNT];
};

struct requester_oracle {
    uint32_t sq_psn;
    uint32_t mtu;
    uint64_t timeout_ns; /* T */
    uint32_t max;        /* all before it was sent at least once */
    uint32_t *end;       /* by position: of a READ or atomic, where it ends; else 0 */
    uint32_t cap;
    bool over; /* the QP is in the error state: nothing counts any more */
    /* What the packet given last made it do: a completion in error may follow. */
    bool took_nak;
    bool took_rnr;
    bool took_fatal;
    struct oracle_view view[ORACLE_VIEWS];
    unsigned view_cnt;
};

/* A requester of that path MTU whose ACK timer means T. */
void oracle_init(struct requester_oracle *w, uint32_t sq_psn, uint32_t mtu, uint64_t timeout_ns);
void oracle_free(struct requester_oracle *w);

/* A request packet that it sent. */
void oracle_sent(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now);

/* A response that was given to it. `behind`: what it had to send may not have been sent yet. */
void oracle_got(struct requester_oracle *w, const struct roce_pkt *pkt, uint64_t now, bool behind);

/* Why a QP went to the error state, as its first completion in error, or its user, says. */
enum oracle_end {
    ORACLE_END_RETRIES, /* RETRY_EXC_ERR */
    ORACLE_END_RNR,     /* RNR_RETRY_EXC_ERR */
    ORACLE_END_NAK,     /* REM_*_ERR */
    ORACLE_END_OWN      /* all others: nothing that came from the wire */
};
void oracle_ended(struct requester_oracle *w, enum oracle_end why, uint64_t now);

/* What the requester has counted: one number unless the wire hides which. */
struct oracle_range oracle_count(const struct requester_oracle *w, enum oracle_count count);

/* Adds what another requester has counted: for the counters of a device. */
void oracle_add(struct oracle_range sum[ORACLE_COUNT_CNT], const struct requester_oracle *w);

/* Asserts that what a device says it counted is what the wire showed. */
void oracle_check(const struct oracle_range sum[ORACLE_COUNT_CNT],
                  const uint64_t counted[ORACLE_COUNT_CNT], unsigned device);

#endif

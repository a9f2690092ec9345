/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ACK policy: how long the ACKs of a live device may wait (delayed ACK). It only computes times;
 * rnic_ack_hold() of the device keeps the ACKs back. Times are nanoseconds of one monotonic clock.
 *
 * Each frame costs sender and receiver about 2 us. An ACK that waits may be saved: the peer's next
 * request is acknowledged together with this one, or the ACK is sent in one system call with the
 * program's answer. An ACK that the peer waits for must not wait. So:
 *
 * 1. ack_policy_received(): requests came in while the program polls, or the poll thread took them
 *    for a program that sent something lately. Their ACKs may wait a few microseconds, for the
 *    program's answer or for the next request.
 * 2. ack_policy_sent(): the program sent something. ACKs that wait for its answer are sent with it.
 * 3. ack_policy_until() returns the end of the wait. When it has passed, the ACKs are sent.
 *
 * Three backoffs learn from waits in vain. After the second failure in a row, each further one
 * doubles the number of waits that are skipped:
 *   poller  the program polls too seldom to send a waiting ACK in time
 *   next    no next request came in time: the peer waits for the ACK, or sends seldom
 *   answer  the program did not answer in time what the poll thread received for it
 */
#ifndef RNIC_ACK_POLICY_H
#define RNIC_ACK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define ACK_ANSWER_NS    8000u  /* a program that polls or reads its memory answers within this */
#define ACK_NEXT_NS      12000u /* requests of one stream follow one another within this */
#define ACK_TURNS_MAX    32u    /* batches of requests that one ACK acknowledges at most */
#define ACK_POLL_LATE_NS 50000u /* a program that polls continuously returns within this */

struct backoff {
    unsigned failures; /* in a row, limited */
    unsigned skip;     /* next attempts to be left out */
};

/* Returns whether to try now; counts an attempt that is left out. */
bool backoff_allows(struct backoff *backoff);
void backoff_failed(struct backoff *backoff);
void backoff_ease(struct backoff *backoff); /* takes back one failure */
void backoff_reset(struct backoff *backoff);

struct ack_policy {
    uint64_t until; /* ACKs wait until then; 0: none waits */
    unsigned turns; /* batches of requests whose ACKs wait */
    bool for_next;  /* the wait is for the peer's next request */
    struct backoff poller;
    struct backoff next;
    struct backoff answer;
};

/* The polling program received requests at `now`. `answers`: it has requests outstanding itself, so
 * it may answer soon. */
void ack_policy_received(struct ack_policy *policy, bool answers, uint64_t now);

/* The program sent something at `now`. */
void ack_policy_sent(struct ack_policy *policy, uint64_t now);

/* The program calls at `now`: learns whether it polls often enough. */
void ack_policy_polled(struct ack_policy *policy, uint64_t now);

/* Returns until when ACKs may wait: 0 if they are to be sent at `now`. */
uint64_t ack_policy_until(struct ack_policy *policy, uint64_t now);

/* No ACK waits any longer. */
void ack_policy_done(struct ack_policy *policy);

#endif

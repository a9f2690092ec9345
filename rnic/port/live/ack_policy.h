/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ACK policy: how long the ACKs of a live device are delayed. It only computes times;
 * rnic_ack_hold() of the device keeps the ACKs back. Times are nanoseconds of one monotonic clock.
 *
 * Each frame costs sender and receiver about 2 us. A delayed ACK can save a frame: one ACK then
 * acknowledges this request and the peer's next one. It can also save a system call: the ACK is
 * sent together with the program's answer. But an ACK that the peer needs now must not be delayed.
 * So:
 *
 * 1. ack_policy_received(): the polling program received requests. A wait of some microseconds
 *    begins, either for the peer's next request or for the program's answer. During the wait, the
 *    device delays the ACKs.
 * 2. ack_policy_sent(): the program sent something. ACKs that were delayed for its answer are sent
 *    with it.
 * 3. ack_policy_until() returns the end of the wait. After that time the ACKs are sent.
 *
 * Three backoffs count the waits that failed, each backoff for one reason. After the second failure
 * in a row, each further failure doubles the number of waits that are skipped:
 *   poller  the program polls too seldom to send a delayed ACK in time
 *   next    no next request arrived in time: the peer needs the ACK, or sends seldom
 *   answer  the program did not answer in time. The poll thread (poll_thread.c) uses the same
 *           backoff for the requests that it receives itself.
 */
#ifndef RNIC_ACK_POLICY_H
#define RNIC_ACK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* How long the poll thread waits for the answer of a program that reads its memory or waits for an
 * event, ns. Short, because the poll thread keeps a CPU busy meanwhile. */
#define ACK_ANSWER_NS 8000u
/* Longest expected time until a polling program answers a request, ns: another thread may run on
 * the program's CPU for 10 to 20 us. */
#define ACK_POLLER_ANSWERS_NS 30000u
/* maximum wait for the peer's next request, counted from the previous request, ns */
#define ACK_NEXT_NS 12000u
/* longest delay of an ACK, in batches; a batch is all frames that are received at once */
#define ACK_TURNS_MAX 32u
/* A program that polls later than this time (ns) after the end of a wait polls too seldom to send
 * delayed ACKs in time. */
#define ACK_POLL_LATE_NS 50000u

struct backoff {
    unsigned failures; /* number of consecutive waits that failed, at most FAILURES_MAX */
    unsigned skip;     /* number of waits to skip from now on */
};

/* Returns whether the caller should wait this time. Otherwise the caller must skip this wait,
 * because earlier waits failed; the function counts the skipped wait. */
bool backoff_allows(struct backoff *backoff);
void backoff_failed(struct backoff *backoff);
void backoff_ease(struct backoff *backoff); /* Removes one failure from the count. */
void backoff_reset(struct backoff *backoff);

struct ack_policy {
    bool cheap_frames; /* a frame costs so little that delaying an ACK for the peer's next request
                        * saves nothing */
    uint64_t until;    /* end of the current wait, ns; 0: no ACK is delayed */
    unsigned turns;    /* number of batches of received requests in the current wait */
    bool for_next;     /* true: the wait is for the peer's next request; false: for the program's
                        * answer */
    struct backoff poller;
    struct backoff next;
    struct backoff answer;
};

/* Starts or extends a wait: the polling program received requests at `now`. `answers`: the program
 * itself sent a request lately, so it will probably answer soon. */
void ack_policy_received(struct ack_policy *policy, bool answers, uint64_t now);

/* Records that the program posted a send request at `now`. */
void ack_policy_sent(struct ack_policy *policy, uint64_t now);

/* Records that the program polls at `now`, and measures whether it polls often enough. */
void ack_policy_polled(struct ack_policy *policy, uint64_t now);

/* Returns the time until which ACKs are delayed, or 0 if they must be sent at `now`. */
uint64_t ack_policy_until(struct ack_policy *policy, uint64_t now);

/* Ends the wait after all ACKs were sent. */
void ack_policy_done(struct ack_policy *policy);

#endif

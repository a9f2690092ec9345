/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/live/ack_policy.h"

/* Maximum of backoff.failures, the number of consecutive waits that failed. At this maximum, 256
 * waits are skipped after each further failure. */
#define FAILURES_MAX 10u

/* ---- backing off after useless waits --------------------------------------------------------- */

static void set_failures(struct backoff *backoff, unsigned failures)
{
    backoff->failures = failures < FAILURES_MAX ? failures : FAILURES_MAX;
    /* after 0, 1, 2, 3, 4 ... failures, the next 0, 0, 1, 2, 4 ... waits are skipped */
    backoff->skip = (1u << backoff->failures) / 4;
}

bool backoff_allows(struct backoff *backoff)
{
    if (backoff->skip == 0)
        return true;
    backoff->skip--;
    return false;
}

void backoff_failed(struct backoff *backoff)
{
    set_failures(backoff, backoff->failures + 1);
}

void backoff_ease(struct backoff *backoff)
{
    set_failures(backoff, backoff->failures - (backoff->failures > 0));
}

void backoff_reset(struct backoff *backoff)
{
    *backoff = (struct backoff){0};
}

/* ---- the ACK policy -------------------------------------------------------------------------- */

static void begin_wait(struct ack_policy *policy, bool answers, uint64_t now)
{
    if (!backoff_allows(&policy->poller))
        return;
    policy->for_next = !policy->cheap_frames && backoff_allows(&policy->next);
    policy->turns = 0;

    if (policy->for_next || (answers && backoff_allows(&policy->answer)))
        /* Start of the wait; the caller, ack_policy_received(), adds the length. */
        policy->until = now;
}

void ack_policy_received(struct ack_policy *policy, bool answers, uint64_t now)
{
    bool begins = policy->until == 0;

    if (begins)
        begin_wait(policy, answers, now);
    if (policy->until == 0)
        return;
    policy->turns++;
    if (policy->for_next)
        policy->until = now + ACK_NEXT_NS;
    else if (begins)
        policy->until = now + ACK_POLLER_ANSWERS_NS;
}

void ack_policy_sent(struct ack_policy *policy, uint64_t now)
{
    if (policy->until == 0)
        return;
    if (policy->for_next) {
        policy->until = now + ACK_NEXT_NS;
        return;
    }
    backoff_reset(&policy->answer);
    ack_policy_done(policy);
}

void ack_policy_polled(struct ack_policy *policy, uint64_t now)
{
    if (policy->until == 0)
        return;
    if (now > policy->until + ACK_POLL_LATE_NS)
        backoff_failed(&policy->poller);
    else
        backoff_reset(&policy->poller);
}

uint64_t ack_policy_until(struct ack_policy *policy, uint64_t now)
{
    if (policy->until == 0)
        return 0;
    if (policy->for_next && policy->turns > ACK_TURNS_MAX) {
        backoff_ease(&policy->next);
        ack_policy_done(policy);
    } else if (now > policy->until) {
        backoff_failed(policy->for_next ? &policy->next : &policy->answer);
        ack_policy_done(policy);
    }
    return policy->until;
}

void ack_policy_done(struct ack_policy *policy)
{
    policy->until = 0;
    policy->turns = 0;
}

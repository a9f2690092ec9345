/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/retry.h"

#include <assert.h>
#include "transport/fault.h"
#include "wire/codes.h"

#define TIMEOUT_CODE_MAX 31u /* maximum of the 5-bit timeout code */

_Static_assert(RNIC_RETRY_NEVER == ROCE_NEVER_NS, "RNIC_RETRY_NEVER equals ROCE_NEVER_NS");

/* Returns now + ns, at most RNIC_RETRY_NEVER. */
static uint64_t add_capped(uint64_t now, uint64_t ns)
{
    return ns > RNIC_RETRY_NEVER - now ? RNIC_RETRY_NEVER : now + ns;
}

void rnic_retry_init(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                     uint8_t rnr_retry)
{
    assert(retry_cnt <= RNIC_RETRY_MAX && rnr_retry <= RNIC_RNR_RETRY_FOREVER);
    *retry = (struct rnic_retry){
        .timeout_ns = roce_ack_timeout_ns(timeout) >> RNIC_FAULT(TIMER_EARLY)
                                                          << (RNIC_FAULT(TIMER_LATE) ? 3 : 0),
        .deadline = RNIC_RETRY_NEVER,
        .timeout = timeout,
        .retry_cnt = retry_cnt,
        .rnr_retry = rnr_retry,
        .retries_left = retry_cnt,
        .rnr_left = rnr_retry,
    };
}

void rnic_retry_change(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                       uint8_t rnr_retry)
{
    struct rnic_retry old = *retry;

    rnic_retry_init(retry, timeout, retry_cnt, rnr_retry);
    retry->deadline = old.deadline;
    retry->wait = old.wait;
    retry->wait_code = old.wait_code;
}

void rnic_retry_progress(struct rnic_retry *retry)
{
    retry->double_timeout = false;
    retry->retries_left = retry->retry_cnt;
    retry->rnr_left = retry->rnr_retry;
    if (retry->wait == RNIC_RETRY_RNR)
        rnic_retry_stop(retry);
}

void rnic_retry_arm(struct rnic_retry *retry, uint64_t now)
{
    assert(retry->wait != RNIC_RETRY_RNR); /* nothing is sent during an RNR wait */
    if (retry->timeout_ns == RNIC_RETRY_NEVER)
        return;
    retry->wait = RNIC_RETRY_ACK;
    retry->wait_code = retry->timeout;
    if (retry->double_timeout && retry->timeout < TIMEOUT_CODE_MAX)
        retry->wait_code++; /* doubles the timeout */
    retry->deadline = add_capped(now, retry->timeout_ns << (retry->wait_code - retry->timeout));
}

void rnic_retry_disarm(struct rnic_retry *retry)
{
    if (retry->wait == RNIC_RETRY_ACK)
        rnic_retry_stop(retry);
}

void rnic_retry_stop(struct rnic_retry *retry)
{
    retry->wait = RNIC_RETRY_IDLE;
    retry->deadline = RNIC_RETRY_NEVER;
}

bool rnic_retry_use_one(struct rnic_retry *retry)
{
    if (retry->retries_left == 0 || RNIC_FAULT(RETRY_NEVER))
        return false;
    retry->retries_left--;
    return true;
}

bool rnic_retry_rnr(struct rnic_retry *retry, uint8_t code, uint64_t now)
{
    if (retry->rnr_left == 0)
        return false;
    if (retry->rnr_retry != RNIC_RNR_RETRY_FOREVER)
        retry->rnr_left--;
    retry->wait = RNIC_RETRY_RNR;
    retry->wait_code = code;
    retry->deadline = add_capped(now, roce_rnr_ns(code) >> RNIC_FAULT(RNR_EARLY));
    return true;
}

enum rnic_retry_wait rnic_retry_expire(struct rnic_retry *retry, uint64_t now)
{
    enum rnic_retry_wait wait = retry->wait;

    if (wait == RNIC_RETRY_IDLE || now < retry->deadline)
        return RNIC_RETRY_IDLE;
    rnic_retry_stop(retry);
    if (wait == RNIC_RETRY_ACK)
        retry->double_timeout = true;
    return wait;
}

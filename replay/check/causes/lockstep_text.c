/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/lockstep_text.h"

#include "check/base/conn_state.h"

/* Minimum number of messages of a requester for which lockstep_ns() is not 0. A requester with few
 * messages has little reason to have several in flight. */
#define MESSAGES_MIN 100u

uint64_t lockstep_ns(const struct roce_conn_summary *sum, unsigned side)
{
    const struct roce_endpoint_summary *s = &sum->side[side];
    uint64_t messages = 0, writes = 0, bytes = 0, ns = 0;

    for (unsigned o = 0; o < ROCE_OPER_CNT; o++) {
        const struct roce_oper_summary *op = &s->oper[o];

        messages += op->messages;
        ns += op->latency_ns;
        if (o != ROCE_OPER_READ) {
            writes += op->messages;
            bytes += op->bytes;
        }
    }
    if (sum->facts.svc != ROCE_SVC_RC || messages < MESSAGES_MIN || s->max_reads_in_flight > 1 ||
        ns * 2 < check_conn_duration_ns(sum) || ns > check_conn_duration_ns(sum))
        return 0;
    /* Several PSNs in flight may belong to one message of several packets. So compare bytes: the
     * bytes in flight must never have exceeded the average length of a message. */
    if (s->max_psns_in_flight > 1 && writes)
        return s->oper[ROCE_OPER_READ].messages == 0 && s->max_bytes_in_flight * writes <= bytes
                   ? ns
                   : 0;
    return ns;
}

void lockstep_text(struct strbuf *t, const struct roce_conn_summary *sum, unsigned side)
{
    strbuf_add_addr(t, sum->side[side].addr);
    strbuf_addf(t, " sent one message at a time and waited for responses ");
    strbuf_add_percent(t, lockstep_ns(sum, side), check_conn_duration_ns(sum));
    strbuf_addf(t, " of the time; more messages in flight raise the rate");
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/silence_text.h"

#include <inttypes.h>

/* Silences are notable if they last at least this share of the connection's time, in percent, and
 * at most this share of its packets follows a silence. A program that sends seldom has many
 * silences, which are not notable. */
#define TIME_PERCENT    10u
#define PACKETS_PERCENT 1u

static uint64_t duration_ns(const struct roce_conn_facts *facts)
{
    return facts->last_time - facts->first_time;
}

bool silence_is_notable(const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;
    uint64_t packets = sum->side[0].packets + sum->side[1].packets;

    return facts->silence.cnt && facts->svc == ROCE_SVC_RC &&
           facts->silence.sum_ns / TIME_PERCENT >= duration_ns(facts) / 100 &&
           facts->silence.cnt * UINT64_C(100) <= packets * PACKETS_PERCENT;
}

void silence_text(struct strbuf *t, const struct roce_conn_facts *facts)
{
    strbuf_addf(t, "no packet was captured for ");
    strbuf_add_duration(t, facts->silence.longest_ns);
    strbuf_addf(t, " before frame %u", facts->silence.frame);
    if (facts->silence.cnt > 1) {
        strbuf_addf(t, "; %u such silences lasted ", facts->silence.cnt);
        strbuf_add_duration(t, facts->silence.sum_ns);
    }
    strbuf_addf(t, " (");
    strbuf_add_percent(t, facts->silence.sum_ns, duration_ns(facts));
    strbuf_addf(t, " of the time): the program sent nothing, or a request was lost before the "
                   "capture point, and its retransmission after the timeout is the first captured");
}

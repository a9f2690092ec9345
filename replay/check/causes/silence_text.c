/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/silence_text.h"

#include "check/base/conn_state.h"

/* Silences are notable if they last at least TIME_PERCENT of the connection's duration, and at most
 * PACKETS_PERCENT of its packets follow a silence or an idle pause. If a program sends seldom, many
 * packets follow a pause; then silences are not notable. */
#define TIME_PERCENT    10u
#define PACKETS_PERCENT 1u
/* Silences of similar lengths may be ACK timeouts. If the connection has at least SIMILAR_PACKETS
 * packets, such silences are notable even if up to SIMILAR_PERCENT of the packets follow a
 * silence. */
#define SIMILAR         2u /* maximum ratio of longest to shortest silence: 5/SIMILAR */
#define SIMILAR_PERCENT 10u
#define SIMILAR_PACKETS 100u /* a connection with fewer packets is not busy */

/* A silence inside a message is not a pause of the program, which posted the whole message. The
 * longest silence is notable if it is inside a message, lasts TIME_PERCENT of the connection's
 * duration and at least INSIDE_US, and at most INSIDE_CNT silences exist. A requester that waits
 * for ACKs on a long path causes more silences, and a software RNIC causes shorter ones. */
#define INSIDE_CNT 2u
#define INSIDE_US  10000u

static bool is_similar(const struct roce_conn_facts *facts)
{
    return facts->silence.cnt > 1 &&
           facts->silence.longest_us / 5 * SIMILAR <= facts->silence.shortest_us;
}

bool silence_is_inside(const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;

    return facts->silence.inside && facts->silence.cnt <= INSIDE_CNT &&
           facts->silence.longest_us >= INSIDE_US &&
           UINT64_C(1000) * facts->silence.longest_us / TIME_PERCENT >=
               check_conn_duration_ns(sum) / 100;
}

bool silence_is_notable(const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;
    uint64_t packets = sum->side[0].packets + sum->side[1].packets;
    uint64_t pauses = (uint64_t)facts->silence.cnt + facts->idle_pauses;
    unsigned percent =
        is_similar(facts) && packets >= SIMILAR_PACKETS ? SIMILAR_PERCENT : PACKETS_PERCENT;

    return facts->silence.cnt && facts->svc == ROCE_SVC_RC &&
           facts->silence.sum_ns / TIME_PERCENT >= check_conn_duration_ns(sum) / 100 &&
           (pauses * 100 <= packets * percent || silence_is_inside(sum));
}

void silence_text(struct strbuf *t, const struct roce_conn_summary *sum)
{
    const struct roce_conn_facts *facts = &sum->facts;

    strbuf_addf(t, "no packet was captured for ");
    strbuf_add_durations(t, UINT64_C(1000) * facts->silence.shortest_us,
                         UINT64_C(1000) * facts->silence.longest_us);
    if (facts->silence.cnt > 1)
        strbuf_addf(t, ", %u×, the longest", facts->silence.cnt);
    strbuf_addf(t, " before frame %u (%s", facts->silence.frame,
                facts->silence.cnt > 1 ? "together " : "");
    strbuf_add_percent(t, facts->silence.sum_ns, check_conn_duration_ns(sum));
    strbuf_addf(t, " of the time)%s: ", silence_is_inside(sum) ? ", inside a message" : "");
    if (silence_is_inside(sum))
        strbuf_addf(t, "a request was lost before the capture point, and its retransmission after "
                       "the timeout is the first captured, or the requester paused (flow control, "
                       "a wait for an ACK)");
    else if (is_similar(facts))
        strbuf_addf(t, "the similar lengths look like ACK timeouts after requests that were lost "
                       "before the capture point, or the program sends periodically");
    else
        strbuf_addf(t, "the program sent nothing, or a request was lost before the capture point, "
                       "and its retransmission after the timeout is the first captured");
}

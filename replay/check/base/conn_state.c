/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/conn_state.h"

bool check_conn_failed(const struct roce_conn_summary *sum)
{
    switch (sum->facts.end) {
    case ROCE_END_OPEN:
    case ROCE_END_DISCONNECTED:
    case ROCE_END_UNANSWERED:
    case ROCE_END_RNR_WAITING: return false;
    default: return true;
    }
}

bool check_conn_stuck(const struct roce_conn_summary *sum)
{
    return sum->facts.end == ROCE_END_UNANSWERED || sum->facts.end == ROCE_END_RNR_WAITING;
}

bool check_conn_not_retransmitted(const struct roce_conn_facts *facts)
{
    return facts->end == ROCE_END_UNANSWERED && facts->end_waits;
}

bool check_conn_no_retry_left(const struct roce_conn_facts *facts)
{
    return facts->end == ROCE_END_RETRY_EXHAUSTED && facts->end_on_nak && facts->end_syndrome == 0;
}

bool check_conn_lossy(const struct roce_conn_summary *sum)
{
    return sum->side[0].lost_messages + sum->side[1].lost_messages > 0;
}

bool check_side_loses_more(const struct roce_conn_summary *sum, unsigned side)
{
    return sum->side[side].lost_messages && sum->side[!side].may_be_rxe;
}

bool check_side_alone(const struct roce_conn_facts *facts, const struct roce_endpoint_summary *its)
{
    return !facts->paired && its->responses == 0;
}

uint64_t check_side_missing(const struct roce_endpoint_summary *side)
{
    uint64_t late_or_unseen = side->out_of_order + side->unseen_packets;

    return side->missing_packets > late_or_unseen ? side->missing_packets - late_or_unseen : 0;
}

uint64_t check_side_missing_responses(const struct roce_endpoint_summary *side)
{
    return side->missing_responses > side->late_responses
               ? side->missing_responses - side->late_responses
               : 0;
}

uint64_t check_conn_duration_ns(const struct roce_conn_summary *sum)
{
    return sum->facts.last_time - sum->facts.first_time;
}

uint64_t check_side_goodput(const struct roce_endpoint_summary *side)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ROCE_OPER_CNT; i++)
        sum += side->oper[i].bytes;
    return sum;
}

struct roce_retx_summary check_side_retransmitted(const struct roce_endpoint_summary *side)
{
    struct roce_retx_summary sum = {0};

    for (unsigned i = 0; i < ROCE_CAUSE_CNT; i++) {
        sum.go_backs += side->retx[i].go_backs;
        sum.packets += side->retx[i].packets;
        sum.bytes += side->retx[i].bytes;
        sum.stalled_ns += side->retx[i].stalled_ns;
        sum.waited_ns += side->retx[i].waited_ns;
    }
    return sum;
}

bool check_side_marked(const struct roce_conn_summary *sum, unsigned side)
{
    bool acknowledged = sum->facts.svc == ROCE_SVC_RC || sum->facts.svc == ROCE_SVC_XRC;

    return acknowledged && sum->side[side].ce_unanswered;
}

bool check_side_notified(const struct roce_conn_summary *sum, unsigned side)
{
    return sum->facts.paired && sum->side[!side].cnps && sum->side[side].cnp.before.cnt == 0;
}

bool check_conn_notified(const struct roce_conn_summary *sum)
{
    return check_side_notified(sum, 0) || check_side_notified(sum, 1);
}

bool check_conn_marked(const struct roce_conn_summary *sum)
{
    return check_side_marked(sum, 0) || check_side_marked(sum, 1);
}

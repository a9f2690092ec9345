/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/conn_state.h"

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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/idle_text.h"

#include "check/base/conn_state.h"

static uint64_t idle_ns(const struct roce_conn_summary *sum)
{
    return sum->side[0].idle_ns + sum->side[1].idle_ns;
}

bool idle_is_notable(const struct roce_conn_summary *sum)
{
    return sum->facts.svc == ROCE_SVC_RC && sum->facts.paired && idle_ns(sum) > 0 &&
           idle_ns(sum) * 2 >= check_conn_duration_ns(sum);
}

void idle_text(struct strbuf *t, const struct roce_conn_summary *sum)
{
    strbuf_addf(t, "no request was in flight ");
    strbuf_add_percent(t, idle_ns(sum), check_conn_duration_ns(sum));
    strbuf_addf(t, " of the time: usually the programs limit the rate, not the network");
}

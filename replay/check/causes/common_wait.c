/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/common_wait.h"

#include <inttypes.h>
#include <string.h>
#include "check/causes/time_budget.h"

/* Stores `addr` in `first` if it belongs to the first connection that waited for a cause. For a
 * later connection, sets *other if its address differs from `first`. */
static void note_host(uint8_t first[16], bool *other, bool is_first, const uint8_t addr[16])
{
    if (is_first)
        memcpy(first, addr, 16);
    else if (memcmp(first, addr, 16) != 0)
        *other = true;
}

void common_wait_add(struct common_wait *common, const struct roce_conn_summary *sum)
{
    struct wait_part wait[WAIT_CAUSES];
    unsigned side, cnt = time_budget_waits(sum, wait, &side);
    const struct slow_direction w = slow_direction_of(sum, side);
    unsigned i;
    bool first;

    if (cnt == 0)
        return;
    i = time_budget_words(&w, wait[0].cause);
    first = common->by[i].conns++ == 0;
    note_host(common->by[i].from, &common->by[i].other_from, first, w.mine->addr);
    note_host(common->by[i].to, &common->by[i].other_to, first, w.its->addr);
}

void common_wait_text(struct strbuf *t, const char *before, const struct common_wait *common,
                      uint64_t slow)
{
    unsigned most = 0;

    for (unsigned i = 1; i < WAIT_CAUSES; i++)
        if (common->by[i].conns > common->by[most].conns)
            most = i;
    if (common->by[most].conns < 2 || common->by[most].conns * 2 < slow)
        return;
    strbuf_addf(t, "%s%" PRIu64 " of %" PRIu64 " slow connections waited longest for %s", before,
                common->by[most].conns, slow, time_budget_what(most));
    if (common->by[most].other_from && common->by[most].other_to)
        return;
    strbuf_addf(t, ", all with requests");
    if (!common->by[most].other_from) {
        strbuf_addf(t, " of ");
        strbuf_add_addr(t, common->by[most].from);
    }
    if (!common->by[most].other_to) {
        strbuf_addf(t, " to ");
        strbuf_add_addr(t, common->by[most].to);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "impair/delay_line.h"

#include <string.h>

static struct delay_entry *entry_of(struct rnic_heap_node *node)
{
    return node ? (struct delay_entry *)((char *)node - offsetof(struct delay_entry, node)) : NULL;
}

bool delay_line_put(struct delay_line *line, struct delay_entry *entry, uint64_t due, uint32_t hold,
                    uint32_t lane)
{
    if (!rnic_heap_reserve(&line->heap, line->heap.cnt + 1))
        return false;
    *entry = (struct delay_entry){.seq = line->seq++, .hold = hold, .held = hold > 0, .lane = lane};
    line->held += entry->held;
    rnic_heap_set(&line->heap, &entry->node, hold ? due + DELAY_LINE_HOLD_NS : due);
    return true;
}

uint64_t delay_line_due(const struct delay_line *line)
{
    const struct rnic_heap_node *first = rnic_heap_first(&line->heap);

    return first ? first->at : UINT64_MAX;
}

/* Returns a reordered frame that enough later frames have overtaken, so that it is due. Returns
 * NULL if there is none. */
static struct delay_entry *find_overtaken(const struct delay_line *line)
{
    for (size_t i = 1; i <= line->heap.cnt; i++) {
        struct delay_entry *entry = entry_of(line->heap.node[i]);

        if (entry->held && entry->hold == 0)
            return entry;
    }
    return NULL;
}

/* Called when frame `by` arrives at time `at`. Frame `by` overtakes each reordered frame with the
 * same number `lane` that was sent before it. Subtracts 1 from `hold` of each overtaken frame. A
 * frame whose `hold` becomes 0 is then due. */
static void count_overtaking(struct delay_line *line, const struct delay_entry *by, uint64_t at)
{
    struct delay_entry *entry;

    for (size_t i = 1; i <= line->heap.cnt; i++) {
        entry = entry_of(line->heap.node[i]);
        entry->hold -= entry->hold > 0 && entry->lane == by->lane && entry->seq < by->seq;
    }
    while ((entry = find_overtaken(line)) != NULL) {
        entry->held = false;
        line->held--;
        if (entry->node.at > at)
            rnic_heap_set(&line->heap, &entry->node, at);
    }
}

struct delay_entry *delay_line_take(struct delay_line *line, uint64_t now)
{
    struct delay_entry *entry = entry_of(rnic_heap_first(&line->heap));
    uint64_t at = delay_line_due(line);

    if (!entry || at > now)
        return NULL;
    rnic_heap_set(&line->heap, &entry->node, UINT64_MAX);
    line->held -= entry->held;
    if (line->held > 0)
        count_overtaking(line, entry, at);
    return entry;
}

void delay_line_free(struct delay_line *line)
{
    rnic_heap_free(&line->heap);
    memset(line, 0, sizeof(*line));
}

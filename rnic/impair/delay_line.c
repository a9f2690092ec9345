/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "impair/delay_line.h"

#include <stdlib.h>
#include <string.h>

static bool arrives_before(const struct delay_entry *a, const struct delay_entry *b)
{
    return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

/* Moves the entry up from a free place. */
static void sift_up(struct delay_line *line, size_t at, struct delay_entry *entry)
{
    while (at > 0 && arrives_before(entry, line->heap[(at - 1) / 2])) {
        line->heap[at] = line->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    line->heap[at] = entry;
}

static void sift_down(struct delay_line *line, size_t at, struct delay_entry *entry)
{
    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < line->cnt && arrives_before(line->heap[child + 1], line->heap[child]))
            child++;
        if (child >= line->cnt || !arrives_before(line->heap[child], entry))
            break;
        line->heap[at] = line->heap[child];
        at = child;
    }
    line->heap[at] = entry;
}

bool delay_line_put(struct delay_line *line, struct delay_entry *entry, uint64_t due, uint32_t hold,
                    uint32_t lane)
{
    if (line->cnt == line->cap) {
        size_t cap = line->cap ? 2 * line->cap : 64;
        struct delay_entry **heap = realloc(line->heap, cap * sizeof(*heap));

        if (!heap)
            return false;
        line->heap = heap;
        line->cap = cap;
    }
    entry->due = hold ? due + DELAY_LINE_HOLD_NS : due;
    entry->seq = line->seq++;
    entry->hold = hold;
    entry->lane = lane;
    line->held += hold > 0;
    sift_up(line, line->cnt++, entry);
    return true;
}

uint64_t delay_line_due(const struct delay_line *line)
{
    return line->cnt ? line->heap[0]->due : UINT64_MAX;
}

/* Counts an arrival for the entries that it overtakes. One with enough of them arrives next. */
static void count_overtaking(struct delay_line *line, const struct delay_entry *by)
{
    bool moved = false;

    for (size_t i = 0; i < line->cnt; i++) {
        struct delay_entry *entry = line->heap[i];

        if (entry->hold == 0 || entry->lane != by->lane || entry->seq > by->seq ||
            --entry->hold > 0)
            continue;
        line->held--;
        moved |= entry->due > by->due;
        entry->due = entry->due > by->due ? by->due : entry->due;
    }
    for (size_t i = moved ? line->cnt / 2 : 0; i-- > 0;)
        sift_down(line, i, line->heap[i]);
}

struct delay_entry *delay_line_take(struct delay_line *line, uint64_t now)
{
    struct delay_entry *entry;

    if (line->cnt == 0 || line->heap[0]->due > now)
        return NULL;
    entry = line->heap[0];
    line->held -= entry->hold > 0;
    entry->hold = 0;
    if (--line->cnt > 0)
        sift_down(line, 0, line->heap[line->cnt]);
    if (line->held > 0)
        count_overtaking(line, entry);
    return entry;
}

void delay_line_free(struct delay_line *line)
{
    free(line->heap);
    memset(line, 0, sizeof(*line));
}

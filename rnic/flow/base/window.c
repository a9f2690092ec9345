/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/window.h"

#include <string.h>

/* Returns whether the last PSN of entry `i` is later than or equal to `psn`. PSNs wrap, so the
 * function compares distances from the PSN of the oldest entry. */
static bool ends_after(const struct roce_window *w, uint32_t i, uint32_t psn)
{
    const struct roce_sent_packet *e = roce_window_at(w, i);
    uint32_t base = w->buf[w->head].psn;
    uint32_t at = (psn - base) & ROCE_PSN_MASK;
    uint32_t end = ((e->psn - base) & ROCE_PSN_MASK) + e->psn_cnt;

    return end > at;
}

uint32_t roce_window_find(struct roce_window *w, uint32_t psn)
{
    uint32_t lo = 0, hi = w->cnt;

    if (w->cnt == 0)
        return 0;
    /* Most lookups find the entry of the previous lookup, or the entry after it. */
    for (uint32_t i = w->hint; i < w->hint + 2 && i < w->cnt; i++)
        if (roce_sent_has(roce_window_at(w, i), psn)) {
            w->hint = i;
            return i;
        }
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (ends_after(w, mid, psn))
            hi = mid;
        else
            lo = mid + 1;
    }
    w->hint = lo;
    return lo;
}

static bool grow_window(struct roce_window *w, uint32_t cap, struct roce_mem *mem)
{
    struct roce_sent_packet *buf = roce_mem_get(mem, cap * sizeof(*buf));

    if (!buf)
        return false;
    for (uint32_t i = 0; i < w->cnt; i++)
        buf[i] = *roce_window_at(w, i);
    roce_mem_put(mem, w->buf, w->cap * sizeof(*w->buf));
    w->buf = buf;
    w->cap = cap;
    w->head = 0;
    return true;
}

bool roce_window_room(struct roce_window *w, uint32_t max, struct roce_mem *mem)
{
    if (w->cnt == w->cap && w->cap < max &&
        (w->acked <= w->cap / 2 ||
         (w->cap < ROCE_WINDOW_READS && roce_sent_is_unread(&w->buf[w->head]))))
        (void)grow_window(w, w->cap ? w->cap * 2 : ROCE_WINDOW_MIN, mem);
    return w->cnt < w->cap;
}

void roce_window_drop(struct roce_window *w)
{
    w->head = (w->head + 1) & (w->cap - 1);
    w->cnt--;
    w->acked -= w->acked > 0;
    w->hint -= w->hint > 0;
}

/* Moves the entry at index `at` and all later entries one index up. The window must not be full. */
static void move_up(struct roce_window *w, uint32_t at)
{
    for (uint32_t left = w->cnt - at, n; left > 0; left -= n) {
        uint32_t to = (w->head + at + left) & (w->cap - 1); /* place of the last entry to move */

        n = to == 0 ? 1 : left < to ? left : to;
        if (to == 0)
            w->buf[0] = w->buf[w->cap - 1];
        else
            memmove(&w->buf[to - n + 1], &w->buf[to - n], n * sizeof(*w->buf));
    }
}

/* Moves the head and all entries before index `at` one element of the ring back. The window must
 * not be full. */
static void move_down(struct roce_window *w, uint32_t at)
{
    for (uint32_t moved = 0, n; moved < at; moved += n) {
        uint32_t from = (w->head + moved) & (w->cap - 1);

        n = from == 0 ? 1 : at - moved < w->cap - from ? at - moved : w->cap - from;
        if (from == 0)
            w->buf[w->cap - 1] = w->buf[0];
        else
            memmove(&w->buf[from - 1], &w->buf[from], n * sizeof(*w->buf));
    }
    w->head = (w->head - 1) & (w->cap - 1);
}

struct roce_sent_packet *roce_window_insert(struct roce_window *w, uint32_t *at, uint32_t max,
                                            struct roce_mem *mem, uint64_t *overflow)
{
    struct roce_sent_packet *e;

    if (!roce_window_room(w, max, mem)) {
        if (w->cap == 0 || *at == 0)
            return NULL;
        *overflow += w->acked == 0;
        roce_window_drop(w);
        (*at)--;
    }
    if (*at < w->cnt / 2)
        move_down(w, *at);
    else
        move_up(w, *at);
    w->cnt++;
    if (*at < w->acked)
        w->acked++;
    e = roce_window_at(w, *at);
    memset(e, 0, sizeof(*e));
    return e;
}

struct roce_sent_packet *roce_window_append(struct roce_window *w)
{
    struct roce_sent_packet *e = roce_window_at(w, w->cnt++);

    memset(e, 0, sizeof(*e));
    return e;
}

void roce_window_free(struct roce_window *w, struct roce_mem *mem)
{
    roce_mem_put(mem, w->buf, w->cap * sizeof(*w->buf));
    memset(w, 0, sizeof(*w));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/message_times.h"

void message_times_add(struct message_times *times, const struct roce_flow_done *done)
{
    times->message[times->cnt++] = (struct message_time){
        .first = done->start,
        .last = done->last,
        .done = done->start + done->ns,
        .bytes = done->bytes,
        .frame = done->frame,
        .number = done->number,
        .side = done->side,
        .kind = (uint8_t)done->kind,
    };
}

static void keep_slower_halves(struct message_times *times)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i + 1 < times->cnt; i += 2) {
        const struct message_time *a = &times->message[i], *b = a + 1;

        times->message[kept++] = b->done - b->first > a->done - a->first ? *b : *a;
        times->left_out++;
    }
    if (times->cnt & 1)
        times->message[kept++] = times->message[times->cnt - 1];
    times->cnt = kept;
}

bool message_times_make_room(struct message_times *times, struct page_memory *memory, uint32_t max)
{
    uint32_t cap = times->cap ? times->cap * 4 : 16;
    struct message_time *more;

    if (times->cap >= max)
        keep_slower_halves(times);
    if (times->cnt < times->cap)
        return true;
    cap = cap > max && max > times->cap ? max : cap;
    more = page_memory_grow(memory, times->message, times->cnt, cap, sizeof(*more));
    if (!more)
        return false;
    times->message = more;
    times->cap = cap;
    return true;
}

bool message_times_join(struct message_times *times, struct page_memory *memory,
                        const struct message_times *other, uint8_t side)
{
    uint32_t cnt = times->cnt + other->cnt;
    struct message_time *more =
        page_memory_grow(memory, times->message, times->cnt, cnt, sizeof(*more));

    if (!more)
        return false;
    for (uint32_t i = 0; i < other->cnt; i++) {
        more[times->cnt + i] = other->message[i];
        more[times->cnt + i].side = side;
    }
    times->message = more;
    times->cnt = times->cap = cnt;
    times->left_out += other->left_out;
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/memory_log.h"

#include <stdlib.h>
#include <string.h>

int memory_log_byte(struct memory_log *s, uint32_t host, uint32_t rkey, uint64_t va, uint8_t byte,
                    bool initial)
{
    struct logged_store *last = s->cnt ? &s->store[s->cnt - 1] : NULL;

    if (!VEC_GROW(s->byte, s->byte_cnt, s->byte_cap))
        return -1;
    if (!last || last->before_frame || last->host != host || last->rkey != rkey ||
        last->initial != initial || last->va + last->len != va) {
        if (!VEC_GROW(s->store, s->cnt, s->cap))
            return -1;
        last = &s->store[s->cnt++];
        *last = (struct logged_store){
            .host = host, .rkey = rkey, .va = va, .off = s->byte_cnt, .initial = initial};
    }
    s->byte[s->byte_cnt++] = byte;
    last->len++;
    return 0;
}

void memory_log_frame(struct memory_log *s, uint32_t at, uint32_t request)
{
    for (size_t i = s->cnt; i-- > 0 && s->store[i].before_frame == 0;) {
        s->store[i].before_frame = at;
        s->store[i].request = request;
    }
}

void memory_log_end(struct memory_log *s)
{
    for (; s->cnt && s->store[s->cnt - 1].before_frame == 0; s->cnt--)
        s->byte_cnt = s->store[s->cnt - 1].off;
}

void memory_log_free(struct memory_log *s)
{
    free(s->store);
    free(s->byte);
    memset(s, 0, sizeof(*s));
}

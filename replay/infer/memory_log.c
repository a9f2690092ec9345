/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/memory_log.h"

#include <stdlib.h>
#include <string.h>

int stores_byte(struct stores *s, uint32_t device, uint32_t rkey, uint64_t va, uint8_t byte,
                bool initial)
{
    struct store *last = s->cnt ? &s->store[s->cnt - 1] : NULL;

    if (!VEC_GROW(s->byte, s->byte_cnt, s->byte_cap))
        return -1;
    if (!last || last->at || last->device != device || last->rkey != rkey ||
        last->initial != initial || last->va + last->len != va) {
        if (!VEC_GROW(s->store, s->cnt, s->cap))
            return -1;
        last = &s->store[s->cnt++];
        *last = (struct store){
            .device = device, .rkey = rkey, .va = va, .off = s->byte_cnt, .initial = initial};
    }
    s->byte[s->byte_cnt++] = byte;
    last->len++;
    return 0;
}

void stores_frame(struct stores *s, uint32_t at, uint32_t request)
{
    for (size_t i = s->cnt; i-- > 0 && s->store[i].at == 0;) {
        s->store[i].at = at;
        s->store[i].request = request;
    }
}

void stores_end(struct stores *s)
{
    for (; s->cnt && s->store[s->cnt - 1].at == 0; s->cnt--)
        s->byte_cnt = s->store[s->cnt - 1].off;
}

void stores_free(struct stores *s)
{
    free(s->store);
    free(s->byte);
    memset(s, 0, sizeof(*s));
}

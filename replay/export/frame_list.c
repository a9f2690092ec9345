/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/frame_list.h"

#include <stdlib.h>

void frame_list_add(struct frame_list *list, uint32_t frame)
{
    if (list->cnt == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 64;
        uint32_t *grown = realloc(list->frame, cap * sizeof(*grown));

        if (!grown) {
            list->failed = true;
            return;
        }
        list->frame = grown;
        list->cap = cap;
    }
    list->frame[list->cnt++] = frame;
}

void frame_list_free(struct frame_list *list)
{
    free(list->frame);
    *list = (struct frame_list){0};
}

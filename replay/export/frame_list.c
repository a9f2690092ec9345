/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/frame_list.h"

#include <stdlib.h>
#include "util/keymap.h"

void frame_list_add(struct frame_list *list, uint32_t frame)
{
    if (VEC_GROW(list->frame, list->cnt, list->cap))
        list->frame[list->cnt++] = frame;
    else
        list->failed = true;
}

void frame_list_free(struct frame_list *list)
{
    free(list->frame);
    *list = (struct frame_list){0};
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Frame list: a list of frame numbers. The exports collect in it the request frames that the
 * current frame acknowledges. */
#ifndef REPLAY_EXPORT_FRAME_LIST_H
#define REPLAY_EXPORT_FRAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_list {
    uint32_t *frame;
    uint32_t cnt;
    size_t cap;
    bool failed; /* memory ran out, so at least one frame is missing */
};

void frame_list_add(struct frame_list *list, uint32_t frame);
void frame_list_free(struct frame_list *list);

#endif

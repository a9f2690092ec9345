/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/sim_link.h"

#include <stdlib.h>
#include <string.h>

int sim_link_send(struct sim_link *link, const struct impair_result *result, bool to_responder,
                  uint32_t mark, uint64_t now)
{
    for (unsigned i = 0; i < result->copies; i++) {
        struct sim_link_frame *frame = malloc(sizeof(*frame) + result->len);

        if (!frame)
            return -1;
        *frame = (struct sim_link_frame){.to_responder = to_responder,
                                         .forged = result->forged,
                                         .mark = mark,
                                         .len = result->len};
        memcpy(frame->note, result->note, sizeof(frame->note));
        memcpy(frame->data, result->data, result->len);
        if (!delay_line_put(&link->line, &frame->entry, now + SIM_LINK_DELAY_NS + result->delay,
                            result->hold, to_responder)) {
            free(frame);
            return -1;
        }
    }
    return 0;
}

uint64_t sim_link_due(const struct sim_link *link)
{
    return delay_line_due(&link->line);
}

struct sim_link_frame *sim_link_take(struct sim_link *link)
{
    return (struct sim_link_frame *)delay_line_take(&link->line, UINT64_MAX);
}

void sim_link_free(struct sim_link *link)
{
    struct sim_link_frame *frame;

    while ((frame = sim_link_take(link)) != NULL)
        free(frame);
    delay_line_free(&link->line);
}

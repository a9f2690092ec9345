/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Link of a closed loop: the frames on their way between two ends, in virtual time.
 */
#ifndef REPLAY_SIM_SIM_LINK_H
#define REPLAY_SIM_SIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/impair.h"

/* One way through the link: of the order of a switch and two cables. */
#define SIM_LINK_DELAY_NS UINT64_C(2000)
/* A frame that is held back comes at the latest then, if nothing passes it. */
#define SIM_LINK_HOLD_NS UINT64_C(1000000)

struct sim_link_frame {
    uint64_t due;
    uint64_t order; /* of those due at the same time */
    uint32_t hold;  /* frames that still have to pass it */
    bool to_responder;
    uint32_t mark; /* the sender's, see struct sim_link_dest */
    bool forged;   /* nobody sent it like this */
    uint32_t len;
    uint8_t *data;
    char *note; /* or NULL */
};

struct sim_link {
    struct sim_link_frame *frame;
    size_t cnt, cap;
    uint64_t order;
};

/* Which way a frame goes. */
struct sim_link_dest {
    bool responder;
    uint32_t mark; /* comes with the frame */
};

/* Puts what came out of the editor on its way. 0, or -1 without memory. */
int sim_link_send(struct sim_link *link, const struct impair_result *out,
                  const struct sim_link_dest *to, uint64_t now);

/* When the next frame arrives; UINT64_MAX: none. */
uint64_t sim_link_due(const struct sim_link *link);

/* Takes the frame that arrives next: its data and note are the caller's to free. There is one. */
struct sim_link_frame sim_link_take(struct sim_link *link);

void sim_link_free(struct sim_link *link);

#endif

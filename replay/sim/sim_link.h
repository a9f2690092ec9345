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
#define LINK_DELAY_NS UINT64_C(2000)
/* A frame that is held back comes at the latest then, if nothing passes it. */
#define LINK_HOLD_NS UINT64_C(1000000)

struct link_frame {
    uint64_t due;
    uint64_t order; /* of those due at the same time */
    uint32_t hold;  /* frames that still have to pass it */
    bool to_responder;
    uint32_t mark; /* the sender's, see struct link_to */
    bool forged;   /* nobody sent it like this */
    uint32_t len;
    uint8_t *data;
    char *note; /* or NULL */
};

struct link {
    struct link_frame *frame;
    size_t cnt, cap;
    uint64_t order;
};

/* Which way a frame goes. */
struct link_to {
    bool responder;
    uint32_t mark; /* comes with the frame */
};

/* Puts what came out of the editor on its way. 0, or -1 without memory. */
int link_send(struct link *link, const struct edit_out *out, const struct link_to *to,
              uint64_t now);

/* When the next frame arrives; UINT64_MAX: none. */
uint64_t link_due(const struct link *link);

/* Takes the frame that arrives next: its data and note are the caller's to free. There is one. */
struct link_frame link_take(struct link *link);

void link_free(struct link *link);

#endif

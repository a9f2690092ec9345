/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Link of a closed loop: the frames under way between two hosts, in virtual time. Each direction
 * takes SIM_LINK_DELAY_NS, and longer for a frame that the impairments hold back.
 *
 * rc_loop.c, cm_loop.c and dgram_loop.c call it:
 *
 *   1. impair_apply() decides what happens to a frame, sim_link_send() puts the copies on the link.
 *   2. sim_link_due() is the time of the next arrival.
 *   3. sim_link_take() returns the frame that arrives; the caller frees it with free().
 *   4. sim_link_free() frees the frames that never arrive.
 *
 * A link that is all zero is empty.
 */
#ifndef REPLAY_SIM_SIM_LINK_H
#define REPLAY_SIM_SIM_LINK_H

#include "impair/delay_line.h"
#include "impair/impair.h"

/* About the delay of a switch and two cables. */
#define SIM_LINK_DELAY_NS UINT64_C(2000)

struct sim_link_frame {
    struct delay_entry entry; /* first: the delay line returns it */
    bool to_responder;
    bool forged;   /* a receiver takes it for a packet that was never sent */
    uint32_t mark; /* number that the sender gave it */
    size_t len;
    char note[IMPAIR_NOTE_MAX]; /* rules that were applied, or "" */
    uint8_t data[];
};

struct sim_link {
    struct delay_line line;
};

/* Puts the copies of an impaired frame on the link. Returns 0, or -1 if there is no memory. */
int sim_link_send(struct sim_link *link, const struct impair_result *result, bool to_responder,
                  uint32_t mark, uint64_t now);

/* Returns when the next frame arrives, ns; UINT64_MAX: the link is empty. */
uint64_t sim_link_due(const struct sim_link *link);

/* Removes and returns the frame that arrives next. The link is not empty. */
struct sim_link_frame *sim_link_take(struct sim_link *link);

void sim_link_free(struct sim_link *link);

#endif

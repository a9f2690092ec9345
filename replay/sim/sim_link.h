/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Link of a closed loop: the frames in flight between two hosts, in virtual time. A frame arrives
 * after SIM_LINK_DELAY_NS, or later if an impairment delays the frame.
 *
 * rc_loop.c, cm_loop.c and dgram_loop.c call these functions:
 *
 *   1. impair_apply() impairs a frame, sim_link_send() puts the resulting copies on the link.
 *   2. sim_link_due() returns the time of the next arrival.
 *   3. sim_link_take() returns the frame that arrives; the caller frees it with free().
 *   4. sim_link_free() frees the frames that never arrive.
 *
 * A zero-initialised struct sim_link is an empty link.
 */
#ifndef REPLAY_SIM_SIM_LINK_H
#define REPLAY_SIM_SIM_LINK_H

#include "impair/delay_line.h"
#include "impair/impair.h"

/* Delay of the link, ns: about the delay of a switch and two cables. */
#define SIM_LINK_DELAY_NS UINT64_C(2000)

struct sim_link_frame {
    struct delay_entry entry; /* must be the first member, because the delay line returns its
                               * address */
    bool to_responder;
    bool forged;   /* an impairment changed the frame and corrected the ICRC, so a receiver accepts
                    * a packet that no endpoint sent */
    uint32_t mark; /* number that the sender assigned to the frame */
    size_t len;
    char note[IMPAIR_NOTE_MAX]; /* names of the impairment rules that were applied, or "" */
    uint8_t data[];
};

struct sim_link {
    struct delay_line line;
};

/* Puts the copies of an impaired frame on the link. Returns 0, or -1 if out of memory. */
int sim_link_send(struct sim_link *link, const struct impair_result *result, bool to_responder,
                  uint32_t mark, uint64_t now);

/* Returns the time of the next arrival, ns, or UINT64_MAX if the link is empty. */
uint64_t sim_link_due(const struct sim_link *link);

/* Removes and returns the frame that arrives next. The link must not be empty. */
struct sim_link_frame *sim_link_take(struct sim_link *link);

void sim_link_free(struct sim_link *link);

#endif

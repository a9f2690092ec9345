/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Loss places: the parts of the path in which packets of a connection were lost, as far as the
 * capture shows. Called by check_json.c; the page draws the places.
 */
#ifndef REPLAY_CHECK_CAUSES_LOSS_PLACES_H
#define REPLAY_CHECK_CAUSES_LOSS_PLACES_H

#include "flow/base/summary.h"

enum loss_part {
    LOSS_BEFORE, /* from the sender to the capture point */
    LOSS_BEHIND, /* from the capture point to the receiver */
    LOSS_BEYOND, /* between the capture point and the receiver of the packet: a request, or a
                    response on its way back */
    LOSS_PARTS
};

struct loss_place {
    unsigned side; /* sender of the lost packets */
    enum loss_part part;
    uint64_t packets;
    bool probable;  /* the capture does not show for certain that they were lost */
    char text[256]; /* which packets were lost, and where; without a full stop */
};

#define LOSS_PLACES_MAX 16u /* maximum number of places of a connection */

/* Fills `place` and returns the number of places. */
unsigned loss_places(const struct roce_conn_summary *sum, struct loss_place place[LOSS_PLACES_MAX]);

/* Returns "before", "behind" or "beyond". */
const char *loss_part_name(enum loss_part part);

#endif

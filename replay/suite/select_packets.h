/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Select packets: chooses the packets of a replayed capture that `rocedrill import` copies. These
 * are either all RoCE packets, or the packets of selected connections. The packets of a connection
 * include the CM exchange that set up and released it, and other packets between its QPs, such as
 * CNPs.
 */
#ifndef REPLAY_SUITE_SELECT_PACKETS_H
#define REPLAY_SUITE_SELECT_PACKETS_H

#include "base/error.h"
#include "engine/replay.h"

/* Maximum number of connections that the user can select. */
#define SELECT_MAX 64u

struct selection {
    uint32_t want[SELECT_MAX]; /* numbers of the connections that the user selected
                                * (--connection); `want_cnt` 0: selection_make() chooses */
    size_t want_cnt;
    bool all;            /* choose every RoCE packet */
    uint8_t *keep;       /* for each packet of the trace: true if the packet is chosen */
    size_t cnt;          /* number of packets chosen */
    uint8_t *run;        /* for each direction in session.dir: true if the direction is chosen */
    enum verdict expect; /* verdict of the chosen packets in the replay of the whole capture */
};

/*
 * Chooses the packets. If `want` is empty, chooses the first connection with a difference, or all
 * connections if none has a difference. Returns 0, or -1 and an error: no such connection, or out
 * of memory. Call selection_free() in both cases.
 */
int selection_make(struct selection *selection, const struct replay *replay, struct error *error);
void selection_free(struct selection *selection);

#endif

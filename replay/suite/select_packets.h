/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Select: which packets of a replayed capture are to go into a folder of captures: those of the
 * connections asked for, with the connection manager's exchanges that made and ended them and the
 * CNPs between their QPs; or all RoCE packets.
 */
#ifndef REPLAY_SUITE_SELECT_PACKETS_H
#define REPLAY_SUITE_SELECT_PACKETS_H

#include "base/error.h"
#include "engine/replay.h"

/* More cannot be asked for one by one. */
#define SELECT_MAX 64u

struct selection {
    uint32_t want[SELECT_MAX]; /* connections as the report numbers them; none: chosen here */
    size_t want_cnt;
    bool all;            /* every RoCE packet */
    uint8_t *keep;       /* for each packet of the trace */
    size_t cnt;          /* packets kept */
    uint8_t *run;        /* for each run of the drive: it is among them */
    enum verdict expect; /* of these parts in the replay of the whole capture */
};

/*
 * Fills in the rest. Without `want`, the first connection that differs and, if none does, all. 0,
 * or -1 and an error: no such connection, or no memory. selection_free() is wanted in both cases.
 */
int selection_make(struct selection *selection, const struct replay *replay, struct error *error);
void selection_free(struct selection *selection);

#endif

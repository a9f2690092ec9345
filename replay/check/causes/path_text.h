/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Path text: sentences about what happened to the packets of one connection between two capture
 * points (two_points.h). The reports of slow, stuck and failed connections contain them, if the
 * user gave the capture of the other end.
 */
#ifndef REPLAY_CHECK_CAUSES_PATH_TEXT_H
#define REPLAY_CHECK_CAUSES_PATH_TEXT_H

#include "check/points/two_points.h"
#include "util/strbuf.h"

/* The packets of one requester and of its responder between the two capture points. */
struct path {
    /* Packets of the requester, and of its responder; both NULL without a second capture. */
    const struct two_points_path *mine, *its;
    const uint8_t *my_addr, *its_addr;
    const struct two_points *points;
};

/* Returns the struct path of the requester `side`. `points` may be NULL. */
struct path path_of(const struct two_points *points, const struct roce_conn_summary *sum,
                    unsigned side);

/* Return whether the path lost or damaged a request or a response. False without a second
 * capture. */
bool path_loses_requests(const struct path *path);
bool path_loses_responses(const struct path *path);

/* Returns whether the delay between the two capture points explains a wait of `wait` ns. The delay
 * must be at least half of the wait, and at least 100 µs. */
bool path_delays(const struct path *path, uint64_t wait);

/* Frame `frame` of capture a contains the last request of the requester. If both captures have this
 * request, appends that it was not lost between the two capture points. Otherwise appends the text
 * of path_text(). */
void path_last_text(struct strbuf *t, const struct path *path, uint32_t frame);

/* Appends how many packets were lost or damaged between the two capture points, and a hint which
 * faults of this part of the path to look for. If `slow` is true, the delay of the path explains
 * the waits of a requester; then also appends the delay. */
void path_text(struct strbuf *t, const struct path *path, bool slow);

#endif

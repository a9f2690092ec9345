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

/* Packets of one connection between the two capture points. The names with "my" are for packets of
 * the requester, the names with "its" for packets of the responder. */
struct path {
    /* Packets of the requester and of the responder. Both are NULL without a second capture, or if
     * the captures have no packet of the connection in common. */
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

/* Appends that the last request of the requester passed both capture points. `frame` is the frame
 * of this request in the first capture. If the second capture lacks the request, calls path_text()
 * instead. */
void path_last_text(struct strbuf *t, const struct path *path, uint32_t frame);

/* Appends how many packets were lost or damaged between the two capture points, and for which
 * faults to check this part of the path. If `slow` is true, also appends the delay. Set `slow` if
 * this delay explains the waits of a requester. */
void path_text(struct strbuf *t, const struct path *path, bool slow);

#endif

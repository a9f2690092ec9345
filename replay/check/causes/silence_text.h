/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Silence text: describes long times without a packet of a connection, for the time budget of the
 * reports of check. The capture does not show the cause of a silence. The program may have sent
 * nothing, or the first transmission of a request may have been lost before the capture point.
 */
#ifndef REPLAY_CHECK_CAUSES_SILENCE_TEXT_H
#define REPLAY_CHECK_CAUSES_SILENCE_TEXT_H

#include "flow/base/summary.h"
#include "util/strbuf.h"

/* Returns whether long silences are a notable part of the connection's time, and only few of its
 * packets follow a silence. */
bool silence_is_notable(const struct roce_conn_summary *sum);

/* Returns whether the longest silence is a notable part of the connection's time and ended inside a
 * message. The program had posted the rest of this message. */
bool silence_is_inside(const struct roce_conn_summary *sum);

/* Appends a sentence about the silences. */
void silence_text(struct strbuf *t, const struct roce_conn_summary *sum);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Ack line: the line of acknowledged PSNs in a graph of packets. Called by page_view.c and
 * psn_svg.c. */
#ifndef REPLAY_PAGE_ACK_LINE_H
#define REPLAY_PAGE_ACK_LINE_H

#include "page/packet_runs.h"

/* Calls `on_ack` for each response or NAK of a direction that acknowledges a new PSN. `psn`: the
 * highest acknowledged PSN, relative to the first packet run of the direction in this use of the QP
 * pair, counted without wrap. */
void ack_line_find(const struct packet_runs *runs, unsigned direction,
                   void (*on_ack)(void *user, const struct packet_run *run, int64_t psn),
                   void *user);

/* Returns the last response of a direction if the responses acknowledge all its requests of the
 * latest use of the QP pair, otherwise NULL. */
const struct packet_run *ack_line_end(const struct packet_runs *runs, unsigned direction);

#endif

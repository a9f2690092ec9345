/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Loss marks: the places in a graph of packets where a packet was lost, as far as a NAK or a
 * timeout shows it. The graph draws missing packets before a captured one (packet_run.gap) without
 * these marks. Called by psn_legend.c, psn_svg.c and page_view.c. */
#ifndef REPLAY_PAGE_LOSS_MARKS_H
#define REPLAY_PAGE_LOSS_MARKS_H

#include "page/packet_runs.h"

struct loss_mark {
    const struct packet_run *run; /* the lost packet, or the last packet captured before the loss */
    int32_t offset;               /* PSN of the mark minus the PSN of the run */
    const char *text;             /* caption of the mark: names the lost packet or response */
};

/* Calls `on_mark` for each mark of a direction, in the order of the NAKs and timeouts. */
void loss_marks_find(const struct packet_runs *runs, unsigned direction,
                     void (*on_mark)(void *user, const struct loss_mark *mark), void *user);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Wait bands: the waits of the time budget (time_budget.h), as coloured bands in a graph of
 * packets. Each band ends with a packet run; rnic/flow measures its duration (packet_run.waited).
 * Called by psn_legend.c, psn_svg.c and page_view.c. */
#ifndef REPLAY_PAGE_WAIT_BANDS_H
#define REPLAY_PAGE_WAIT_BANDS_H

#include "page/packet_runs.h"

/* Kinds of bands, in the order of the legend. A band ends with a retransmission or a slow response.
 */
enum wait_band_kind {
    WAIT_BAND_RNR,
    WAIT_BAND_NAK,
    WAIT_BAND_TIMEOUT,
    WAIT_BAND_SPURIOUS,
    WAIT_BAND_READ,
    WAIT_BAND_OTHER,
    WAIT_BAND_SLOW, /* wait for a slow response */
    WAIT_BAND_KINDS
};

struct wait_band {
    enum wait_band_kind kind;
    const struct packet_run *run; /* the run that ended the wait */
    uint64_t ns;                  /* duration, ns */
    int64_t psn; /* PSN of the run, relative to the first run of the direction in this use of the QP
                  * pair, counted without wrap */
};

/* Calls `on_band` for each period in which the requester of a direction waited, in the order of the
 * capture. */
void wait_bands_find(const struct packet_runs *runs, unsigned direction,
                     void (*on_band)(void *user, const struct wait_band *band), void *user);

#endif

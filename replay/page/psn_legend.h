/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PSN legend: the legend of a graph of packets, for the page and for an SVG. Called by page_data.c
 * and psn_svg.c. */
#ifndef REPLAY_PAGE_PSN_LEGEND_H
#define REPLAY_PAGE_PSN_LEGEND_H

#include "page/wait_bands.h"

struct psn_legend_entry {
    const char *class; /* colour: name of a style */
    const char *text;
    unsigned kind; /* enum wait_band_kind, or WAIT_BAND_KINDS if the entry is not a band */
    char own[144]; /* text that depends on the packets */
};

#define PSN_LEGEND_MAX (14u + WAIT_BAND_KINDS) /* maximum number of entries */

/* Stores a legend entry for each class of packets and each kind of band in the graph of a
 * direction. Returns the number of entries, which is 0 if the direction has no packets with a PSN.
 */
unsigned psn_legend(const struct packet_runs *runs, unsigned direction,
                    struct psn_legend_entry entry[PSN_LEGEND_MAX]);

/* Returns the style of a class of packets. */
const char *psn_legend_class(enum run_class class);

/* Returns the style of a kind of bands. */
const char *psn_legend_band(enum wait_band_kind kind);

#endif

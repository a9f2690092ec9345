/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* PSN SVG: draws the PSNs of a connection's packets over time as an SVG file, for documents and
 * reports. Called by cmd_plot.c. */
#ifndef REPLAY_PAGE_PSN_SVG_H
#define REPLAY_PAGE_PSN_SVG_H

#include "page/page_capture.h"

/* Writes one graph for each direction that has packets. Returns 0, or -1 and an error if the
 * connection does not exist or has no packets with a PSN. The caller checks the stream for write
 * errors. */
int psn_svg_write(FILE *out, const struct page_capture *capture, const struct check_report *report,
                  uint32_t conn_index, struct error *error);

#endif

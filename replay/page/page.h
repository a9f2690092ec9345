/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page: one HTML file with the graphs of one or several captures. The file needs no network: it
 * contains its style, its scripts (browser/), the library dygraphs, and the data. The build embeds
 * the scripts; see assets.cmake. Called by check_run.c, cmd_plot.c, replay_page.c and
 * drill_page.c:
 *
 *   1. page_begin(); or page_begin_results(), then the parts of difference.h
 *   2. page_add() for each capture with graphs
 *   3. page_end()
 *
 * The functions do not report write errors: the caller checks the stream with outfile_close().
 */
#ifndef REPLAY_PAGE_PAGE_H
#define REPLAY_PAGE_PAGE_H

#include "page/page_data.h"

struct page {
    FILE *out;
    unsigned captures;
    bool has_results; /* the page was begun with page_begin_results() */
    size_t html_at;   /* number of bytes of page.html already written */
};

void page_begin(struct page *page, FILE *out, const char *title);

/* Begins a page of results. `lead` is the first sentence of the page. `good`: this sentence reports
 * success. */
void page_begin_results(struct page *page, FILE *out, const char *title, const char *lead,
                        bool good);

/* Adds the graphs of a capture, after check_capture() returned. `status`: exit status of the check.
 * Returns 0, or -1 if memory is exhausted. */
int page_add(struct page *page, const struct page_capture *capture,
             const struct check_report *report, int status, const struct page_selection *selection);

void page_end(struct page *page);

#endif

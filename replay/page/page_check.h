/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page check: adds the graphs of a capture to a page of results. Called by replay_page.c and
 * drill_page.c. */
#ifndef REPLAY_PAGE_PAGE_CHECK_H
#define REPLAY_PAGE_PAGE_CHECK_H

#include "capture/narrow.h"
#include "page/page.h"

/* Maximum number of captures with graphs on one page of results. */
#define PAGE_CHECKS 16u

/* Checks a capture and adds its graphs to the page. `narrow`: selected frames, or NULL for all
 * frames. Returns 0, or -1 and an error. */
int page_check(struct page *page, const char *path, const struct narrow *narrow,
               struct error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_check.h"

#include "check/check.h"

/* Maximum number of connections in the text report of a capture, which is part of the page. */
#define CONNS_LISTED 64u

int page_check(struct page *page, const char *path, const struct narrow *narrow,
               struct error *error)
{
    struct page_capture *capture = page_capture_new(path);
    const struct check_watch watch = page_capture_watch(capture);
    const struct check_options options = {.keep_history = true,
                                          .conn_max = CONNS_LISTED,
                                          .profile = ROCE_PROFILE_AUTO,
                                          .narrow = narrow,
                                          .watch = &watch,
                                          .watch_cnt = 1};
    const struct page_selection all = {.conn = NULL};
    struct check_report report;
    int rc;

    if (!capture)
        return error_set(error, "%s: out of memory while writing the HTML page", path);
    rc = check_capture(path, &options, &report, error);
    if (rc == 0 && page_add(page, capture, &report, 0, &all) != 0)
        rc = error_set(error, "%s: out of memory while writing the HTML page", path);
    check_report_free(&report);
    page_capture_del(capture);
    return rc;
}

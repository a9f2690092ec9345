/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page data: writes the data of one capture that a page draws, as one JSON object, which
 * browser/data.js reads. replay/docs/page.md describes the members. */
#ifndef REPLAY_PAGE_PAGE_DATA_H
#define REPLAY_PAGE_PAGE_DATA_H

#include "page/page_capture.h"

/* The connections that the page shows. */
struct page_selection {
    const uint32_t *conn; /* NULL: all connections */
    uint32_t cnt;
};

/* Writes the JSON object. `status` is the exit status of the check. Returns 0, or -1 if memory is
 * exhausted. The caller checks the stream for write errors. */
int page_data_write(FILE *out, const struct page_capture *capture,
                    const struct check_report *report, int status,
                    const struct page_selection *selection);

#endif

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

/* Returns the packet runs of a connection, sorted by frame, with their final sides. Sets *cnt to
 * their number, and *merged to the number of packets that are not drawn individually. The caller
 * frees the result. Returns NULL if out of memory or if the connection has no packets. */
struct packet_run *page_data_runs(const struct page_capture *capture, uint32_t conn_index,
                                  uint32_t *cnt, uint64_t *merged);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page data: writes what a page draws of one capture as one JSON object. browser/data.js reads it.
 * replay/docs/page.md describes the members. */
#ifndef REPLAY_PAGE_PAGE_DATA_H
#define REPLAY_PAGE_PAGE_DATA_H

#include "page/page_capture.h"

/* Selects the connections to write. */
struct page_selection {
    const uint32_t *conn; /* NULL: all connections */
    uint32_t cnt;
};

/* Writes the object. `status` is the exit status of the check. Returns 0, or -1 if memory is
 * exhausted; a write error stays in the stream. */
int page_data_write(FILE *out, const struct page_capture *capture,
                    const struct check_report *report, int status,
                    const struct page_selection *selection);

/* Returns the packet runs of a connection, sorted by frame, with the final sides. `cnt` receives
 * their number, `merged` the number of packets that are not drawn individually. The caller frees
 * the result. Returns NULL if out of memory or if there is no packet. */
struct packet_run *page_data_runs(const struct page_capture *capture, uint32_t conn_index,
                                  uint32_t *cnt, uint64_t *merged);

#endif

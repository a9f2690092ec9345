/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Page view: writes the members of a connection that its graphs need besides the columns of its
 * packets: available graphs, time ranges, acknowledgements, waits, losses and legends. Called by
 * page_data.c. */
#ifndef REPLAY_PAGE_PAGE_VIEW_H
#define REPLAY_PAGE_PAGE_VIEW_H

#include <stdio.h>
#include "page/page_capture.h"

/* Writes the members, each with a comma before it; replay/docs/page.md describes them. `base`: time
 * to which the times of the page are relative, ns. `timed`: the times of work requests are known.
 */
void page_view_write(FILE *out, const struct page_stream *stream, uint64_t base, bool timed);

#endif

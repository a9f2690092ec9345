/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Drill page: writes the HTML page of `drill --html` with the results. For each case that did not
 * pass, the page shows the difference, and all packets of the case as a ladder diagram. If the
 * cases were recorded, the page also has the graphs of the first PAGE_CHECKS cases that did not
 * pass. Called by cmd_drill.c and cmd_merge.c. */
#ifndef REPLAY_DRILL_DRILL_PAGE_H
#define REPLAY_DRILL_DRILL_PAGE_H

#include <stdio.h>
#include "drill/suite_run.h"

/* Writes the page. `device`: name of the device. `strict`: known deviations and inconclusive cases
 * also count as failures. Returns 0, or -1 and an error. After a write error, ferror() of `out` is
 * set. */
int drill_page_write(FILE *out, const struct drill_suite *suite, const char *device, bool strict,
                     struct error *error);

/* Writes the contents of the page section about a case. Writes nothing if the case passed or is
 * unsupported, because the page has no section for such a case. */
void drill_page_section(FILE *out, const struct drill_case *c);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timeline: prints what rnic/verbs/timeline.h recorded. */
#ifndef TOOLS_TIMELINE_H
#define TOOLS_TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

/* A row for each request of the file `name`, in the order of posting, to `rows`, then percentiles
 * of where the time went to `summary`. False with errno if the file cannot be read. */
bool timeline_print(const char *name, FILE *rows, FILE *summary);

#endif

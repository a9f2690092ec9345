/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Table: prints the rows of a monitor, those with the most problems first. monitor.c calls it. */
#ifndef REPLAY_MONITOR_TABLE_H
#define REPLAY_MONITOR_TABLE_H

#include <stdio.h>
#include "monitor/row.h"

/* Prints the table for the interval of `ns` nanoseconds that ended at `time` (capture time, ns).
 * Sorts `row`, an array of `cnt` pointers to all used rows. */
void table_print(FILE *out, bool terminal, const struct monitor_row **row, uint32_t cnt,
                 uint64_t time, uint64_t ns);

#endif

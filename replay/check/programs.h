/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Programs: the names of the programs at both ends of a connection, from the interface descriptions
 * of a capture that rnic-run recorded. If both ends have the same address, the report distinguishes
 * them by these names. After check.c has judged the packets, it calls programs_find(), which reads
 * the capture a second time.
 */
#ifndef REPLAY_CHECK_PROGRAMS_H
#define REPLAY_CHECK_PROGRAMS_H

#include "check/check_report.h"

/* Sets `program` of the connections that have a problem and two ends with the same address. A name
 * remains empty if the capture is not a regular file, or if none of its first million frames is
 * from the program. */
void programs_find(const char *path, struct check_report *report);

#endif

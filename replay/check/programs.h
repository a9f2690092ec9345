/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Programs: the programs at both ends of a connection, from the interface descriptions of a
 * recording of rnic-run. The report needs them if both ends have one address. Used by check.c after
 * the packets were judged; opens the capture a second time.
 */
#ifndef REPLAY_CHECK_PROGRAMS_H
#define REPLAY_CHECK_PROGRAMS_H

#include "check/check_report.h"

/* Sets `program` of the connections with a problem whose ends have one address. Leaves a name empty
 * if the file is not a regular file, or if none of its first million frames is from the program. */
void programs_find(const char *path, struct check_report *report);

#endif

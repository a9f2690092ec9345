/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Drill main: `rocedrill drill` with its own options. */
#ifndef REPLAY_CMD_DRILL_H
#define REPLAY_CMD_DRILL_H

/* argv[0] is the program. Returns the exit status. */
int cmd_drill(int argc, char **argv);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill drill`: arguments and exit status. */
#ifndef REPLAY_CMD_DRILL_H
#define REPLAY_CMD_DRILL_H

/* Runs the command. Ignores argv[0]. Returns the exit status. */
int cmd_drill(int argc, char **argv);

#endif

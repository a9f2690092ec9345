/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill check`: arguments, output files and exit status. */
#ifndef REPLAY_CMD_CHECK_H
#define REPLAY_CMD_CHECK_H

/*
 * Runs the command. Ignores argv[0]. Returns the exit status: 0 if no rule was violated, 1 if a
 * rule was violated, 2 for unusable input or wrong usage. With status 2, prints one line on
 * standard error.
 */
int cmd_check(int argc, char **argv);

#endif

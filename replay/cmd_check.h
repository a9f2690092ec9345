/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill check`: arguments, output files and exit status. */
#ifndef REPLAY_CMD_CHECK_H
#define REPLAY_CMD_CHECK_H

/*
 * Runs the command; argv[0] is not looked at. Returns the exit status: 0 = no rule was broken, 1 =
 * one was, 2 = input that cannot be used or wrong use, with one line on standard error.
 */
int cmd_check(int argc, char **argv);

#endif

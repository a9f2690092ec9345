/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill import`: arguments and exit status. */
#ifndef REPLAY_CMD_IMPORT_H
#define REPLAY_CMD_IMPORT_H

/* Runs the command; argv[0] is not looked at. Returns the exit status: 0 = added, 2 = input that
 * cannot be used or wrong use, with one line on standard error; then nothing was added. */
int cmd_import(int argc, char **argv);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill import`: arguments and exit status. */
#ifndef REPLAY_CMD_IMPORT_H
#define REPLAY_CMD_IMPORT_H

/* Runs the command. Ignores argv[0]. Returns the exit status: 0 if the capture was added, 2 for
 * unusable input or wrong usage. With status 2, prints one line on standard error and adds
 * nothing. */
int cmd_import(int argc, char **argv);

#endif

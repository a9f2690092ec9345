/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill merge`: arguments and exit status. */
#ifndef REPLAY_CMD_MERGE_H
#define REPLAY_CMD_MERGE_H

/* Runs the command. Ignores argv[0]. Returns the exit status. */
int cmd_merge(int argc, char **argv);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill replay`: arguments and exit status. */
#ifndef REPLAY_CMD_REPLAY_H
#define REPLAY_CMD_REPLAY_H

/* Runs the command. Ignores argv[0]. Returns the exit status. */
int cmd_replay(int argc, char **argv);

#endif

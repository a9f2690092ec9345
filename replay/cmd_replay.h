/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Replay main: `rocedrill replay` with its own options. */
#ifndef REPLAY_CMD_REPLAY_H
#define REPLAY_CMD_REPLAY_H

/* argv[0] is the program. Returns the exit status. */
int cmd_replay(int argc, char **argv);

#endif

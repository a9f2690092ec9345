/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Decode main: `rocedrill decode` with its own options. */
#ifndef REPLAY_CMD_DECODE_H
#define REPLAY_CMD_DECODE_H

/* argv[0] is the program. Returns the exit status. */
int cmd_decode(int argc, char **argv);

#endif

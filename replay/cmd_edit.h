/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill edit`: arguments and exit status. */
#ifndef REPLAY_CMD_EDIT_H
#define REPLAY_CMD_EDIT_H

/* Runs the command. Ignores argv[0]. Returns the exit status. 0: the copy was written and each rule
 * impaired a frame. 2: unusable input, wrong usage, or a rule without effect. With status 2, prints
 * one line on standard error. */
int cmd_edit(int argc, char **argv);

#endif

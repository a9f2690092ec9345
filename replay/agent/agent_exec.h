/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * `rocedrill agent`: runs the program rocedrill-agent in the folder of this one. It is a separate
 * program so that it can be copied to hosts that have nothing but libibverbs.
 */
#ifndef REPLAY_AGENT_AGENT_EXEC_H
#define REPLAY_AGENT_AGENT_EXEC_H

/* Executes rocedrill-agent. Returns the exit status, after an error message, only if that fails. */
int agent_exec(int argc, char **argv);

#endif

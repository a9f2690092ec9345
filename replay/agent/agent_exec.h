/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * `rocedrill agent`: executes the program rocedrill-agent, which is in the folder of rocedrill.
 * The agent is a separate program, so that it can be copied to hosts that have only libibverbs.
 */
#ifndef REPLAY_AGENT_AGENT_EXEC_H
#define REPLAY_AGENT_AGENT_EXEC_H

/* Executes rocedrill-agent and does not return. If the execution fails, prints an error message and
 * returns the exit status. */
int agent_exec(int argc, char **argv);

#endif

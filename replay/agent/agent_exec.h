/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent run: `rocedrill agent` is the program rocedrill-agent that lies beside this one. It is a
 * program of its own so that it can be copied to hosts that have nothing but libibverbs.
 */
#ifndef REPLAY_AGENT_AGENT_EXEC_H
#define REPLAY_AGENT_AGENT_EXEC_H

/* Becomes that program; returns only if it is not there. */
int agent_exec(int argc, char **argv);

#endif

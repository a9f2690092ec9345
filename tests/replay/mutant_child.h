/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Mutant child: plays tests against a device with a fault in a child process, because the fault may
 * crash the process or make it run forever. mutants.c and drill_mutants.c use it. */
#ifndef TESTS_REPLAY_MUTANT_CHILD_H
#define TESTS_REPLAY_MUTANT_CHILD_H

#include <stdbool.h>

/* Calls `play` in a child process, which is killed after `seconds`. Returns whether play() returned
 * a number other than 0, or a signal ended the child. `print` prints the signal. Exits with status
 * 2 if the child process cannot be created. */
bool mutant_is_detected(unsigned (*play)(const void *ctx), const void *ctx, unsigned seconds,
                        bool print);

/* Returns whether the arguments of the program, after the folder, name this fault. Without fault
 * names, returns true. */
bool mutant_is_wanted(const char *name, int argc, char **argv);

#endif

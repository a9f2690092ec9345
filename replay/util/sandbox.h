/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sandbox: forbids system calls that are not needed by a command that reads captures. Code that a
 * hostile capture takes over can then not start programs, reach the network, or access other
 * processes. `rocedrill check` and `rocedrill decode` enter the sandbox before they read a capture.
 *
 * The filter (libseccomp) applies to all threads and cannot be removed. A forbidden call fails with
 * EPERM. Files stay accessible, because captures are opened one after the other. Without libseccomp
 * or in a kernel without seccomp there is no sandbox; `rocedrill version` reports whether the build
 * has it.
 */
#ifndef REPLAY_UTIL_SANDBOX_H
#define REPLAY_UTIL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include "util/cli_opts.h"

#define SANDBOX_KEY (CLI_LONG + 3000)

#define SANDBOX_OPTION                                                                             \
    {                                                                                              \
        "no-sandbox", SANDBOX_KEY, NULL, "keep the right to start programs and to use the network" \
    }

/* Enters the sandbox. `network`: allows sockets. Returns whether the process is in a sandbox. */
bool sandbox_enter(bool network);

/* Writes the version of libseccomp, or "none". */
void sandbox_library(char *buf, size_t size);

#endif

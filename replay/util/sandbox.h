/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sandbox: forbids system calls that a command does not need to read captures. If a hostile capture
 * exploits a bug, the attacker then cannot start programs, use the network, or access other
 * processes. `rocedrill check` and `rocedrill decode` enter the sandbox before they read a capture.
 *
 * The filter (libseccomp) applies to all threads and cannot be removed. A forbidden call fails with
 * EPERM. Files stay accessible, because the command opens its captures one after another. Without
 * libseccomp there is no sandbox; `rocedrill version` prints whether libseccomp is used.
 */
#ifndef REPLAY_UTIL_SANDBOX_H
#define REPLAY_UTIL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include "util/cli_opts.h"

#define SANDBOX_KEY (CLI_LONG + 3000)

#define SANDBOX_OPTION                                                                             \
    {                                                                                              \
        "no-sandbox", SANDBOX_KEY, NULL,                                                           \
            "do not use the sandbox, which forbids starting programs and using the network"        \
    }

/* Enters the sandbox. If `network` is true, the process may still use sockets. Returns whether the
 * process is now in the sandbox. If not, prints a warning that begins with `command`, unless this
 * build has no sandbox. */
bool sandbox_enter(const char *command, bool network);

/* Writes the version of libseccomp to `buf`, or "none". */
void sandbox_library(char *buf, size_t size);

#endif

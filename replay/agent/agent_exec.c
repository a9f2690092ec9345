/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_exec.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "util/cli_opts.h"

#define NAME "rocedrill-agent"

int agent_exec(int argc, char **argv)
{
    char path[PATH_MAX + sizeof(NAME)];
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash;

    (void)argc;
    path[len < 0 ? 0 : len] = '\0';
    slash = strrchr(path, '/');
    memcpy(slash ? slash + 1 : path, NAME, sizeof(NAME));
    execv(path, argv);
    return cli_error("%s: %s; CMake builds this program only if libibverbs-dev is installed", path,
                     strerror(errno));
}

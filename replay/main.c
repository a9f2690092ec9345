/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rocedrill: runs the command that the first argument names. Exit status of every command: 0 = no
 * violation and no difference, 1 = a violation or a difference, 2 = unusable input or wrong use,
 * with one line on standard error.
 */
#include <string.h>
#include "cmd_import.h"
#include "agent/agent_exec.h"
#include "cmd_check.h"
#include "cmd_decode.h"
#include "cmd_drill.h"
#include "util/cli_opts.h"
#include "cmd_replay.h"

#ifndef ROCEDRILL_VERSION
#define ROCEDRILL_VERSION "unknown"
#endif

static const struct command {
    const char *name;
    const char *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"check", "check captures against the rules of RoCEv2", cmd_check},
    {"replay", "replay captures with the software RNIC at either end and compare", cmd_replay},
    {"import", "add a capture, with its expected results, to a folder of regression tests",
     cmd_import},
    {"agent", "let replay --live on another host use an RDMA device of this host", agent_exec},
    {"drill", "play drills: scripts that test an RDMA device against the specification", cmd_drill},
    {"decode", "print the RoCE frames of captures as text", cmd_decode},
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill COMMAND [options] CAPTURE...   (- reads standard input)\n");
    for (size_t i = 0; i < COMMAND_CNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(out,
            "  --version\n  --help   print this; rocedrill COMMAND --help lists the options\n"
            "exit status: 0 = no violation and no difference, 1 = a violation or a difference,\n"
            "  2 = unusable input or wrong use\n");
}

int main(int argc, char **argv)
{
    const char *name;

    if (argc < 2)
        return cli_error("no command given (see rocedrill --help)");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_usage(stdout);
        return EXIT_HOLDS;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("rocedrill %s\n", ROCEDRILL_VERSION);
        return EXIT_HOLDS;
    }
    name = cli_command_name(argv[1]);
    for (size_t i = 0; i < COMMAND_CNT; i++)
        if (strcmp(name, commands[i].name) == 0) {
            int status;

            argv[1] = argv[0];
            status = commands[i].run(argc - 1, argv + 1);
            if (fflush(stdout) != 0 || ferror(stdout))
                status = cli_error("standard output: write error");
            return status;
        }
    return cli_error("unknown command '%s' (see rocedrill --help)", argv[1]);
}

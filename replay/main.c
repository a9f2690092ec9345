/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rocedrill: runs the command that the first argument names. Exit status of every command: 0 = no
 * violation and no difference, 1 = a violation or a difference, 2 = unusable input or wrong usage.
 * With status 2, prints one line on standard error.
 */
#include <pcap/pcap.h>
#include <string.h>
#include <unistd.h>
#include "agent/agent_exec.h"
#include "base/word_suggest.h"
#include "cmd_check.h"
#include "cmd_decode.h"
#include "cmd_drill.h"
#include "cmd_edit.h"
#include "cmd_import.h"
#include "cmd_merge.h"
#include "cmd_plot.h"
#include "cmd_replay.h"
#include "util/cli_opts.h"
#include "util/sandbox.h"
#include "wire/crc32.h"

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
    {"merge", "make one report from the JSON reports of all shards (--shard)", cmd_merge},
    {"edit", "write a copy of a capture with altered, lost, copied or delayed frames", cmd_edit},
    {"plot", "draw the packets of a capture", cmd_plot},
    {"decode", "print the RoCE frames of captures as text", cmd_decode},
};
#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
    fprintf(out, "usage: rocedrill COMMAND [options] CAPTURE...   (- reads standard input)\n");
    for (size_t i = 0; i < COMMAND_CNT; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
    fprintf(out,
            "  version  print the versions of rocedrill and its libraries\n"
            "  help [COMMAND]  print this text, or the options of a command\n"
            "exit status: 0 = no violation and no difference, 1 = a violation or a difference,\n"
            "  2 = unusable input or wrong use\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_CNT; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int reject_command(const char *name)
{
    const char *meant = NULL;
    size_t best = 3;

    for (size_t i = 0; i < COMMAND_CNT; i++)
        word_suggest(name, commands[i].name, &meant, &best);
    if (access(name, F_OK) == 0)
        return cli_error("unknown command '%s'; did you mean: rocedrill check %s", name, name);
    if (meant)
        return cli_error("unknown command '%s'; did you mean '%s'?", name, meant);
    return cli_error("unknown command '%s' (see rocedrill --help)", name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    int status = command->run(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout))
        status = cli_error("standard output cannot be written");
    return status;
}

/* Executes "rocedrill help [COMMAND]". */
static int print_help(int argc, char **argv)
{
    static char option[] = "--help";
    char *help[] = {argv[0], option, NULL};
    const struct command *command;

    if (argc < 3) {
        print_usage(stdout);
        return EXIT_HOLDS;
    }
    command = find_command(cli_command_name(argv[2]));
    return command ? run_command(command, 2, help) : reject_command(argv[2]);
}

static int print_version(void)
{
    char sandbox[48];

    sandbox_library(sandbox, sizeof(sandbox));
    printf("rocedrill %s\nCRC-32: %s\n%s\nlibseccomp: %s\n", ROCEDRILL_VERSION, roce_crc32_name(),
           pcap_lib_version(), sandbox);
    return EXIT_HOLDS;
}

static bool is_word(const char *text, const char *word, const char *option, const char *letter)
{
    return strcmp(text, word) == 0 || strcmp(text, option) == 0 || strcmp(text, letter) == 0;
}

int main(int argc, char **argv)
{
    const struct command *command;

    if (argc < 2)
        return cli_error("no command given (see rocedrill --help)");
    if (is_word(argv[1], "help", "--help", "-h"))
        return print_help(argc, argv);
    if (is_word(argv[1], "version", "--version", "-V"))
        return print_version();
    command = find_command(cli_command_name(argv[1]));
    if (!command)
        return reject_command(argv[1]);
    argv[1] = argv[0];
    return run_command(command, argc - 1, argv + 1);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "replay/mutant_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool mutant_is_detected(unsigned (*play)(const void *ctx), const void *ctx, unsigned seconds,
                        bool print)
{
    pid_t pid;
    int status;

    fflush(stdout);
    pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(2);
    }
    if (pid == 0) {
        unsigned cnt;

        alarm(seconds);
        cnt = play(ctx);
        fflush(stdout);
        _exit(cnt != 0);
    }
    if (waitpid(pid, &status, 0) != pid)
        exit(2);
    if (WIFSIGNALED(status) && print)
        printf(" (%s)", strsignal(WTERMSIG(status)));
    return WIFSIGNALED(status) || WEXITSTATUS(status) == 1;
}

bool mutant_is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc == 2;
}

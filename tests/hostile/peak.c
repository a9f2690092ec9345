/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Runs a program and writes its largest resident memory, in KiB, to a file. The kernel counts the
 * memory of the process that starts a program as memory of the program, so a Python script cannot
 * measure the memory of the program alone.
 *
 * peak FILE PROGRAM [ARGUMENT...]      exit status: that of the program, or 128 + its signal
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    FILE *file;
    int status;
    pid_t pid;

    if (argc < 3) {
        fprintf(stderr, "usage: peak FILE PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !(file = fopen(argv[1], "w"))) {
        perror("peak");
        return 2;
    }
    fprintf(file, "%ld\n", usage.ru_maxrss);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool put(const char *path, const char *format, unsigned id)
{
    char text[32];
    int len = snprintf(text, sizeof(text), format, id);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, text, (size_t)len) == len;

    if (fd >= 0)
        close(fd);
    return fine;
}

bool netns_enter(void)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();

    if (unshare(CLONE_NEWNET) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
            fprintf(stderr, "cannot create a network namespace: %s\n", strerror(errno));
            return false;
        }
        if (!put("/proc/self/setgroups", "deny", 0) || !put("/proc/self/uid_map", "0 %u 1", uid) ||
            !put("/proc/self/gid_map", "0 %u 1", gid)) {
            fprintf(stderr, "cannot set up the user namespace: %s\n", strerror(errno));
            return false;
        }
    }
    return netns_sh("ip link set lo up");
}

bool netns_sh(const char *format, ...)
{
    char command[1024];
    va_list args;
    int status;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    status = system(command);
    if (status != 0)
        fprintf(stderr, "failed (%d): %s\n", status, command);
    return status == 0;
}

pid_t netns_fork(void)
{
    int ready[2];
    pid_t pid;
    char byte = 0;

    if (pipe(ready) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        if (unshare(CLONE_NEWNET) < 0 || !netns_sh("ip link set lo up") ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        close(ready[1]);
        return 0;
    }
    close(ready[1]);
    if (pid > 0 && read(ready[0], &byte, 1) != 1) {
        netns_wait(pid);
        pid = -1;
    }
    close(ready[0]);
    return pid;
}

int netns_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * If real-time priority is permitted, a device responds even while its poll thread gets no CPU
 * time. The test stops the poll thread by ptrace(2), from its start until the other process has
 * ended.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/talk.h"
#include "support/suite.h"

/* Returns the id of the thread with this name in a process, or 0. */
static pid_t thread_named(pid_t pid, const char *name)
{
    char path[64];
    pid_t found = 0;
    struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && !found && (entry = readdir(tasks)) != NULL) {
        char text[32] = "";
        FILE *comm;

        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", (int)pid, entry->d_name);
        comm = fopen(path, "r");
        if (comm && fgets(text, sizeof(text), comm) && strcspn(text, "\n") == strlen(name) &&
            strncmp(text, name, strlen(name)) == 0)
            found = (pid_t)atoi(entry->d_name);
        if (comm)
            fclose(comm);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* Waits for the thread to start. Returns 0 if the process ended, or has no such thread after a long
 * time. */
static pid_t await_thread(pid_t pid, const char *name)
{
    for (unsigned i = 0; i < 5000; i++) {
        pid_t thread = thread_named(pid, name);

        if (thread)
            return thread;
        usleep(1000);
    }
    return 0;
}

/* ptrace stopped a thread. Returns whether it was waiting for frames: such a thread has no lock. */
static bool sleeps(pid_t pid, pid_t thread)
{
    char path[64];
    long number = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    file = fopen(path, "r");
    if (file && fscanf(file, "%ld", &number) != 1)
        number = -1;
    if (file)
        fclose(file);
    return number == SYS_epoll_wait || number == SYS_epoll_pwait || number == SYS_epoll_pwait2;
}

/* Stops a thread at a point where it has no lock, because other threads need the locks. */
static bool stop(pid_t pid, pid_t thread)
{
    for (unsigned i = 0; i < 1000; i++) {
        int status;

        if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0 ||
            waitpid(thread, &status, __WALL) != thread)
            return false;
        if (sleeps(pid, thread))
            return true;
        ptrace(PTRACE_CONT, thread, NULL, NULL);
        usleep(1000);
    }
    return false;
}

static pid_t play(struct talk talk, int fd, int other)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(other);
        talk.fd = fd;
        _exit(talk_play(&talk) ? 0 : 1);
    }
    return pid;
}

static void watchdog_drives_for_a_stopped_poll_thread(void)
{
    const struct talk talk = {.iface = "lo", .rounds = 3, .size = 20000};
    struct talk client = talk;
    int pair[2];
    pid_t server_pid, client_pid, thread;

    client.client = true;
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    server_pid = play(talk, pair[0], pair[1]);
    thread = await_thread(server_pid, "rnic");
    CU_ASSERT_FATAL(thread > 0);
    if (await_thread(server_pid, "rnic-watchdog") == 0 ||
        ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0) {
        suite_skip("no real-time priority or no ptrace here");
        kill(server_pid, SIGKILL);
        netns_wait(server_pid);
        return;
    }
    CU_ASSERT_FATAL(stop(server_pid, thread));
    client_pid = play(client, pair[1], pair[0]);
    close(pair[0]);
    close(pair[1]);
    EXPECT_EQ(netns_wait(client_pid), 0);
    EXPECT_EQ(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
    EXPECT_EQ(netns_wait(server_pid), 0);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(watchdog_drives_for_a_stopped_poll_thread)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.rt_watchdog", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

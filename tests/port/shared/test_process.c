/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Descriptions that processes send to rnic-info. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/shared/process.h"
#include "support/suite.h"

static void write_much(void *user, FILE *out)
{
    for (unsigned i = 0; i < 100000; i++)
        fprintf(out, "%s %u\n", (const char *)user, i);
}

/* Answers all clients until it is killed. */
static void serve(const char *iface, char *text, int ready)
{
    int fd = rnic_process_listen(iface);

    (void)!write(ready, fd >= 0 ? "y" : "n", 1);
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        if (poll(&wait, 1, -1) == 1)
            rnic_process_answer(fd, write_much, text);
    }
}

/* Connects to a process that accepts no connections, until its connection queue is full. */
static void ask_in_vain(const char *iface, pid_t pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int len =
        snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "rnic/%s/proc/%d", iface, (int)pid);
    int rc;

    do {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        rc = connect(fd, (const struct sockaddr *)&addr,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
        close(fd);
    } while (rc == 0);
    EXPECT_EQ(errno, EAGAIN);
}

static void write_nonsense(void *user, FILE *out)
{
    fputs(user, out);
    fflush(out);
    EXPECT_EQ(ftruncate(fileno(out), (off_t)1 << 30), 0);
}

/* The description of another process becomes text of limited length. That process can belong to
 * another user, so its text can have any bytes. */
static void untrusted_description_is_limited_text(void)
{
    struct rnic_process *list;
    int fd = rnic_process_listen("e0");
    size_t cnt;
    pid_t pid;

    CU_ASSERT_FATAL(fd >= 0);
    pid = fork();
    if (pid == 0) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        char text[] = "comm \033[2J\n\r";

        if (poll(&wait, 1, -1) == 1)
            rnic_process_answer(fd, write_nonsense, text);
        pause();
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    CU_ASSERT_EQUAL_FATAL(cnt, 1);
    EXPECT_EQ(strcmp(list[0].text, "comm ?[2J\n?"), 0);
    CU_ASSERT(malloc_usable_size(list[0].text) < 1u << 30);
    rnic_process_free(list, cnt);
    kill(pid, SIGKILL);
    netns_wait(pid);
    close(fd);
}

static void descriptions_of_all_processes_are_listed(void)
{
    struct rnic_process *list;
    char text[2][8] = {"one", "two"};
    unsigned found = 0;
    size_t cnt;
    pid_t pid[2];
    int ready[2];
    char byte;

    EXPECT_EQ(pipe(ready), 0);
    for (unsigned i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            serve(i ? "e1" : "e0", text[i], ready[1]);
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        EXPECT_EQ(byte, 'y');
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    for (size_t i = 0; i < cnt; i++)
        for (unsigned j = 0; j < 2; j++)
            if (list[i].pid == pid[j]) {
                found++;
                EXPECT_EQ(strcmp(list[i].iface, j ? "e1" : "e0"), 0);
                EXPECT_EQ(strncmp(list[i].text, j ? "two 0\n" : "one 0\n", 6), 0);
                CU_ASSERT(strlen(list[i].text) > 900000); /* the description is complete */
            }
    EXPECT_EQ(found, 2);
    rnic_process_free(list, cnt);
    kill(pid[0], SIGSTOP); /* a process that does not answer delays the caller only briefly */
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    rnic_process_free(list, cnt);
    ask_in_vain("e0", pid[0]); /* a process with a full connection queue delays the caller only
                                * briefly */
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    rnic_process_free(list, cnt);
    for (unsigned i = 0; i < 2; i++) {
        kill(pid[i], SIGKILL);
        netns_wait(pid[i]);
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 0);
    rnic_process_free(list, cnt);
    close(ready[0]);
    close(ready[1]);
}

/* Listens as if it were a process with a device on interface `iface`, and never answers. */
static int listen_as(const char *iface, unsigned number)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "rnic/%s/proc/%u", iface,
                       (unsigned)getpid() + number);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    CU_ASSERT_FATAL(bind(fd, (const struct sockaddr *)&addr,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) ==
                    0);
    CU_ASSERT_FATAL(listen(fd, 4) == 0);
    return fd;
}

/* Any user can listen under any name, so the control characters in a name are replaced. */
static void names_are_printable(void)
{
    struct rnic_process *list;
    int fd = listen_as("\033[2J\x9B", 0);
    size_t cnt;

    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    CU_ASSERT_EQUAL_FATAL(cnt, 1);
    EXPECT_EQ(strcmp(list[0].iface, "?[2J?"), 0);
    rnic_process_free(list, cnt);
    close(fd);
}

#define FAKES 64u

/* Several processes do not answer. The caller must wait for one time limit in total, not for one
 * limit for each process. */
static void silent_processes_share_one_deadline(void)
{
    struct rnic_process *list;
    int fd[FAKES];
    size_t cnt;

    for (unsigned i = 0; i < FAKES; i++)
        fd[i] = listen_as("e0", i);
    alarm(100); /* the wait for each process alone would take 2 s */
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    alarm(0);
    EXPECT_EQ(cnt, FAKES);
    rnic_process_free(list, cnt);
    for (unsigned i = 0; i < FAKES; i++)
        close(fd[i]);
}

/* Only root sees the processes of other users. A process cannot pretend to have another user,
 * because the kernel reports the user of a socket's peer. */
static void processes_of_other_users_are_not_listed(void)
{
    int fd = listen_as("e0", 0);
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct rnic_process *list;
        size_t cnt = 7;

        if (setgid(65534) != 0 || setuid(65534) != 0 || rnic_process_list(&list, &cnt) != 0)
            _exit(99);
        _exit((int)cnt);
    }
    CU_ASSERT_FATAL(waitpid(pid, &status, 0) == pid);
    CU_ASSERT(WIFEXITED(status));
    if (WEXITSTATUS(status) == 99)
        suite_skip("this user cannot become another one");
    else
        EXPECT_EQ(WEXITSTATUS(status), 0);
    close(fd);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(descriptions_of_all_processes_are_listed), TEST(untrusted_description_is_limited_text),
        TEST(names_are_printable), TEST(silent_processes_share_one_deadline),
        TEST(processes_of_other_users_are_not_listed)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.process", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Sandbox: a child process that has entered the sandbox tries each forbidden call, and each call
 * that a command still needs. The last test reads the state of a running rocedrill from /proc. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"
#include "util/sandbox.h"

#ifdef HAVE_SECCOMP

#include <seccomp.h>

static bool refused(long result)
{
    return result == -1 && (errno == EPERM || errno == ENOSYS);
}

static bool cannot_fork(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    return refused(pid);
}

static bool cannot_spawn(void)
{
    char name[] = "true", *argv[] = {name, NULL};
    pid_t pid;

    return posix_spawn(&pid, "/bin/true", NULL, NULL, argv, NULL) != 0;
}

static bool cannot_exec(void)
{
    char name[] = "true", *argv[] = {name, NULL};

    return refused(execv("/bin/true", argv));
}

static bool cannot_use_sockets(void)
{
    int pair[2];

    return refused(socket(AF_INET, SOCK_STREAM, 0)) && refused(socket(AF_UNIX, SOCK_STREAM, 0)) &&
           refused(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static bool cannot_touch_processes(void)
{
    const pid_t other = getppid();
    siginfo_t info = {.si_code = SI_QUEUE};
    struct rlimit limit;

    return refused(kill(other, 0)) && refused(ptrace(PTRACE_ATTACH, other, NULL, NULL)) &&
           refused(syscall(SYS_tgkill, other, other, 0)) &&
           refused(syscall(SYS_rt_sigqueueinfo, other, SIGUSR1, &info)) &&
           refused(syscall(SYS_prlimit64, other, RLIMIT_CPU, NULL, &limit));
}

static bool can_end_itself(void)
{
    struct rlimit limit;
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    return getrlimit(RLIMIT_CPU, &limit) == 0 && sigaction(SIGUSR1, &ignore, NULL) == 0 &&
           raise(SIGUSR1) == 0;
}

static void *set_flag(void *flag)
{
    *(bool *)flag = true;
    return NULL;
}

static bool can_start_threads(void)
{
    bool flag = false;
    pthread_t thread;

    return pthread_create(&thread, NULL, set_flag, &flag) == 0 && pthread_join(thread, NULL) == 0 &&
           flag;
}

static void *fork_in_thread(void *refusal)
{
    *(bool *)refusal = cannot_fork();
    return NULL;
}

static bool threads_are_in_the_sandbox(void)
{
    bool refusal = false;
    pthread_t thread;

    return pthread_create(&thread, NULL, fork_in_thread, &refusal) == 0 &&
           pthread_join(thread, NULL) == 0 && refusal;
}

static bool can_use_files_and_memory(void)
{
    int fd = open("/dev/null", O_RDWR);
    char *block = malloc(1 << 24);
    bool fine = fd >= 0 && block && write(fd, "x", 1) == 1 && close(fd) == 0;

    free(block);
    return fine;
}

static bool can_use_sockets(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd >= 0 && listen(fd, 1) == 0;
}

/* Runs the function `holds` in a child process that has entered the sandbox. */
static bool in_sandbox(bool (*holds)(void), bool network)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(sandbox_enter("test", network) && holds() ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void forbidden_calls_fail(void)
{
    CU_ASSERT(in_sandbox(cannot_fork, false));
    CU_ASSERT(in_sandbox(cannot_spawn, false));
    CU_ASSERT(in_sandbox(cannot_exec, false));
    CU_ASSERT(in_sandbox(cannot_use_sockets, false));
    CU_ASSERT(in_sandbox(cannot_touch_processes, false));
    CU_ASSERT(in_sandbox(threads_are_in_the_sandbox, false));
}

static void needed_calls_work(void)
{
    CU_ASSERT(in_sandbox(can_start_threads, false));
    CU_ASSERT(in_sandbox(can_use_files_and_memory, false));
    CU_ASSERT(in_sandbox(can_end_itself, false));
}

static void network_option_keeps_sockets_only(void)
{
    CU_ASSERT(in_sandbox(can_use_sockets, true));
    CU_ASSERT(in_sandbox(cannot_exec, true));
    CU_ASSERT(in_sandbox(cannot_fork, true));
}

static void calls_work_outside(void)
{
    CU_ASSERT(!cannot_fork());
    CU_ASSERT(!cannot_use_sockets());
    CU_ASSERT(!cannot_spawn());
}

/* ---- the sandbox of rocedrill ------------------------------------------------------------------
 */

/* Reads a field of the status of a process, or '?' if the process has ended. */
static char status_of(pid_t pid, const char *field)
{
    char path[64], line[256], value = '?';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (!(file = fopen(path, "r")))
        return value;
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, field, strlen(field)) == 0)
            sscanf(line + strlen(field), " %c", &value);
    fclose(file);
    return value;
}

/* Starts rocedrill, which waits for a capture at its standard input. Returns whether rocedrill has
 * entered the sandbox by the time it waits. */
static bool enters_sandbox(const char *command, const char *option)
{
    unsigned asleep = 0;
    int in[2], status;
    bool entered;
    pid_t pid;

    if (pipe(in) != 0 || (pid = fork()) < 0)
        return false;
    if (pid == 0) {
        dup2(in[0], STDIN_FILENO);
        close(in[1]);
        execl(ROCEDRILL_PROGRAM, "rocedrill", command, "-", option, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    for (unsigned i = 0; i < 3000 && asleep < 5; i++) {
        usleep(10000);
        asleep = status_of(pid, "State:") == 'S' ? asleep + 1 : 0;
    }
    entered = status_of(pid, "Seccomp:") == '2'; /* Seccomp is 2 in a process with a filter, and 0
                                                  * in a process without */
    CU_ASSERT(asleep == 5);
    close(in[1]);
    waitpid(pid, &status, 0);
    return entered;
}

static void check_and_decode_enter_it(void)
{
    CU_ASSERT(enters_sandbox("check", NULL));
    CU_ASSERT(enters_sandbox("decode", NULL));
    CU_ASSERT(!enters_sandbox("check", "--no-sandbox"));
    CU_ASSERT(!enters_sandbox("decode", "--no-sandbox"));
}

/* Forbids the calls that load a filter, as some containers do. */
static bool forbid_filters(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

    return filter && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(seccomp), 0) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(prctl), 1,
                            SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP, 0)) == 0 &&
           seccomp_load(filter) == 0;
}

static void expect_warning(const char *command)
{
    char text[512], wanted[64];
    size_t len = 0;
    int out[2], status;
    ssize_t n;
    pid_t pid;

    CU_ASSERT_FATAL(pipe(out) == 0);
    pid = fork();
    if (pid == 0) {
        dup2(out[1], STDERR_FILENO);
        if (forbid_filters())
            execl(ROCEDRILL_PROGRAM, "rocedrill", command, "/dev/null", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while ((n = read(out[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(out[0]);
    waitpid(pid, &status, 0);
    snprintf(wanted, sizeof(wanted), "rocedrill: %s: warning: no sandbox: ", command);
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        suite_fail(__FILE__, __LINE__, "\"%s\" instead of \"%s\"", text, wanted);
    else
        CU_ASSERT(true);
}

static void filter_that_cannot_be_loaded_is_reported(void)
{
    expect_warning("check");
    expect_warning("decode");
}

SUITE("replay.sandbox", TEST(forbidden_calls_fail), TEST(needed_calls_work),
      TEST(network_option_keeps_sockets_only), TEST(calls_work_outside),
      TEST(check_and_decode_enter_it), TEST(filter_that_cannot_be_loaded_is_reported))

#else

/* A build without libseccomp, or with sanitizers. */
static void there_is_no_sandbox(void)
{
    char name[48];

    CU_ASSERT(!sandbox_enter("test", false));
    sandbox_library(name, sizeof(name));
    CU_ASSERT_STRING_EQUAL(name, "none");
}

SUITE("replay.sandbox", TEST(there_is_no_sandbox))
#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/suite.h"
#include "verbs/page_probe.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static char *map(size_t len, int rights)
{
    char *at = mmap(NULL, len, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(at != MAP_FAILED);
    return at;
}

/* Touches writable, read-only, inaccessible and unmapped pages, each of which the probe must report
 * correctly. */
static void access_without_right_fails(void)
{
    char *at = map(4 * PAGE, PROT_READ | PROT_WRITE);
    page_probe_install();
    at[PAGE - 1] = 5;
    CU_ASSERT(page_probe_touch(at, 4 * PAGE, true));
    EXPECT_EQ(at[PAGE - 1], 5);
    munmap(at + PAGE, PAGE);
    mprotect(at + 2 * PAGE, PAGE, PROT_READ);
    mprotect(at + 3 * PAGE, PAGE, PROT_NONE);
    for (int again = 0; again < 3; again++) { /* a fault must not change later results */
        CU_ASSERT(page_probe_touch(at, PAGE, true));
        CU_ASSERT(!page_probe_touch(at, PAGE + 1, false));
        CU_ASSERT(!page_probe_touch(at + PAGE, 1, true));
        CU_ASSERT(page_probe_touch(at + 2 * PAGE, PAGE, false));
        CU_ASSERT(!page_probe_touch(at + 2 * PAGE, PAGE, true));
        CU_ASSERT(!page_probe_touch(at + 3 * PAGE - 1, 2, false));
        CU_ASSERT(page_probe_touch(at + 3 * PAGE, 0, true));
        CU_ASSERT(!page_probe_touch((void *)16, 8, false));
    }
    munmap(at, 4 * PAGE);
}

/* After a mapped file is truncated, an access after its new end raises SIGBUS. */
static void page_of_truncated_file_fails(void)
{
    FILE *file = tmpfile();
    CU_ASSERT_FATAL(file != NULL && ftruncate(fileno(file), (off_t)PAGE) == 0);
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    CU_ASSERT_FATAL(at != MAP_FAILED);
    page_probe_install();
    CU_ASSERT(page_probe_touch(at, PAGE, true));
    EXPECT_EQ(ftruncate(fileno(file), 0), 0);
    CU_ASSERT(!page_probe_touch(at, PAGE, true));
    CU_ASSERT(!page_probe_touch(at, PAGE, false));
    munmap(at, PAGE);
    fclose(file);
}

static char *volatile nowhere = (char *)16; /* volatile, so that the compiler cannot detect the
                                             * invalid address */

static void leave(int sig, siginfo_t *info, void *context)
{
    (void)context;
    _exit(info->si_code > 0 && info->si_addr == nowhere ? sig : 1);
}

static void leave_simply(int sig)
{
    _exit(sig + 1);
}

/* Runs a child process with the SIGSEGV handler `is`. The child probes an invalid address. Then it
 * makes an invalid access (`errs`), or sends SIGSEGV to itself. Returns the child's exit status. */
static int end_of(const struct sigaction *is, bool errs)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGSEGV, is, NULL);
        page_probe_install();
        page_probe_install(); /* the second call must not save the probe's own handler as the
                               * program's handler */
        if (page_probe_touch(nowhere, 1, false))
            _exit(2);
        if (errs)
            *nowhere = 1;
        else
            kill(getpid(), SIGSEGV);
        _exit(3);
    }
    waitpid(child, &status, 0);
    return status;
}

static void other_faults_reach_the_program(void)
{
    const struct sigaction dies = {.sa_handler = SIG_DFL}, ignores = {.sa_handler = SIG_IGN},
                           own = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO},
                           simple = {.sa_handler = leave_simply};
    CU_ASSERT(WIFSIGNALED(end_of(&dies, false)) && WTERMSIG(end_of(&dies, false)) == SIGSEGV);
    EXPECT_EQ(WEXITSTATUS(end_of(&ignores, false)), 3);
    EXPECT_EQ(WEXITSTATUS(end_of(&own, false)), 1);
    EXPECT_EQ(WEXITSTATUS(end_of(&simple, false)), SIGSEGV + 1);
    CU_ASSERT(WIFSIGNALED(end_of(&dies, true)) && WTERMSIG(end_of(&dies, true)) == SIGSEGV);
    CU_ASSERT(WIFSIGNALED(end_of(&ignores, true)) && WTERMSIG(end_of(&ignores, true)) == SIGSEGV);
    EXPECT_EQ(WEXITSTATUS(end_of(&own, true)), SIGSEGV);
    EXPECT_EQ(WEXITSTATUS(end_of(&simple, true)), SIGSEGV + 1);
}

/* ---- a program with its own signal handlers -------------------------------------------------- */

#define TOUCH_LOOKS_US 30000 /* longer than the interval between two checks of the handlers, us */

static void touches(char *at)
{
    CU_ASSERT(!page_probe_touch(nowhere, 1, false));
    CU_ASSERT(page_probe_touch(at, PAGE, true));
    CU_ASSERT(!page_probe_touch(at, PAGE + 1, false));
    CU_ASSERT(page_probe_touch(at + 2 * PAGE, PAGE, false));
    CU_ASSERT(!page_probe_touch(at + 2 * PAGE, PAGE, true));
    CU_ASSERT(page_probe_touch(at + PAGE, 0, true));
}

static void *touch_blocked(void *at)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    touches(at);
    return NULL;
}

static char *map_three(void) /* maps a writable page, a gap and a read-only page */
{
    char *at = map(3 * PAGE, PROT_READ | PROT_WRITE);
    munmap(at + PAGE, PAGE);
    mprotect(at + 2 * PAGE, PAGE, PROT_READ);
    return at;
}

/* A thread blocks all signals, as threads of servers do, so the probe cannot catch SIGSEGV. */
static void blocked_signals_use_system_call(void)
{
    pthread_t thread;
    char *at = map_three();
    page_probe_install();
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, touch_blocked, at) == 0);
    pthread_join(thread, NULL);
    munmap(at, PAGE);
    munmap(at + 2 * PAGE, PAGE);
}

static struct sigaction found; /* the handler that the program found when it installed its own */

static void call_found(int sig, siginfo_t *info, void *context)
{
    found.sa_sigaction(sig, info, context);
}

static void install_found(int sig)
{
    sigaction(sig, &found, NULL);
    raise(sig);
}

/* Runs a child process in which our handler is installed first. The child then installs a handler
 * `cnt` times, alternately `own` and another one, and probes an invalid address each time. At the
 * end it makes an invalid access. Returns the child's exit status. */
static int end_of_later(const struct sigaction *own, unsigned cnt)
{
    const struct sigaction simple = {.sa_handler = leave_simply};
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        sigaction(SIGSEGV, &simple, NULL);
        page_probe_install();
        for (unsigned i = 0; i < cnt; i++) {
            sigaction(SIGSEGV, i % 2 == 0 ? own : &simple, i == 0 ? &found : NULL);
            usleep(TOUCH_LOOKS_US);
            if (page_probe_touch(nowhere, 1, false))
                _exit(2);
        }
        *nowhere = 1;
        _exit(3);
    }
    waitpid(child, &status, 0);
    return status;
}

/* The program installs a handler after ours. Its handler gets the faults of the program. If it
 * calls or reinstalls the handler that it found, the original handler of the program runs. */
static void later_handler_is_replaced_again(void)
{
    const struct sigaction own = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO},
                           calls = {.sa_sigaction = call_found, .sa_flags = SA_SIGINFO},
                           installs = {.sa_handler = install_found, .sa_flags = SA_NODEFER};
    EXPECT_EQ(WEXITSTATUS(end_of_later(&own, 1)), SIGSEGV);
    EXPECT_EQ(WEXITSTATUS(end_of_later(&own, 9)), SIGSEGV);
    EXPECT_EQ(WEXITSTATUS(end_of_later(&calls, 1)), SIGSEGV + 1);
    EXPECT_EQ(WEXITSTATUS(end_of_later(&installs, 1)), SIGSEGV + 1);
}

static void other_1(int sig)
{
    _exit(sig + 10);
}
static void other_2(int sig)
{
    _exit(sig + 20);
}
static void other_3(int sig)
{
    _exit(sig + 30);
}
static void other_4(int sig)
{
    _exit(sig + 40);
}
static void other_5(int sig)
{
    _exit(sig + 50);
}

/* The program installs more handlers than page_probe can replace. Its last handler gets the
 * signals, and page_probe uses a system call instead. */
static void fifth_handler_uses_system_call(void)
{
    static void (*const handlers[])(int) = {other_1, other_2, other_3, other_4, other_5};
    char *at = map_three();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        page_probe_install();
        for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
            signal(SIGSEGV, handlers[i]);
            usleep(TOUCH_LOOKS_US);
            if (page_probe_touch(nowhere, 1, false) || !page_probe_touch(at, PAGE, true) ||
                page_probe_touch(at + 2 * PAGE, PAGE, true))
                _exit(2);
        }
        *nowhere = 1;
    }
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), SIGSEGV + 50);
    munmap(at, PAGE);
    munmap(at + 2 * PAGE, PAGE);
}

static uint64_t counter;
static volatile bool stop;

static void *count(void *user)
{
    uint64_t cnt = 0;
    (void)user;
    for (; !stop; cnt++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    return (void *)(uintptr_t)cnt;
}

/* The probe loses no value that another thread writes at the same time. */
static void bytes_written_meanwhile_are_kept(void)
{
    pthread_t thread;
    void *cnt;
    page_probe_install();
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, count, NULL) == 0);
    while (__atomic_load_n(&counter, __ATOMIC_RELAXED) == 0)
        continue;
    for (int i = 0; i < 100000; i++)
        CU_ASSERT(page_probe_touch(&counter, sizeof counter, true));
    stop = true;
    pthread_join(thread, &cnt);
    EXPECT_EQ(counter, (uint64_t)(uintptr_t)cnt);
}

SUITE("verbs.page_probe_touch", TEST(access_without_right_fails),
      TEST(page_of_truncated_file_fails), TEST(other_faults_reach_the_program),
      TEST(blocked_signals_use_system_call), TEST(later_handler_is_replaced_again),
      TEST(fifth_handler_uses_system_call), TEST(bytes_written_meanwhile_are_kept))

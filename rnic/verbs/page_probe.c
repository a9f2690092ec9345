/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/page_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "base/clock.h"
#include "port/sys/cancel_guard.h"

/* ---- checking whole regions ------------------------------------------------------------------ */

/* Longest range of memory that is checked page by page, bytes. For longer ranges, reading the list
 * of mappings is faster. */
#define POPULATED_MAX ((size_t)64 << 10)

static int proc_fd = -1; /* descriptor of /proc, for programs that change their root directory */

void page_probe_open_proc(void)
{
    if (proc_fd < 0)
        proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_maps(void)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return fd < 0 && proc_fd >= 0 ? openat(proc_fd, "self/maps", O_RDONLY | O_CLOEXEC) : fd;
}

/* Returns EFAULT if a page is unmapped; used without /proc. Access rights are not checked. */
static int probe_holes(uintptr_t from, uintptr_t end)
{
    uintptr_t first = from & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    /* With MS_ASYNC, Linux writes nothing but reports unmapped pages (msync(2)). */
    return msync((void *)first, end - first, MS_ASYNC) < 0 ? EFAULT : 0;
}

/* Parses a line of /proc/self/maps, "from-to perms ...". Returns false if the line is malformed. */
static bool parse_maps_line(const char *line, uintptr_t *from, uintptr_t *to, const char **perms)
{
    char *end;
    *from = (uintptr_t)strtoull(line, &end, 16);
    if (*end != '-')
        return false;
    *to = (uintptr_t)strtoull(end + 1, &end, 16);
    if (*end != ' ')
        return false;
    *perms = end + 1;
    return true;
}

/* Requests that the kernel fault in the pages. This one call checks mapping and rights. Returns 0
 * or an errno: EINVAL if the kernel cannot do so (before Linux 5.14, or for these pages or
 * rights). */
static int populate_pages(uintptr_t from, uintptr_t end, bool write)
{
#if defined(MADV_POPULATE_READ) && defined(MADV_POPULATE_WRITE)
    uintptr_t first = from & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    int error = errno;
    int result =
        madvise((void *)first, end - first, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0
            ? 0
            : errno;
    errno = error;
    return result;
#else
    (void)from, (void)end, (void)write;
    return EINVAL;
#endif
}

static int probe_region(const void *addr, size_t len, bool write)
{
    uintptr_t need = (uintptr_t)addr, end = need + len;
    if (len == 0)
        return 0;
    if (end < need)
        return EFAULT;
    if (len <= POPULATED_MAX && populate_pages(need, end, write) == 0)
        return 0;
    int fd = open_maps();
    if (fd < 0)
        return probe_holes(need, end);
    /* Lines are sorted by address. A line longer than the buffer has a long path at its end, which
     * is ignored. */
    char buf[8192];
    size_t have = 0;
    bool skip = false; /* skip the rest of a long line */
    int result = EFAULT;
    for (bool more = true; more;) {
        ssize_t got = read(fd, buf + have, sizeof buf - 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
        buf[have] = 0;
        char *line = buf, *eol;
        while (more && ((eol = strchr(line, '\n')) || (line == buf && have == sizeof buf - 1))) {
            uintptr_t from, to;
            const char *perms;
            if (!skip && parse_maps_line(line, &from, &to, &perms) && to > need) {
                if (from > need || perms[0] != 'r' || (write && perms[1] != 'w')) {
                    more = false; /* a page is unmapped or has wrong rights */
                } else if (to >= end) {
                    result = 0;
                    more = false;
                } else {
                    need = to;
                }
            }
            skip = !eol;
            line = eol ? eol + 1 : buf + have;
        }
        have -= (size_t)(line - buf);
        memmove(buf, line, have);
    }
    close(fd);
    return result;
}

int page_probe_region(const void *addr, size_t len, bool write)
{
    int held = rnic_cancel_disable(); /* no cancellation until the file is closed */
    int result = probe_region(addr, len, write);
    rnic_cancel_restore(held);
    return result;
}

int page_probe_populate(const void *addr, size_t len, bool write)
{
    uintptr_t at = (uintptr_t)addr, end = at + len;
    if (len == 0)
        return 0;
    if (end < at)
        return EFAULT;
    int result = populate_pages(at, end, write);
    if (result != EINVAL)
        return result == 0 ? 0 : EFAULT;
    result = page_probe_region(addr, len, write);
    for (const uintptr_t page = 4096; result == 0 && at < end; at = (at | (page - 1)) + 1)
        if (!page_probe_touch((const void *)at, 1, write))
            result = EFAULT;
    return result;
}

/* Returns whether the pages of [addr, addr + len) can be accessed; the range is short and not
 * empty. Before Linux 5.14, pages beyond the end of a truncated file count as accessible. */
static bool can_access_pages(const void *addr, size_t len, bool write)
{
    int result = populate_pages((uintptr_t)addr, (uintptr_t)addr + len, write);
    return result == EINVAL ? page_probe_region(addr, len, write) == 0 : result == 0;
}

/* ---- checking a few pages -------------------------------------------------------------------- */

#define LOOK_NS 4000000 /* interval of checking the program's signal handlers, ns */
#define LEVELS  4

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)

/* Handlers that ours replaced, by signal and level. If the program replaces our handler, this file
 * installs its handler of the next level and so replaces the program's handler. Each level has a
 * separate function, because the program's handler may call or reinstall our handler of the level
 * below. An entry is written before our handler of that level is installed. */
static struct sigaction before[SIGNALS][LEVELS];
static unsigned used[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Position at which this thread continues after a missing page. A signal handler in any thread
 * reads it, so reading it must not call malloc(). */
static __thread sigjmp_buf *volatile back __attribute__((tls_model("initial-exec")));

/* Result of this thread's last check of the handlers. `at` is the time of the check, ns. `asks` is
 * true if our handler was not installed or the thread blocked its signals, so that the thread must
 * ask the kernel about pages. */
static __thread struct {
    int64_t at;
    bool asks;
} looked __attribute__((tls_model("initial-exec")));

/* Calls the replaced handler, as if ours were not installed. */
static void call_previous_handler(const struct sigaction *to, int sig, siginfo_t *info,
                                  void *context)
{
    const struct sigaction fatal = {.sa_handler = SIG_DFL};
    bool sent =
        info->si_code <= 0; /* a process sent the signal; unlike a fault, it does not repeat */
    if (to->sa_flags & SA_SIGINFO) {
        to->sa_sigaction(sig, info, context);
    } else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN) {
        to->sa_handler(sig);
    } else if (to->sa_handler == SIG_DFL || !sent) {
        sigaction(sig, &fatal, NULL);
        if (sent)
            raise(sig);
    }
}

static void handle_fault(unsigned level, int sig, siginfo_t *info, void *context)
{
    sigjmp_buf *to = back;
    if (to && info->si_code > 0) {
        back = NULL;
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(*to, 1);
    }
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == sig)
            call_previous_handler(&before[i][level], sig, info, context);
}

/* Defines our handler of level n. If a fault is not from page_probe_touch(), take_n() calls the
 * handler that it replaced, before[signal][n]. */
#define TAKE(n)                                                                                    \
    static void take_##n(int sig, siginfo_t *info, void *context)                                  \
    {                                                                                              \
        handle_fault(n, sig, info, context);                                                       \
    }
TAKE(0)
TAKE(1)
TAKE(2)
TAKE(3)
static void (*const takes[LEVELS])(int, siginfo_t *, void *) = {take_0, take_1, take_2, take_3};

static bool is_own_handler(const struct sigaction *now)
{
    for (unsigned n = 0; n < LEVELS; n++)
        if (now->sa_flags & SA_SIGINFO && now->sa_sigaction == takes[n])
            return true;
    return false;
}

static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
    return a->sa_flags == b->sa_flags &&
           (a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction
                                     : a->sa_handler == b->sa_handler);
}

/* `now` is the present handler of the signal. Returns the level at which our handler replaced this
 * handler before. If there is none, allocates a new level; returns LEVELS if no level is left. */
static unsigned handler_level(size_t signal, const struct sigaction *now)
{
    unsigned level = 0;
    while (level < used[signal] && !same_action(&before[signal][level], now))
        level++;
    if (level < LEVELS && level == used[signal])
        before[signal][used[signal]++] = *now;
    return level;
}

/* Installs our handler unless it is installed. Returns false if all LEVELS of replaced handlers are
 * used. */
static bool install_handler(size_t signal)
{
    struct sigaction now;
    if (sigaction(signals[signal], NULL, &now) != 0)
        return false;
    if (is_own_handler(&now))
        return true;
    unsigned level = handler_level(signal, &now);
    if (level == LEVELS)
        return false;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_RESTART | SA_NODEFER));
    now.sa_sigaction = takes[level];
    return sigaction(signals[signal], &now, NULL) == 0;
}

bool page_probe_install(void)
{
    bool all = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SIGNALS; i++)
        all &= install_handler(i);
    pthread_mutex_unlock(&lock);
    return all;
}

/* ---- touching pages -------------------------------------------------------------------------- */

static bool blocks_signals(void)
{
    sigset_t mask;
    bool blocks = false;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (size_t i = 0; i < SIGNALS; i++)
        blocks |= sigismember(&mask, signals[i]) == 1;
    return blocks;
}

/* Returns whether this thread must use a system call to check pages, according to its last check of
 * the handlers. */
static bool needs_syscall(void)
{
    int64_t at = (int64_t)rnic_clock_ns(CLOCK_MONOTONIC_COARSE);
    if (looked.at == 0 || at - looked.at >= LOOK_NS) {
        looked.at = at;
        looked.asks = !page_probe_install() || blocks_signals();
    }
    return looked.asks;
}

/* Writes a byte without changing its value. The operand is volatile, because a compiler may
 * replace an OR with the constant 0 by a read. Valgrind would report a comparison of the byte as a
 * use of uninitialized memory. */
static void write_unchanged(volatile uint8_t *byte)
{
    static const volatile uint8_t nothing = 0;
    (void)__atomic_fetch_or(byte, nothing, __ATOMIC_RELAXED);
}

/* Reads or writes one byte of each page. A separate function, so that the stack frame to which
 * siglongjmp() returns has no variables that the loop changes. */
__attribute__((noinline, no_sanitize("address", "thread"))) static void
touch_pages(uintptr_t at, uintptr_t end, bool write)
{
    const uintptr_t page = 4096; /* the smallest page size */
    for (; at < end; at = (at | (page - 1)) + 1)
        if (write)
            write_unchanged((volatile uint8_t *)at);
        else
            (void)*(const volatile uint8_t *)at;
}

bool page_probe_touch(const void *addr, size_t len, bool write)
{
    sigjmp_buf here;
    if (len == 0)
        return true;
    if (needs_syscall())
        return can_access_pages(addr, len, write);
    if (sigsetjmp(here, 0) != 0)
        return false;
    back = &here;
    touch_pages((uintptr_t)addr, (uintptr_t)addr + len, write);
    back = NULL;
    return true;
}

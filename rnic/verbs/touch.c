/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/touch.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "verbs/probe.h"

#define LOOK_NS 4000000 /* between two looks at what the program does with the signals */
#define LEVELS  4

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)

/* What this took each signal from. A program that installs a handler of its own later has it taken
 * too, one level above: what it found when it did that may be called by its handler, or installed
 * again, and is a level that leads to what was before. Written before the level is installed. */
static struct sigaction before[SIGNALS][LEVELS];
static unsigned used[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where this thread's touch goes on if there is nothing. The handler of a thread that never touched
 * anything reads it, too: it has to be there without a call of malloc(). */
static __thread sigjmp_buf *volatile back __attribute__((tls_model("initial-exec")));

/* When this thread last looked, and whether a touch of its would not come to the handler. */
static __thread struct {
    int64_t at;
    bool asks;
} looked __attribute__((tls_model("initial-exec")));

/* As if there were no handler of ours. */
static void pass_on(const struct sigaction *to, int sig, siginfo_t *info, void *context)
{
    const struct sigaction fatal = {.sa_handler = SIG_DFL};
    bool sent = info->si_code <= 0; /* by a process: it does not come again by itself */
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

static void take(unsigned level, int sig, siginfo_t *info, void *context)
{
    sigjmp_buf *to = back;
    if (to && info->si_code > 0) {
        back = NULL;
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(*to, 1);
    }
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == sig)
            pass_on(&before[i][level], sig, info, context);
}

/* A handler for each level, so that each is known by what is installed. */
#define TAKE(n)                                                                                    \
    static void take_##n(int sig, siginfo_t *info, void *context)                                  \
    {                                                                                              \
        take(n, sig, info, context);                                                               \
    }
TAKE(0)
TAKE(1)
TAKE(2)
TAKE(3)
static void (*const takes[LEVELS])(int, siginfo_t *, void *) = {take_0, take_1, take_2, take_3};

static bool is_taken(const struct sigaction *now)
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

/* The level that leads to `now`, a new one if need be; LEVELS: there are no more. */
static unsigned level_to(size_t signal, const struct sigaction *now)
{
    unsigned level = 0;
    while (level < used[signal] && !same_action(&before[signal][level], now))
        level++;
    if (level < LEVELS && level == used[signal])
        before[signal][used[signal]++] = *now;
    return level;
}

/* Takes a signal, if another has it now: false if it cannot. */
static bool take_signal(size_t signal)
{
    struct sigaction now;
    if (sigaction(signals[signal], NULL, &now) != 0)
        return false;
    if (is_taken(&now))
        return true;
    unsigned level = level_to(signal, &now);
    if (level == LEVELS)
        return false;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_RESTART | SA_NODEFER));
    now.sa_sigaction = takes[level];
    return sigaction(signals[signal], &now, NULL) == 0;
}

bool touch_prepare(void)
{
    bool all = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SIGNALS; i++)
        all &= take_signal(i);
    pthread_mutex_unlock(&lock);
    return all;
}

/* ---- touching -------------------------------------------------------------------------------- */

static bool blocks_signals(void)
{
    sigset_t mask;
    bool blocks = false;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (size_t i = 0; i < SIGNALS; i++)
        blocks |= sigismember(&mask, signals[i]) == 1;
    return blocks;
}

/* Whether this thread has to ask the kernel, as it was a moment ago. */
static bool asks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t at = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (looked.at == 0 || at - looked.at >= LOOK_NS) {
        looked.at = at;
        looked.asks = !touch_prepare() || blocks_signals();
    }
    return looked.asks;
}

/* An access that writes, and changes nothing. A compiler that knew the 0 could make it a read; and
 * to compare the byte first would look to valgrind like a use of what nobody has written yet. */
static void write_same(volatile uint8_t *byte)
{
    static const volatile uint8_t nothing = 0;
    (void)__atomic_fetch_or(byte, nothing, __ATOMIC_RELAXED);
}

/* A function of its own: what changes in it is in no frame that siglongjmp() goes back to. */
__attribute__((noinline, no_sanitize("address", "thread"))) static void
touch_pages(uintptr_t at, uintptr_t end, bool write)
{
    const uintptr_t page = 4096; /* or a part of one */
    for (; at < end; at = (at | (page - 1)) + 1)
        if (write)
            write_same((volatile uint8_t *)at);
        else
            (void)*(const volatile uint8_t *)at;
}

bool touch_memory(const void *addr, size_t len, bool write)
{
    sigjmp_buf here;
    if (len == 0)
        return true;
    if (asks())
        return probe_pages(addr, len, write);
    if (sigsetjmp(here, 0) != 0)
        return false;
    back = &here;
    touch_pages((uintptr_t)addr, (uintptr_t)addr + len, write);
    back = NULL;
    return true;
}

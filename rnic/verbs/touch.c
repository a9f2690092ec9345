/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/touch.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>

static const int signals[] = {SIGSEGV, SIGBUS};
#define SIGNALS (sizeof signals / sizeof *signals)

static struct sigaction before[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where this thread's touch goes on if there is nothing. The handler of a thread that never touched
 * anything reads it, too: it has to be there without a call of malloc(). */
static __thread sigjmp_buf *volatile back __attribute__((tls_model("initial-exec")));

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

static void take(int sig, siginfo_t *info, void *context)
{
    sigjmp_buf *to = back;
    if (to && info->si_code > 0) {
        back = NULL;
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(*to, 1);
    }
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == sig)
            pass_on(&before[i], sig, info, context);
}

void touch_prepare(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) != 0 ||
            (now.sa_flags & SA_SIGINFO && now.sa_sigaction == take))
            continue;
        before[i] = now;
        now.sa_flags = SA_SIGINFO | SA_ONSTACK | (now.sa_flags & (SA_RESTART | SA_NODEFER));
        now.sa_sigaction = take;
        sigaction(signals[i], &now, NULL);
    }
    pthread_mutex_unlock(&lock);
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
    if (sigsetjmp(here, 0) != 0)
        return false;
    back = &here;
    touch_pages((uintptr_t)addr, (uintptr_t)addr + len, write);
    back = NULL;
    return true;
}

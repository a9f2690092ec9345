/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _XOPEN_SOURCE 700 /* declares sigaction() */
#include "util/sigint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/clock.h"

#define GRACE_MS 1000 /* after the signal, a pipe is read for this time at most, ms */
/* A second signal within this time (ms) does not count as a second Ctrl-C: timeout(1) sends each
 * signal twice, to its child and to its process group. */
#define TWICE_MS 200

static const int signals[] = {SIGINT, SIGTERM};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* State of the signal handler. It is a global variable, because signals are sent to the whole
 * process. */
static struct {
    atomic_bool came, on;
    atomic_llong first; /* time of the first signal, ms */
    /* Pipe that wakes a thread in poll(), because the kernel may deliver the signal to another
     * thread. */
    int wake[2];
    struct sigaction old[SIGNALS];
} it;

static long long now_ms(void)
{
    return (long long)(rnic_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static void on_signal(int number)
{
    int saved = errno;

    if (!atomic_load(&it.came)) {
        atomic_store(&it.first, now_ms());
        atomic_store(&it.came, true);
        while (write(it.wake[1], "", 1) < 0 && errno == EINTR)
            ;
    } else if (now_ms() - atomic_load(&it.first) > TWICE_MS) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
    errno = saved;
}

void sigint_begin(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (atomic_load(&it.on) || pipe(it.wake) != 0)
        return;
    atomic_store(&it.came, false);
    for (unsigned i = 0; i < 2; i++)
        (void)fcntl(it.wake[i], F_SETFD, FD_CLOEXEC);
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &it.old[i]) == 0 && it.old[i].sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    atomic_store(&it.on, true);
}

void sigint_end(void)
{
    if (!atomic_exchange(&it.on, false))
        return;
    for (unsigned i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &it.old[i], NULL);
    for (unsigned i = 0; i < 2; i++)
        close(it.wake[i]);
}

bool sigint_received(void)
{
    return atomic_load_explicit(&it.came, memory_order_relaxed) && atomic_load(&it.on);
}

/* Returns for how long a pipe may still be read after the first signal, ms. */
static int left_ms(void)
{
    long long gone = now_ms() - atomic_load(&it.first);

    return gone < GRACE_MS ? (int)(GRACE_MS - gone) : 0;
}

bool sigint_wait_readable(int fd)
{
    while (atomic_load(&it.on)) {
        struct pollfd wanted[] = {{.fd = fd, .events = POLLIN},
                                  {.fd = it.wake[0], .events = POLLIN}};
        bool came = sigint_received();
        int left = came ? left_ms() : -1, rc;

        if (left == 0)
            return false;
        rc = poll(wanted, came ? 1 : 2, left);
        if ((rc < 0 && errno != EINTR) || (rc > 0 && wanted[0].revents))
            return true;
    }
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/mmap_pages.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_UNUSABLE 2

/* STEP: number of bytes that mmap_file_populate() maps at a time. DROP: least number of bytes for
 * which mmap_file_drop() returns memory to the kernel. */
#define STEP ((size_t)2 << 20)
#define DROP ((size_t)16 << 20)

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

struct mmap_file {
    uint8_t *p;
    size_t len;
    _Atomic(struct mmap_file *) next;
    atomic_size_t populated, dropped; /* offsets, multiples of STEP */
    size_t text_len;
    char text[]; /* message that the SIGBUS handler prints, formatted in advance */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct mmap_file *) all;

static void on_sigbus(int sig, siginfo_t *info, void *context);

static struct mmap_file *open_file(int fd, size_t len, const char *name, bool populate)
{
    static const char what[] = ": the file was truncated while rocedrill read it\n";
    size_t name_len = strlen(name);
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    struct mmap_file *mapped = malloc(sizeof(*mapped) + name_len + sizeof(what));

    if (!mapped)
        return NULL;
    memcpy(mapped->text, name, name_len);
    memcpy(mapped->text + name_len, what, sizeof(what));
    mapped->text_len = name_len + sizeof(what) - 1;
    mapped->len = len;
    atomic_init(&mapped->populated, populate ? len : 0);
    atomic_init(&mapped->dropped, 0);
    sigemptyset(&action.sa_mask);
    mapped->p =
        sigaction(SIGBUS, &action, NULL) != 0
            ? MAP_FAILED
            : mmap(NULL, len, PROT_READ, MAP_PRIVATE | (populate ? MAP_POPULATE : 0), fd, 0);
    if (mapped->p == MAP_FAILED) {
        free(mapped);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    atomic_store(&mapped->next, atomic_load(&all));
    atomic_store(&all, mapped);
    pthread_mutex_unlock(&lock);
    return mapped;
}

struct mmap_file *mmap_file_open(int fd, size_t len, const char *name)
{
    return open_file(fd, len, name, true);
}

struct mmap_file *mmap_file_open_lazily(int fd, size_t len, const char *name)
{
    return open_file(fd, len, name, false);
}

void mmap_file_close(struct mmap_file *mapped)
{
    _Atomic(struct mmap_file *) *at = &all;

    if (!mapped)
        return;
    pthread_mutex_lock(&lock);
    while (atomic_load(at) != mapped)
        at = &atomic_load(at)->next;
    atomic_store(at, atomic_load(&mapped->next));
    pthread_mutex_unlock(&lock);
    munmap(mapped->p, mapped->len);
    free(mapped);
}

void mmap_file_populate(struct mmap_file *mapped, size_t off)
{
    size_t from = atomic_load(&mapped->populated);

    while (from < off + STEP / 2 && from < mapped->len)
        if (atomic_compare_exchange_strong(&mapped->populated, &from, from + STEP)) {
            size_t left = mapped->len - from;

            /* a kernel before Linux 5.14 refuses this call, and then maps a few pages at each page
             * fault */
            (void)madvise(mapped->p + from, left < STEP ? left : STEP, MADV_POPULATE_READ);
            from += STEP;
        }
}

void mmap_file_drop(struct mmap_file *mapped, size_t off)
{
    size_t from = atomic_load(&mapped->dropped), to = off / STEP * STEP;

    if (to < from + DROP)
        return;
    (void)madvise(mapped->p + from, to - from, MADV_DONTNEED);
    atomic_store(&mapped->dropped, to);
}

uint8_t *mmap_file_bytes(const struct mmap_file *mapped)
{
    return mapped->p;
}

/* Prints the message of the file and exits, with write() and _exit() because a signal handler must
 * not call stdio. A SIGBUS outside the mapped files is a bug: the handler restores the default
 * action, and the same instruction raises SIGBUS again. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
    const uint8_t *p = info->si_addr;

    (void)context;
    for (struct mmap_file *m = atomic_load(&all); m; m = atomic_load(&m->next))
        if (p >= m->p && p < m->p + m->len) {
            ssize_t rc = write(STDERR_FILENO, m->text, m->text_len);

            (void)rc;
            _exit(EXIT_UNUSABLE);
        }
    signal(sig, SIG_DFL);
}

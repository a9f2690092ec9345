/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "port/sys/cancel_guard.h"

#define POPULATED_MAX ((size_t)64 << 10) /* larger ones cost more than a look at the mappings */

static int proc_fd = -1; /* the folder /proc, for a program that changes its root folder */

void probe_prepare(void)
{
    if (proc_fd < 0)
        proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int open_maps(void)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return fd < 0 && proc_fd >= 0 ? openat(proc_fd, "self/maps", O_RDONLY | O_CLOEXEC) : fd;
}

/* Without /proc: whether there is a hole in the pages. Which rights they give is not told. */
static int probe_holes(uintptr_t from, uintptr_t end)
{
    uintptr_t first = from & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    /* Linux writes nothing then, but finds the hole (msync(2)). */
    return msync((void *)first, end - first, MS_ASYNC) < 0 ? EFAULT : 0;
}

/* One line of /proc/self/maps, "from-to perms ..."; false if it is not one. */
static bool parse_line(const char *line, uintptr_t *from, uintptr_t *to, const char **perms)
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

/* Lets the kernel fault pages in, as hardware has them pinned: that tells all in one call. 0 or an
 * errno: EINVAL if it does not know how (before Linux 5.14), or not for such pages, or not with
 * such rights. */
static int populate(uintptr_t from, uintptr_t end, bool write)
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

static int look(const void *addr, size_t len, bool write)
{
    uintptr_t need = (uintptr_t)addr, end = need + len;
    if (len == 0)
        return 0;
    if (end < need)
        return EFAULT;
    if (len <= POPULATED_MAX && populate(need, end, write) == 0)
        return 0;
    int fd = open_maps();
    if (fd < 0)
        return probe_holes(need, end);
    /* The lines come in the order of addresses. A line longer than the buffer ends in a path that
     * does not matter: what is kept is its beginning. */
    char buf[8192];
    size_t have = 0;
    bool skip = false; /* the rest of a long line */
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
            if (!skip && parse_line(line, &from, &to, &perms) && to > need) {
                if (from > need || perms[0] != 'r' || (write && perms[1] != 'w')) {
                    more = false; /* a hole, or the wrong rights */
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

int probe_memory(const void *addr, size_t len, bool write)
{
    int held = rnic_cancel_disable(); /* or the file would stay open */
    int result = look(addr, len, write);
    rnic_cancel_restore(held);
    return result;
}

bool probe_pages(const void *addr, size_t len, bool write)
{
    int result = populate((uintptr_t)addr, (uintptr_t)addr + len, write);
    return result == EINVAL ? probe_memory(addr, len, write) == 0 : result == 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/record_tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER   4096u
#define LEN_BITS 20u /* bits of the length in record_tail_map.state */

_Static_assert(RECORD_TAIL_LEN >> LEN_BITS == 0, "the length fits into the state");

/* The file of a tail. The two lengths are in one word, so that they fit together at whatever time
 * the process is killed. */
struct record_tail_map {
    _Atomic uint64_t state; /* length of the recording's file << LEN_BITS | length of the tail */
    uint8_t unused[HEADER - sizeof(uint64_t)];
    uint8_t data[RECORD_TAIL_LEN];
};

static int open_tail(const char *path, char name[PATH_MAX], int flags)
{
    int fd;

    if (snprintf(name, PATH_MAX, "%s.tail", path) >= PATH_MAX)
        return -ENAMETOOLONG;
    fd = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    return fd < 0 ? -errno : fd;
}

int record_tail_open(struct record_tail *tail, const char *path)
{
    struct record_tail_map *map = MAP_FAILED;
    struct rlimit limit;
    char name[PATH_MAX];
    int fd, error;

    /* Beyond this limit, posix_fallocate() would end the program with SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)sizeof(*map))
        return -EFBIG;
    fd = open_tail(path, name, O_CREAT | O_EXCL);
    if (fd < 0)
        return fd;
    /* allocates the space, because a write to a mapped file cannot report a full disk */
    error = -posix_fallocate(fd, 0, sizeof(*map));
    if (!error)
        map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!error && map == MAP_FAILED)
        error = -errno;
    close(fd);
    if (error) {
        unlink(name);
        return error;
    }
    *tail = (struct record_tail){.map = map, .data = map->data};
    return 0;
}

void record_tail_note(const struct record_tail *tail, uint64_t at, size_t len)
{
    if (tail->map)
        atomic_store_explicit(&tail->map->state, at << LEN_BITS | len, memory_order_release);
}

void record_tail_close(struct record_tail *tail, const char *path)
{
    char name[PATH_MAX];

    if (!tail->map)
        return;
    munmap(tail->map, sizeof(*tail->map));
    *tail = (struct record_tail){.map = NULL};
    if (snprintf(name, sizeof(name), "%s.tail", path) < (int)sizeof(name))
        unlink(name);
}

/* Writes `len` bytes at the offset `at`. Returns 0 or a negative errno. */
static int write_at(int fd, const uint8_t *bytes, size_t len, uint64_t at)
{
    while (len > 0) {
        ssize_t done = pwrite(fd, bytes, len, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -ENOSPC;
        bytes += done;
        len -= (size_t)done;
        at += (uint64_t)done;
    }
    return 0;
}

/* Appends the tail in the file `fd`. The process may have been killed while it wrote the tail: then
 * the recording already has some bytes of the tail, which are written again. */
static int append(int fd, const char *path)
{
    const struct record_tail_map *map;
    uint64_t state, at;
    struct stat st;
    int to, error;

    if (fstat(fd, &st) < 0 || st.st_size != (off_t)sizeof(*map))
        return -EINVAL;
    map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    state = atomic_load(&map->state);
    at = state >> LEN_BITS;
    to = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    error = to < 0 || fstat(to, &st) < 0 ? -errno : 0;
    state &= (UINT64_C(1) << LEN_BITS) - 1;
    if (!error && (state > RECORD_TAIL_LEN || at > (uint64_t)st.st_size))
        error = -EINVAL;
    if (!error)
        error = write_at(to, map->data, state, at);
    if (to >= 0)
        close(to);
    munmap((void *)(uintptr_t)map, sizeof(*map));
    return error;
}

int record_tail_append(const char *path)
{
    char name[PATH_MAX];
    int fd = open_tail(path, name, 0), error;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    error = append(fd, path);
    close(fd);
    if (!error)
        unlink(name);
    return error;
}

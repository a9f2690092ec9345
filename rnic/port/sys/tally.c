/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/sys/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"

static int map_tally(struct tally_file *file)
{
    void *at = mmap(NULL, sizeof(struct tally), PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    int error;

    if (at == MAP_FAILED) {
        error = -errno;
        close(file->fd);
        *file = (struct tally_file){.fd = -1};
        return error;
    }
    file->tally = at;
    return 0;
}

int tally_create(struct tally_file *file, const char *path)
{
    const struct tally first = {.utc_offset = rnic_utc_offset()};
    ssize_t done;
    int error;

    *file = (struct tally_file){.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (file->fd < 0)
        return -errno;
    /* Writing the counters reserves space in the file system; ftruncate() would not. */
    done = write(file->fd, &first, sizeof(first));
    if (done == (ssize_t)sizeof(first) && flock(file->fd, LOCK_EX | LOCK_NB) == 0)
        return map_tally(file);
    error = done < 0 || done == (ssize_t)sizeof(first) ? -errno : -ENOSPC;
    close(file->fd);
    unlink(path);
    *file = (struct tally_file){.fd = -1};
    return error;
}

int tally_open(struct tally_file *file, const char *path)
{
    struct stat st;

    *file = (struct tally_file){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (file->fd < 0)
        return -errno;
    if (fstat(file->fd, &st) == 0 && st.st_size == (off_t)sizeof(struct tally))
        return map_tally(file);
    close(file->fd);
    *file = (struct tally_file){.fd = -1};
    return -EINVAL;
}

void tally_close(struct tally_file *file)
{
    if (!file->tally)
        return;
    munmap(file->tally, sizeof(*file->tally));
    close(file->fd);
    *file = (struct tally_file){.fd = -1};
}

bool tally_is_orphaned(const struct tally_file *file)
{
    if (!file->tally || atomic_load(&file->tally->detached) ||
        flock(file->fd, LOCK_SH | LOCK_NB) < 0)
        return false;
    flock(file->fd, LOCK_UN);
    return true;
}

void tally_lose(const struct tally_file *file, uint64_t cnt, int error)
{
    if (!file->tally || cnt == 0)
        return;
    atomic_fetch_add(&file->tally->lost, cnt);
    atomic_store(&file->tally->error, error);
}

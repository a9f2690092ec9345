/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/pcapng/pcapng_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire/bytes.h"

#define BLOCK_SECTION 0x0A0D0D0Au
#define BLOCK_IFACE   1u
#define BLOCK_FRAME   6u
#define MAGIC         0x1A2B3C4Du

struct frame {
    uint64_t stamp;
    size_t at;
    uint32_t len;
};

struct frames {
    struct frame *frame;
    size_t cnt;
    size_t cap;
    bool ordered;
};

static int by_time(const void *a, const void *b)
{
    const struct frame *x = a;
    const struct frame *y = b;

    if (x->stamp != y->stamp)
        return x->stamp < y->stamp ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool add(struct frames *frames, const struct frame *frame)
{
    if (frames->cnt == frames->cap) {
        size_t cap = frames->cap ? 2 * frames->cap : 4096;
        struct frame *grown = realloc(frames->frame, cap * sizeof(*grown));

        if (!grown)
            return false;
        frames->frame = grown;
        frames->cap = cap;
    }
    if (frames->cnt && frames->frame[frames->cnt - 1].stamp > frame->stamp)
        frames->ordered = false;
    frames->frame[frames->cnt++] = *frame;
    return true;
}

/* Length of the block at `at`, or 0 if the file does not have a whole one there. */
static uint32_t block_len(const uint8_t *file, size_t len, size_t at)
{
    uint32_t size;

    if (len - at < 12)
        return 0;
    size = roce_le32_get(file + at + 4);
    if (size < 12 || size % 4 || size > len - at || roce_le32_get(file + at + size - 4) != size)
        return 0;
    return size;
}

/* Finds the frames; *whole is where the last whole block ends. */
static int scan(const uint8_t *file, size_t len, struct frames *frames, size_t *whole)
{
    size_t at = 0;
    uint32_t size;

    frames->ordered = true;
    while (at < len && (size = block_len(file, len, at)) != 0) {
        uint32_t type = roce_le32_get(file + at);

        if ((type == BLOCK_SECTION) != (at == 0) ||
            (at == 0 && (size < 28 || roce_le32_get(file + 8) != MAGIC)))
            return -EINVAL;
        if (type == BLOCK_FRAME) {
            struct frame frame = {.at = at, .len = size};

            if (size < 32)
                return -EINVAL;
            frame.stamp = (uint64_t)roce_le32_get(file + at + 12) << 32;
            frame.stamp |= roce_le32_get(file + at + 16);
            if (!add(frames, &frame))
                return -ENOMEM;
        }
        at += size;
    }
    *whole = at;
    return at > 0 ? 0 : -EINVAL;
}

/* All blocks that are not frames, then the frames as they stand in *frames. */
static void lay_out(const uint8_t *file, size_t whole, const struct frames *frames, uint8_t *to)
{
    uint32_t size;

    for (size_t at = 0; at < whole; at += size) {
        size = block_len(file, whole, at);
        if (roce_le32_get(file + at) == BLOCK_FRAME)
            continue;
        memcpy(to, file + at, size);
        to += size;
    }
    for (size_t i = 0; i < frames->cnt; i++) {
        memcpy(to, file + frames->frame[i].at, frames->frame[i].len);
        to += frames->frame[i].len;
    }
}

/* `len` bytes of memory that is a file without a name beside `path`, so that a recording may be
 * longer than memory; or NULL with errno. */
static uint8_t *room_beside(const char *path, size_t len)
{
    char *name = NULL;
    void *room = MAP_FAILED;
    int fd;

    if (asprintf(&name, "%s.XXXXXX", path) < 0)
        return NULL;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        unlink(name);
        if ((errno = posix_fallocate(fd, 0, (off_t)len)) == 0)
            room = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    free(name);
    return room == MAP_FAILED ? NULL : room;
}

static int sort_mapped(const char *path, uint8_t *file, size_t len)
{
    struct frames frames = {NULL, 0, 0, true};
    size_t whole = 0;
    int error = scan(file, len, &frames, &whole);

    if (!error && !frames.ordered) {
        uint8_t *room = room_beside(path, whole);

        if (room) {
            qsort(frames.frame, frames.cnt, sizeof(*frames.frame), by_time);
            lay_out(file, whole, &frames, room);
            memcpy(file, room, whole);
            munmap(room, whole);
        } else {
            error = errno ? -errno : -ENOMEM;
        }
    }
    free(frames.frame);
    return error;
}

int rnic_pcapng_sort(const char *path, struct error *why)
{
    struct stat stat;
    int error = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &stat) < 0) {
        error = -errno;
    } else if (S_ISREG(stat.st_mode) && stat.st_size > 0) { /* empty: nobody recorded */
        size_t len = (size_t)stat.st_size;
        void *file = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        error = file == MAP_FAILED ? -errno : sort_mapped(path, file, len);
        if (file != MAP_FAILED)
            munmap(file, len);
    }
    if (fd >= 0)
        close(fd);
    if (error == -EINVAL)
        error_set(why, "%s is not a pcapng file of one section", path);
    else if (error)
        error_set(why, "%s cannot be sorted: %s", path, strerror(-error));
    return error;
}

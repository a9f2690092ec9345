/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL_LEN 4096u /* one page for struct shm_control, bytes */
#define SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Static_assert(sizeof(struct shm_control) <= CONTROL_LEN, "the ring begins on the second page");

/* Maps `fd`, or private memory if `fd` is -1. Returns 0 or a negative errno. */
static int map_segment(int fd, uint32_t size, struct shm_segment *out)
{
    size_t len = CONTROL_LEN + (size_t)size;
    uint8_t *base = mmap(NULL, len, PROT_READ | PROT_WRITE,
                         fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return -errno;
    *out = (struct shm_segment){
        .memory = {.control = (void *)base, .data = base + CONTROL_LEN, .size = size},
        .base = base,
        .len = len};
    return 0;
}

int shm_segment_new(uint32_t size, struct shm_segment *out)
{
    struct rlimit limit;
    int error = 0;
    int fd;

    /* Beyond this limit, ftruncate() would end the program with SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)CONTROL_LEN + size)
        return -EFBIG;
    fd = memfd_create("rnic-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)CONTROL_LEN + size) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        error = -errno;
    if (!error)
        error = map_segment(fd, size, out);
    if (error) {
        close(fd);
        return error;
    }
    return fd;
}

int shm_segment_map(int fd, struct shm_segment *out)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat stat;
    off_t size;

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) < 0)
        return -EPROTO;
    size = stat.st_size - (off_t)CONTROL_LEN;
    if (size < (off_t)SHM_RING_MIN || size > (off_t)SHM_RING_MAX || (size & (size - 1)) != 0)
        return -EPROTO;
    return map_segment(fd, (uint32_t)size, out);
}

int shm_segment_private(uint32_t size, struct shm_segment *out)
{
    return map_segment(-1, size, out);
}

void shm_segment_prefault(const struct shm_segment *segment)
{
#ifdef MADV_POPULATE_WRITE
    /* optional: if the call fails (before Linux 5.14), the first access to each page takes
     * longer */
    (void)madvise(segment->base, segment->len, MADV_POPULATE_WRITE);
#else
    (void)segment;
#endif
}

void shm_segment_unmap(struct shm_segment *segment)
{
    if (segment->base)
        munmap(segment->base, segment->len);
    *segment = (struct shm_segment){.base = NULL};
}

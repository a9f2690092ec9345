/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Preload: leads the stock librdmacm.so.1 to our rdma_cm device. Loaded before the C library
 * (LD_PRELOAD, by rnic-run), it stands before open, write, close and fstat: what is said to
 * /dev/infiniband/rdma_cm goes to our libibverbs.so.1 (ucma.h), all else to the C library. The
 * descriptor is one of the kernel's, so that poll, epoll, fcntl and the like need nothing here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#define EXPORT  __attribute__((visibility("default")))
#define DEVICE  "/dev/infiniband/rdma_cm"
#define FDS_MAX 65536

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT ssize_t write(int fd, const void *buf, size_t len);
EXPORT int close(int fd);
EXPORT int fstat(int fd, struct stat *st);
EXPORT int fstat64(int fd, struct stat64 *st);

static atomic_uchar ours[FDS_MAX];

static int (*next_open)(const char *, int, ...);
static int (*next_open64)(const char *, int, ...);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_close)(int);
static int (*next_fstat)(int, struct stat *);
static int (*next_fstat64)(int, struct stat64 *);
static int (*next_stat)(const char *, struct stat *);
static int (*device_open)(int flags);
static ssize_t (*device_write)(int fd, const void *buf, size_t len);
static int (*device_close)(int fd);

/* A function pointer from dlsym()'s object pointer, as POSIX has it. */
#define FIND(to, where, name)                                                                      \
    do {                                                                                           \
        void *found = dlsym(where, name);                                                          \
        memcpy(&(to), &found, sizeof(to));                                                         \
    } while (0)

/* Before anything else of the program runs, and so before there are threads; but the C library's
 * own start may call first. */
__attribute__((constructor)) static void find(void)
{
    if (next_close)
        return;
    FIND(next_open, RTLD_NEXT, "open");
    FIND(next_open64, RTLD_NEXT, "open64");
    FIND(next_write, RTLD_NEXT, "write");
    FIND(next_fstat, RTLD_NEXT, "fstat");
    FIND(next_fstat64, RTLD_NEXT, "fstat64");
    FIND(next_stat, RTLD_NEXT, "stat");
    FIND(next_close, RTLD_NEXT, "close");
}

/* The library with the devices, if the program has it. */
static int has_device(void)
{
    if (device_close)
        return 1;
    FIND(device_open, RTLD_DEFAULT, "vcma_open");
    FIND(device_write, RTLD_DEFAULT, "vcma_write");
    FIND(device_close, RTLD_DEFAULT, "vcma_close");
    if (!device_close) { /* loaded by dlopen(), not for all to see: librdmacm needs it by name */
        void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);

        if (!library)
            return 0;
        FIND(device_open, library, "vcma_open");
        FIND(device_write, library, "vcma_write");
        FIND(device_close, library, "vcma_close");
    }
    return device_open && device_write && device_close;
}

static int is_ours(int fd)
{
    return fd >= 0 && fd < FDS_MAX && atomic_load_explicit(&ours[fd], memory_order_relaxed);
}

static int open_device(int flags)
{
    int fd = device_open(flags);

    if (fd >= FDS_MAX) {
        device_close(fd);
        errno = EMFILE;
        return -1;
    }
    if (fd >= 0)
        atomic_store(&ours[fd], 1);
    return fd;
}

#define TAKES_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    find();
    va_start(args, flags);
    if (TAKES_MODE(flags))
        mode = va_arg(args, mode_t);
    va_end(args);
    if (strcmp(path, DEVICE) == 0 && has_device())
        return open_device(flags);
    return next_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    find();
    va_start(args, flags);
    if (TAKES_MODE(flags))
        mode = va_arg(args, mode_t);
    va_end(args);
    if (strcmp(path, DEVICE) == 0 && has_device())
        return open_device(flags);
    return next_open64(path, flags, mode);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    find();
    return is_ours(fd) ? device_write(fd, buf, len) : next_write(fd, buf, len);
}

int close(int fd)
{
    find();
    if (!is_ours(fd))
        return next_close(fd);
    atomic_store(&ours[fd], 0);
    return device_close(fd);
}

/* A character device: the kernel's numbers where it has one, which librdmacm then asked for. */
static void be_device(mode_t *mode, dev_t *rdev)
{
    struct stat real;

    *mode = S_IFCHR | 0666;
    *rdev = next_stat && next_stat(DEVICE, &real) == 0 ? real.st_rdev : makedev(10, 0);
}

int fstat(int fd, struct stat *st)
{
    int result;

    find();
    result = next_fstat(fd, st);
    if (result == 0 && is_ours(fd))
        be_device(&st->st_mode, &st->st_rdev);
    return result;
}

int fstat64(int fd, struct stat64 *st)
{
    int result;

    find();
    result = next_fstat64(fd, st);
    if (result == 0 && is_ours(fd))
        be_device(&st->st_mode, &st->st_rdev);
    return result;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Preload: connects the stock librdmacm.so.1 to our rdma_cm device. rnic-run loads this library
 * with LD_PRELOAD, so the open(), write(), close() and fstat() of this library replace those of the
 * C library. Calls for /dev/infiniband/rdma_cm are passed to our libibverbs.so.1 (ucma.h), and all
 * others to the C library. The descriptor that the program gets is an eventfd of the kernel, so
 * poll(), epoll and fcntl() work unchanged.
 *
 * The library also answers file system queries about our devices: their device nodes, and the sysfs
 * files that verbs/device.h describes.
 *
 * The library also replaces _exit(). _exit() of the C library runs no destructors, but the device
 * must send its delayed acknowledgements before the process ends.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "port/sys/fd_tag.h"

#define EXPORT __attribute__((visibility("default")))
#define NODES  "/dev/infiniband/"
#define DEVICE NODES "rdma_cm"
/* prefix of the sysfs files in /sys/class/infiniband and /sys/class/infiniband_verbs */
#define SYSFS   "/sys/class/infiniband"
#define FDS_MAX 65536

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT ssize_t write(int fd, const void *buf, size_t len);
EXPORT int close(int fd);
EXPORT int fstat(int fd, struct stat *st);
EXPORT int fstat64(int fd, struct stat64 *st);
EXPORT int stat(const char *path, struct stat *st);
EXPORT int stat64(const char *path, struct stat64 *st);
EXPORT int access(const char *path, int mode);
EXPORT _Noreturn void _exit(int status);
EXPORT _Noreturn void _Exit(int status);
EXPORT extern void (*rnic_preload_before_exit)(void);

void (*rnic_preload_before_exit)(void); /* function of our libibverbs.so.1 that sends delayed
                                         * acknowledgements; the library sets this pointer when it
                                         * is loaded */

static atomic_uchar ours[FDS_MAX];
static atomic_uchar closed_one; /* whether the program has closed one of our descriptors */
/* Process to which this memory belongs. The child of a vfork() shares this memory but has another
 * pid, so it is recognized and does not change `ours`. */
static pid_t process;

static int (*next_open)(const char *, int, ...);
static int (*next_open64)(const char *, int, ...);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_close)(int);
static int (*next_fstat)(int, struct stat *);
static int (*next_fstat64)(int, struct stat64 *);
static int (*next_stat)(const char *, struct stat *);
static int (*next_stat64)(const char *, struct stat64 *);
static int (*next_access)(const char *, int);
static int (*device_open)(int flags);
static ssize_t (*device_write)(int fd, const void *buf, size_t len);
static int (*device_close)(int fd);
static int (*device_file)(const char *path, char *buf, size_t size);
static bool (*device_node)(const char *path);

/* Finds a function with dlsym(), whose result is an object pointer, and stores it as a function
 * pointer. POSIX allows that. */
#define FIND(to, where, name)                                                                      \
    do {                                                                                           \
        void *found = dlsym(where, name);                                                          \
        memcpy(&(to), &found, sizeof(to));                                                         \
    } while (0)

static void note_process(void)
{
    process = getpid();
}

/* Finds the functions that this library replaces. Runs before main(), when there is only one
 * thread. The start code of the C library may call open() or another replaced function even
 * earlier, which then calls this function. */
__attribute__((constructor)) static void find_next_functions(void)
{
    if (next_close)
        return;
    FIND(next_open, RTLD_NEXT, "open");
    FIND(next_open64, RTLD_NEXT, "open64");
    FIND(next_write, RTLD_NEXT, "write");
    FIND(next_fstat, RTLD_NEXT, "fstat");
    FIND(next_fstat64, RTLD_NEXT, "fstat64");
    FIND(next_stat, RTLD_NEXT, "stat");
    FIND(next_stat64, RTLD_NEXT, "stat64");
    FIND(next_access, RTLD_NEXT, "access");
    FIND(next_close, RTLD_NEXT, "close");
    note_process();
    pthread_atfork(NULL, NULL, note_process);
}

/* Finds our libibverbs.so.1 and its functions. Returns true, or false if the program has loaded no
 * libibverbs.so.1 or another one. Uses dlopen() with the file name, because the program may have
 * loaded the library with local scope. */
static bool find_library(void)
{
    void *library;

    if (device_node)
        return true;
    library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return false;
    FIND(device_open, library, "vcma_open");
    FIND(device_write, library, "vcma_write");
    FIND(device_close, library, "vcma_close");
    FIND(device_file, library, "vdevice_file");
    FIND(device_node, library, "vdevice_node");
    return device_node;
}

static bool is_own_fd(int fd)
{
    if (fd < 0 || fd >= FDS_MAX || !atomic_load_explicit(&ours[fd], memory_order_relaxed))
        return false;
    if (rnic_fd_is_tagged(fd))
        return true;
    if (getpid() == process)
        atomic_store(&ours[fd], 0); /* the program closed the descriptor, and another file now has
                                     * its number */
    return false;
}

static int open_rdma_cm(int flags)
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

/* Returns a descriptor from which the program reads a sysfs file of our device; -1 if `path` is
 * another file. */
static int open_sysfs_file(const char *path)
{
    char text[256];
    int len = device_file(path, text, sizeof(text));
    int fd = len < 0 ? -1 : memfd_create("sysfs", MFD_CLOEXEC);

    if (fd >= 0 && pwrite(fd, text, (size_t)len, 0) == len)
        return fd;
    if (fd >= 0)
        next_close(fd);
    return -1;
}

#define TAKES_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)

static int open_path(int (*next)(const char *, int, ...), const char *path, int flags, va_list args)
{
    mode_t mode = TAKES_MODE(flags) ? va_arg(args, mode_t) : 0;

    if (strcmp(path, DEVICE) == 0 && find_library())
        return open_rdma_cm(flags);
    if (strncmp(path, SYSFS, strlen(SYSFS)) == 0 && find_library()) {
        int fd = open_sysfs_file(path);

        if (fd >= 0)
            return fd;
    }
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    int fd;

    find_next_functions();
    va_start(args, flags);
    fd = open_path(next_open, path, flags, args);
    va_end(args);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    int fd;

    find_next_functions();
    va_start(args, flags);
    fd = open_path(next_open64, path, flags, args);
    va_end(args);
    return fd;
}

/* Called after a failed write(). If a thread requests an event after another thread has destroyed
 * the channel, librdmacm reads the descriptor from freed memory, and write() fails with EBADF. With
 * a kernel CM, the write() usually blocks until the process ends (seen with rping). So this
 * function waits for longer than the process needs to end (worker.c, LINGER_NS). */
static void delay_late_reader(const void *buf, size_t len)
{
    static const struct timespec moment = {.tv_sec = 5};
    struct rdma_ucm_cmd_hdr hdr;
    int error = errno;

    if (error != EBADF || !atomic_load(&closed_one) ||
        len != sizeof(hdr) + sizeof(struct rdma_ucm_get_event))
        return;
    memcpy(&hdr, buf, sizeof(hdr));
    if (hdr.cmd == RDMA_USER_CM_CMD_GET_EVENT && hdr.in == sizeof(struct rdma_ucm_get_event))
        nanosleep(&moment, NULL);
    errno = error;
}

ssize_t write(int fd, const void *buf, size_t len)
{
    ssize_t done;

    find_next_functions();
    if (is_own_fd(fd))
        return device_write(fd, buf, len);
    done = next_write(fd, buf, len);
    if (done < 0)
        delay_late_reader(buf, len);
    return done;
}

int close(int fd)
{
    find_next_functions();
    if (!is_own_fd(fd) || getpid() != process)
        return next_close(fd);
    atomic_store(&ours[fd], 0);
    atomic_store(&closed_one, 1);
    return device_close(fd);
}

/* Sets the mode and the device number of a character device. If the kernel has the device, uses the
 * kernel's number, because librdmacm has asked the kernel for the number. */
static void set_chardev(mode_t *mode, dev_t *rdev)
{
    struct stat real;

    *mode = S_IFCHR | 0666;
    *rdev = next_stat && next_stat(DEVICE, &real) == 0 ? real.st_rdev : makedev(10, 0);
}

int fstat(int fd, struct stat *st)
{
    int result;

    find_next_functions();
    result = next_fstat(fd, st);
    if (result == 0 && is_own_fd(fd))
        set_chardev(&st->st_mode, &st->st_rdev);
    return result;
}

int fstat64(int fd, struct stat64 *st)
{
    int result;

    find_next_functions();
    result = next_fstat64(fd, st);
    if (result == 0 && is_own_fd(fd))
        set_chardev(&st->st_mode, &st->st_rdev);
    return result;
}

/* Returns whether `path` is the device node of one of our devices. The file need not exist. */
static bool is_device_node(const char *path)
{
    return path && strncmp(path, NODES, strlen(NODES)) == 0 && find_library() && device_node(path);
}

int stat(const char *path, struct stat *st)
{
    find_next_functions();
    if (!is_device_node(path))
        return next_stat(path, st);
    memset(st, 0, sizeof(*st));
    set_chardev(&st->st_mode, &st->st_rdev);
    return 0;
}

int stat64(const char *path, struct stat64 *st)
{
    find_next_functions();
    if (!is_device_node(path))
        return next_stat64(path, st);
    memset(st, 0, sizeof(*st));
    set_chardev(&st->st_mode, &st->st_rdev);
    return 0;
}

int access(const char *path, int mode)
{
    find_next_functions();
    return is_device_node(path) ? 0 : next_access(path, mode);
}

/* Replaces _exit(). Does not call dlsym(), because _exit() may be called in a signal handler or in
 * the child of a vfork(). */
void _exit(int status)
{
    if (rnic_preload_before_exit)
        rnic_preload_before_exit();
    for (;;)
        syscall(SYS_exit_group, status);
}

void _Exit(int status)
{
    _exit(status);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Descriptor tag: marks a file that the device opened. A program may close descriptors that it
 * did not open (closefrom(3)), and its own files may then get their numbers. The device must
 * neither write to nor close those files. The tag is the signal number set by F_SETSIG; without
 * F_SETOWN this signal is never sent. The tag belongs to the open file description, not to the
 * descriptor number. So dup(2) and fork(2) preserve the tag.
 */
#ifndef PORT_SYS_FD_TAG_H
#define PORT_SYS_FD_TAG_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* Signal number that marks a file as opened by the device (F_SETSIG). No program is known to use
 * this number. */
#ifdef SIGSTKFLT
#define RNIC_FD_TAG SIGSTKFLT
#else
#define RNIC_FD_TAG SIGTTOU
#endif

/* Tags a newly opened file. `fd` may be -1 from a failed open. Returns `fd`, or -1 with errno; on
 * failure the file is closed. */
static inline int rnic_fd_tag(int fd)
{
    if (fd >= 0 && fcntl(fd, F_SETSIG, RNIC_FD_TAG) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static inline bool rnic_fd_is_tagged(int fd)
{
    int error = errno;
    bool marked = fd >= 0 && fcntl(fd, F_GETSIG) == RNIC_FD_TAG;

    errno = error;
    return marked;
}

static inline void rnic_tagged_close(int fd)
{
    if (rnic_fd_is_tagged(fd))
        close(fd);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Mark: a file that the device opened, and not the program. A program may close all descriptors
 * that it does not know (closefrom(3)) and have files of its own under their numbers, into which
 * nothing is to be written and which nobody else may close. The mark is the signal of F_SETSIG,
 * which is never sent without F_SETOWN: it belongs to what a descriptor refers to, not to its
 * number, and goes with it through dup(2) and fork(2).
 */
#ifndef PORT_SYS_FD_TAG_H
#define PORT_SYS_FD_TAG_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

/* A signal that no program asks for. */
#ifdef SIGSTKFLT
#define RNIC_FD_TAG SIGSTKFLT
#else
#define RNIC_FD_TAG SIGTTOU
#endif

/* Of a file just opened, or -1. The same, or -1 with errno and the file closed. */
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

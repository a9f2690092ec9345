/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/sys/event_fd.h"

#include <sys/eventfd.h>

int rnic_event_fd_new(int flags)
{
    return rnic_fd_tag(eventfd(0, flags));
}

void rnic_event_fd_signal(int fd)
{
    if (rnic_fd_is_tagged(fd))
        eventfd_write(fd, 1);
}

void rnic_event_fd_clear(int fd)
{
    eventfd_t cnt;

    if (rnic_fd_is_tagged(fd))
        eventfd_read(fd, &cnt);
}

bool rnic_event_fd_renew(int fd)
{
    int status = fcntl(fd, F_GETFL);
    int flags = fcntl(fd, F_GETFD);
    int fresh;
    bool done;

    if (status < 0 || flags < 0 || !rnic_fd_is_tagged(fd))
        return false;
    fresh = rnic_event_fd_new(EFD_CLOEXEC | (status & O_NONBLOCK ? EFD_NONBLOCK : 0));
    if (fresh < 0)
        return false;
    done = dup3(fresh, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
    close(fresh);
    return done;
}

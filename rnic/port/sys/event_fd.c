/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/sys/event_fd.h"

#include <sys/eventfd.h>

int rnic_bell_new(int flags)
{
    return rnic_mark(eventfd(0, flags));
}

void rnic_bell_ring(int fd)
{
    if (rnic_marked(fd))
        eventfd_write(fd, 1);
}

void rnic_bell_rest(int fd)
{
    eventfd_t cnt;

    if (rnic_marked(fd))
        eventfd_read(fd, &cnt);
}

bool rnic_bell_renew(int fd)
{
    int status = fcntl(fd, F_GETFL);
    int flags = fcntl(fd, F_GETFD);
    int fresh;
    bool done;

    if (status < 0 || flags < 0 || !rnic_marked(fd))
        return false;
    fresh = rnic_bell_new(EFD_CLOEXEC | (status & O_NONBLOCK ? EFD_NONBLOCK : 0));
    if (fresh < 0)
        return false;
    done = dup3(fresh, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == fd;
    close(fresh);
    return done;
}

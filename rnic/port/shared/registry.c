/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shared/registry.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int rnic_registry_address(struct sockaddr_un *addr, const char *iface, const char *name)
{
    int len;

    memset(addr, 0, sizeof(*addr));
    addr->sun_family = AF_UNIX;
    len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, RNIC_REGISTRY_PREFIX "%s/%s",
                   iface, name);
    if (len < 0 || (size_t)len >= sizeof(addr->sun_path) - 1)
        return -ENAMETOOLONG;
    return (int)offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

int rnic_registry_bind_as(int type, const char *iface, const char *name)
{
    struct sockaddr_un addr;
    int len = rnic_registry_address(&addr, iface, name);
    int fd;
    int error;

    if (len < 0)
        return len;
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&addr, (socklen_t)len) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int rnic_registry_bind(const char *iface, const char *name)
{
    int fd = rnic_registry_bind_as(SOCK_DGRAM, iface, name);

    if (fd >= 0)
        shutdown(fd, SHUT_RDWR); /* prevents other processes from sending to the socket and filling
                                  * its queue */
    return fd;
}

/* Tests a name by connecting a datagram socket, which needs no action of the owner. */
bool rnic_registry_held(const char *iface, const char *name)
{
    struct sockaddr_un addr;
    int len = rnic_registry_address(&addr, iface, name);
    int fd = len < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool free_now;

    if (fd < 0)
        return len >= 0;
    free_now =
        connect(fd, (const struct sockaddr *)&addr, (socklen_t)len) < 0 && errno == ECONNREFUSED;
    close(fd);
    return !free_now;
}

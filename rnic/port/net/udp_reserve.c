/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/udp_reserve.h"

#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "wire/bytes.h"
#include "wire/pkt.h"

/* Binds one socket to UDP port 4791. Returns a descriptor or a negative errno. */
static int hold(int family)
{
    static const int on = 1;
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog filter = {.len = 1, .filter = &none};
    /* used for IPv4 too: sockaddr_in is shorter and has the port at the same offset */
    struct sockaddr_in6 addr = {0};
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int error;

    if (fd < 0)
        return -errno;
    addr.sin6_family = (sa_family_t)family;
    roce_bits_put((uint8_t *)&addr.sin6_port, 0, 0, 16, ROCE_UDP_PORT);
    if ((family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
        bind(fd, (const struct sockaddr *)&addr, size) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int rnic_udp_reserve_open(struct rnic_udp_reserve *reserve, struct error *why)
{
    int error = 0;

    reserve->fd[0] = hold(AF_INET);
    reserve->fd[1] = hold(AF_INET6);
    for (unsigned i = 0; i < 2;
         i++) /* one of the two sockets is enough, because a machine may lack IPv4 or IPv6 */
        if (reserve->fd[i] < 0 && reserve->fd[i] != -EAFNOSUPPORT &&
            reserve->fd[i] != -EADDRNOTAVAIL)
            error = reserve->fd[i];
    if (error == -EADDRINUSE)
        error_set(why, "UDP port 4791 is in use: delete the rxe links (rdma link delete NAME) and "
                       "unload rdma_rxe, or end the program that uses the port");
    else if (error)
        error_set(why, "cannot reserve UDP port 4791: %s", strerror(-error));
    if (error)
        rnic_udp_reserve_close(reserve);
    return error;
}

void rnic_udp_reserve_close(struct rnic_udp_reserve *reserve)
{
    for (unsigned i = 0; i < 2; i++) {
        if (reserve->fd[i] >= 0)
            close(reserve->fd[i]);
        reserve->fd[i] = -1;
    }
}

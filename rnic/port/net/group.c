/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/group.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "wire/gid.h"

/* Opens one socket for each membership, because one socket may join only 20 groups
 * (igmp_max_memberships). The socket is not bound, so it receives nothing. */
int rnic_group_join(unsigned iface, const uint8_t gid[16])
{
    bool ip4 = roce_gid_is_ip4(gid);
    struct ip_mreqn four = {.imr_ifindex = (int)iface};
    struct ipv6_mreq six = {.ipv6mr_interface = iface};
    int fd, joined;

    if (!roce_gid_is_multicast(gid))
        return -EINVAL;
    fd = socket(ip4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    memcpy(&four.imr_multiaddr, gid + 12, 4);
    memcpy(&six.ipv6mr_multiaddr, gid, 16);
    joined = ip4 ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &four, sizeof(four))
                 : setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &six, sizeof(six));
    if (joined < 0) {
        int error = -errno;

        close(fd);
        return error;
    }
    return fd;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Addresses: converts socket addresses to GIDs and back. The GID of an IPv4 address is
 * ::ffff:a.b.c.d (Annex A17). */
#include <string.h>
#include "ucma/ucma.h"
#include "wire/gid.h"

bool uc_gid_of(const union uc_addr *addr, uint8_t gid[16])
{
    if (addr->sa.sa_family == AF_INET) {
        memset(gid, 0, 10);
        memset(gid + 10, 0xff, 2);
        memcpy(gid + 12, &addr->in.sin_addr, 4);
        return true;
    }
    if (addr->sa.sa_family == AF_INET6) {
        memcpy(gid, &addr->in6.sin6_addr, 16);
        return true;
    }
    memset(gid, 0, 16);
    return false;
}

void uc_addr_of(const uint8_t gid[16], uint16_t port, union uc_addr *addr)
{
    memset(addr, 0, sizeof *addr);
    if (roce_gid_is_ip4(gid)) {
        addr->in.sin_family = AF_INET;
        memcpy(&addr->in.sin_addr, gid + 12, 4);
    } else {
        addr->in6.sin6_family = AF_INET6;
        memcpy(&addr->in6.sin6_addr, gid, 16);
    }
    uc_addr_set_port(addr, port);
}

bool uc_addr_is_any(const union uc_addr *addr)
{
    static const struct in6_addr any = IN6ADDR_ANY_INIT;
    return addr->sa.sa_family == AF_INET ? addr->in.sin_addr.s_addr == INADDR_ANY
                                         : memcmp(&addr->in6.sin6_addr, &any, sizeof any) == 0;
}

bool uc_addr_is_loopback(const union uc_addr *addr)
{
    static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    return addr->sa.sa_family == AF_INET
               ? ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
               : memcmp(&addr->in6.sin6_addr, &loopback, sizeof loopback) == 0;
}

unsigned uc_addr_scope(const union uc_addr *addr)
{
    return addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&addr->in6.sin6_addr)
               ? addr->in6.sin6_scope_id
               : 0;
}

uint16_t uc_addr_port(const union uc_addr *addr)
{
    return ntohs(addr->sa.sa_family == AF_INET ? addr->in.sin_port : addr->in6.sin6_port);
}

void uc_addr_set_port(union uc_addr *addr, uint16_t port)
{
    if (addr->sa.sa_family == AF_INET)
        addr->in.sin_port = htons(port);
    else
        addr->in6.sin6_port = htons(port);
}

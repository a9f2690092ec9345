/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/route.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "wire/gid.h"

/* Neighbour states in which Linux sends to the neighbour (NUD_VALID). */
#define NEIGH_USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

static void gid_of(uint8_t family, const void *addr, uint8_t gid[16])
{
    if (family == AF_INET)
        roce_gid_of_ip4(addr, gid);
    else
        memcpy(gid, addr, 16);
}

static const void *addr_of(const uint8_t gid[16], uint8_t *family, size_t *size)
{
    bool ip4 = roce_gid_is_ip4(gid);

    *family = ip4 ? AF_INET : AF_INET6;
    *size = ip4 ? 4 : 16;
    return ip4 ? gid + 12 : gid;
}

bool rnic_route_parse(const struct nlmsghdr *msg, struct rnic_route *out)
{
    const struct rtattr *attr[RTA_VIA + 1];
    const struct rtmsg *info = rnic_nl_attrs(msg, sizeof(*info), attr, RTA_VIA);
    size_t size;
    const void *value;

    if (!info || msg->nlmsg_type != RTM_NEWROUTE ||
        (info->rtm_family != AF_INET && info->rtm_family != AF_INET6) ||
        (info->rtm_type != RTN_UNICAST && info->rtm_type != RTN_LOCAL))
        return false;
    size = info->rtm_family == AF_INET ? 4 : 16;
    memset(out, 0, sizeof(*out));
    out->local = info->rtm_type == RTN_LOCAL;
    value = rnic_nl_value(attr[RTA_DST], size);
    if (!value)
        return false;
    gid_of(info->rtm_family, value, out->hop);
    value = rnic_nl_value(attr[RTA_OIF], sizeof(uint32_t));
    if (value)
        memcpy(&out->oif, value, sizeof(uint32_t));
    value = rnic_nl_value(attr[RTA_PREFSRC], size);
    if (value)
        gid_of(info->rtm_family, value, out->src);
    value = rnic_nl_value(attr[RTA_GATEWAY], size);
    if (value) {
        out->gateway = true;
        gid_of(info->rtm_family, value, out->hop);
    }
    /* IPv4 route through an IPv6 gateway (RFC 5549): struct rtvia has a family and an address. */
    value = rnic_nl_value(attr[RTA_VIA], 2 + 16);
    if (value) {
        const struct rtvia *via = value;

        if (via->rtvia_family == AF_INET6) {
            out->gateway = true;
            gid_of(AF_INET6, via->rtvia_addr, out->hop);
        }
    }
    return true;
}

struct route_answer {
    struct rnic_route *out;
    bool found;
};

static void on_route(void *user, const struct nlmsghdr *msg)
{
    struct route_answer *answer = user;

    answer->found |= rnic_route_parse(msg, answer->out);
}

int rnic_route_get(const uint8_t dgid[16], unsigned oif, struct rnic_route *out)
{
    struct rtmsg info = {0};
    struct route_answer answer = {.out = out};
    struct rnic_nl_request request;
    const void *addr;
    size_t size;
    uint32_t index = oif;
    int error;

    addr = addr_of(dgid, &info.rtm_family, &size);
    info.rtm_dst_len = (uint8_t)(size * 8);
    rnic_nl_begin(&request, RTM_GETROUTE, 0, &info, sizeof(info));
    rnic_nl_put(&request, RTA_DST, addr, size);
    if (oif)
        rnic_nl_put(&request, RTA_OIF, &index, sizeof(index));
    error = rnic_nl_ask(&request, on_route, &answer);
    if (error)
        return error;
    return answer.found ? 0 : -ENETUNREACH;
}

/* Returns whether a route with several next hops (RTA_MULTIPATH) uses interface `oif`. */
static bool multipath_uses(const struct rtattr *attr, unsigned oif)
{
    const uint8_t *at = rnic_nl_value(attr, 0);
    size_t left = at ? RTA_PAYLOAD(attr) : 0;
    struct rtnexthop hop;

    while (left >= sizeof(hop)) {
        size_t step;

        memcpy(&hop, at, sizeof(hop));
        if (hop.rtnh_len < sizeof(hop) || hop.rtnh_len > left)
            break;
        if ((unsigned)hop.rtnh_ifindex == oif)
            return true;
        step = RTNH_ALIGN(hop.rtnh_len);
        if (step >= left)
            break;
        left -= step;
        at += step;
    }
    return false;
}

bool rnic_route_parse_default(const struct nlmsghdr *msg, unsigned oif)
{
    const struct rtattr *attr[RTA_MULTIPATH + 1];
    const struct rtmsg *info = rnic_nl_attrs(msg, sizeof(*info), attr, RTA_MULTIPATH);
    const void *value;
    uint32_t index = 0;

    if (!info || msg->nlmsg_type != RTM_NEWROUTE || info->rtm_dst_len > 1 ||
        info->rtm_type != RTN_UNICAST ||
        (info->rtm_family != AF_INET && info->rtm_family != AF_INET6))
        return false;
    value = rnic_nl_value(attr[RTA_OIF], sizeof(index));
    if (value)
        memcpy(&index, value, sizeof(index));
    return index == oif || (attr[RTA_MULTIPATH] && multipath_uses(attr[RTA_MULTIPATH], oif));
}

struct default_answer {
    unsigned oif;
    bool found;
};

static void on_listed_route(void *user, const struct nlmsghdr *msg)
{
    struct default_answer *answer = user;

    answer->found |= rnic_route_parse_default(msg, answer->oif);
}

static int is_default(unsigned oif)
{
    static const uint8_t families[] = {AF_INET, AF_INET6};
    struct default_answer answer = {.oif = oif};

    for (unsigned i = 0; i < 2; i++) {
        struct rtmsg info = {.rtm_family = families[i]};
        struct rnic_nl_request request;
        int error;

        do {
            rnic_nl_begin(&request, RTM_GETROUTE, NLM_F_DUMP, &info, sizeof(info));
            error = rnic_nl_ask(&request, on_listed_route, &answer);
        } while (error == -EAGAIN);
        if (error && error != -EAFNOSUPPORT && error != -EOPNOTSUPP)
            return error;
    }
    return answer.found;
}

/* Returns whether `upper` sends through interface `oif`: `upper` is a bridge or bond that has `oif`
 * as a port, or a VLAN interface on `oif`. */
static bool sends_through(const struct rnic_iface *upper, unsigned oif,
                          const struct rnic_iface *list, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        if (list[i].index == oif && list[i].master == upper->index)
            return true;
    return upper->vlan_link == oif;
}

int rnic_route_is_default(unsigned oif)
{
    struct rnic_iface *list;
    struct error why;
    size_t cnt;
    int found = is_default(oif);

    if (found != 0)
        return found;
    found = rnic_iface_list(&list, &cnt, &why);
    if (found != 0)
        return found;
    /* The recursion ends, because Linux forbids loops of bridges, bonds and VLAN interfaces. */
    for (size_t i = 0; i < cnt && found == 0; i++)
        if (sends_through(&list[i], oif, list, cnt))
            found = rnic_route_is_default(list[i].index);
    free(list);
    return found;
}

struct neigh_answer {
    unsigned oif;
    const uint8_t *hop;
    uint8_t mac[6];
    bool found;
};

bool rnic_neigh_parse(const struct nlmsghdr *msg, unsigned oif, const uint8_t hop[16],
                      uint8_t mac[6])
{
    const struct rtattr *attr[NDA_LLADDR + 1];
    const struct ndmsg *info = rnic_nl_attrs(msg, sizeof(*info), attr, NDA_LLADDR);
    uint8_t family;
    size_t size;
    const void *want = addr_of(hop, &family, &size);
    const void *addr;
    const void *lladdr;

    if (!info || msg->nlmsg_type != RTM_NEWNEIGH || info->ndm_family != family ||
        info->ndm_ifindex != (int)oif || !(info->ndm_state & NEIGH_USABLE))
        return false;
    addr = rnic_nl_value(attr[NDA_DST], size);
    lladdr = rnic_nl_value(attr[NDA_LLADDR], 6);
    if (!addr || !lladdr || memcmp(addr, want, size) != 0)
        return false;
    memcpy(mac, lladdr, 6);
    return true;
}

static void on_neigh(void *user, const struct nlmsghdr *msg)
{
    struct neigh_answer *answer = user;

    answer->found |= rnic_neigh_parse(msg, answer->oif, answer->hop, answer->mac);
}

bool rnic_neigh_lookup(unsigned oif, const uint8_t hop[16], uint8_t mac[6])
{
    struct ndmsg info = {0};
    struct neigh_answer answer = {.oif = oif, .hop = hop};
    struct rnic_nl_request request;
    uint32_t index = oif;
    size_t size;
    int error;

    addr_of(hop, &info.ndm_family, &size);
    rnic_nl_begin(&request, RTM_GETNEIGH, NLM_F_DUMP, &info, sizeof(info));
    /* optional filter: a kernel that supports it returns only the entries of this interface */
    rnic_nl_put(&request, NDA_IFINDEX, &index, sizeof(index));
    error = rnic_nl_ask(&request, on_neigh, &answer);
    /* -EAGAIN: the kernel's list changed during the request, but an entry that was found in it is
     * still valid. */
    if ((error && error != -EAGAIN) || !answer.found)
        return false;
    memcpy(mac, answer.mac, 6);
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/iface.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include "port/net/netlink.h"

_Static_assert(RNIC_IFNAME_MAX == IFNAMSIZ, "the kernel's limit");

/* Bytes of headers around the payload: IPv6, UDP, BTH, the longest extension headers and ICRC. The
 * longest are AtomicETH with XRCETH, or RETH with ImmDt and XRCETH. */
#define HEADERS_MAX 96u

/* number of attempts to list the addresses, because an attempt fails if an address changes
 * meanwhile; on a busy host 50 attempts were too few once in a thousand lists */
#define TRIES 500u

struct list {
    struct rnic_iface *iface;
    size_t cnt;
    int error;
};

uint32_t rnic_iface_path_mtu(uint32_t mtu)
{
    for (uint32_t path_mtu = 4096; path_mtu >= 256; path_mtu /= 2)
        if (mtu >= path_mtu + HEADERS_MAX)
            return path_mtu;
    return 0;
}

/* Adds a GID as RoCEv1 and as RoCEv2, unless the interface has it already. */
static void add_gid(struct rnic_iface *iface, const uint8_t gid[16], bool kernel)
{
    for (unsigned i = 0; i < iface->gid_cnt; i++)
        if (memcmp(iface->gid[i].gid, gid, 16) == 0) {
            iface->gid_kernel[i] |= kernel;
            if (iface->gid[i].type == RNIC_GID_ROCE_V2)
                return;
        }
    for (unsigned type = RNIC_GID_ROCE_V1; type <= RNIC_GID_ROCE_V2; type++) {
        if (iface->gid_cnt == RNIC_IFACE_GID_MAX)
            return;
        memcpy(iface->gid[iface->gid_cnt].gid, gid, 16);
        iface->gid[iface->gid_cnt].type = type;
        iface->gid_kernel[iface->gid_cnt++] = kernel;
    }
}

/* Adds the default GID: fe80::/64 with the MAC address as EUI-64 (RFC 4291, appendix A). */
static void add_default_gid(struct rnic_iface *iface)
{
    const uint8_t *mac = iface->mac;
    const uint8_t gid[16] = {0xfe,       0x80,   0,      0,    0,    0,      0,      0,
                             mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

    add_gid(iface, gid, false);
}

static uint16_t vlan_id(const struct rtattr *linkinfo)
{
    const struct rtattr *info[IFLA_INFO_DATA + 1];
    const struct rtattr *data[IFLA_VLAN_ID + 1];
    const char *kind;
    const void *id;
    uint16_t vlan;

    rnic_nl_nested(linkinfo, info, IFLA_INFO_DATA);
    kind = rnic_nl_value(info[IFLA_INFO_KIND], sizeof("vlan"));
    if (!kind || memcmp(kind, "vlan", sizeof("vlan")) != 0)
        return RNIC_VLAN_NONE;
    rnic_nl_nested(info[IFLA_INFO_DATA], data, IFLA_VLAN_ID);
    id = rnic_nl_value(data[IFLA_VLAN_ID], sizeof(vlan));
    if (!id)
        return RNIC_VLAN_NONE;
    memcpy(&vlan, id, sizeof(vlan));
    return vlan;
}

static unsigned index_in(const struct rtattr *attr)
{
    const void *value = rnic_nl_value(attr, sizeof(uint32_t));
    uint32_t index = 0;

    if (value)
        memcpy(&index, value, sizeof(index));
    return index;
}

static void on_link(void *user, const struct nlmsghdr *msg)
{
    struct list *list = user;
    const struct rtattr *attr[IFLA_LINKINFO + 1];
    const struct ifinfomsg *info = rnic_nl_attrs(msg, sizeof(*info), attr, IFLA_LINKINFO);
    struct rnic_iface *grown;
    struct rnic_iface *iface;
    size_t len;
    const void *mac;
    const void *mtu;

    if (!info || msg->nlmsg_type != RTM_NEWLINK ||
        (info->ifi_type != ARPHRD_ETHER && info->ifi_type != ARPHRD_LOOPBACK))
        return;
    mac = rnic_nl_value(attr[IFLA_ADDRESS], 6);
    mtu = rnic_nl_value(attr[IFLA_MTU], sizeof(iface->mtu));
    if (!mac || !mtu || !rnic_nl_value(attr[IFLA_IFNAME], 1))
        return;
    grown = realloc(list->iface, (list->cnt + 1) * sizeof(*grown));
    if (!grown) {
        list->error = -ENOMEM;
        return;
    }
    list->iface = grown;
    iface = &grown[list->cnt++];
    memset(iface, 0, sizeof(*iface));
    len = RTA_PAYLOAD(attr[IFLA_IFNAME]);
    memcpy(iface->name, rnic_nl_value(attr[IFLA_IFNAME], 1),
           len < sizeof(iface->name) ? len : sizeof(iface->name) - 1);
    iface->index = (unsigned)info->ifi_index;
    iface->loopback = info->ifi_type == ARPHRD_LOOPBACK;
    iface->up = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
    memcpy(iface->mac, mac, sizeof(iface->mac));
    memcpy(&iface->mtu, mtu, sizeof(iface->mtu));
    iface->path_mtu = rnic_iface_path_mtu(iface->mtu);
    iface->vlan = vlan_id(attr[IFLA_LINKINFO]);
    iface->master = index_in(attr[IFLA_MASTER]);
    iface->vlan_link = iface->vlan == RNIC_VLAN_NONE ? 0 : index_in(attr[IFLA_LINK]);
    add_default_gid(iface);
}

static void on_addr(void *user, const struct nlmsghdr *msg)
{
    struct list *list = user;
    const struct rtattr *attr[IFA_LOCAL + 1];
    const struct ifaddrmsg *info = rnic_nl_attrs(msg, sizeof(*info), attr, IFA_LOCAL);
    uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};
    const void *addr;

    if (!info || msg->nlmsg_type != RTM_NEWADDR || (info->ifa_flags & IFA_F_DADFAILED))
        return;
    if (info->ifa_family == AF_INET) {
        addr = rnic_nl_value(attr[IFA_LOCAL], 4);
        if (addr)
            memcpy(gid + 12, addr, 4);
    } else {
        /* The local address is IFA_LOCAL for point-to-point IPv6 links, else IFA_ADDRESS. */
        addr = rnic_nl_value(attr[IFA_LOCAL], 16);
        if (!addr)
            addr = rnic_nl_value(attr[IFA_ADDRESS], 16);
        if (addr)
            memcpy(gid, addr, 16);
    }
    for (size_t i = 0; addr && i < list->cnt; i++)
        if (list->iface[i].index == info->ifa_index)
            add_gid(&list->iface[i], gid, true);
}

static int dump_addrs(struct list *list, uint8_t family)
{
    struct ifaddrmsg info = {.ifa_family = family};
    struct rnic_nl_request request;
    int error;

    rnic_nl_begin(&request, RTM_GETADDR, NLM_F_DUMP, &info, sizeof(info));
    error = rnic_nl_ask(&request, on_addr, list);
    /* a kernel without IPv6 has no IPv6 addresses */
    return error == -EOPNOTSUPP || error == -EAFNOSUPPORT ? 0 : error;
}

/* Asks the kernel once for all links and their addresses. Returns 0 or a negative errno. After a
 * failure there is nothing to free. */
static int ask_all(struct list *list)
{
    struct ifinfomsg info = {.ifi_family = AF_UNSPEC};
    struct rnic_nl_request request;
    int error;

    *list = (struct list){0};
    rnic_nl_begin(&request, RTM_GETLINK, NLM_F_DUMP, &info, sizeof(info));
    error = rnic_nl_ask(&request, on_link, list);
    if (!error)
        error = dump_addrs(list, AF_INET);
    if (!error)
        error = dump_addrs(list, AF_INET6);
    if (!error)
        error = list->error;
    if (error)
        free(list->iface);
    return error;
}

int rnic_iface_list(struct rnic_iface **out, size_t *cnt, struct error *why)
{
    struct list list;
    int error = -EAGAIN;

    *out = NULL;
    *cnt = 0;
    for (unsigned i = 0; i < TRIES && error == -EAGAIN; i++)
        error = ask_all(&list);
    if (error) {
        error_set(why, "cannot list the network interfaces: %s", strerror(-error));
        return error;
    }
    /* The loopback moves from the front to the end, because users expect real interfaces first. */
    for (size_t i = 0; i + 1 < list.cnt; i++)
        if (list.iface[i].loopback) {
            struct rnic_iface lo = list.iface[i];

            memmove(&list.iface[i], &list.iface[i + 1], (list.cnt - i - 1) * sizeof(lo));
            list.iface[list.cnt - 1] = lo;
            break;
        }
    *out = list.iface;
    *cnt = list.cnt;
    return 0;
}

int rnic_iface_get(const char *name, struct rnic_iface *out, struct error *why)
{
    struct rnic_iface *list;
    size_t cnt;
    int error = rnic_iface_list(&list, &cnt, why);

    if (error)
        return error;
    error = -ENODEV;
    for (size_t i = 0; i < cnt && error; i++)
        if (strcmp(list[i].name, name) == 0) {
            *out = list[i];
            error = 0;
        }
    free(list);
    if (error)
        error_set(why,
                  if_nametoindex(name) ? "interface %s is neither Ethernet nor the loopback"
                                       : "there is no interface %s",
                  name);
    return error;
}

const struct rnic_iface *rnic_iface_loopback(const struct rnic_iface *list, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++)
        if (list[i].loopback && list[i].up)
            return &list[i];
    return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/netns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINK_MTU 4300 /* MTU of the link: 4096 bytes of payload and all headers (A17) */

bool netns_has_link(void)
{
    struct ifaddrs *all;
    bool up = false;

    if (getifaddrs(&all) < 0)
        return true;
    for (const struct ifaddrs *one = all; one && !up; one = one->ifa_next)
        up = (one->ifa_flags & IFF_UP) != 0;
    freeifaddrs(all);
    return up;
}

bool netns_may_capture(void)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* ---- keeping a capability -------------------------------------------------------------------- */

/* Keeps CAP_NET_RAW across exec() for a user who is not root. To do so, makes the capability
 * ambient; an ambient capability must also be inheritable (capabilities(7)). */
static int keep_net_raw(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return -1;
    data[CAP_TO_INDEX(CAP_NET_RAW)].inheritable |= CAP_TO_MASK(CAP_NET_RAW);
    if (syscall(SYS_capset, &head, data) < 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0);
}

/* ---- entering namespaces --------------------------------------------------------------------- */

static int put(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t done = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return done < 0 ? -1 : 0;
}

/* Enters a user namespace in which the current user and group keep their ids. */
static int enter_user(void)
{
    char text[64];
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWUSER) < 0)
        return -1;
    if (put("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
        return -1;
    snprintf(text, sizeof text, "%u %u 1", uid, uid);
    if (put("/proc/self/uid_map", text) < 0)
        return -1;
    snprintf(text, sizeof text, "%u %u 1", gid, gid);
    return put("/proc/self/gid_map", text);
}

/* ---- creating a link ------------------------------------------------------------------------- */

static int up(int fd, const char *name)
{
    struct ifreq req = {.ifr_flags = 0};
    snprintf(req.ifr_name, sizeof req.ifr_name, "%s", name);
    if (ioctl(fd, SIOCGIFFLAGS, &req) < 0)
        return -1;
    req.ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &req);
}

struct message {
    struct nlmsghdr head;
    struct ifinfomsg info;
    char attrs[256];
};

/* Appends an attribute to the message. Attributes appended later are nested in this one, until
 * close_attr(). */
static struct rtattr *open_attr(struct message *msg, unsigned short type, const void *data,
                                size_t len)
{
    struct rtattr *attr = (struct rtattr *)(void *)((char *)msg + NLMSG_ALIGN(msg->head.nlmsg_len));
    attr->rta_type = type;
    attr->rta_len = (unsigned short)RTA_LENGTH(len);
    if (len)
        memcpy(RTA_DATA(attr), data, len);
    msg->head.nlmsg_len = NLMSG_ALIGN(msg->head.nlmsg_len) + (uint32_t)RTA_ALIGN(attr->rta_len);
    return attr;
}

static void close_attr(struct message *msg, struct rtattr *attr)
{
    attr->rta_len = (unsigned short)((char *)msg + msg->head.nlmsg_len - (char *)attr);
}

/* Creates a pair of veth interfaces: `name` and `name`-peer. */
static int make_veth(const char *name)
{
    struct message msg = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof msg.info),
                 .nlmsg_type = RTM_NEWLINK,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK},
    };
    const struct ifinfomsg peer_info = {.ifi_family = AF_UNSPEC};
    char peer[IF_NAMESIZE];
    snprintf(peer, sizeof peer, "%.8s-peer", name);
    open_attr(&msg, IFLA_IFNAME, name, strlen(name) + 1);
    struct rtattr *info = open_attr(&msg, IFLA_LINKINFO, NULL, 0);
    open_attr(&msg, IFLA_INFO_KIND, "veth", 5);
    struct rtattr *data = open_attr(&msg, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *other = open_attr(&msg, VETH_INFO_PEER, &peer_info, sizeof peer_info);
    open_attr(&msg, IFLA_IFNAME, peer, strlen(peer) + 1);
    close_attr(&msg, other);
    close_attr(&msg, data);
    close_attr(&msg, info);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -1;
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[512];
    } answer;
    int error = EIO;
    if (send(fd, &msg, msg.head.nlmsg_len, 0) >= 0 && recv(fd, &answer, sizeof answer, 0) > 0 &&
        answer.head.nlmsg_type == NLMSG_ERROR)
        error = -answer.error.error;
    close(fd);
    errno = error;
    return error ? -1 : 0;
}

static int configure(int fd, const char *name, const char *address)
{
    struct ifreq req = {.ifr_mtu = LINK_MTU};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&req.ifr_addr;
    char peer[IF_NAMESIZE];
    snprintf(peer, sizeof peer, "%.8s-peer", name);
    snprintf(req.ifr_name, sizeof req.ifr_name, "%s", name);
    if (ioctl(fd, SIOCSIFMTU, &req) < 0)
        return -1;
    *in = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, address, &in->sin_addr);
    if (ioctl(fd, SIOCSIFADDR, &req) < 0)
        return -1;
    in->sin_addr.s_addr = htonl(0xFFFFFF00);
    if (ioctl(fd, SIOCSIFNETMASK, &req) < 0)
        return -1;
    return up(fd, peer) < 0 ? -1 : up(fd, name);
}

int netns_enter(char *why, size_t len)
{
    const char *step = "a network namespace";
    if (unshare(CLONE_NEWNET) < 0) {
        step = "a user namespace (see user_namespaces(7) for the required permission)";
        if (errno != EPERM || enter_user() < 0)
            goto fail;
        step = "a network namespace";
        if (unshare(CLONE_NEWNET) < 0)
            goto fail;
    }
    step = "the loopback";
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || up(fd, "lo") < 0)
        goto fail;
    if (make_veth(NETNS_LINK) == 0) { /* if the kernel has no veth, the namespace has only the
                                       * loopback interface */
        step = NETNS_LINK;
        if (configure(fd, NETNS_LINK, NETNS_ADDRESS) < 0)
            goto fail;
    }
    close(fd);
    step = "CAP_NET_RAW";
    if (geteuid() != 0 && keep_net_raw() < 0)
        goto fail;
    return 0;
fail:
    snprintf(why, len, "cannot set up %s: %s", step,
             errno == ENOSPC ? "the limit of namespaces is reached (/proc/sys/user)"
                             : strerror(errno));
    return -1;
}

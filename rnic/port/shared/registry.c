/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shared/registry.h"

#include <errno.h>
#include <linux/packet_diag.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "port/net/netlink.h"

#define USERS_MAX 16u /* maximum number of users for whom the claimed names are counted */

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

struct name_count {
    struct sockaddr_un prefix;
    size_t prefix_len; /* length of the prefix in prefix.sun_path, bytes */
    bool whole;        /* count only names that equal the prefix */
    unsigned user_cnt;
    struct {
        uint32_t uid;
        unsigned cnt;
    } user[USERS_MAX];
};

static void count_name(void *user, const struct nlmsghdr *msg)
{
    struct name_count *count = user;
    const struct rtattr *attr[UNIX_DIAG_UID + 1];
    const void *name, *uid_at;
    uint32_t uid;
    unsigned i = 0;

    if (!rnic_nl_attrs(msg, sizeof(struct unix_diag_msg), attr, UNIX_DIAG_UID))
        return;
    name = rnic_nl_value(attr[UNIX_DIAG_NAME], count->prefix_len);
    uid_at = rnic_nl_value(attr[UNIX_DIAG_UID], sizeof(uid));
    if (!name || !uid_at || memcmp(name, count->prefix.sun_path, count->prefix_len) != 0 ||
        (count->whole && RTA_PAYLOAD(attr[UNIX_DIAG_NAME]) != count->prefix_len))
        return;
    memcpy(&uid, uid_at, sizeof(uid));
    while (i < count->user_cnt && count->user[i].uid != uid)
        i++;
    if (i == USERS_MAX)
        return;
    if (i == count->user_cnt)
        count->user[count->user_cnt++].uid = uid;
    count->user[i].cnt++;
}

/* Finds the user with the most registry names that begin with `prefix` or, if `whole`, equal
 * `prefix`. */
static unsigned count_names(const char *iface, const char *prefix, bool whole, uint32_t *uid)
{
    const struct unix_diag_req query = {.sdiag_family = AF_UNIX,
                                        .udiag_states = UINT32_MAX,
                                        .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID};
    struct name_count count = {.whole = whole};
    struct rnic_nl_request request;
    int len = rnic_registry_address(&count.prefix, iface, prefix);
    unsigned most = 0;

    if (len < 0)
        return 0;
    count.prefix_len = (size_t)len - offsetof(struct sockaddr_un, sun_path);
    rnic_nl_begin(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &query, sizeof(query));
    if (rnic_nl_ask_protocol(NETLINK_SOCK_DIAG, &request, count_name, &count) != 0)
        return 0;
    for (unsigned i = 0; i < count.user_cnt; i++)
        if (count.user[i].cnt > most) {
            most = count.user[i].cnt;
            *uid = count.user[i].uid;
        }
    return most;
}

unsigned rnic_registry_main_user(const char *iface, const char *prefix, uint32_t *uid)
{
    return count_names(iface, prefix, false, uid);
}

bool rnic_registry_user(const char *iface, const char *name, uint32_t *uid)
{
    return count_names(iface, name, true, uid) > 0;
}

struct socket_search {
    uint32_t ifindex;
    uint32_t uid;
    bool found;
};

static void match_packet_socket(void *user, const struct nlmsghdr *msg)
{
    struct socket_search *search = user;
    const struct rtattr *attr[PACKET_DIAG_UID + 1];
    const void *info_at, *uid_at;
    struct packet_diag_info info;
    uint32_t uid;

    if (!rnic_nl_attrs(msg, sizeof(struct packet_diag_msg), attr, PACKET_DIAG_UID))
        return;
    info_at = rnic_nl_value(attr[PACKET_DIAG_INFO], sizeof(info));
    uid_at = rnic_nl_value(attr[PACKET_DIAG_UID], sizeof(uid));
    if (!info_at || !uid_at)
        return;
    memcpy(&info, info_at, sizeof(info));
    memcpy(&uid, uid_at, sizeof(uid));
    search->found |= info.pdi_index == search->ifindex && uid == search->uid;
}

bool rnic_registry_has_device(unsigned ifindex, uint32_t uid)
{
    const struct packet_diag_req query = {.sdiag_family = AF_PACKET,
                                          .pdiag_show = PACKET_SHOW_INFO};
    struct socket_search search = {.ifindex = ifindex, .uid = uid};
    struct rnic_nl_request request;

    rnic_nl_begin(&request, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &query, sizeof(query));
    return rnic_nl_ask_protocol(NETLINK_SOCK_DIAG, &request, match_packet_socket, &search) != 0 ||
           search.found;
}

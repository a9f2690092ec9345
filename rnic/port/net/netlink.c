/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/net/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX 65536 /* size of the buffer for an answer, bytes */

void rnic_nl_begin(struct rnic_nl_request *request, uint16_t type, uint16_t flags,
                   const void *header, size_t size)
{
    memset(request, 0, sizeof(*request));
    request->head.nlmsg_type = type;
    request->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    request->head.nlmsg_seq = 1;
    memcpy(request->body, header, size);
    request->head.nlmsg_len = NLMSG_LENGTH((uint32_t)size);
}

void rnic_nl_put(struct rnic_nl_request *request, uint16_t type, const void *value, size_t size)
{
    uint32_t at = NLMSG_ALIGN(request->head.nlmsg_len) - (uint32_t)sizeof(request->head);
    struct rtattr attr = {.rta_len = (uint16_t)RTA_LENGTH(size), .rta_type = type};

    if (at + RTA_SPACE(size) > sizeof(request->body))
        return;
    memcpy(request->body + at, &attr, sizeof(attr));
    memcpy(request->body + at + RTA_LENGTH(0), value, size);
    request->head.nlmsg_len = (uint32_t)sizeof(request->head) + at + (uint32_t)RTA_SPACE(size);
}

/* Passes the messages of one datagram to `fn`. Returns 1 after the last message of the answer, 0 if
 * more datagrams follow, or a negative errno. Sets *changed if the table changed while the kernel
 * listed it. */
static int walk_answer(const uint8_t *buf, size_t len, rnic_nl_fn *fn, void *user, bool *changed)
{
    size_t at = 0;

    while (len - at >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr head;
        const struct nlmsghdr *msg = (const void *)(buf + at);

        memcpy(&head, msg, sizeof(head));
        if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > len - at)
            return -EPROTO;
        if (head.nlmsg_flags & NLM_F_DUMP_INTR)
            *changed = true;
        if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) {
            /* Old kernels omit the error code at the end of a list. */
            int error = head.nlmsg_type == NLMSG_DONE ? 0 : -EPROTO;

            if (head.nlmsg_len >= NLMSG_LENGTH(sizeof(error)))
                memcpy(&error, buf + at + NLMSG_HDRLEN, sizeof(error));
            return error < 0 ? error : 1;
        }
        fn(user, msg);
        if (!(head.nlmsg_flags & NLM_F_MULTI))
            return 1;
        at += NLMSG_ALIGN(head.nlmsg_len);
        if (at > len)
            break;
    }
    return 0;
}

int rnic_nl_ask(struct rnic_nl_request *request, rnic_nl_fn *fn, void *user)
{
    return rnic_nl_ask_protocol(NETLINK_ROUTE, request, fn, user);
}

int rnic_nl_ask_protocol(int protocol, struct rnic_nl_request *request, rnic_nl_fn *fn, void *user)
{
    static const struct timeval patience = {.tv_sec = 1};
    union {
        struct nlmsghdr align;
        uint8_t bytes[ANSWER_MAX];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    bool changed = false;
    int result = 0;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (send(fd, request, request->head.nlmsg_len, 0) < 0)
        result = -errno;
    while (result == 0) {
        ssize_t len = recv(fd, answer.bytes, sizeof(answer.bytes), 0);

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            result = errno == EAGAIN ? -ETIMEDOUT : -errno;
        else
            result = walk_answer(answer.bytes, (size_t)len, fn, user, &changed);
    }
    close(fd);
    if (result > 0 && changed)
        return -EAGAIN;
    return result < 0 ? result : 0;
}

int rnic_nl_watch(void)
{
    struct sockaddr_nl addr = {.nl_family = AF_NETLINK,
                               .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    int error;

    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int rnic_nl_drain(int fd)
{
    uint8_t buf[8192]; /* the content of a notification is not used: callers read the tables again,
                        * so it may be truncated */
    int any = 0;
    ssize_t len;

    do {
        len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
        any |= len > 0 || errno == ENOBUFS;
    } while (len > 0 || (len < 0 && (errno == ENOBUFS || errno == EINTR)));
    return any;
}

static void walk_attrs(const uint8_t *p, size_t len, const struct rtattr **attr, unsigned max)
{
    while (len >= sizeof(struct rtattr)) {
        struct rtattr head;
        size_t step;

        memcpy(&head, p, sizeof(head));
        if (head.rta_len < sizeof(head) || head.rta_len > len)
            return;
        if ((head.rta_type & NLA_TYPE_MASK) <= max)
            attr[head.rta_type & NLA_TYPE_MASK] = (const void *)p;
        step = RTA_ALIGN(head.rta_len);
        if (step > len)
            return;
        p += step;
        len -= step;
    }
}

const void *rnic_nl_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **attr,
                          unsigned max)
{
    const uint8_t *body = (const uint8_t *)msg + NLMSG_HDRLEN;
    size_t skip = NLMSG_ALIGN(size);

    memset(attr, 0, (max + 1) * sizeof(*attr));
    if (msg->nlmsg_len < NLMSG_HDRLEN + skip)
        return NULL;
    walk_attrs(body + skip, msg->nlmsg_len - NLMSG_HDRLEN - skip, attr, max);
    return body;
}

void rnic_nl_nested(const struct rtattr *outer, const struct rtattr **attr, unsigned max)
{
    memset(attr, 0, (max + 1) * sizeof(*attr));
    if (outer)
        walk_attrs((const uint8_t *)outer + RTA_LENGTH(0), outer->rta_len - RTA_LENGTH(0), attr,
                   max);
}

const void *rnic_nl_value(const struct rtattr *attr, size_t size)
{
    if (!attr || attr->rta_len < RTA_LENGTH(size))
        return NULL;
    return (const uint8_t *)attr + RTA_LENGTH(0);
}

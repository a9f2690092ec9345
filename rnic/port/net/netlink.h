/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Netlink: requests to the kernel's tables of links, addresses, routes and neighbours
 * (rtnetlink(7)) and of sockets (sock_diag(7)), and notifications of changes. Every message is
 * checked; malformed ones are skipped.
 */
#ifndef PORT_NET_NETLINK_H
#define PORT_NET_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* Receives one message of an answer. */
typedef void rnic_nl_fn(void *user, const struct nlmsghdr *msg);

/* A request under construction. */
struct rnic_nl_request {
    struct nlmsghdr head;
    uint8_t body[256];
};

/* Begins a request. `header` has `size` bytes and follows struct nlmsghdr: struct ifinfomsg, rtmsg
 * or another one that the message type requires. */
void rnic_nl_begin(struct rnic_nl_request *request, uint16_t type, uint16_t flags,
                   const void *header, size_t size);
void rnic_nl_put(struct rnic_nl_request *request, uint16_t attr, const void *value, size_t size);

/* Sends the request and calls `fn` for each message of the answer. Returns 0, or the negative errno
 * from the kernel or from a socket call. -EAGAIN means that a list changed during the request:
 * entries may be missing or duplicated, so the caller asks again. -ETIMEDOUT means that the kernel
 * sent nothing for a second. */
int rnic_nl_ask(struct rnic_nl_request *request, rnic_nl_fn *fn, void *user);

/* Like rnic_nl_ask(), but for a netlink protocol other than NETLINK_ROUTE. */
int rnic_nl_ask_protocol(int protocol, struct rnic_nl_request *request, rnic_nl_fn *fn, void *user);

/* Opens a non-blocking socket that becomes readable when links or addresses change. Returns the
 * descriptor or a negative errno. */
int rnic_nl_watch(void);

/* Reads all unread notifications. Returns 1 if there was a notification, or if the kernel lost one;
 * otherwise returns 0. */
int rnic_nl_drain(int fd);

/*
 * Finds the attributes of types 0..max in a netlink message, after its family header of `size`
 * bytes. attr[type] is the last attribute of that type, or NULL. Returns the family header, or NULL
 * if the message is too short for one.
 */
const void *rnic_nl_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **attr,
                          unsigned max);

/* Finds the attributes of types 0..max that are nested in `outer`, as rnic_nl_attrs() does. */
void rnic_nl_nested(const struct rtattr *outer, const struct rtattr **attr, unsigned max);

/* Returns the value of an attribute, or NULL if `attr` is NULL or the value has fewer than `size`
 * bytes. */
const void *rnic_nl_value(const struct rtattr *attr, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Netlink: questions to the kernel's tables of links, addresses, routes and neighbours
 * (rtnetlink(7)), and notices of their changes. Messages are walked with the checks here; a message
 * that does not hold together is left out.
 */
#ifndef PORT_NET_NETLINK_H
#define PORT_NET_NETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

/* One message of an answer. */
typedef void rnic_nl_fn(void *user, const struct nlmsghdr *msg);

/* A request being put together. */
struct rnic_nl_request {
    struct nlmsghdr head;
    uint8_t body[256];
};

/* Begins a request with the family's header (ifinfomsg, rtmsg, ...) of `size` bytes. */
void rnic_nl_begin(struct rnic_nl_request *request, uint16_t type, uint16_t flags,
                   const void *header, size_t size);
void rnic_nl_put(struct rnic_nl_request *request, uint16_t attr, const void *value, size_t size);

/* Asks, and gives each message of the answer to `fn`. 0, -EAGAIN when a list changed while it was
 * told (entries may lack or come twice: ask again), or the negative errno that the kernel answered
 * or a socket call failed with. */
int rnic_nl_ask(struct rnic_nl_request *request, rnic_nl_fn *fn, void *user);

/* A non-blocking socket that becomes readable when links or addresses change; or a negative errno.
 */
int rnic_nl_watch(void);

/* Reads all notices that wait: whether there was any. Lost ones count as one. */
int rnic_nl_drain(int fd);

/*
 * The attributes of type 0..max of a message whose family header has `size` bytes: attr[type] is
 * the last of that type or NULL. Returns the family header, or NULL if the message is too short for
 * it.
 */
const void *rnic_nl_attrs(const struct nlmsghdr *msg, size_t size, const struct rtattr **attr,
                          unsigned max);

/* The same for attributes nested in another. */
void rnic_nl_nested(const struct rtattr *outer, const struct rtattr **attr, unsigned max);

/* The bytes of an attribute if it is there and has at least `size`, else NULL. */
const void *rnic_nl_value(const struct rtattr *attr, size_t size);

#endif

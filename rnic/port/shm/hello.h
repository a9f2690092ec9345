/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hello: the only message between two ports on shared memory. The writer of a ring connects to the
 * name of the reader's QPN block, and sends a hello with the ring's memory file. Afterwards each
 * end wakes the other by sending a byte, whose value has no meaning. The end of the connection
 * shows that the process at the other end has ended. Used by port/shm/peers.c.
 *
 * The name is "shm/<user id>.<QPN block>" in the registry (port/shared/registry.h) for the first
 * block of a process, and "shm-more/<user id>.<QPN block>" for each further block. Both ends check
 * that the other process has their effective user id. All sockets are tagged (port/sys/fd_tag.h)
 * and never block.
 */
#ifndef PORT_SHM_HELLO_H
#define PORT_SHM_HELLO_H

#include <stdbool.h>
#include <stdint.h>
#include "port/net/iface.h"

struct shm_hello {
    uint32_t magic; /* set by shm_hello_send() */
    uint32_t block; /* first QPN block of the sender */
    char iface[RNIC_IFNAME_MAX];
};

/* Listens under the name of block `block` on `iface`. `first`: it is the first block of this
 * process. Returns a descriptor or a negative errno. */
int shm_hello_listen(const char *iface, uint32_t block, bool first);

/* Accepts a connection of a process of this user. Returns a descriptor, -EAGAIN if there is no new
 * connection, or -EPERM for one of another user, which is closed. */
int shm_hello_accept(int fd);

/* Connects to the name of block `block` on `iface`. Returns a descriptor, or a negative errno:
 * -ECONNREFUSED if no process has the name, -EPERM if a process of another user has the name. */
int shm_hello_connect(const char *iface, uint32_t block);

/* Sends a hello and the descriptor `file`. Returns 0 or a negative errno. */
int shm_hello_send(int fd, const struct shm_hello *hello, int file);

/* Receives a hello message. Stores the descriptor that the message contains in *file; the caller
 * closes it. Returns 0, -EAGAIN if no message has arrived, -EMFILE if this process has no free
 * descriptor number, or -EPROTO if the message is not a hello. */
int shm_hello_recv(int fd, struct shm_hello *hello, int *file);

/* Sends a byte that makes the other end's socket readable. */
void shm_hello_wake(int fd);

/* Reads all unread bytes. Returns false if the other end has closed the connection. */
bool shm_hello_drain(int fd);

/* Calls `fn` for the first block of each process of this user, on all interfaces. May call it more
 * than once for one block. Returns 0 or a negative errno. */
int shm_hello_list(void (*fn)(void *user, const char *iface, uint32_t block), void *user);

#endif

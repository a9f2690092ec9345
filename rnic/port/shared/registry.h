/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Registry: names by which the processes on one interface share its QPN space (qpn_alloc.h) and CM
 * ports, and find each other (process.h). No daemon is needed. A process claims a name by binding
 * an abstract unix socket to "\0rnic/<interface>/<name>". A name has at most one owner in a network
 * namespace, and the kernel frees the name however the process ends. The sockets are datagram
 * sockets that receive nothing, except for the listening sockets of proc/ (stream), shm/ and
 * shm-more/ (sequenced packets).
 *
 *   qpnblk/<n>    QPNs n * 4096 .. n * 4096 + 4095, n = 1..4094
 *   gsi           the process that answers QP 1 requests for services that no process has
 *   cm/<ps>/<n>   a port of the connection manager, at all addresses
 *   cm/<ps>/<n>/<gid>  the port at one address: a GID in 32 hexadecimal digits
 *   proc/<pid>    listens, and sends a description of the process to each client
 *   shm/<uid>.<n> listens for the other processes of the user on shared memory (shm/hello.h);
 *                 <n>: number of the first QPN block of the process
 *   shm-more/<uid>.<n>  the same for each further QPN block of the process
 */
#ifndef PORT_SHARED_REGISTRY_H
#define PORT_SHARED_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define RNIC_REGISTRY_PREFIX "rnic/"

/* Claims a name. Returns a descriptor that keeps the claim until it is closed, or a negative errno
 * such as -EADDRINUSE or -ENAMETOOLONG. */
int rnic_registry_bind(const char *iface, const char *name);

/* Returns whether any process has claimed the name. Does not read /proc and does not affect the
 * claim. Also returns true if no socket can be opened (EMFILE): without proof that the owner is
 * gone, the name counts as claimed. */
bool rnic_registry_held(const char *iface, const char *name);

/* Finds the user with the most names that begin with `prefix`. Returns the number of these names
 * and stores the user's id. Returns 0 if no name begins with `prefix`, or if the kernel does not
 * report the users of sockets (before Linux 5.3). */
unsigned rnic_registry_main_user(const char *iface, const char *prefix, uint32_t *uid);

/* Finds the user of the process that has claimed a name. Returns false if no process has claimed
 * the name, or if the kernel does not report the users of sockets. The call is slow: the kernel
 * walks all unix sockets of the network namespace. */
bool rnic_registry_user(const char *iface, const char *name, uint32_t *uid);

/* Returns whether processes of user `uid` can receive the packets of the interface with this index:
 * the user has a packet socket there. Returns true if the kernel does not report this. */
bool rnic_registry_has_device(unsigned ifindex, uint32_t uid);

/* Fills in the abstract address of a name. Returns its length, or -ENAMETOOLONG. */
int rnic_registry_address(struct sockaddr_un *addr, const char *iface, const char *name);

/* Claims a name with a socket of type `type` that can receive, unlike the socket of
 * rnic_registry_bind(). Used by process.c and shm/hello.c to listen. Returns a descriptor or a
 * negative errno. */
int rnic_registry_bind_as(int type, const char *iface, const char *name);

#endif

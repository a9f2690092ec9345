/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Registry: how processes on one interface share its QPN space (qpns.h) and CM ports, and find each
 * other (process.h), without a daemon. A process owns a name while it holds an abstract unix socket
 * bound to it ("\0rnic/<interface>/..."): one holder in a network namespace, and the kernel frees
 * it however the process ends. Such a socket is of datagrams and takes none; only proc/ is a
 * stream's, in a name space of its own.
 *
 *   qpnblk/<n>    QPNs n * 4096 .. n * 4096 + 4095, n = 1..4094
 *   gsi           who answers for QP 1 where nobody else does
 *   cm/<ps>/<n>   a port of the connection manager
 *   proc/<pid>    listens, and tells who connects what the process has
 */
#ifndef PORT_SHARED_REGISTRY_H
#define PORT_SHARED_REGISTRY_H

#include <stdbool.h>
#include <sys/un.h>

#define RNIC_REGISTRY_PREFIX "rnic/"

/* A descriptor that holds the name, or -EADDRINUSE, -ENAMETOOLONG and the like. */
int rnic_registry_bind(const char *iface, const char *name);

/* Whether any process holds the name now: as the kernel says it, which needs no /proc and takes the
 * name from nobody. True also if it cannot be told (EMFILE): who is not known to be gone is there.
 */
bool rnic_registry_held(const char *iface, const char *name);

/* The abstract address of a name: its length, or -ENAMETOOLONG. */
int rnic_registry_address(struct sockaddr_un *addr, const char *iface, const char *name);

/* As rnic_registry_bind(), a socket of that type which does what its type does: of process.h. */
int rnic_registry_bind_as(int type, const char *iface, const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Process: lets rnic-info read the state of each process with an open device. Each process listens
 * on the abstract unix socket that the registry (registry.h) names proc/<pid>.
 */
#ifndef PORT_SHARED_PROCESS_H
#define PORT_SHARED_PROCESS_H

#include <stdio.h>
#include "port/net/iface.h"

/* Listens on the socket of this process. Returns a descriptor or a negative errno. */
int rnic_process_listen(const char *iface);

/* Accepts one connection on `fd` and sends the text that `describe` writes. Only root and processes
 * of the same user get the text. Does not block. */
void rnic_process_answer(int fd, void (*describe)(void *user, FILE *out), void *user);

struct rnic_process {
    char iface[RNIC_IFNAME_MAX];
    int pid;
    char
        *text; /* description written by the process; "" if the process refused or did not answer */
};

/* Lists the processes of this user (root: of all users) that have a device open in this network
 * namespace, including the caller. Waits at most 2 s for all of them together. Control characters
 * in names and descriptions are replaced by question marks.
 * Returns 0 or a negative errno. On success the caller frees *out with rnic_process_free(); on
 * failure there is nothing to free. */
int rnic_process_list(struct rnic_process **out, size_t *cnt);
void rnic_process_free(struct rnic_process *list, size_t cnt);

#endif

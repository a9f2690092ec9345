/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Process: what each process that has a device open tells of it to those that ask. It listens under
 * a name of the registry, proc/<pid>.
 */
#ifndef PORT_SHARED_PROCESS_H
#define PORT_SHARED_PROCESS_H

#include <stdio.h>
#include "port/net/iface.h"

/* A listening descriptor with the process's name, or a negative errno. */
int rnic_process_listen(const char *iface);

/* Answers one process that connected: gives it what `describe` writes. Only root and the same user
 * are answered. Does not wait. */
void rnic_process_answer(int fd, void (*describe)(void *user, FILE *out), void *user);

struct rnic_process {
    char iface[RNIC_IFNAME_MAX];
    int pid;
    char *text; /* what its `describe` wrote; "" if it may not be asked or does not answer */
};

/* The processes that have a device open in this network namespace, this one included. *out is freed
 * by rnic_process_free(). 0, or a negative errno, of which nothing is to be freed. */
int rnic_process_list(struct rnic_process **out, size_t *cnt);
void rnic_process_free(struct rnic_process *list, size_t cnt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Bell: a marked eventfd (mark.h), readable while it rings. What has another file's number is
 * neither written nor read. Any thread may call any function.
 */
#ifndef PORT_SYS_EVENT_FD_H
#define PORT_SYS_EVENT_FD_H

#include <stdbool.h>
#include "port/sys/fd_tag.h"

/* A descriptor for rnic_tagged_close(), or -1 with errno. `flags`: as of eventfd(2). */
int rnic_event_fd_new(int flags);

void rnic_event_fd_signal(int fd);
void rnic_event_fd_clear(int fd); /* it rings, or is O_NONBLOCK */

/* In a child of fork(), whose table of descriptors is its own, but not what they refer to: puts a
 * bell of its own in the place of one, with what the program set of O_NONBLOCK and FD_CLOEXEC.
 * False if the program has closed it, or has another file under that number. */
bool rnic_event_fd_renew(int fd);

#endif

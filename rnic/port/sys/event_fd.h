/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Event descriptor: a tagged eventfd (fd_tag.h) that is readable while it is signalled. If the
 * program closed it and another file has its number, the functions neither read nor write that
 * file. Any thread may call any function.
 */
#ifndef PORT_SYS_EVENT_FD_H
#define PORT_SYS_EVENT_FD_H

#include <stdbool.h>
#include "port/sys/fd_tag.h"

/* Creates an event descriptor with the `flags` of eventfd(2). Returns a descriptor for
 * rnic_tagged_close(), or -1 with errno. */
int rnic_event_fd_new(int flags);

void rnic_event_fd_signal(int fd);
void rnic_event_fd_clear(int fd); /* Waits for the event and clears it. Does not block if the event
                                   * is signalled or `fd` is O_NONBLOCK. */

/* A child of fork() shares each event with its parent. Replaces the child's event by a new one with
 * the same descriptor number. Keeps the program's settings of O_NONBLOCK and FD_CLOEXEC. Returns
 * false if the program has closed the descriptor or another file has its number, or if no new event
 * can be created. */
bool rnic_event_fd_renew(int fd);

#endif

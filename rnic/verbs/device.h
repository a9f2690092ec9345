/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device: what the list of devices gives to the contexts. */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "verbs/config.h"
#include "verbs/objects.h"

/* Guards the list and the opening and closing of devices. */
extern pthread_mutex_t vdevice_lock;

static inline struct vdevice *vdevice_of(struct ibv_device *device)
{
    return (struct vdevice *)(void *)device;
}

/* NULL if it makes no sense, which was said. Under the lock. */
const struct verbs_config *vdevice_config(void);

void vdevice_forked(void); /* in a child of fork(): what is open is the parent's */

/* What ucma/preload.c asks; exported under the version RNIC_1. Programs look for files of a device
 * themselves, past libibverbs (UCX for both kinds). */

/* What a file of sysfs says of a device of ours, with the newline; its length, -1 if it is none. */
RNIC_EXPORT int vdevice_file(const char *path, char *buf, size_t size);
/* Whether it is where the kernel has the node of a device as ours. */
RNIC_EXPORT bool vdevice_node(const char *path);

/* One line on standard error: why a call failed, where its errno cannot say it. */
void verbs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device list: functions of device.c for context.c and query.c. */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "verbs/config.h"
#include "verbs/objects.h"

/* Protects the list, and opening and closing of devices. */
extern pthread_mutex_t vdevice_lock;

/* True while this thread opens a device with vdevice_lock locked. A libpcap with an RDMA sniffer
 * calls ibv_get_device_list() in that time. This thread then gets an empty list instead of locking
 * vdevice_lock again. */
extern _Thread_local bool vdevice_opening;

static inline struct vdevice *vdevice_of(struct ibv_device *device)
{
    return (struct vdevice *)(void *)device;
}

/* Returns the configuration. If it is invalid, reports this once and returns NULL. Called with
 * vdevice_lock held. */
const struct verbs_config *vdevice_config(void);

/* Returns the first device of the list. Called with vdevice_lock held. */
struct vdevice *vdevice_first(void);

void vdevice_forked(void); /* Marks open devices as inherited; called in the child of a fork(). */

/* Functions for ucma/preload.c, exported under the version RNIC_1. Some programs read files of a
 * device without libibverbs (UCX does). */

/* Reads a sysfs file of one of our devices, with its newline. Returns the length, or -1 if the path
 * belongs to no such device. */
RNIC_EXPORT int vdevice_file(const char *path, char *buf, size_t size);
/* Returns whether the path is the device node that the kernel would create for one of our devices.
 */
RNIC_EXPORT bool vdevice_node(const char *path);

/* Prints one line on standard error: the cause of a failure that errno cannot express. */
void verbs_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

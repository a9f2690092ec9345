/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device list: one device for each suitable interface, and queries that need no open device. These
 * functions open no libpcap handle, because a libpcap with an RDMA sniffer calls
 * ibv_get_device_list() itself.
 *
 * A listed device keeps its address until the process ends: librdmacm compares pointers of several
 * lists, and programs use entries after they freed the list.
 */
#include "verbs/device.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/abi.h"

#define SYSFS "/sys"

pthread_mutex_t vdevice_lock = PTHREAD_MUTEX_INITIALIZER;
_Thread_local bool vdevice_opening;
static struct vdevice *devices; /* all devices ever listed, in the order of their first listing */
static struct verbs_config config;
static enum { CONFIG_UNREAD, CONFIG_GOOD, CONFIG_BAD } config_state;

void verbs_warn(const char *format, ...)
{
    va_list args;
    char text[1024];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "rnic: %s\n", text);
}

const struct verbs_config *vdevice_config(void)
{
    if (config_state == CONFIG_UNREAD) {
        char error[CONFIG_TEXT_MAX + 128];
        config_state = config_load(&config, error) ? CONFIG_GOOD : CONFIG_BAD;
        if (config_state == CONFIG_BAD)
            verbs_warn("%s", error);
    }
    return config_state == CONFIG_GOOD ? &config : NULL;
}

/* Returns the EUI-64 of a MAC address (IEEE "Guidelines for 64-bit global identifier", RFC 4291
 * appendix A). */
static __be64 guid_of(const uint8_t mac[6])
{
    const uint8_t eui[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
    __be64 guid;
    memcpy(&guid, eui, sizeof guid);
    return guid;
}

struct vdevice *vdevice_first(void)
{
    return devices;
}

static struct vdevice *find_device(const char *iface)
{
    for (struct vdevice *device = devices; device; device = device->next)
        if (strcmp(device->iface, iface) == 0)
            return device;
    return NULL;
}

static struct vdevice *add_device(const struct rnic_iface *iface)
{
    struct vdevice *device = calloc(1, sizeof *device), **end = &devices;
    if (!device)
        return NULL;
    snprintf(device->iface, sizeof device->iface, "%s", iface->name);
    struct ibv_device *ibv = &device->ibv;
    ibv->node_type =
        IBV_NODE_CA; /* RoCE is an IB transport on another link layer (Annex A16.1.1) */
    ibv->transport_type = IBV_TRANSPORT_IB;
    snprintf(ibv->name, sizeof ibv->name, "rnic_%s", iface->name);
    snprintf(ibv->dev_name, sizeof ibv->dev_name, "uverbs_%s", iface->name);
    snprintf(ibv->dev_path, sizeof ibv->dev_path, SYSFS "/class/infiniband_verbs/%s",
             ibv->dev_name);
    snprintf(ibv->ibdev_path, sizeof ibv->ibdev_path, SYSFS "/class/infiniband/%s", ibv->name);
    while (*end)
        end = &(*end)->next;
    *end = device;
    return device;
}

/* Updates `devices`. Returns the number of devices listed now, or a negative errno. Called with
 * vdevice_lock. */
static int refresh_devices(void)
{
    const struct verbs_config *chosen = vdevice_config();
    struct rnic_iface *ifaces = NULL;
    struct error why = {""};
    size_t cnt = 0;
    for (struct vdevice *device = devices; device; device = device->next)
        device->listed = false;
    if (!chosen)
        return 0;
    int result = rnic_iface_list(&ifaces, &cnt, &why);
    if (result < 0) {
        verbs_warn("cannot list the interfaces: %s", why.text);
        return result;
    }
    for (size_t i = 0; i < cnt; i++) {
        bool named;
        if (!config_wants(chosen, ifaces[i].name, &named) || ifaces[i].path_mtu == 0 ||
            (!ifaces[i].up && !named))
            continue;
        struct vdevice *device = find_device(ifaces[i].name);
        if (!device)
            device = add_device(&ifaces[i]);
        if (!device) {
            free(ifaces);
            return -ENOMEM;
        }
        device->index = (int)ifaces[i].index;
        device->guid = guid_of(ifaces[i].mac);
        device->listed = true;
        result++;
    }
    free(ifaces);
    return result;
}

void vdevice_forked(void)
{
    for (struct vdevice *device = devices; device; device = device->next)
        if (device->hca)
            device->hca->inherited = true;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct ibv_device **list = NULL;
    if (vdevice_opening) {
        if (num_devices)
            *num_devices = 0;
        return calloc(1, sizeof(*list));
    }
    int held = rnic_lock_uncancelable(&vdevice_lock);
    int cnt = refresh_devices();
    if (cnt < 0)
        errno = -cnt;
    else if ((list = calloc((size_t)cnt + 1, sizeof *list)) != NULL)
        for (struct vdevice *device = devices, **end = (struct vdevice **)(void *)list; device;
             device = device->next)
            if (device->listed)
                *end++ = device;
    rnic_unlock_uncancelable(&vdevice_lock, held);
    if (num_devices)
        *num_devices = list ? cnt : 0;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
    return vdevice_of(device)->index;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return vdevice_of(device)->guid;
}

/* ---- files in sysfs -------------------------------------------------------------------------- */

const char *ibv_get_sysfs_path(void)
{
    return SYSFS;
}

/* Finds the GID with index `idx`. If the device is open, reads the GID table of the software RNIC:
 * in this table, a GID keeps its index when other addresses change. */
static bool gid_of_index(struct vdevice *device, const struct rnic_iface *iface, unsigned idx,
                         struct rnic_gid *gid)
{
    if (device->hca) {
        bool there = rnic_gid_get(rnic_live_lock(device->hca->live), idx, gid);
        rnic_live_unlock(device->hca->live);
        return there;
    }
    if (idx < iface->gid_cnt)
        *gid = iface->gid[idx];
    return idx < iface->gid_cnt;
}

/* Writes the text that the kernel would have in a sysfs file of our device. Returns false for an
 * unknown file. */
static bool sysfs_text(struct vdevice *device, const char *file, char *buf, size_t size)
{
    struct rnic_iface iface;
    uint64_t guid = be64toh(device->guid);
    struct rnic_gid gid;
    unsigned idx;
    int end = 0;
    if (rnic_iface_get(device->iface, &iface, NULL) < 0)
        return false;
    if (strcmp(file, "node_type") == 0)
        snprintf(buf, size, "1: CA");
    else if (strcmp(file, "node_guid") == 0 || strcmp(file, "sys_image_guid") == 0)
        snprintf(buf, size, "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48),
                 (unsigned)(guid >> 32) & 0xffff, (unsigned)(guid >> 16) & 0xffff,
                 (unsigned)guid & 0xffff);
    else if (strcmp(file, "fw_ver") == 0)
        snprintf(buf, size, VERBS_VERSION);
    else if (strcmp(file, "board_id") == 0 || strcmp(file, "hca_type") == 0)
        snprintf(buf, size, "RoCEdrill");
    else if (strcmp(file, "node_desc") == 0)
        snprintf(buf, size, "%s", device->ibv.name);
    else if (strcmp(file, "abi_version") == 0)
        snprintf(buf, size, "1");
    else if (strcmp(file, "ibdev") == 0)
        snprintf(buf, size, "%s", device->ibv.name);
    else if (strcmp(file, "ports/1/link_layer") == 0)
        snprintf(buf, size, "Ethernet");
    else if (strcmp(file, "ports/1/state") == 0)
        snprintf(buf, size, "%s", iface.up ? "4: ACTIVE" : "1: DOWN");
    else if (strcmp(file, "ports/1/pkeys/0") == 0)
        snprintf(buf, size, "0xffff");
    else if (sscanf(file, "ports/1/gid_attrs/types/%u%n", &idx, &end) == 1 && !file[end] &&
             gid_of_index(device, &iface, idx, &gid))
        snprintf(buf, size, "%s", gid.type == RNIC_GID_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
    else if (sscanf(file, "ports/1/gid_attrs/ndevs/%u%n", &idx, &end) == 1 && !file[end] &&
             gid_of_index(device, &iface, idx, &gid))
        snprintf(buf, size, "%s", device->iface);
    else if (sscanf(file, "ports/1/gids/%u%n", &idx, &end) == 1 && !file[end] &&
             gid_of_index(device, &iface, idx, &gid)) {
        const uint8_t *g = gid.gid;
        snprintf(buf, size,
                 "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0],
                 g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12], g[13],
                 g[14], g[15]);
    } else
        return false;
    return true;
}

/* Returns the part of a path after "DIR/", or NULL. */
static const char *path_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

int vdevice_file(const char *path, char *buf, size_t size)
{
    bool ours = false;
    int held = rnic_lock_uncancelable(&vdevice_lock);
    for (struct vdevice *device = devices; device && !ours; device = device->next) {
        const char *file = path_below(path, device->ibv.ibdev_path);
        if (!file)
            file = path_below(path, device->ibv.dev_path);
        ours = file && sysfs_text(device, file, buf, size - 1);
    }
    rnic_unlock_uncancelable(&vdevice_lock, held);
    return ours ? (int)strlen(strcat(buf, "\n")) : -1;
}

bool vdevice_node(const char *path)
{
    const char *node = path_below(path, "/dev/infiniband");
    bool ours = false;
    int held = rnic_lock_uncancelable(&vdevice_lock);
    for (struct vdevice *device = devices; node && device && !ours; device = device->next)
        ours = strcmp(node, device->ibv.dev_name) == 0;
    rnic_unlock_uncancelable(&vdevice_lock, held);
    return ours;
}

/* Reads a sysfs file. Returns its length without the final newline, or -1. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    if (size == 0)
        return -1;
    if (strcmp(file, "class/misc/rdma_cm/abi_version") == 0) /* ABI version of rnic/ucma
                                                              * (rdma_user_cm.h) */
        return snprintf(buf, size, "4");
    int held = rnic_lock_uncancelable(&vdevice_lock);
    struct vdevice *device = devices;
    while (device && strcmp(dir, device->ibv.ibdev_path) != 0 &&
           strcmp(dir, device->ibv.dev_path) != 0)
        device = device->next;
    bool ours = device && sysfs_text(device, file, buf, size);
    rnic_unlock_uncancelable(&vdevice_lock, held);
    if (ours)
        return (int)strlen(buf);
    char path[2 * IBV_SYSFS_PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path)
        return -1;
    FILE *in = fopen(path, "re");
    if (!in)
        return -1;
    size_t len = fread(buf, 1, size - 1, in);
    bool bad = ferror(in);
    fclose(in);
    if (bad)
        return -1;
    if (len > 0 && buf[len - 1] == '\n')
        len--;
    buf[len] = 0;
    return (int)len;
}

int rnic_read_ibdev_sysfs_file(char *buf, size_t size, struct ibv_device *device,
                               const char *format, ...)
{
    char file[IBV_SYSFS_PATH_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(file, sizeof file, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof file)
        return -1;
    return ibv_read_sysfs_file(device->ibdev_path, file, buf, size);
}

SYMVER_PRIVATE(rnic_read_ibdev_sysfs_file, ibv_read_ibdev_sysfs_file);

/* Sends delayed acknowledgements before the process ends. A hardware RNIC sends them before the
 * program can read the completions of the messages. _exit() may call this in a signal handler whose
 * thread has vdevice_lock, so the function does not wait for the lock. In the child of a vfork(),
 * which shares this memory but has another pid, the function sends nothing. */
static void flush_devices(void)
{
    if (pthread_mutex_trylock(&vdevice_lock) != 0)
        return;
    for (struct vdevice *device = devices; device; device = device->next)
        if (device->hca && device->hca->pid == getpid())
            rnic_live_flush(device->hca->live);
    pthread_mutex_unlock(&vdevice_lock);
}

/* Function pointer of ucma/preload.c, if that library is loaded. Its _exit() calls the function
 * first. */
extern void (*rnic_preload_before_exit)(void) __attribute__((weak));

__attribute__((constructor)) static void at_start(void)
{
    if (&rnic_preload_before_exit)
        rnic_preload_before_exit = flush_devices;
}

__attribute__((destructor)) static void at_exit(void)
{
    if (pthread_mutex_trylock(&vdevice_lock) == 0) {
        for (struct vdevice *device = devices; device; device = device->next)
            if (device->hca && device->hca->pid == getpid())
                vhca_linger(device->hca);
        pthread_mutex_unlock(&vdevice_lock);
    }
    flush_devices();
}

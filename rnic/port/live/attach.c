/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Attach: opens and closes a live device, and detaches it in a child of fork(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "port/frameio/impair_port.h"
#include "port/frameio/port_pcap.h"
#include "port/frameio/record.h"
#include "port/frameio/tap_port.h"
#include "port/live/live_impl.h"
#include "port/net/netlink.h"
#include "port/shared/process.h"
#include "port/shared/registry.h"
#include "port/shm/port_shm.h"
#include "port/sys/event_fd.h"

#define RING_DEFAULT (16u * 1024 * 1024) /* default size of the receive ring, bytes */

/* List of all live devices of the process, for the fork handlers. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_live *all;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- attaching and detaching ----------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Opens the recording port, the tap and the impairing port in front of live->port, if configured.
 * Returns 0, or a negative errno with the reason in `why`. */
static int wrap(struct rnic_live *live, struct error *why)
{
    struct rnic_port *front = NULL;
    int error = 0;

    if (live->attr.record) {
        struct rnic_record_attr attr = {.folder = live->attr.record,
                                        .iface = live->iface.name,
                                        .shared = live->attr.record_shared};

        error = rnic_record_open(&attr, live->port, &front, why);
        if (!error)
            live->port = front;
    }
    if (!error && live->attr.tap) {
        error = rnic_tap_port_open(live->attr.tap, live->port, &front, why);
        if (!error)
            live->port = front;
    }
    if (!error && live->attr.impair && live->attr.impair[0]) {
        error = rnic_impair_port_open(live->attr.impair, live->attr.seed, live->port, &front, why);
        if (!error)
            live->port = front;
        if (!error && live->attr.impair_tally)
            rnic_impair_port_count(front, live->attr.impair_tally);
    }
    return error;
}

/* Closes everything that attach() opened except the port. The caller must have closed the port, or
 * in a child of fork() called its drop(). */
static void close_attachment(struct rnic_live *live)
{
    live->port = NULL;
    live->wire_port = NULL;
    close_fd(&live->answer_fd);
    close_fd(&live->watch_fd);
    rnic_tagged_close(live->wake_fd);
    rnic_tagged_close(live->watchdog.event_fd);
    live->wake_fd = live->watchdog.event_fd = -1;
    close_fd(&live->gate.epoll_fd);
    close_fd(&live->gsi_fd);
    rnic_udp_reserve_close(&live->udp_reserve);
    live_groups_leave(live);
    live->attached = false;
}

static void detach(struct rnic_live *live)
{
    rnic_port_close(live->port);
    close_attachment(live);
}

static int open_pcap(struct rnic_live *live, struct error *why)
{
    int error = rnic_udp_reserve_open(&live->udp_reserve, why);

    return error ? error : rnic_port_pcap_open(&live->iface, live->attr.ring, &live->port, why);
}

/* Returns whether sent frames need an ICRC. Frames on shared memory need one only if another
 * program may see the frames, or if impairments change them. */
static bool needs_icrc(const struct rnic_live_attr *attr)
{
    return attr->wire != RNIC_WIRE_SHM || attr->record || attr->tap ||
           (attr->impair && attr->impair[0]);
}

static int open_shm(struct rnic_live *live, struct error *why)
{
    const struct rnic_port_shm_attr attr = {
        .icrc = needs_icrc(&live->attr), .warned = live->attr.warned, .user = live->attr.user};

    return rnic_port_shm_open(&live->iface, &attr, &live->port, why);
}

/* Opens the descriptors, sockets and ports of the live device. Reserves no QPNs (qpn_alloc.h) and
 * starts no thread. If the caller of rnic_live_open_port() provided a port, live->port is that
 * port. Returns 0 or a negative errno. */
static int attach(struct rnic_live *live, struct error *why)
{
    int error = 0;

    live->wake_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
    live->watchdog.event_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
    if (live->wake_fd < 0 || live->watchdog.event_fd < 0) {
        error = -errno;
        error_set(why, "no event descriptor: %s", strerror(-error));
    }
    if (!error && !live->given_port) {
        live->watch_fd = rnic_nl_watch();
        live->answer_fd = rnic_process_listen(live->iface.name);
        error = live->attr.wire == RNIC_WIRE_SHM ? open_shm(live, why) : open_pcap(live, why);
        live->wire_port = live->port;
    }
    if (!error)
        error = wrap(live, why);
    if (!error) {
        error = live_gate_new(live);
        if (error)
            error_set(why, "no epoll set: %s", strerror(-error));
    }
    if (!error) {
        error = live_filter(live);
        if (error)
            error_set(why, "cannot set the packet filter of %s: %s", live->iface.name,
                      strerror(-error));
    }
    if (error) {
        if (live->given_port)
            live->port = NULL;
        detach(live);
        return error;
    }
    live_groups_join(live);
    live->attached = true;
    return 0;
}

/* ---- handlers of fork() ---------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct rnic_live *live = all; live; live = live->next)
        pthread_mutex_lock(&live->lock);
}

static void after_fork_parent(void)
{
    for (struct rnic_live *live = all; live; live = live->next)
        pthread_mutex_unlock(&live->lock);
    pthread_mutex_unlock(&all_lock);
}

/* Closes the child's copies of the parent's sockets. Some of these sockets claim names in the
 * registry (registry.h). When the parent ends, such a name becomes free only if the child has
 * closed its copy. The memory of libpcap and of the recording is not freed. */
static void after_fork_child(void)
{
    for (struct rnic_live *live = all; live; live = live->next) {
        if (live->attached) {
            live->port->ops->drop(live->port);
            close_attachment(live);
            rnic_qpn_alloc_drop(&live->qpns);
            live->tx.first = 0;
            live->tx.cnt = 0;
        }
        atomic_store(&live->waiting, 0);
        live->watchdog.running = false;
        live_lock_init(live, &live->lock);
        live_lock_init(live, &live->small_lock);
        live_raw_forked(live);
    }
    pthread_mutex_init(&all_lock, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void rnic_live_watch_forks(void)
{
    pthread_once(&fork_once, watch_forks);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void free_live(struct rnic_live *live)
{
    union {
        const char *in;
        void *out;
    } strings[] = {
        {live->attr.impair}, {live->attr.impair_tally}, {live->attr.record}, {live->attr.tap}};

    rnic_del(live->rnic);
    rnic_qpn_alloc_fini(&live->qpns);
    for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(strings[i].out);
    free(live->tx.bytes);
    pthread_mutex_destroy(&live->raw.lock);
    pthread_cond_destroy(&live->neigh_learned);
    pthread_mutex_destroy(&live->small_lock);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

static void fill_seeds(struct rnic_live *live)
{
    live->unpredictable = live->attr.seed == 0;
    if (live->unpredictable) /* no seed was given: choose a random one for the impairments */
        arc4random_buf(&live->attr.seed, sizeof(live->attr.seed));
    /* QPNs have a separate random sequence. */
    rnic_entropy_init(&live->entropy, ~live->attr.seed, live->unpredictable);
}

/* Mixes the number of the first QPN block into the seed. Each process has a different block, so
 * processes that were started with the same seed have different keys and impairments. */
static void mix_block(struct rnic_live *live)
{
    uint32_t number = live->qpns.whole ? 0 : live->qpns.block[0].number;

    live->attr.seed ^= (uint64_t)number << 32;
}

/* Creates a live device with copies of the strings in `attr`. Returns NULL if out of memory. */
static struct rnic_live *new_live(const struct rnic_live_attr *attr, bool on_iface)
{
    struct rnic_live *live = calloc(1, sizeof(*live));
    pthread_condattr_t monotonic;

    if (!live)
        return NULL;
    live->attr = *attr;
    live->attr.iface = NULL; /* live->iface has a copy of the name */
    live->attr.gid = NULL;
    live->attr.impair = attr->impair ? strdup(attr->impair) : NULL;
    live->attr.impair_tally = attr->impair_tally ? strdup(attr->impair_tally) : NULL;
    live->attr.record = attr->record ? strdup(attr->record) : NULL;
    live->attr.tap = attr->tap ? strdup(attr->tap) : NULL;
    live->attr.ring = attr->ring ? attr->ring : RING_DEFAULT;
    live->ack.cheap_frames = attr->wire == RNIC_WIRE_SHM;
    live->tx.bytes = malloc(LIVE_TX_BYTES);
    live->udp_reserve.fd[0] = live->udp_reserve.fd[1] = -1;
    live->watch_fd = live->answer_fd = live->gsi_fd = live->gate.epoll_fd = -1;
    live->wake_fd = live->watchdog.event_fd = -1;
    live->refresh_at = UINT64_MAX;
    live->watchdog.permitted = on_iface && live_rt_permitted();
    live_lock_init(live, &live->lock);
    live_lock_init(live, &live->small_lock);
    live_raw_init(live);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&live->neigh_learned, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!live->tx.bytes || (attr->impair && !live->attr.impair) ||
        (attr->impair_tally && !live->attr.impair_tally) || (attr->record && !live->attr.record) ||
        (attr->tap && !live->attr.tap)) {
        free_live(live);
        return NULL;
    }
    fill_seeds(live);
    return live;
}

/* Creates the device with the GIDs of `attr`. If `attr` has none, uses the GIDs of the interface.
 * Returns 0 or a negative errno. */
static int new_device(struct rnic_live *live, const struct rnic_live_attr *attr, struct error *why)
{
    struct rnic_attr device = {0};
    const struct rnic_gid *gid = attr->gid_cnt ? attr->gid : live->iface.gid;
    unsigned cnt = attr->gid_cnt ? attr->gid_cnt : live->iface.gid_cnt;

    if (cnt == 0 || attr->gid_cnt > RNIC_GID_MAX) {
        error_set(why, "%u GIDs: a device must have 1 to %d", cnt, RNIC_GID_MAX);
        return -EINVAL;
    }
    live->own_gids = attr->gid_cnt != 0;
    memcpy(device.mac, live->iface.mac, sizeof(device.mac));
    device.seed = live->attr.seed;
    device.unpredictable = live->unpredictable;
    device.mw_2a = attr->mw_2a;
    device.no_icrc = !needs_icrc(attr);
    device.there = attr->there;
    device.limits.max_mcast_grp = RNIC_LIVE_GROUPS;
    /* The device chooses QPNs itself only from the first block, because the packet filter passes
     * the frames for the QPNs of the block. */
    device.qpn_first = live->qpns.block[0].number * RNIC_BLOCK_QPNS;
    device.qpn_last = device.qpn_first + RNIC_BLOCK_QPNS - 1;
    device.gid_cnt = cnt < RNIC_GID_MAX ? cnt : RNIC_GID_MAX;
    for (unsigned i = 0; i < device.gid_cnt; i++) {
        device.gid[i] = gid[i];
        live->slot[i] = gid[i];
        live->slot_used[i] = true;
    }
    live->rnic = rnic_new(&device);
    if (!live->rnic) {
        error_set(why, "no memory for a device");
        return -ENOMEM;
    }
    return 0;
}

static void report_claimed(const struct rnic_live *live, struct error *why)
{
    uint32_t uid;
    unsigned cnt = rnic_registry_main_user(live->iface.name, "qpnblk/", &uid);
    char most[64] = "";

    if (cnt)
        snprintf(most, sizeof(most), "; user %u has %u of them", (unsigned)uid, cnt);
    error_set(why,
              "other processes have claimed all QPN ranges of %s: /proc/net/unix lists them as "
              "@rnic/%s/qpnblk/%s",
              live->iface.name, live->iface.name, most);
}

/* Starts a live device after its interface was set. Sets *out before the thread starts, because
 * callbacks can use *out. Returns 0 or a negative errno; after a failure the live device is freed.
 * */
static int start(struct rnic_live *live, const struct rnic_live_attr *attr, struct rnic_live **out,
                 struct error *why)
{
    int error =
        rnic_qpn_alloc_init(&live->qpns, live->iface.name, live->given_port, &live->entropy);

    if (error == -ENOSPC)
        report_claimed(live, why);
    else if (error)
        error_set(why, "cannot claim a QPN range of %s: %s", live->iface.name, strerror(-error));
    if (!error) {
        mix_block(live);
        error = new_device(live, attr, why);
    }
    if (!error)
        error = attach(live, why);
    if (!error) {
        *out = live;
        error = live_thread_start(live);
        if (error) {
            error_set(why, "cannot start a thread: %s", strerror(-error));
            if (live->given_port)
                live->port = NULL;
            detach(live);
        } else {
            live_rt_start(live);
        }
    }
    if (error) {
        *out = NULL;
        free_live(live);
        return error;
    }
    rnic_live_watch_forks();
    pthread_mutex_lock(&all_lock);
    live->next = all;
    all = live;
    pthread_mutex_unlock(&all_lock);
    return 0;
}

int rnic_live_open(const struct rnic_live_attr *attr, struct rnic_live **out, struct error *why)
{
    struct rnic_live *live = new_live(attr, true);
    int error;

    if (!live) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    error = rnic_iface_get(attr->iface, &live->iface, why);
    if (!error && live->iface.path_mtu == 0) {
        error_set(why, "interface %s: the MTU of %u bytes is too small for RoCE", attr->iface,
                  live->iface.mtu);
        error = -EMSGSIZE;
    }
    if (error) {
        free_live(live);
        return error;
    }
    return start(live, attr, out, why);
}

int rnic_live_open_port(const struct rnic_live_attr *attr, const struct rnic_iface *iface,
                        struct rnic_port *port, struct rnic_live **out, struct error *why)
{
    struct rnic_live *live = new_live(attr, false);

    if (!live) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    live->iface = *iface;
    live->given_port = true;
    live->port = port;
    return start(live, attr, out, why);
}

void rnic_live_close(struct rnic_live *live)
{
    if (!live)
        return;
    while (live->raw.users > 0)
        rnic_live_raw_stop(live);
    pthread_mutex_lock(&all_lock);
    for (struct rnic_live **at = &all; *at; at = &(*at)->next)
        if (*at == live) {
            *at = live->next;
            break;
        }
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&live->lock);
    live->fds_checked_at = 0;
    live_drive(live, rnic_live_now());
    if (live->attached || live->fds_closed) {
        live->stop = true;
        live_wake(live);
        live_rt_stop(live);
        pthread_mutex_unlock(&live->lock);
        pthread_join(live->thread.thread, NULL);
        live_rt_join(live);
        if (live->attached)
            detach(live);
    } else {
        pthread_mutex_unlock(&live->lock);
    }
    free_live(live);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Putting a loop together and taking it apart. Plugging in takes what a process can lose to a
 * fork(): names, guard, port, descriptors, thread. The device and its objects stay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "port/sys/event_fd.h"
#include "port/frameio/impair_port.h"
#include "port/live/live_impl.h"
#include "port/net/netlink.h"
#include "port/frameio/port_pcap.h"
#include "port/shared/process.h"
#include "port/frameio/record.h"

#define RING_DEFAULT (16u * 1024 * 1024)
#define REPLUG_NS    100000000u /* between two tries in a child whose parent has the names */

/* All loops of the process, for fork(). */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_live *all;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- plugging in and out --------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Puts a port in front of another, or closes that. */
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
    if (!error && live->attr.impair && live->attr.impair[0]) {
        error = rnic_impair_port_open(live->attr.impair, live->attr.seed, live->port, &front, why);
        if (!error)
            live->port = front;
    }
    return error;
}

/* All that plug() put in but the port, which the caller closed or dropped. */
static void pull_out(struct rnic_live *live)
{
    live->port = NULL;
    live->pcap_port = NULL;
    close_fd(&live->answer_fd);
    close_fd(&live->watch_fd);
    rnic_tagged_close(live->wake_fd);
    rnic_tagged_close(live->relief_fd);
    live->wake_fd = live->relief_fd = -1;
    close_fd(&live->gate_fd);
    close_fd(&live->gsi_fd);
    rnic_udp_reserve_close(&live->udp_reserve);
    live_groups_leave(live);
    live->plugged = false;
}

static void unplug(struct rnic_live *live)
{
    rnic_port_close(live->port);
    pull_out(live);
}

/* Everything but names of QPNs and thread. A port that was given is there already. */
static int plug(struct rnic_live *live, struct error *why)
{
    int error = 0;

    live->wake_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
    live->relief_fd = rnic_event_fd_new(EFD_CLOEXEC | EFD_NONBLOCK);
    if (live->wake_fd < 0 || live->relief_fd < 0) {
        error = -errno;
        error_set(why, "no event descriptor: %s", strerror(-error));
    }
    if (!error && !live->given_port) {
        live->watch_fd = rnic_nl_watch();
        live->answer_fd = rnic_process_listen(live->iface.name);
        error = rnic_udp_reserve_open(&live->udp_reserve, why);
        if (!error)
            error = rnic_port_pcap_open(&live->iface, live->attr.ring, &live->port, why);
        live->pcap_port = live->port;
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
            error_set(why, "the packet filter of %s cannot be set: %s", live->iface.name,
                      strerror(-error));
    }
    if (error) {
        if (live->given_port)
            live->port = NULL;
        unplug(live);
        return error;
    }
    live_groups_join(live);
    live->plugged = true;
    return 0;
}

/* ---- GIDs and the interface ------------------------------------------------------------------ */

/* Sets a slot of the device's GID table. */
static void set_slot(struct rnic_live *live, unsigned idx, const struct rnic_gid *gid)
{
    static const struct rnic_gid none;

    live->slot_used[idx] = gid != NULL;
    live->slot[idx] = gid ? *gid : none;
    rnic_gid_set(live->rnic, idx, gid);
}

static bool same_gid(const struct rnic_gid *a, const struct rnic_gid *b)
{
    return a->type == b->type && memcmp(a->gid, b->gid, 16) == 0;
}

/* GIDs that went leave an empty slot, new ones take the first: the others keep their index, as in
 * Linux. */
static bool renew_gids(struct rnic_live *live)
{
    bool changed = false;

    for (unsigned i = 0; i < RNIC_GID_MAX; i++) {
        bool stays = false;

        for (unsigned j = 0; j < live->iface.gid_cnt; j++)
            stays |= same_gid(&live->slot[i], &live->iface.gid[j]);
        if (live->slot_used[i] && !stays) {
            set_slot(live, i, NULL);
            changed = true;
        }
    }
    for (unsigned j = 0; j < live->iface.gid_cnt; j++) {
        unsigned unused = RNIC_GID_MAX;
        bool there = false;

        for (unsigned i = 0; i < RNIC_GID_MAX; i++) {
            there |= live->slot_used[i] && same_gid(&live->slot[i], &live->iface.gid[j]);
            if (!live->slot_used[i] && unused == RNIC_GID_MAX)
                unused = i;
        }
        if (!there && unused < RNIC_GID_MAX) {
            set_slot(live, unused, &live->iface.gid[j]);
            changed = true;
        }
    }
    return changed;
}

void live_refresh(struct rnic_live *live)
{
    struct rnic_iface *list;
    struct error why;
    struct rnic_iface *now = NULL;
    unsigned what = 0;
    size_t cnt;

    if (rnic_iface_list(&list, &cnt, &why) != 0)
        return;
    for (size_t i = 0; i < cnt; i++)
        if (list[i].index == live->iface.index)
            now = &list[i];
    if (!now) {
        if (live->iface.up)
            what |= RNIC_CHANGE_LINK_DOWN;
        if (live->iface.index != 0)
            what |= RNIC_CHANGE_GONE;
        pthread_mutex_lock(&live->small);
        live->iface.up = false;
        live->iface.index = 0;
        pthread_mutex_unlock(&live->small);
    } else {
        if (now->up != live->iface.up)
            what |= now->up ? RNIC_CHANGE_LINK_UP : RNIC_CHANGE_LINK_DOWN;
        if (now->path_mtu != live->iface.path_mtu)
            what |= RNIC_CHANGE_MTU;
        memcpy(now->name, live->iface.name, sizeof(now->name)); /* names shared go by the first */
        memcpy(now->mac, live->iface.mac, sizeof(now->mac));
        pthread_mutex_lock(&live->small);
        live->iface = *now;
        pthread_mutex_unlock(&live->small);
        if (!live->own_gids && renew_gids(live))
            what |= RNIC_CHANGE_GIDS;
        rnic_port_pcap_hosts(live->pcap_port, list, cnt);
    }
    free(list);
    if (what && live->attr.changed)
        live->attr.changed(live->attr.user, live->rnic, what);
}

void rnic_live_iface(struct rnic_live *live, struct rnic_iface *out)
{
    pthread_mutex_lock(&live->small);
    *out = live->iface;
    pthread_mutex_unlock(&live->small);
}

void rnic_live_stats(struct rnic_live *live, struct rnic_port_stats *out)
{
    memset(out, 0, sizeof(*out));
    if (live->plugged)
        rnic_port_stats(live->port, out);
}

/* ---- fork ------------------------------------------------------------------------------------ */

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

/* The child lets go of the parent's names, so that they are free when the parent ends, and of its
 * sockets. What libpcap and the recording have in memory stays behind. */
static void after_fork_child(void)
{
    for (struct rnic_live *live = all; live; live = live->next) {
        if (live->plugged) {
            live->port->ops->drop(live->port);
            pull_out(live);
            rnic_qpn_alloc_drop(&live->qpns);
            live->forked = true;
            live->replug_at = 0;
            live->first = 0;
            live->cnt = 0;
        }
        atomic_store(&live->wanting, 0);
        live->relief_runs = false;
        live_lock_init(live, &live->lock);
        live_lock_init(live, &live->small);
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

void live_reattach(struct rnic_live *live)
{
    uint64_t now = rnic_live_now();
    struct error why;

    if (now < live->replug_at || live->given_port)
        return;
    live->replug_at = now + REPLUG_NS;
    if (rnic_qpn_alloc_restore(&live->qpns) != 0)
        return;
    if (plug(live, &why) != 0) {
        rnic_qpn_alloc_drop(&live->qpns);
        return;
    }
    if (live_thread_start(live) != 0) {
        unplug(live);
        rnic_qpn_alloc_drop(&live->qpns);
        return;
    }
    live->forked = false;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void free_live(struct rnic_live *live)
{
    union {
        const char *in;
        void *out;
    } strings[] = {{live->attr.impair}, {live->attr.record}};

    rnic_del(live->rnic);
    rnic_qpn_alloc_fini(&live->qpns);
    for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(strings[i].out);
    free(live->tx);
    pthread_cond_destroy(&live->told);
    pthread_mutex_destroy(&live->small);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

static void fill_seeds(struct rnic_live *live)
{
    live->unpredictable = live->attr.seed == 0;
    if (live->unpredictable) /* impairments need one */
        arc4random_buf(&live->attr.seed, sizeof(live->attr.seed));
    /* QPNs are drawn from a sequence of their own. */
    rnic_entropy_init(&live->entropy, ~live->attr.seed, live->unpredictable);
}

/* Processes that were given one seed differ all the same, in keys and in impairments: each has
 * another block of the QPN space. */
static void mix_block(struct rnic_live *live)
{
    uint32_t number = live->qpns.whole ? 0 : live->qpns.block[0].number;

    live->attr.seed ^= (uint64_t)number << 32;
}

/* A loop with copies of what is in `attr`, or NULL without memory. */
static struct rnic_live *new_live(const struct rnic_live_attr *attr, bool on_iface)
{
    struct rnic_live *live = calloc(1, sizeof(*live));
    pthread_condattr_t monotonic;

    if (!live)
        return NULL;
    live->attr = *attr;
    live->attr.iface = NULL; /* the name is in live->iface */
    live->attr.gid = NULL;
    live->attr.impair = attr->impair ? strdup(attr->impair) : NULL;
    live->attr.record = attr->record ? strdup(attr->record) : NULL;
    live->attr.ring = attr->ring ? attr->ring : RING_DEFAULT;
    live->tx = malloc(LIVE_TX_BYTES);
    live->udp_reserve.fd[0] = live->udp_reserve.fd[1] = -1;
    live->watch_fd = live->answer_fd = live->gsi_fd = live->gate_fd = -1;
    live->wake_fd = live->relief_fd = -1;
    live->relieved = on_iface && live_rt_permitted();
    live_lock_init(live, &live->lock);
    live_lock_init(live, &live->small);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&live->told, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!live->tx || (attr->impair && !live->attr.impair) || (attr->record && !live->attr.record)) {
        free_live(live);
        return NULL;
    }
    fill_seeds(live);
    return live;
}

/* The device, with the GIDs given or the interface's. */
static int new_device(struct rnic_live *live, const struct rnic_live_attr *attr, struct error *why)
{
    struct rnic_attr device = {0};
    const struct rnic_gid *gid = attr->gid_cnt ? attr->gid : live->iface.gid;
    unsigned cnt = attr->gid_cnt ? attr->gid_cnt : live->iface.gid_cnt;

    if (cnt == 0 || attr->gid_cnt > RNIC_GID_MAX) {
        error_set(why, "%u GIDs: a device has 1 to %d", cnt, RNIC_GID_MAX);
        return -EINVAL;
    }
    live->own_gids = attr->gid_cnt != 0;
    memcpy(device.mac, live->iface.mac, sizeof(device.mac));
    device.seed = live->attr.seed;
    device.unpredictable = live->unpredictable;
    device.mw_2a = attr->mw_2a;
    device.there = attr->there;
    device.limits.max_mcast_grp = RNIC_LIVE_GROUPS;
    /* QPNs that nobody chooses are received as well. */
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

/* From a loop that knows its interface to one that runs. Frees it on failure. */
static int start(struct rnic_live *live, const struct rnic_live_attr *attr, struct error *why)
{
    int error =
        rnic_qpn_alloc_init(&live->qpns, live->iface.name, live->given_port, &live->entropy);

    if (error)
        error_set(why, "no part of the QPN space of %s is left: %s", live->iface.name,
                  strerror(-error));
    if (!error) {
        mix_block(live);
        error = new_device(live, attr, why);
    }
    if (!error)
        error = plug(live, why);
    if (!error) {
        error = live_thread_start(live);
        if (error) {
            error_set(why, "no thread can be started: %s", strerror(-error));
            if (live->given_port)
                live->port = NULL;
            unplug(live);
        }
    }
    if (error) {
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
        error_set(why, "interface %s has an MTU of %u bytes: RoCE needs more", attr->iface,
                  live->iface.mtu);
        error = -EMSGSIZE;
    }
    if (error) {
        free_live(live);
        return error;
    }
    error = start(live, attr, why);
    if (!error)
        *out = live;
    return error;
}

int rnic_live_open_port(const struct rnic_live_attr *attr, const struct rnic_iface *iface,
                        struct rnic_port *port, struct rnic_live **out, struct error *why)
{
    struct rnic_live *live = new_live(attr, false);
    int error;

    if (!live) {
        error_set(why, "no memory");
        return -ENOMEM;
    }
    live->iface = *iface;
    live->given_port = true;
    live->port = port;
    error = start(live, attr, why);
    if (!error)
        *out = live;
    return error;
}

void rnic_live_close(struct rnic_live *live)
{
    if (!live)
        return;
    pthread_mutex_lock(&all_lock);
    for (struct rnic_live **at = &all; *at; at = &(*at)->next)
        if (*at == live) {
            *at = live->next;
            break;
        }
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&live->lock);
    live->looked_at = 0;
    live_drive(live, rnic_live_now());
    if (live->plugged || live->lost) {
        live->stop = true;
        live_wake(live);
        live_rt_wake(live);
        pthread_mutex_unlock(&live->lock);
        pthread_join(live->thread, NULL);
        live_rt_join(live);
        if (live->plugged)
            unplug(live);
    } else {
        pthread_mutex_unlock(&live->lock);
    }
    free_live(live);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Putting a loop together and taking it apart. Plugging in takes what a process can lose to a
 * fork(): names, guard, port, descriptors, thread. The device and its objects stay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>
#include "port/sys/event_fd.h"
#include "port/frameio/impair.h"
#include "port/live/live_impl.h"
#include "port/net/netlink.h"
#include "port/frameio/port_pcap.h"
#include "port/shared/process.h"
#include "port/frameio/record.h"

#define RING_DEFAULT (16u * 1024 * 1024)
#define REPLUG_NS    100000000u /* between two tries in a child whose parent has the names */

/* All loops of the process, for fork(). */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rnic_loop *all;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* ---- plugging in and out --------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Puts a port in front of another, or closes that. */
static int wrap(struct rnic_loop *loop, struct rnic_why *why)
{
    struct rnic_port *front = NULL;
    int error = 0;

    if (loop->attr.record) {
        struct rnic_record_attr attr = {.path = loop->attr.record,
                                        .iface = loop->iface.name,
                                        .shared = loop->attr.record_shared};

        error = rnic_record_open(&attr, loop->port, &front, why);
        if (!error)
            loop->port = front;
    }
    if (!error && loop->attr.impair && loop->attr.impair[0]) {
        error = rnic_impair_open(loop->attr.impair, loop->attr.seed, loop->port, &front, why);
        if (!error)
            loop->port = front;
    }
    return error;
}

/* All that plug() put in but the port, which the caller closed or dropped. */
static void pull_out(struct rnic_loop *loop)
{
    loop->port = NULL;
    loop->live = NULL;
    close_fd(&loop->answer_fd);
    close_fd(&loop->watch_fd);
    rnic_marked_close(loop->wake_fd);
    rnic_marked_close(loop->relief_fd);
    loop->wake_fd = loop->relief_fd = -1;
    close_fd(&loop->gate_fd);
    close_fd(&loop->gsi_fd);
    rnic_guard_close(&loop->guard);
    loop_groups_leave(loop);
    loop->plugged = false;
}

static void unplug(struct rnic_loop *loop)
{
    rnic_port_close(loop->port);
    pull_out(loop);
}

/* Everything but names of QPNs and thread. A port that was given is there already. */
static int plug(struct rnic_loop *loop, struct rnic_why *why)
{
    int error = 0;

    loop->wake_fd = rnic_bell_new(EFD_CLOEXEC | EFD_NONBLOCK);
    loop->relief_fd = rnic_bell_new(EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0 || loop->relief_fd < 0) {
        error = -errno;
        rnic_why_set(why, "no event descriptor: %s", strerror(-error));
    }
    if (!error && !loop->given_port) {
        loop->watch_fd = rnic_nl_watch();
        loop->answer_fd = rnic_process_listen(loop->iface.name);
        error = rnic_guard_open(&loop->guard, why);
        if (!error)
            error = rnic_port_pcap_open(&loop->iface, loop->attr.ring, &loop->port, why);
        loop->live = loop->port;
    }
    if (!error)
        error = wrap(loop, why);
    if (!error) {
        error = loop_gate_new(loop);
        if (error)
            rnic_why_set(why, "no epoll set: %s", strerror(-error));
    }
    if (!error) {
        error = loop_filter(loop);
        if (error)
            rnic_why_set(why, "the packet filter of %s cannot be set: %s", loop->iface.name,
                         strerror(-error));
    }
    if (error) {
        if (loop->given_port)
            loop->port = NULL;
        unplug(loop);
        return error;
    }
    loop_groups_join(loop);
    loop->plugged = true;
    return 0;
}

/* ---- GIDs and the interface ------------------------------------------------------------------ */

/* Sets a slot of the device's GID table. */
static void set_slot(struct rnic_loop *loop, unsigned idx, const struct rnic_gid *gid)
{
    static const struct rnic_gid none;

    loop->slot_used[idx] = gid != NULL;
    loop->slot[idx] = gid ? *gid : none;
    rnic_gid_set(loop->rnic, idx, gid);
}

static bool same_gid(const struct rnic_gid *a, const struct rnic_gid *b)
{
    return a->type == b->type && memcmp(a->gid, b->gid, 16) == 0;
}

/* GIDs that went leave an empty slot, new ones take the first: the others keep their index, as in
 * Linux. */
static bool renew_gids(struct rnic_loop *loop)
{
    bool changed = false;

    for (unsigned i = 0; i < RNIC_GID_MAX; i++) {
        bool stays = false;

        for (unsigned j = 0; j < loop->iface.gid_cnt; j++)
            stays |= same_gid(&loop->slot[i], &loop->iface.gid[j]);
        if (loop->slot_used[i] && !stays) {
            set_slot(loop, i, NULL);
            changed = true;
        }
    }
    for (unsigned j = 0; j < loop->iface.gid_cnt; j++) {
        unsigned unused = RNIC_GID_MAX;
        bool there = false;

        for (unsigned i = 0; i < RNIC_GID_MAX; i++) {
            there |= loop->slot_used[i] && same_gid(&loop->slot[i], &loop->iface.gid[j]);
            if (!loop->slot_used[i] && unused == RNIC_GID_MAX)
                unused = i;
        }
        if (!there && unused < RNIC_GID_MAX) {
            set_slot(loop, unused, &loop->iface.gid[j]);
            changed = true;
        }
    }
    return changed;
}

void loop_refresh(struct rnic_loop *loop)
{
    struct rnic_iface *list;
    struct rnic_why why;
    struct rnic_iface *now = NULL;
    unsigned what = 0;
    size_t cnt;

    if (rnic_iface_list(&list, &cnt, &why) != 0)
        return;
    for (size_t i = 0; i < cnt; i++)
        if (list[i].index == loop->iface.index)
            now = &list[i];
    if (!now) {
        if (loop->iface.up)
            what |= RNIC_CHANGE_LINK_DOWN;
        if (loop->iface.index != 0)
            what |= RNIC_CHANGE_GONE;
        pthread_mutex_lock(&loop->small);
        loop->iface.up = false;
        loop->iface.index = 0;
        pthread_mutex_unlock(&loop->small);
    } else {
        if (now->up != loop->iface.up)
            what |= now->up ? RNIC_CHANGE_LINK_UP : RNIC_CHANGE_LINK_DOWN;
        if (now->path_mtu != loop->iface.path_mtu)
            what |= RNIC_CHANGE_MTU;
        memcpy(now->name, loop->iface.name, sizeof(now->name)); /* names shared go by the first */
        memcpy(now->mac, loop->iface.mac, sizeof(now->mac));
        pthread_mutex_lock(&loop->small);
        loop->iface = *now;
        pthread_mutex_unlock(&loop->small);
        if (!loop->own_gids && renew_gids(loop))
            what |= RNIC_CHANGE_GIDS;
        rnic_port_pcap_hosts(loop->live, list, cnt);
    }
    free(list);
    if (what && loop->attr.changed)
        loop->attr.changed(loop->attr.user, loop->rnic, what);
}

void rnic_loop_iface(struct rnic_loop *loop, struct rnic_iface *out)
{
    pthread_mutex_lock(&loop->small);
    *out = loop->iface;
    pthread_mutex_unlock(&loop->small);
}

void rnic_loop_stats(struct rnic_loop *loop, struct rnic_port_stats *out)
{
    memset(out, 0, sizeof(*out));
    if (loop->plugged)
        rnic_port_stats(loop->port, out);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    for (struct rnic_loop *loop = all; loop; loop = loop->next)
        pthread_mutex_lock(&loop->lock);
}

static void after_fork_parent(void)
{
    for (struct rnic_loop *loop = all; loop; loop = loop->next)
        pthread_mutex_unlock(&loop->lock);
    pthread_mutex_unlock(&all_lock);
}

/* The child lets go of the parent's names, so that they are free when the parent ends, and of its
 * sockets. What libpcap and the recording have in memory stays behind. */
static void after_fork_child(void)
{
    for (struct rnic_loop *loop = all; loop; loop = loop->next) {
        if (loop->plugged) {
            loop->port->ops->drop(loop->port);
            pull_out(loop);
            rnic_qpns_drop(&loop->qpns);
            loop->forked = true;
            loop->replug_at = 0;
            loop->first = 0;
            loop->cnt = 0;
        }
        atomic_store(&loop->wanting, 0);
        loop->relief_runs = false;
        loop_lock_init(loop, &loop->lock);
        loop_lock_init(loop, &loop->small);
    }
    pthread_mutex_init(&all_lock, NULL);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void rnic_loop_watch_forks(void)
{
    pthread_once(&fork_once, watch_forks);
}

void loop_replug(struct rnic_loop *loop)
{
    uint64_t now = rnic_loop_now();
    struct rnic_why why;

    if (now < loop->replug_at || loop->given_port)
        return;
    loop->replug_at = now + REPLUG_NS;
    if (rnic_qpns_restore(&loop->qpns) != 0)
        return;
    if (plug(loop, &why) != 0) {
        rnic_qpns_drop(&loop->qpns);
        return;
    }
    if (loop_thread_start(loop) != 0) {
        unplug(loop);
        rnic_qpns_drop(&loop->qpns);
        return;
    }
    loop->forked = false;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void free_loop(struct rnic_loop *loop)
{
    union {
        const char *in;
        void *out;
    } strings[] = {{loop->attr.impair}, {loop->attr.record}};

    rnic_del(loop->rnic);
    rnic_qpns_fini(&loop->qpns);
    for (unsigned i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        free(strings[i].out);
    free(loop->tx);
    pthread_cond_destroy(&loop->told);
    pthread_mutex_destroy(&loop->small);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

static void fill_seeds(struct rnic_loop *loop)
{
    uint8_t seed[32] = {0};

    if (loop->attr.seed) {
        memcpy(loop->seed, &loop->attr.seed, sizeof(loop->attr.seed));
    } else if (getrandom(loop->seed, sizeof(loop->seed), 0) != sizeof(loop->seed) ||
               getrandom(&loop->attr.seed, sizeof(loop->attr.seed), 0) < 0) {
        loop->attr.seed = rnic_loop_now(); /* not before the system's source is ready */
        memcpy(loop->seed, &loop->attr.seed, sizeof(loop->attr.seed));
    }
    /* QPNs are drawn from a stream of their own. */
    memcpy(seed, loop->seed, sizeof(seed));
    seed[31] ^= 0xff;
    rnic_entropy_init(&loop->entropy, seed);
}

/* Processes that were given one seed differ all the same, in keys and in impairments: each has
 * another block of the QPN space. */
static void mix_block(struct rnic_loop *loop)
{
    uint32_t number = loop->qpns.whole ? 0 : loop->qpns.block[0].number;

    for (unsigned i = 0; i < 4; i++)
        loop->seed[24 + i] ^= (uint8_t)(number >> (8 * i));
    loop->attr.seed ^= (uint64_t)number << 32;
}

/* A loop with copies of what is in `attr`, or NULL without memory. */
static struct rnic_loop *new_loop(const struct rnic_loop_attr *attr, bool live)
{
    struct rnic_loop *loop = calloc(1, sizeof(*loop));
    pthread_condattr_t monotonic;

    if (!loop)
        return NULL;
    loop->attr = *attr;
    loop->attr.iface = NULL; /* the name is in loop->iface */
    loop->attr.gid = NULL;
    loop->attr.impair = attr->impair ? strdup(attr->impair) : NULL;
    loop->attr.record = attr->record ? strdup(attr->record) : NULL;
    loop->attr.ring = attr->ring ? attr->ring : RING_DEFAULT;
    loop->tx = malloc(LOOP_TX_BYTES);
    loop->guard.fd[0] = loop->guard.fd[1] = -1;
    loop->watch_fd = loop->answer_fd = loop->gsi_fd = loop->gate_fd = -1;
    loop->wake_fd = loop->relief_fd = -1;
    loop->relieved = live && loop_relief_permitted();
    loop_lock_init(loop, &loop->lock);
    loop_lock_init(loop, &loop->small);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->told, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (!loop->tx || (attr->impair && !loop->attr.impair) || (attr->record && !loop->attr.record)) {
        free_loop(loop);
        return NULL;
    }
    fill_seeds(loop);
    return loop;
}

/* The device, with the GIDs given or the interface's. */
static int new_device(struct rnic_loop *loop, const struct rnic_loop_attr *attr,
                      struct rnic_why *why)
{
    struct rnic_attr device = {0};
    const struct rnic_gid *gid = attr->gid_cnt ? attr->gid : loop->iface.gid;
    unsigned cnt = attr->gid_cnt ? attr->gid_cnt : loop->iface.gid_cnt;

    if (cnt == 0 || attr->gid_cnt > RNIC_GID_MAX) {
        rnic_why_set(why, "%u GIDs: a device has 1 to %d", cnt, RNIC_GID_MAX);
        return -EINVAL;
    }
    loop->own_gids = attr->gid_cnt != 0;
    memcpy(device.mac, loop->iface.mac, sizeof(device.mac));
    memcpy(device.seed, loop->seed, sizeof(device.seed));
    device.mw_2a = attr->mw_2a;
    device.there = attr->there;
    device.limits.max_mcast_grp = RNIC_LOOP_GROUPS;
    /* QPNs that nobody chooses are received as well. */
    device.qpn_first = loop->qpns.block[0].number * RNIC_BLOCK_QPNS;
    device.qpn_last = device.qpn_first + RNIC_BLOCK_QPNS - 1;
    device.gid_cnt = cnt < RNIC_GID_MAX ? cnt : RNIC_GID_MAX;
    for (unsigned i = 0; i < device.gid_cnt; i++) {
        device.gid[i] = gid[i];
        loop->slot[i] = gid[i];
        loop->slot_used[i] = true;
    }
    loop->rnic = rnic_new(&device);
    if (!loop->rnic) {
        rnic_why_set(why, "no memory for a device");
        return -ENOMEM;
    }
    return 0;
}

/* From a loop that knows its interface to one that runs. Frees it on failure. */
static int start(struct rnic_loop *loop, const struct rnic_loop_attr *attr, struct rnic_why *why)
{
    int error = rnic_qpns_init(&loop->qpns, loop->iface.name, loop->given_port, &loop->entropy);

    if (error)
        rnic_why_set(why, "no part of the QPN space of %s is left: %s", loop->iface.name,
                     strerror(-error));
    if (!error) {
        mix_block(loop);
        error = new_device(loop, attr, why);
    }
    if (!error)
        error = plug(loop, why);
    if (!error) {
        error = loop_thread_start(loop);
        if (error) {
            rnic_why_set(why, "no thread can be started: %s", strerror(-error));
            if (loop->given_port)
                loop->port = NULL;
            unplug(loop);
        }
    }
    if (error) {
        free_loop(loop);
        return error;
    }
    rnic_loop_watch_forks();
    pthread_mutex_lock(&all_lock);
    loop->next = all;
    all = loop;
    pthread_mutex_unlock(&all_lock);
    return 0;
}

int rnic_loop_open(const struct rnic_loop_attr *attr, struct rnic_loop **out, struct rnic_why *why)
{
    struct rnic_loop *loop = new_loop(attr, true);
    int error;

    if (!loop) {
        rnic_why_set(why, "no memory");
        return -ENOMEM;
    }
    error = rnic_iface_get(attr->iface, &loop->iface, why);
    if (!error && loop->iface.path_mtu == 0) {
        rnic_why_set(why, "interface %s has an MTU of %u bytes: RoCE needs more", attr->iface,
                     loop->iface.mtu);
        error = -EMSGSIZE;
    }
    if (error) {
        free_loop(loop);
        return error;
    }
    error = start(loop, attr, why);
    if (!error)
        *out = loop;
    return error;
}

int rnic_loop_open_port(const struct rnic_loop_attr *attr, const struct rnic_iface *iface,
                        struct rnic_port *port, struct rnic_loop **out, struct rnic_why *why)
{
    struct rnic_loop *loop = new_loop(attr, false);
    int error;

    if (!loop) {
        rnic_why_set(why, "no memory");
        return -ENOMEM;
    }
    loop->iface = *iface;
    loop->given_port = true;
    loop->port = port;
    error = start(loop, attr, why);
    if (!error)
        *out = loop;
    return error;
}

void rnic_loop_close(struct rnic_loop *loop)
{
    if (!loop)
        return;
    pthread_mutex_lock(&all_lock);
    for (struct rnic_loop **at = &all; *at; at = &(*at)->next)
        if (*at == loop) {
            *at = loop->next;
            break;
        }
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&loop->lock);
    loop->looked_at = 0;
    loop_drive(loop, rnic_loop_now());
    if (loop->plugged || loop->lost) {
        loop->stop = true;
        loop_wake(loop);
        loop_relief_wake(loop);
        pthread_mutex_unlock(&loop->lock);
        pthread_join(loop->thread, NULL);
        loop_relief_join(loop);
        if (loop->plugged)
            unplug(loop);
    } else {
        pthread_mutex_unlock(&loop->lock);
    }
    free_loop(loop);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Interface changes: updates link state, MTU and addresses, and derives the device's GID table from
 * the addresses. */
#include <stdlib.h>
#include <string.h>
#include "port/live/live_impl.h"

/* time after which the poll thread repeats a failed query of the interface's state, ns */
#define AGAIN_NS 1000000000u

/* Sets or clears a slot of the device's GID table. */
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

/* Updates the GID table. A removed GID leaves an empty slot, and a new GID is stored in the first
 * empty slot. The other GIDs keep their index, as in Linux. Returns whether the table changed. */
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
    int error;

    pthread_mutex_unlock(&live->lock);
    error = rnic_iface_list(&list, &cnt, &why);
    live_take_lock(live);
    live->refresh_at = error ? rnic_live_now() + AGAIN_NS : UINT64_MAX;
    if (error)
        return;
    if (!live->attached) {
        free(list);
        return;
    }
    for (size_t i = 0; i < cnt; i++)
        if (list[i].index == live->iface.index)
            now = &list[i];
    if (!now) {
        if (live->iface.up)
            what |= RNIC_CHANGE_LINK_DOWN;
        if (live->iface.index != 0)
            what |= RNIC_CHANGE_GONE;
        pthread_mutex_lock(&live->small_lock);
        live->iface.up = false;
        live->iface.index = 0;
        pthread_mutex_unlock(&live->small_lock);
    } else {
        if (now->up != live->iface.up)
            what |= now->up ? RNIC_CHANGE_LINK_UP : RNIC_CHANGE_LINK_DOWN;
        if (now->path_mtu != live->iface.path_mtu)
            what |= RNIC_CHANGE_MTU;
        /* keeps the first name of the interface, because registry names contain it */
        memcpy(now->name, live->iface.name, sizeof(now->name));
        memcpy(now->mac, live->iface.mac, sizeof(now->mac));
        pthread_mutex_lock(&live->small_lock);
        live->iface = *now;
        pthread_mutex_unlock(&live->small_lock);
        if (!live->own_gids && renew_gids(live))
            what |= RNIC_CHANGE_GIDS;
        live_hosts(live, list, cnt);
    }
    free(list);
    if (what && live->attr.changed)
        live->attr.changed(live->attr.user, live->rnic, what);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "port/live/live_impl.h"
#include "port/shared/registry.h"

/* After rnic_live_claimed() has returned RNIC_NAME_CLAIMED, it does not check the user of the name
 * again for this time, ns. */
#define OWNER_CHECK_NS UINT64_C(1000000000)

int rnic_live_claim(struct rnic_live *live, const char *name)
{
    return rnic_registry_bind(live->iface.name, name);
}

void rnic_live_release(struct rnic_live *live, int claim)
{
    if (claim >= 0 && !live->fds_closed)
        close(claim);
}

bool rnic_live_gsi_owner(struct rnic_live *live)
{
    bool owns;

    pthread_mutex_lock(&live->small_lock);
    if (live->gsi_fd < 0 && live->attached)
        live->gsi_fd = rnic_registry_bind(live->iface.name, "gsi");
    owns = live->gsi_fd >= 0;
    pthread_mutex_unlock(&live->small_lock);
    return owns;
}

/* Returns whether processes of user `uid` can be responsible for packets that this device receives.
 * Devices on shared memory receive packets of their own user only. */
static bool can_answer(const struct rnic_live *live, unsigned ifindex, uint32_t uid)
{
    if (uid == geteuid() || live->given_port)
        return true;
    return live->attr.wire == RNIC_WIRE_PCAP && rnic_registry_has_device(ifindex, uid);
}

/* Returns whether rnic_live_claimed() checked the owner of the name less than OWNER_CHECK_NS ago,
 * and returned RNIC_NAME_CLAIMED. The owner is then not checked again, because a check reads the
 * kernel's list of all sockets, and many REQs may arrive for one name. */
static bool owner_was_checked(const struct rnic_live *live, const char *name, uint64_t now)
{
    for (unsigned i = 0; i < LIVE_NAMES; i++)
        if (now < live->checked[i].until && strcmp(live->checked[i].name, name) == 0)
            return true;
    return false;
}

static void remember_check(struct rnic_live *live, const char *name, uint64_t now)
{
    struct live_name *slot = &live->checked[live->checked_next++ % LIVE_NAMES];

    if (strlen(name) < sizeof(slot->name)) {
        strcpy(slot->name, name);
        slot->until = now + OWNER_CHECK_NS;
    }
}

enum rnic_live_claimed rnic_live_claimed(struct rnic_live *live, const char *name, uint32_t *uid)
{
    uint64_t now = rnic_live_now();
    char iface[RNIC_IFNAME_MAX];
    unsigned ifindex;
    bool checked;

    pthread_mutex_lock(&live->small_lock);
    memcpy(iface, live->iface.name, sizeof(iface));
    ifindex = live->iface.index;
    checked = owner_was_checked(live, name, now);
    pthread_mutex_unlock(&live->small_lock);
    if (!rnic_registry_held(iface, name))
        return RNIC_NAME_FREE;
    if (!checked && rnic_registry_user(iface, name, uid) && !can_answer(live, ifindex, *uid))
        return RNIC_NAME_SQUATTED;
    pthread_mutex_lock(&live->small_lock);
    if (!checked)
        remember_check(live, name, now);
    pthread_mutex_unlock(&live->small_lock);
    return RNIC_NAME_CLAIMED;
}

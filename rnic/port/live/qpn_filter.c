/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "port/frameio/port_pcap.h"
#include "port/live/live_impl.h"
#include "port/net/group.h"
#include "port/net/route.h"
#include "port/shared/process.h"
#include "port/shm/port_shm.h"
#include "wire/gid.h"

int live_filter(struct rnic_live *live)
{
    uint32_t block[RNIC_BLOCKS_MAX];
    uint8_t group[RNIC_LIVE_GROUPS][6];
    struct rnic_port_filter filter = {.block = block, .group = (const uint8_t(*)[6])group};

    if (!live->wire_port)
        return 0;
    for (unsigned i = 0; i < live->qpns.block_cnt; i++)
        block[filter.block_cnt++] = live->qpns.block[i].number;
    for (unsigned i = 0; i < RNIC_LIVE_GROUPS; i++)
        if (live->group[i].cnt > 0)
            rnic_gid_multicast_mac(live->group[i].gid, group[filter.group_cnt++]);
    return live->attr.wire == RNIC_WIRE_SHM ? rnic_port_shm_filter(live->wire_port, &filter)
                                            : rnic_port_pcap_filter(live->wire_port, &filter);
}

void live_hosts(struct rnic_live *live, const struct rnic_iface *list, size_t cnt)
{
    if (live->attr.wire == RNIC_WIRE_SHM)
        rnic_port_shm_hosts(live->wire_port, list, cnt);
    else
        rnic_port_pcap_hosts(live->wire_port, list, cnt);
}

/* ---- QPNs and the packet filter -------------------------------------------------------------- */

uint32_t rnic_live_qpn_get(struct rnic_live *live)
{
    bool grew;
    uint32_t qpn = rnic_qpn_alloc_get(&live->qpns, &live->entropy, &grew);

    if (qpn && grew && live_is_attached(live, rnic_live_now()) && live_filter(live) != 0) {
        /* the capture filter does not pass this QPN, so the kernel would drop the frames of its QP
         */
        rnic_qpn_alloc_put(&live->qpns, qpn);
        return 0;
    }
    return qpn;
}

void rnic_live_qpn_put(struct rnic_live *live, uint32_t qpn)
{
    rnic_qpn_alloc_put(&live->qpns, qpn);
}

uint32_t rnic_live_block(const struct rnic_live *live)
{
    return live->qpns.block[0].number; /* the first block never changes */
}

/* ---- multicast groups ------------------------------------------------------------------------ */

/* Returns the slot of a multicast group. If the group has no slot, returns an unused slot if
 * `wants_free`, else NULL. Returns NULL if all slots are used. */
static struct live_group *find_group(struct rnic_live *live, const uint8_t gid[16], bool wants_free)
{
    struct live_group *unused = NULL;

    for (unsigned i = 0; i < RNIC_LIVE_GROUPS; i++) {
        if (live->group[i].cnt > 0 && memcmp(live->group[i].gid, gid, 16) == 0)
            return &live->group[i];
        if (live->group[i].cnt == 0)
            unused = &live->group[i];
    }
    if (!wants_free || !unused)
        return NULL;
    memcpy(unused->gid, gid, 16);
    unused->fd = -1;
    return unused;
}

/* Makes the kernel join the multicast group. This may fail, for example if the interface has no
 * address of the group's IP version. The port nevertheless receives frames of the group that
 * arrive. */
static void group_join(struct rnic_live *live, struct live_group *group)
{
    if (live->wire_port && live->attr.wire == RNIC_WIRE_PCAP)
        group->fd = rnic_group_join(live->iface.index, group->gid);
}

static void group_leave(struct live_group *group)
{
    if (group->fd >= 0)
        close(group->fd);
    group->fd = -1;
}

void live_groups_join(struct rnic_live *live)
{
    for (unsigned i = 0; i < RNIC_LIVE_GROUPS; i++)
        if (live->group[i].cnt > 0)
            group_join(live, &live->group[i]);
}

void live_groups_leave(struct rnic_live *live)
{
    for (unsigned i = 0; i < RNIC_LIVE_GROUPS; i++)
        if (live->group[i].cnt > 0)
            group_leave(&live->group[i]);
}

int rnic_live_join(struct rnic_live *live, const uint8_t gid[16])
{
    struct live_group *group;
    int error = 0;

    if (!roce_gid_is_multicast(gid))
        return -EINVAL;
    group = find_group(live, gid, true);
    if (!group)
        return -ENOSPC;
    if (++group->cnt == 1 && live_is_attached(live, rnic_live_now()))
        error = live_filter(live);
    if (error)
        group->cnt--;
    else if (group->cnt == 1 && live->attached)
        group_join(live, group);
    return error;
}

void rnic_live_leave(struct rnic_live *live, const uint8_t gid[16])
{
    struct live_group *group = find_group(live, gid, false);

    if (!group || --group->cnt > 0)
        return;
    if (live_is_attached(live, rnic_live_now()))
        live_filter(live);
    group_leave(group);
}

/* ---- describing the device to other processes ------------------------------------------------ */

static void describe(void *user, FILE *out)
{
    struct rnic_live *live = user;

    if (live->attr.describe)
        live->attr.describe(live->attr.user, live->rnic, out);
}

void live_answer(struct rnic_live *live)
{
    rnic_process_answer(live->answer_fd, describe, live);
}

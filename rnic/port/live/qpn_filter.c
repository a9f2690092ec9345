/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "port/net/group.h"
#include "port/live/live_impl.h"
#include "port/frameio/port_pcap.h"
#include "port/shared/process.h"
#include "port/shared/registry.h"
#include "port/net/route.h"
#include "wire/gid.h"

int loop_filter(struct rnic_loop *loop)
{
    uint32_t block[RNIC_BLOCKS_MAX];
    uint8_t group[RNIC_LOOP_GROUPS][6];
    struct rnic_port_filter filter = {.block = block, .group = (const uint8_t(*)[6])group};

    if (!loop->live)
        return 0;
    for (unsigned i = 0; i < loop->qpns.block_cnt; i++)
        block[filter.block_cnt++] = loop->qpns.block[i].number;
    for (unsigned i = 0; i < RNIC_LOOP_GROUPS; i++)
        if (loop->group[i].cnt > 0)
            rnic_gid_multicast_mac(loop->group[i].gid, group[filter.group_cnt++]);
    return rnic_port_pcap_filter(loop->live, &filter);
}

/* ---- QPNs ------------------------------------------------------------------------------------ */

uint32_t rnic_loop_qpn_get(struct rnic_loop *loop)
{
    bool grew;
    uint32_t qpn = rnic_qpns_get(&loop->qpns, &loop->entropy, &grew);

    if (qpn && grew && loop_there(loop, rnic_loop_now()) && loop_filter(loop) != 0) {
        rnic_qpns_put(&loop->qpns, qpn); /* frames for it would not come in */
        return 0;
    }
    return qpn;
}

void rnic_loop_qpn_put(struct rnic_loop *loop, uint32_t qpn)
{
    rnic_qpns_put(&loop->qpns, qpn);
}

uint32_t rnic_loop_block(const struct rnic_loop *loop)
{
    return loop->qpns.block[0].number; /* the first never changes */
}

/* ---- other names ----------------------------------------------------------------------------- */

int rnic_loop_claim(struct rnic_loop *loop, const char *name)
{
    return rnic_registry_bind(loop->iface.name, name);
}

void rnic_loop_release(struct rnic_loop *loop, int claim)
{
    if (claim >= 0 && !loop->lost)
        close(claim);
}

bool rnic_loop_gsi_owner(struct rnic_loop *loop)
{
    bool owns;

    pthread_mutex_lock(&loop->small);
    if (loop->gsi_fd < 0 && loop->plugged)
        loop->gsi_fd = rnic_registry_bind(loop->iface.name, "gsi");
    owns = loop->gsi_fd >= 0;
    pthread_mutex_unlock(&loop->small);
    return owns;
}

/* ---- multicast groups ------------------------------------------------------------------------ */

/* The group's place, or else a free one if that is wanted, or NULL. */
static struct loop_group *find_group(struct rnic_loop *loop, const uint8_t gid[16], bool wants_free)
{
    struct loop_group *unused = NULL;

    for (unsigned i = 0; i < RNIC_LOOP_GROUPS; i++) {
        if (loop->group[i].cnt > 0 && memcmp(loop->group[i].gid, gid, 16) == 0)
            return &loop->group[i];
        if (loop->group[i].cnt == 0)
            unused = &loop->group[i];
    }
    if (!wants_free || !unused)
        return NULL;
    memcpy(unused->gid, gid, 16);
    unused->fd = -1;
    return unused;
}

/* Where the kernel does not want it, as on an interface without that kind of address, the frames
 * that come all the same are taken. */
static void group_join(struct rnic_loop *loop, struct loop_group *group)
{
    if (loop->live)
        group->fd = rnic_group_join(loop->iface.index, group->gid);
}

static void group_leave(struct loop_group *group)
{
    if (group->fd >= 0)
        close(group->fd);
    group->fd = -1;
}

void loop_groups_join(struct rnic_loop *loop)
{
    for (unsigned i = 0; i < RNIC_LOOP_GROUPS; i++)
        if (loop->group[i].cnt > 0)
            group_join(loop, &loop->group[i]);
}

void loop_groups_leave(struct rnic_loop *loop)
{
    for (unsigned i = 0; i < RNIC_LOOP_GROUPS; i++)
        if (loop->group[i].cnt > 0)
            group_leave(&loop->group[i]);
}

int rnic_loop_join(struct rnic_loop *loop, const uint8_t gid[16])
{
    struct loop_group *group;
    int error = 0;

    if (!roce_gid_is_multicast(gid))
        return -EINVAL;
    group = find_group(loop, gid, true);
    if (!group)
        return -ENOSPC;
    if (++group->cnt == 1 && loop_there(loop, rnic_loop_now()))
        error = loop_filter(loop);
    if (error)
        group->cnt--;
    else if (group->cnt == 1 && loop->plugged)
        group_join(loop, group);
    return error;
}

void rnic_loop_leave(struct rnic_loop *loop, const uint8_t gid[16])
{
    struct loop_group *group = find_group(loop, gid, false);

    if (!group || --group->cnt > 0)
        return;
    if (loop_there(loop, rnic_loop_now()))
        loop_filter(loop);
    group_leave(group);
}

/* ---- telling other processes ------------------------------------------------------------------
 */

static void describe(void *user, FILE *out)
{
    struct rnic_loop *loop = user;

    if (loop->attr.describe)
        loop->attr.describe(loop->attr.user, loop->rnic, out);
}

void loop_answer(struct rnic_loop *loop)
{
    rnic_process_answer(loop->answer_fd, describe, loop);
}

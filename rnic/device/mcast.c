/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/mcast.h"

#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "wire/gid.h"

/* The MAC address contains the low 23 bits of an IPv4 group (RFC 1112 6.4), or the low 32 bits of
 * an IPv6 group (RFC 2464 7). */
void rnic_gid_multicast_mac(const uint8_t gid[16], uint8_t mac[6])
{
    const uint8_t ip4[6] = {0x01, 0x00, 0x5E, gid[13] & 0x7F, gid[14], gid[15]};
    const uint8_t ip6[6] = {0x33, 0x33, gid[12], gid[13], gid[14], gid[15]};

    memcpy(mac, roce_gid_is_ip4(gid) ? ip4 : ip6, 6);
}

/* Returns the FNV-1a hash of a GID. Two GIDs with the same hash only cost time. A peer cannot cause
 * such GIDs, because local programs choose the groups. */
static uint32_t key_of(const uint8_t gid[16])
{
    uint32_t key = UINT32_C(2166136261);

    for (unsigned i = 0; i < 16; i++)
        key = (key ^ gid[i]) * UINT32_C(16777619);
    return key;
}

struct rnic_mcast_group *rnic_mcast_find(const struct rnic *rnic, const uint8_t gid[16])
{
    struct rnic_mcast_group *group;

    if (rnic->groups.cnt == 0)
        return NULL;
    group = rnic_map_get(&rnic->groups, key_of(gid));
    while (group && memcmp(group->gid, gid, sizeof(group->gid)) != 0)
        group = group->next;
    return group;
}

static struct rnic_mcast_group *group_new(struct rnic *rnic, const uint8_t gid[16])
{
    struct rnic_mcast_group *group;
    struct rnic_mcast_group *first;

    group = rnic->group_cnt < rnic->limits.max_mcast_grp ? calloc(1, sizeof(*group)) : NULL;
    if (!group)
        return NULL;
    memcpy(group->gid, gid, sizeof(group->gid));
    group->key = key_of(gid);
    rnic_list_init(&group->members);
    first = rnic_map_get(&rnic->groups, group->key);
    if (first) {
        group->next = first->next;
        first->next = group;
    } else if (!rnic_map_add(&rnic->groups, group->key, group)) {
        free(group);
        return NULL;
    }
    rnic->group_cnt++;
    return group;
}

static void group_free(struct rnic *rnic, struct rnic_mcast_group *group)
{
    struct rnic_mcast_group *before = rnic_map_get(&rnic->groups, group->key);

    if (before == group) {
        rnic_map_del(&rnic->groups, group->key);
        if (group->next)
            rnic_map_add(&rnic->groups, group->key, group->next); /* cannot fail: an entry was just
                                                                   * removed */
    } else {
        while (before->next != group)
            before = before->next;
        before->next = group->next;
    }
    rnic->group_cnt--;
    free(group);
}

static struct rnic_mcast_member *member_of(const struct rnic_mcast_group *group,
                                           const struct rnic_qp *qp)
{
    for (struct rnic_list *at = group->members.next; at != &group->members; at = at->next) {
        struct rnic_mcast_member *member = RNIC_LIST_OF(at, struct rnic_mcast_member, link);

        if (member->qp == qp)
            return member;
    }
    return NULL;
}

static void member_del(struct rnic *rnic, struct rnic_mcast_group *group,
                       struct rnic_mcast_member *member)
{
    rnic_list_del(&member->link);
    member->qp->mcast_cnt--;
    free(member);
    if (--group->member_cnt == 0)
        group_free(rnic, group);
}

int rnic_mcast_attach(struct rnic_qp *qp, const uint8_t gid[16])
{
    struct rnic *rnic = qp->pd->rnic;
    struct rnic_mcast_group *group;
    struct rnic_mcast_member *member;

    if (qp->type != RNIC_QPT_UD || !roce_gid_is_multicast(gid))
        return RNIC_ERR_INVALID;
    group = rnic_mcast_find(rnic, gid);
    if (group && member_of(group, qp))
        return RNIC_OK; /* a QP attached twice still receives one copy (ibv_attach_mcast(3)) */
    if (group && group->member_cnt >= rnic->limits.max_mcast_qp_attach)
        return RNIC_ERR_NOMEM;
    member = calloc(1, sizeof(*member));
    if (!member)
        return RNIC_ERR_NOMEM;
    if (!group)
        group = group_new(rnic, gid);
    if (!group) {
        free(member);
        return RNIC_ERR_NOMEM;
    }
    member->qp = qp;
    rnic_list_add(&group->members, &member->link);
    group->member_cnt++;
    qp->mcast_cnt++;
    return RNIC_OK;
}

int rnic_mcast_detach(struct rnic_qp *qp, const uint8_t gid[16])
{
    struct rnic_mcast_group *group = rnic_mcast_find(qp->pd->rnic, gid);
    struct rnic_mcast_member *member = group ? member_of(group, qp) : NULL;

    if (!member)
        return RNIC_ERR_INVALID;
    member_del(qp->pd->rnic, group, member);
    return RNIC_OK;
}

bool rnic_mcast_attached(const struct rnic_qp *qp, const uint8_t gid[16])
{
    const struct rnic_mcast_group *group = rnic_mcast_find(qp->pd->rnic, gid);

    return group && member_of(group, qp);
}

bool rnic_mcast_of(const struct rnic_qp *qp, uint8_t gid[16])
{
    const struct rnic_map *groups = &qp->pd->rnic->groups;

    for (uint64_t i = 0; qp->mcast_cnt && i < UINT64_C(1) << groups->bits; i++)
        for (const struct rnic_mcast_group *group = groups->slot[i].value; group;
             group = group->next)
            if (member_of(group, qp)) {
                memcpy(gid, group->gid, sizeof(group->gid));
                return true;
            }
    return false;
}

void rnic_mcast_free(struct rnic *rnic)
{
    for (uint64_t i = 0; rnic->groups.slot && i < UINT64_C(1) << rnic->groups.bits; i++) {
        struct rnic_mcast_group *group = rnic->groups.slot[i].value;

        while (group) {
            struct rnic_mcast_group *next = group->next;

            while (!rnic_list_empty(&group->members)) {
                struct rnic_mcast_member *member =
                    RNIC_LIST_OF(group->members.next, struct rnic_mcast_member, link);

                member->qp->mcast_cnt--;
                rnic_list_del(&member->link);
                free(member);
            }
            free(group);
            group = next;
        }
    }
    rnic_map_free(&rnic->groups);
    rnic->group_cnt = 0;
}

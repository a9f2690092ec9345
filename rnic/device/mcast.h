/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Multicast groups of a device and the QPs attached to each. A group is found in constant time. */
#ifndef RNIC_MCAST_H
#define RNIC_MCAST_H

#include "device/list.h"
#include "device/map.h"
#include "device/rnic.h"

/* Membership of a QP in a group. */
struct rnic_mcast_member {
    struct rnic_list link; /* link in rnic_mcast_group.members */
    struct rnic_qp *qp;
};

struct rnic_mcast_group {
    uint8_t gid[16];
    uint32_t key;                  /* key of the group in rnic.groups */
    struct rnic_mcast_group *next; /* next group with the same key, or NULL */
    struct rnic_list members;
    uint32_t member_cnt;
};

/* Returns the group with this GID, or NULL if no QP is attached to it. */
struct rnic_mcast_group *rnic_mcast_find(const struct rnic *rnic, const uint8_t gid[16]);

/* Frees all groups, even with members; for rnic_del(). */
void rnic_mcast_free(struct rnic *rnic);

#endif

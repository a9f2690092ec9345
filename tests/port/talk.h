/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Talk: one side of a conversation between two live devices in two processes. Each has an RC QP;
 * SEND, WRITE, READ and an atomic operation, with every byte compared.
 */
#ifndef TEST_TALK_H
#define TEST_TALK_H

#include "port/live/live.h"

struct talk {
    const char *iface;
    const char *gid; /* the GID to use: "v4", "v6" (RoCEv2) or "v1"; NULL: v4 */
    const char *impair;
    const char *record; /* folder, as rnic_live_attr.record and .record_shared */
    bool shared;
    uint64_t seed;
    bool client;
    bool polls; /* calls the device itself; otherwise the device's thread does, and this side sleeps
                 */
    int fd;     /* stream socket to the other side, for QPNs and the like */
    unsigned rounds;
    uint32_t size;                  /* bytes of a WRITE and a READ */
    uint32_t path_mtu;              /* 0: the interface's */
    uint16_t vlan;                  /* 802.1Q id of all that is sent; 0: without a tag */
    const struct rnic_gid *own_gid; /* instead of the interface's, or NULL */
    /* Called before the QP is deleted; or NULL. */
    void (*at_end)(struct rnic_live *live);
};

/* Makes one file of the recordings in the folder, and removes the folder. */
bool talk_join_recordings(const char *folder, const char *path);

/* Plays one side. Returns true if all was as expected; otherwise prints the difference on stderr.
 */
bool talk_play(const struct talk *talk);

#endif

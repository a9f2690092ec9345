/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Talk: one side of a conversation of two live devices in two processes: an RC QP each, SEND,
 * WRITE, READ and an atomic, every byte looked at.
 */
#ifndef TEST_TALK_H
#define TEST_TALK_H

#include "port/live/live.h"

struct talk {
    const char *iface;
    const char *gid; /* which GID: "v4", "v6" (RoCEv2), "v1"; NULL: v4 */
    const char *impair;
    const char *record; /* folder, as rnic_live_attr.record and .record_shared */
    bool shared;
    uint64_t seed;
    bool client;
    bool polls; /* drives the device itself; else its thread does, and this side sleeps */
    int fd;     /* a stream to the other side, to tell QPNs and the like */
    unsigned rounds;
    uint32_t size;                  /* bytes of a WRITE and a READ */
    uint32_t path_mtu;              /* 0: the interface's */
    uint16_t vlan;                  /* 802.1Q id of all that is sent; 0: without a tag */
    const struct rnic_gid *own_gid; /* instead of the interface's, or NULL */
    /* Called before the QP is deleted; or NULL. */
    void (*at_end)(struct rnic_live *live);
};

/* Makes one file of the recordings in the folder, and removes that. */
bool talk_join_recordings(const char *folder, const char *path);

/* Plays a side: true if everything was as it should be, else says on stderr what was not. */
bool talk_play(const struct talk *talk);

#endif

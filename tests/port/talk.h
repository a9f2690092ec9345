/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Talk: one side of a conversation between two live devices in two processes. Each side has an RC
 * QP and uses SEND, WRITE, READ and an atomic operation. Every byte is compared.
 */
#ifndef TEST_TALK_H
#define TEST_TALK_H

#include "port/live/live.h"

struct talk {
    const char *iface;
    const char *gid; /* GID to use: "v4", "v6" (RoCEv2) or "v1" (RoCEv1); NULL: v4 */
    const char *impair;
    const char *record; /* folder of the recording; see rnic_live_attr.record and .record_shared */
    bool shared;
    uint64_t seed;
    bool client;
    bool polls; /* this side drives the device itself; otherwise the device's thread does, and this
                 * side sleeps */
    int fd;     /* stream socket to the other side, for example for the exchange of QPNs */
    unsigned rounds;
    uint32_t size;                  /* length of a WRITE and of a READ, bytes */
    uint32_t path_mtu;              /* path MTU, bytes; 0: path MTU of the interface */
    uint16_t vlan;                  /* 802.1Q id of all sent frames; 0: without a tag */
    const struct rnic_gid *own_gid; /* GID to use instead of a GID of the interface, or NULL */
    /* Called before the QP is deleted; may be NULL. */
    void (*at_end)(struct rnic_live *live);
};

/* Joins the recordings in the folder into one file, and removes the folder. */
bool talk_join_recordings(const char *folder, const char *path);

/* Runs one side. Returns true on success; otherwise prints the first difference on stderr. */
bool talk_play(const struct talk *talk);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live device: one software RNIC attached to a network interface of this machine. It has a port, a
 * part of the QPN space, a reservation of UDP port 4791, a thread and a lock. Called by verbs, ucma
 * and the tools.
 *
 * 1. rnic_live_open() attaches a device to an interface and starts its thread.
 * 2. rnic_live_lock() gives the calling thread exclusive use of the device; between it and
 *    rnic_live_unlock() the thread calls the functions of device/rnic.h. Unlocking sends the frames
 *    that became ready.
 * 3. A program that polls calls rnic_live_drive() or rnic_live_poll(), which receive and send in
 * the calling thread. When its poll found a completion or it is about to wait for an event, it
 * calls rnic_live_leave_poll().
 * 4. While no program thread polls, the live device's own thread receives, expires timers and
 * sends. Without frames and timers no thread runs. Where real-time priority is permitted
 * (CAP_SYS_NICE, RLIMIT_RTPRIO), a watchdog thread does this when no other thread gets a CPU for 10
 * ms.
 * 5. rnic_live_close() frees the device with all its objects.
 *
 * Any thread may call any function at any time. A function marked "locked" needs the lock; one
 * marked "also locked" may be called with or without it. The lock is not recursive. Callbacks are
 * called locked, from any of these threads. They may only call functions marked "locked" or "also
 * locked", and must not wait.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef PORT_LIVE_LIVE_H
#define PORT_LIVE_LIVE_H

#include <stdio.h>
#include "device/rnic.h"
#include "port/net/iface.h"
#include "port/frameio/port.h"

struct rnic_live;

/* What changed on the interface; several may be set. */
enum rnic_live_change {
    RNIC_CHANGE_LINK_UP = 1u << 0,   /* IBV_EVENT_PORT_ACTIVE */
    RNIC_CHANGE_LINK_DOWN = 1u << 1, /* IBV_EVENT_PORT_ERR */
    RNIC_CHANGE_GIDS = 1u << 2,      /* IBV_EVENT_GID_CHANGE: the device's GID table changed */
    RNIC_CHANGE_MTU = 1u << 3,       /* the path MTU of rnic_live_iface() */
    RNIC_CHANGE_GONE = 1u << 4,      /* IBV_EVENT_DEVICE_FATAL: the interface was removed */
};

struct rnic_live_attr {
    const char *iface; /* "eth0", "lo" */

    /* GIDs instead of those of the interface: gid_cnt 1..RNIC_GID_MAX, or 0 for the interface's.
     * Addresses that are not the kernel's are answered for (ARP, ND) by the port itself. */
    const struct rnic_gid *gid;
    unsigned gid_cnt;

    const char *impair; /* impairments (port/impair.h: "loss=3%,delay=10us..50us"), or NULL */
    uint64_t seed;      /* of the impairments and, if not 0, of the device: 0 takes the system's
                           random source for both, anything else makes them repeatable. The first
                           QPN block is mixed in: processes with one seed differ */
    const char *record; /* folder for pcapng files of everything sent and received, or NULL;
                           each process has a file of its own (port/frameio/record.h) */
    bool record_shared; /* every process here that records, records to that folder: a frame from
                           one local process to another is then written by its sender alone */
    bool mw_2a;         /* type 2 memory windows are 2A, not 2B (rnic_attr.mw_2a) */
    bool (*there)(const void *addr, size_t len, bool write); /* rnic_attr.there, or NULL */
    size_t ring; /* bytes of the receive ring; 0: 16 MiB. Taken smaller if memory is short */

    /* Anything of the device may have changed: take its events (rnic_event_get) and notified CQs.
     * After each batch of frames or timers, and at each unlock. May be NULL. */
    void (*notified)(void *user, struct rnic *rnic);
    /* The interface changed (enum rnic_live_change); rnic_live_iface() shows the new state and the
     * device has its GIDs. May be NULL. */
    void (*changed)(void *user, struct rnic *rnic, unsigned what);
    /* Another process (rnic-info) asks what this one has: write text, for example a JSON object.
     * May be NULL. */
    void (*describe)(void *user, struct rnic *rnic, FILE *out);
    void *user;
};

/* Opens the interface: libpcap, QPN block, guard, device, thread. Needs CAP_NET_RAW (-EPERM). All
 * strings of `attr` are copied. */
int rnic_live_open(const struct rnic_live_attr *attr, struct rnic_live **out, struct error *why);

/* Opens a live device on a port that exists already and takes it over. Of the interface only mac,
 * gid, gid_cnt and path_mtu are used. The device has no sockets, and QPNs of the whole space. */
int rnic_live_open_port(const struct rnic_live_attr *attr, const struct rnic_iface *iface,
                        struct rnic_port *port, struct rnic_live **out, struct error *why);

/* Sends the frames that are ready, stops the thread, and frees the device with all its objects. Not
 * locked. */
void rnic_live_close(struct rnic_live *live);

/* Takes the lock; returns the device. */
struct rnic *rnic_live_lock(struct rnic_live *live);

/* Sends the ACKs that wait. Call it before a QP is stopped or deleted, or memory is deregistered:
 * the program may have seen the peer's message already. Locked. */
void rnic_live_settle(struct rnic_live *live);

/* Sends the frames that became ready, in this thread, calls `notified`, and releases the lock. */
void rnic_live_unlock(struct rnic_live *live);

/* Sends the frames that are ready, waiting ACKs included, for a program that is about to end. Waits
 * up to a second for the lock, unless the calling thread holds it. */
void rnic_live_flush(struct rnic_live *live);

/* Returns the monotonic time, ns, as rnic_qp_modify() and others expect it. */
rnic_time rnic_live_now(void);

/*
 * Drives the device once in this thread, without waiting: receives, expires timers, sends. Returns
 * whether anything moved. While a program calls it repeatedly, the live device's own thread does
 * not receive; it takes over within a millisecond of the last call. It makes no system call while
 * another thread drives.
 */
bool rnic_live_poll(struct rnic_live *live);

/* Does the same for a caller that holds the lock: ibv_poll_cq() reads the CQ, drives, and reads it
 * again under one lock. Calls `notified` if anything moved. Locked. */
bool rnic_live_drive(struct rnic_live *live);

/* The program's poll found a completion, so it may stop polling and read its memory instead. If
 * frames lately waited while it did so, the live device's thread receives until the next poll.
 * `waits`: the program asked for an event and may wait for it. Locked. */
void rnic_live_leave_poll(struct rnic_live *live, bool waits);

/* ---- what the device lives on ---------------------------------------------------------------- */

/* A copy of the interface's state. Also locked. */
void rnic_live_iface(struct rnic_live *live, struct rnic_iface *out);

/* Counters of the port; kernel drops included. Locked. */
void rnic_live_stats(struct rnic_live *live, struct rnic_port_stats *out);

/* ---- names shared with other processes ------------------------------------------------------- */

/*
 * A QPN of this process's part of the QPN space, unpredictable, not given out now: for
 * rnic_qp_init.qpn. Frames reach a process only for QPNs from here, for QP 1, and for multicast
 * groups it joined. Claims another block of the space when one is used up. Locked. 0: none is left.
 * A QPN that the device chose itself lies in the first block, and may be given out here once more:
 * who mixes both tries again after RNIC_ERR_EXISTS.
 */
uint32_t rnic_live_qpn_get(struct rnic_live *live);
void rnic_live_qpn_put(struct rnic_live *live, uint32_t qpn); /* after rnic_qp_del(). Locked. */

/* The 12-bit number of the block claimed first: no other process on this interface has it now. The
 * CM may make its communication ids unique with it. Also locked. */
uint32_t rnic_live_block(const struct rnic_live *live);

/* Claims a name for this process, unique among the processes on this interface, as "cm/tcp/7471";
 * the kernel frees it when the process ends in whatever way. A handle >= 0 for
 * rnic_live_release(), -EADDRINUSE, or another negative errno. Also locked. */
int rnic_live_claim(struct rnic_live *live, const char *name);
void rnic_live_release(struct rnic_live *live, int claim);

/* Whether this process speaks for QP 1 of the interface where nobody else does (answers a REQ for a
 * service that no process has): exactly one does, and when it ends another one takes over by
 * asking. Also locked. */
bool rnic_live_gsi_owner(struct rnic_live *live);

#define RNIC_LIVE_GROUPS 64u /* multicast groups of a live device */

/* Frames of a multicast group pass to the device, or no longer. Counts how often a group was
 * joined. Locked. Call it along with rnic_mcast_attach() and _detach(), for each QP once. -ENOSPC
 * when RNIC_LIVE_GROUPS are joined. */
int rnic_live_join(struct rnic_live *live, const uint8_t gid[16]);
void rnic_live_leave(struct rnic_live *live, const uint8_t gid[16]);

/* ---- paths ----------------------------------------------------------------------------------- */

struct rnic_path {
    uint8_t dmac[6];
    uint16_t vlan;     /* RNIC_VLAN_NONE: a VLAN interface's tag is the kernel's business */
    uint8_t sgid_idx;  /* GID that the kernel would use as source; the one asked for if it was */
    uint8_t hop_limit; /* 1 on the link, 64 through a gateway, as Linux does */
    bool local;        /* an address of this machine */
    bool gateway;      /* not on the link */
    uint32_t path_mtu; /* 256..4096 */
};

/*
 * How to reach `dgid` from GID `sgid_idx` of the device (-1: the best one for that destination):
 * route, gateway, neighbour. Asks the kernel's tables first, then the link itself (ARP or ND), and
 * waits for an answer up to `timeout` nanoseconds. Not locked.
 *
 * -ENETUNREACH no route over this interface, -EHOSTUNREACH no answer in time, -EINVAL no such GID.
 */
int rnic_live_resolve(struct rnic_live *live, const uint8_t dgid[16], int sgid_idx,
                      uint64_t timeout, struct rnic_path *out);

/* ---- fork ------------------------------------------------------------------------------------ */

/*
 * A child of fork() has the memory of its parent's loops, but not their thread, port and names:
 * they stay the parent's. In the child a loop is like a device without a link: calls work, nothing
 * is sent or received. When the parent is gone (a program that made itself a daemon), the first
 * rnic_live_lock() or _poll() in the child claims the names again and everything runs on.
 * rnic_live_close() and rnic_live_open() work in the child as ever. Nothing is to be called for
 * this.
 */

/* Whether the loop has its port: in a child of fork() it tries to have it now. Not locked. */
bool rnic_live_runs(struct rnic_live *live);

/* Who has fork handlers of its own, for locks under which it opens and closes loops, calls this
 * before it registers them: a fork takes the locks of who came last first (pthread_atfork(3)). */
void rnic_live_watch_forks(void);

#endif

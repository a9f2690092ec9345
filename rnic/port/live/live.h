/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Live device: one software RNIC attached to a network interface of this machine. It has a port, a
 * part of the QPN space, a reservation of UDP port 4791, a thread and a lock. Called by verbs, ucma
 * and the tools.
 *
 * 1. rnic_live_open() attaches a device to an interface and starts its thread.
 * 2. rnic_live_lock() gives the calling thread exclusive use of the device. The thread then
 *    calls the functions of device/rnic.h until rnic_live_unlock(), which sends the frames that
 *    became ready.
 * 3. A program that polls calls rnic_live_drive() or rnic_live_poll(), which receive and send in
 *    the calling thread. When its poll found a completion, or before it waits for an event, it
 *    calls rnic_live_leave_poll().
 * 4. While no program thread polls, the live device's own thread receives, expires timers and
 *    sends. Without frames and timers no thread runs. Where real-time priority is permitted
 *    (CAP_SYS_NICE, RLIMIT_RTPRIO), a watchdog thread drives the device when no other thread gets a
 *    CPU for 10 ms.
 * 5. rnic_live_close() frees the device with all its objects.
 *
 * Any thread may call any function at any time. "Needs the lock": the caller must hold the lock.
 * "Needs no lock": the caller may hold the lock or not. "Takes the lock": the caller must not hold
 * the lock, because it is not recursive. The device holds the lock while it calls a callback, from
 * any of these threads. A callback may only call functions that need the lock or need no lock, and
 * must not wait.
 *
 * Functions return 0 or a negative errno unless their comment describes another result.
 */
#ifndef PORT_LIVE_LIVE_H
#define PORT_LIVE_LIVE_H

#include <stdio.h>
#include "device/rnic.h"
#include "port/frameio/port.h"
#include "port/net/iface.h"

struct rnic_live;

/* Changes of the network interface, as bits. */
enum rnic_live_change {
    RNIC_CHANGE_LINK_UP = 1u << 0,   /* link is up: IBV_EVENT_PORT_ACTIVE */
    RNIC_CHANGE_LINK_DOWN = 1u << 1, /* link is down: IBV_EVENT_PORT_ERR */
    RNIC_CHANGE_GIDS = 1u << 2,      /* the device's GID table changed: the verbs report
                                      * IBV_EVENT_GID_CHANGE */
    RNIC_CHANGE_MTU = 1u << 3,       /* the path MTU that rnic_live_iface() returns changed */
    RNIC_CHANGE_GONE = 1u << 4,      /* the interface was removed: the verbs report
                                      * IBV_EVENT_DEVICE_FATAL */
};

/* How frames leave the process. */
enum rnic_wire {
    RNIC_WIRE_PCAP, /* on the interface, and on the loopback between processes of this machine */
    RNIC_WIRE_SHM,  /* through memory shared with other processes of this user in this network
                     * namespace. No frame reaches another machine. */
};

struct rnic_live_attr {
    enum rnic_wire wire;
    const char *iface; /* name of the interface, for example "eth0" or "lo" */

    /* `gid_cnt` GIDs (1..RNIC_GID_MAX) of the device; with 0 the device has the interface's GIDs.
     * The port itself answers ARP and ND for addresses that the kernel does not have. */
    const struct rnic_gid *gid;
    unsigned gid_cnt;

    const char *impair; /* impairments such as "loss=3%,delay=10us..50us" (impair/impair_rule.h), or
                         * NULL */
    const char *impair_tally; /* file that counts the frames that `impair` drops (port/sys/tally.h),
                               * or NULL */
    /* Seed of the impairments and of the device. A seed makes both repeatable. 0: they use the
     * system's random source. The seed is combined with the number of the first QPN block, so two
     * processes with the same seed get different values. */
    uint64_t seed;
    const char *record; /* folder for pcapng files of all frames sent and received, or NULL; each
                         * process writes its own file (port/frameio/record.h) */
    bool record_shared; /* `record` is the folder of all local processes: only the sender records a
                         * frame between two of them */
    const char *tap;    /* interface that gets a copy of each sent frame, or NULL */
    bool mw_2a;         /* true: type 2 memory windows are 2A; false: 2B (rnic_attr.mw_2a) */
    bool (*there)(const void *addr, size_t len, bool write); /* callback rnic_attr.there, or NULL */
    size_t
        ring; /* size of the receive ring, bytes; 0: 16 MiB. Smaller if the kernel lacks memory */

    /* Called after each batch of frames or timers and at each unlock. The device may have new
     * events (rnic_event_get) and notified CQs, which the callback should fetch. May be NULL. */
    void (*notified)(void *user, struct rnic *rnic);
    /* Called after the interface changed; `what` has bits of enum rnic_live_change.
     * rnic_live_iface() already returns the new state, and the device has the new GIDs. May be
     * NULL. */
    void (*changed)(void *user, struct rnic *rnic, unsigned what);
    /* Called when another process (rnic-info) requests a description of this process. Writes text
     * to `out`, for example a JSON object. May be NULL. */
    void (*describe)(void *user, struct rnic *rnic, FILE *out);
    /* Called at most once, with the lock, if the open device finds a problem, with a description of
     * the problem (rnic_port_shm_attr.warned). May be NULL. */
    void (*warned)(void *user, const char *text);
    void *user;
};

/* Opens a live device on the interface `attr->iface`: port, QPN block, device, thread; for
 * RNIC_WIRE_PCAP also a UDP port reservation. RNIC_WIRE_PCAP needs CAP_NET_RAW (-EPERM). Copies all
 * strings of `attr`. *out is valid before the first callback. */
int rnic_live_open(const struct rnic_live_attr *attr, struct rnic_live **out, struct error *why);

/* Opens a live device on an existing port and then owns that port. Uses only mac, gid, gid_cnt and
 * path_mtu of `iface`. The device has no sockets, and its QPNs come from the whole QPN space. */
int rnic_live_open_port(const struct rnic_live_attr *attr, const struct rnic_iface *iface,
                        struct rnic_port *port, struct rnic_live **out, struct error *why);

/* Sends the frames that are ready, stops the thread, and frees the device with all its objects.
 * Takes the lock. */
void rnic_live_close(struct rnic_live *live);

/* Locks the device for the calling thread and returns it. */
struct rnic *rnic_live_lock(struct rnic_live *live);

/* Sends the delayed ACKs. Must be called before a QP is stopped or deleted, or memory is
 * deregistered, because the program may already have read the message that such an ACK
 * acknowledges. Needs the lock. */
void rnic_live_settle(struct rnic_live *live);

/* Sends the frames that became ready, calls `notified`, and releases the lock; all in this thread.
 */
void rnic_live_unlock(struct rnic_live *live);

/* Sends the frames that are ready, delayed ACKs included, for a program that is about to end. Waits
 * up to a second for the lock, unless the calling thread already has it. */
void rnic_live_flush(struct rnic_live *live);

/* Returns the monotonic time in ns, as rnic_qp_modify() and other device functions expect it. */
rnic_time rnic_live_now(void);

/*
 * Drives the device once in this thread without blocking: receives, expires timers, sends. Returns
 * whether any frame or timer was handled. While a program calls this function repeatedly, the live
 * device's own thread does not receive. The own thread receives again within a millisecond after
 * the last call. Makes no system call while another thread drives the device.
 */
bool rnic_live_poll(struct rnic_live *live);

/* Drives the device like rnic_live_poll(), but for a caller that has the lock. ibv_poll_cq() can
 * therefore read the CQ, drive the device, and read the CQ again under one lock. Calls `notified`
 * if any frame or timer was handled. Needs the lock. */
bool rnic_live_drive(struct rnic_live *live);

/* Called after the program's poll found a completion: the program may now stop polling and read its
 * memory instead. If received frames recently stayed unread because the program polled its memory
 * and not the CQ, the live device's thread receives until the next ibv_poll_cq(). `waits`: the
 * program requested an event and may block until the event. Needs the lock. */
void rnic_live_leave_poll(struct rnic_live *live, bool waits);

/* ---- interface and counters ------------------------------------------------------------------ */

/* Copies the interface's state to *out. Needs no lock. */
void rnic_live_iface(struct rnic_live *live, struct rnic_iface *out);

/* Returns in *out the counters of the port, kernel drops included. Needs the lock. */
void rnic_live_stats(struct rnic_live *live, struct rnic_port_stats *out);

/* ---- names shared with other processes ------------------------------------------------------- */

/*
 * Allocates an unpredictable, unused QPN for rnic_qp_init.qpn from this process's part of the QPN
 * space. Returns 0 if no QPN is left. A process receives only frames for QPNs of its part, for QP
 * 1, and for multicast groups that it joined. If at most a quarter of the QPNs of each claimed
 * block is available, the function claims another block of the QPN space. Needs the lock.
 *
 * The device itself chooses QPNs of the first block for QPs without rnic_qp_init.qpn. This function
 * can return such a QPN again. A caller that creates both kinds of QPs therefore tries another QPN
 * after RNIC_ERR_EXISTS.
 */
uint32_t rnic_live_qpn_get(struct rnic_live *live);
void rnic_live_qpn_put(struct rnic_live *live, uint32_t qpn); /* Frees a QPN after rnic_qp_del().
                                                               * Needs the lock. */

/* Returns the 12-bit number of the first block that this process claimed. No other process on this
 * interface has that block now, so the CM can use the number to make communication ids unique.
 * Needs no lock. */
uint32_t rnic_live_block(const struct rnic_live *live);

/* Claims a name such as "cm/tcp/7471", unique among the processes on this interface. The kernel
 * frees the name however the process ends. Returns a handle >= 0 for rnic_live_release(),
 * -EADDRINUSE, or another negative errno. Needs no lock. */
int rnic_live_claim(struct rnic_live *live, const char *name);
void rnic_live_release(struct rnic_live *live, int claim);

/* State of a name in the registry (port/shared/registry.h), for example of the port number of a CM
 * service. A process that claims the name must answer the packets for that service. FREE: no
 * process has claimed the name. CLAIMED: a process has, and it can receive the packets. SQUATTED: a
 * process of another user has, and it cannot receive the packets, so it never answers them. */
enum rnic_live_claimed { RNIC_NAME_FREE, RNIC_NAME_CLAIMED, RNIC_NAME_SQUATTED };

/* Returns the state of a name in the registry. For RNIC_NAME_SQUATTED, stores the user of the
 * process that has claimed the name in *uid. After RNIC_NAME_CLAIMED, calls within the next second
 * check only whether the name is claimed, not whether its process can receive packets. Needs no
 * lock. */
enum rnic_live_claimed rnic_live_claimed(struct rnic_live *live, const char *name, uint32_t *uid);

/* Returns whether this process must answer the requests to QP 1 for which no process on the
 * interface is responsible, such as a REQ for an unknown service. One process on the interface has
 * this task. After it has ended, the next process that calls this function gets the task. Needs no
 * lock. */
bool rnic_live_gsi_owner(struct rnic_live *live);

#define RNIC_LIVE_GROUPS 64u /* maximum number of multicast groups per live device */

/* Start or stop the reception of frames of a multicast group. Calls are counted: there is one call
 * per QP, together with rnic_mcast_attach() or rnic_mcast_detach(). rnic_live_join() returns
 * -ENOSPC if RNIC_LIVE_GROUPS groups are joined. Needs the lock. */
int rnic_live_join(struct rnic_live *live, const uint8_t gid[16]);
void rnic_live_leave(struct rnic_live *live, const uint8_t gid[16]);

/* ---- raw packets ------------------------------------------------------------------------------
 */

/* Returns 0, or -EPERM if the process may not open packet sockets (CAP_NET_RAW). */
int rnic_live_raw_permitted(void);

/*
 * Start or stop the reception of all frames of the interface for the flows of raw packet QPs
 * (rnic_steer_new()). The raw packet QPs then receive the frames that the interface receives and
 * sends, and the packets between this device and other devices of this machine. Call the function
 * once per flow: reception stops after as many stops as starts. rnic_live_raw_start() returns
 * -EOPNOTSUPP for RNIC_WIRE_SHM, whose frames pass no interface. Takes the lock.
 */
int rnic_live_raw_start(struct rnic_live *live);
void rnic_live_raw_stop(struct rnic_live *live);

/* ---- paths to a destination ------------------------------------------------------------------ */

struct rnic_path {
    uint8_t dmac[6];
    uint16_t vlan;     /* VLAN id; RNIC_VLAN_NONE if the kernel adds the tag of a VLAN interface */
    uint8_t sgid_idx;  /* index of the GID that the caller requested, or otherwise of the kernel's
                        * preferred source GID */
    uint8_t hop_limit; /* hop limit: 1 on the link, 64 through a gateway, as in Linux */
    bool local;        /* the destination is an address of this machine */
    bool gateway;      /* the next hop is a gateway */
    uint32_t path_mtu; /* path MTU, 256..4096 bytes */
};

/*
 * Finds the path to `dgid` from GID `sgid_idx` of the device: route, gateway, neighbour. If
 * `sgid_idx` is -1, chooses the best GID for the destination. Reads the kernel's tables first, then
 * queries the link (ARP or ND), and waits at most `timeout` ns for a reply. Takes the lock.
 *
 * Returns 0, -ENETUNREACH if there is no route over this interface, -ETIMEDOUT if no reply
 * arrived in time, or -EINVAL if the GID does not exist.
 */
int rnic_live_resolve(struct rnic_live *live, const uint8_t dgid[16], int sgid_idx,
                      uint64_t timeout, struct rnic_path *out);

/* ---- a child of fork() ----------------------------------------------------------------------- */

/*
 * A child of fork() has a copy of its parent's live devices, but not their threads, ports and
 * names, which stay with the parent. In the child, a copied device behaves as if its link were
 * down: calls work, but nothing is sent or received. rnic_live_close() and rnic_live_open() work in
 * the child as in the parent.
 */

/* Registers the fork handlers of this module. A module that opens or closes live devices with a
 * mutex locked, and locks this mutex in its own fork handlers, must call this function before it
 * registers them. At a fork, the handlers registered last run first (pthread_atfork(3)), so that
 * mutex is locked before the locks of the live devices. */
void rnic_live_watch_forks(void);

#endif

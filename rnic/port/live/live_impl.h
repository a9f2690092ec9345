/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * struct rnic_live and functions that are private to this folder. Each file uses only files listed
 * above it:
 *
 *   ack_policy, neigh_cache  without struct rnic_live: delayed ACKs; MAC addresses of neighbours
 *   lock         taking the lock, starting threads
 *   qpn_filter   QPNs, names shared with other processes, multicast groups, the packet filter
 *   iface_change changes of the interface, and the device's GID table
 *   fds_closed   detects that the program closed the device's descriptors
 *   gate         chooses the receiver: the polling program or the poll thread
 *   neigh_input  ARP and Neighbour Discovery frames
 *   drive        passes frames between port and device
 *   poll_thread  the thread that drives while the program does not
 *   rt_watchdog  the thread that drives while no other thread gets a CPU
 *   attach       opening, closing, fork()
 *   live_path    routes and neighbours
 *   live         the calls of live.h that take the lock
 */
#ifndef RNIC_LIVE_IMPL_H
#define RNIC_LIVE_IMPL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "port/live/ack_policy.h"
#include "port/live/live.h"
#include "port/live/neigh_cache.h"
#include "port/net/udp_reserve.h"
#include "port/shared/qpn_alloc.h"
#include "port/sys/cancel_guard.h"

#define LIVE_TX_FRAMES  64u           /* most frames passed to the port in one call */
#define LIVE_TX_BYTES   (256u * 1024) /* buffer for the bytes of these frames */
#define LIVE_NAP_NS     200000u       /* first sleep of the poll thread while the gate is shut */
#define LIVE_NAP_MAX_NS 1000000u      /* longest sleep of the poll thread while the gate is shut */
#define ACK_SENDER_NS   20000000u     /* longest time from a send to the program's next answer */

/* A multicast group that the device joined. */
struct live_group {
    uint8_t gid[16];
    unsigned cnt; /* number of joins; 0: the slot is unused */
    int fd;       /* socket with the kernel's membership; -1: none */
};

/* Frames that the port has not accepted yet. */
struct tx_batch {
    uint8_t *bytes; /* buffer of LIVE_TX_BYTES */
    struct rnic_frame frame[LIVE_TX_FRAMES];
    unsigned first; /* index of the next frame to send */
    unsigned cnt;   /* number of frames in the batch, including those already sent */
    bool more;      /* the device may have further frames */
};

/*
 * Gate: while the gate is open, a frame wakes the poll thread. A program that polls shuts the
 * gate and receives the frames itself.
 */
struct poll_gate {
    int epoll_fd;
    struct pollfd fds[RNIC_PORT_FDS]; /* the port's descriptors in the epoll set; fd -1: none */
    atomic_bool open;
    atomic_uint_fast64_t polled_at; /* time of the program's last poll, ns */
    unsigned vain_polls; /* successive polls that handled nothing while the gate was open */
    bool armed;          /* the program asked for an event since the gate was last shut */
    unsigned unpolled;   /* > 0: frames lately waited while the program did not poll */
};

struct poll_thread {
    pthread_t thread;
    pid_t tid;
    cpu_set_t cpus;  /* CPUs on which the process may run */
    int avoided_cpu; /* CPU of the program, which the poll thread avoids; -1: none */
    atomic_uint_fast64_t sleep_until; /* end of the thread's sleep, ns; 0: the thread is awake */
    uint64_t nap;                     /* length of its sleep while the gate is shut, ns */
    bool whole_ms;                    /* no epoll_pwait2(): sleeps last whole ms */
    bool may_spin;                    /* the machine has enough CPUs to spin */
    uint64_t moved_at;                /* time when the thread last received or sent a frame */
    uint64_t spin;                    /* length of spinning before a sleep, ns */
    uint64_t no_spin;                 /* length of the last period without spinning, ns */
    uint64_t no_spin_until;           /* end of the last period without spinning */
};

struct rt_watchdog {
    bool permitted; /* real-time priority is permitted, so locks inherit priority */
    bool running;   /* `thread` exists */
    pthread_t thread;
    int event_fd; /* wakes the thread */
};

struct rnic_live {
    pthread_mutex_t lock;         /* protects all members that are neither atomic nor constant */
    pthread_cond_t neigh_learned; /* signals a new entry of `neigh` */
    atomic_uint waiting;          /* threads that wait for the lock */
    int cancel_state; /* cancellation state of the thread that called rnic_live_lock() */
    /* Protects iface and gsi_fd, which are also read without `lock`. Locked after `lock`, and only
     * briefly. */
    pthread_mutex_t small_lock;

    struct rnic_live_attr attr; /* as opened; strings are copies */
    bool own_gids;              /* the caller gave GIDs in attr.gid */
    bool given_port;            /* opened by rnic_live_open_port(): no sockets */
    bool unpredictable;         /* no seed was given */

    struct rnic *rnic;
    struct rnic_iface iface;
    struct rnic_gid slot[RNIC_GID_MAX]; /* the device's GID table */
    bool slot_used[RNIC_GID_MAX];
    struct rnic_entropy entropy; /* random source for QPNs */

    /* Attached: port, QPN blocks and threads exist. A child of fork() is detached until the
     * parent's names are free. */
    bool attached;
    bool forked;                 /* a child of fork() that will attach again */
    atomic_bool fds_closed;      /* the program closed the descriptors: detached for ever */
    uint64_t fds_checked_at;     /* time of the last check of the descriptors */
    uint64_t reattach_at;        /* time of a child's next attempt to attach */
    bool stop;                   /* requests the threads to end */
    struct rnic_port *port;      /* the port in front of all others */
    struct rnic_port *pcap_port; /* the libpcap port behind `port`, or NULL */
    struct rnic_udp_reserve udp_reserve;
    struct rnic_qpn_alloc qpns;
    int watch_fd;  /* netlink socket: signals changes of interfaces */
    int answer_fd; /* listening socket for other processes that ask for a description */
    int gsi_fd;    /* claim on the name "gsi" (QP 1); -1: another process has it */
    int wake_fd;   /* event fd: wakes the poll thread */
    struct live_group group[RNIC_LIVE_GROUPS];
    struct neigh_cache neigh;

    struct tx_batch tx;
    struct ack_policy ack;
    atomic_bool ack_waits;          /* the device delays an ACK */
    uint64_t sent_at;               /* time when the program last sent something, ns */
    int sent_cpu;                   /* CPU on which the program last sent something */
    atomic_uint_fast64_t driven_at; /* time when any thread last looked for frames */

    struct poll_gate gate;
    struct poll_thread thread;
    struct rt_watchdog watchdog;

    struct rnic_live *next; /* next in the list of all live devices of the process */
};

/* lock.c */
void live_take_lock(struct rnic_live *live);
void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock);
/* Starts a thread with the program's signals blocked. Returns 0 or a positive errno. */
int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
               void *user);

/* qpn_filter.c. All locked. */
int live_filter(struct rnic_live *live);  /* sets the port's filter by QPN blocks and groups */
void live_answer(struct rnic_live *live); /* answers a question of another process */
void live_groups_join(struct rnic_live *live);
void live_groups_leave(struct rnic_live *live);

/* iface_change.c. Reads the state of the interface and reports changes to the program. Locked. */
void live_refresh(struct rnic_live *live);

/* fds_closed.c. Returns whether the device is still attached at `now`. Locked. */
bool live_is_attached(struct rnic_live *live, uint64_t now);

/* gate.c. All locked, except live_wake(). */
enum { /* kinds of descriptors in the epoll set; the gate concerns FOUND_PORT only */
       FOUND_WAKE = 1,
       FOUND_WATCH = 2,
       FOUND_ANSWER = 4,
       FOUND_PORT = 8
};
int live_gate_new(struct rnic_live *live);   /* Returns 0 or a negative errno. */
void live_gate_set(struct rnic_live *live);  /* adapts the epoll set to the port and to `open` */
void live_gate_open(struct rnic_live *live); /* the poll thread calls it */
void live_wake(struct rnic_live *live);      /* wakes the poll thread */
void live_polled(struct rnic_live *live, bool moved, uint64_t now); /* after a poll */
void live_gate_missed(struct rnic_live *live, uint64_t now); /* the poll thread received frames */
bool live_polled_lately(const struct rnic_live *live, uint64_t now);
bool live_polls_now(const struct rnic_live *live, uint64_t now);
void live_keep_away(struct rnic_live *live,
                    int cpu); /* keeps the poll thread off a CPU; -1: none */

/* drive.c. All locked. They return whether any frame or timer was handled. */
bool live_drive(struct rnic_live *live, uint64_t now);         /* sends waiting ACKs as well */
bool live_drive_polling(struct rnic_live *live, uint64_t now); /* called by a program that polls */
/* Sends what the program posted; ACKs may wait while it polls. */
bool live_send_posted(struct rnic_live *live, uint64_t now);
bool live_receive(struct rnic_live *live, uint64_t *now); /* receives frames and expires timers */
/* Sends frames. If `holds` is false or their wait is over, also sends the ACKs that wait. */
bool live_transmit(struct rnic_live *live, bool holds, uint64_t now);
void live_notify(struct rnic_live *live);
uint64_t live_deadline(const struct rnic_live *live); /* next deadline of the device or the port */

/* neigh_input.c. Handles an ARP or Neighbour Discovery frame; returns false for any other frame.
 * Locked. */
bool live_neigh_input(struct rnic_live *live, const struct rnic_frame *frame, uint64_t now);
/* Sends a frame made by the live device itself, such as an ARP reply. Drops it if the port is full.
 */
void live_send_own(struct rnic_live *live, const uint8_t *data, size_t len, uint64_t now);
bool live_kernel_has(const struct rnic_live *live, const uint8_t gid[16]);
bool live_device_has(const struct rnic_live *live, const uint8_t gid[16]);

/* poll_thread.c. Returns 0 or a negative errno. */
int live_thread_start(struct rnic_live *live);

/* rt_watchdog.c */
bool live_rt_permitted(void);
void live_rt_start(struct rnic_live *live);
void live_rt_stop(struct rnic_live *live); /* live->stop must be set */
void live_rt_join(struct rnic_live *live);

/* attach.c. Attaches the device in a child of fork() if the parent has ended. Locked. */
void live_reattach(struct rnic_live *live);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parts of struct rnic_live, private to this folder. The files, each of which uses only those above
 * it:
 *
 *   ack_policy, neigh_cache  no struct rnic_live: how long ACKs wait; MAC addresses of neighbours
 *   lock         taking the lock, starting threads
 *   qpn_filter   QPNs, names shared with other processes, multicast groups, the packet filter
 *   iface_change changes of the interface, and the device's GID table
 *   fds_closed   a program that closed the device's descriptors
 *   gate         which of the two receives: the polling program or the poll thread
 *   neigh_input  ARP and Neighbour Discovery frames
 *   drive        frames from the port into the device and back
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

#define LIVE_TX_FRAMES  64u           /* frames handed to the port at a time */
#define LIVE_TX_BYTES   (256u * 1024) /* room for these frames */
#define LIVE_NAP_NS     200000u       /* first sleep of the poll thread while the gate is shut */
#define LIVE_NAP_MAX_NS 1000000u      /* longest such sleep */
#define ACK_SENDER_NS   20000000u     /* a program that sent something within this may answer */

/* A multicast group that the device joined. */
struct live_group {
    uint8_t gid[16];
    unsigned cnt; /* joins; 0: the slot is unused */
    int fd;       /* socket with the kernel's membership; -1: none */
};

/* Frames that the port did not take yet. */
struct tx_batch {
    uint8_t *bytes; /* LIVE_TX_BYTES */
    struct rnic_frame frame[LIVE_TX_FRAMES];
    unsigned first; /* index of the next frame to send */
    unsigned cnt;   /* frames in the batch, those sent included */
    bool more;      /* the device may have further frames */
};

/*
 * Gate: while it is open, a frame wakes the poll thread. A program that polls shuts it, and
 * receives the frames itself.
 */
struct poll_gate {
    int epoll_fd;
    struct pollfd fds[RNIC_PORT_FDS]; /* the port's descriptors in the epoll set; fd -1: none */
    atomic_bool open;
    atomic_uint_fast64_t polled_at; /* time of the program's last poll, ns */
    unsigned vain_polls;            /* polls in a row that moved nothing, while open */
    bool armed;        /* the program asked for an event since the gate was last shut */
    unsigned unpolled; /* > 0: frames lately waited while the program did not poll */
};

struct poll_thread {
    pthread_t thread;
    pid_t tid;
    cpu_set_t cpus;                   /* where the process may run */
    int avoided_cpu;                  /* the program runs there; -1: none is avoided */
    atomic_uint_fast64_t sleep_until; /* end of its sleep, ns; 0: it is awake */
    uint64_t nap;                     /* its sleep while the gate is shut, ns */
    bool whole_ms;                    /* the kernel has no epoll_pwait2(): sleeps of whole ms */
    bool may_spin;                    /* there are enough CPUs */
    uint64_t moved_at;                /* time when it last moved a frame */
    uint64_t spin;                    /* time to spin before it sleeps, ns */
    uint64_t no_spin;                 /* last period without spinning, ns */
    uint64_t no_spin_until;           /* end of that period */
};

struct rt_watchdog {
    bool permitted; /* real-time priority is permitted: locks inherit it */
    bool running;   /* `thread` exists */
    pthread_t thread;
    int event_fd; /* wakes the thread */
};

struct rnic_live {
    pthread_mutex_t lock;         /* protects everything that is neither atomic nor constant */
    pthread_cond_t neigh_learned; /* signals a new entry of `neigh` */
    atomic_uint waiting;          /* threads that wait for the lock */
    int cancel_state;             /* rnic_live_lock(): the caller's, from rnic_cancel_disable() */
    /* Protects iface and gsi_fd, which are also read without `lock`. Taken after `lock`, for a
     * moment. */
    pthread_mutex_t small_lock;

    struct rnic_live_attr attr; /* as opened; strings are copies */
    bool own_gids;              /* attr.gid given */
    bool given_port;            /* rnic_live_open_port(): no sockets */
    bool unpredictable;         /* no seed was given */

    struct rnic *rnic;
    struct rnic_iface iface;
    struct rnic_gid slot[RNIC_GID_MAX]; /* the device's GID table */
    bool slot_used[RNIC_GID_MAX];
    struct rnic_entropy entropy; /* for QPNs */

    /* Attached: port, QPN blocks and threads exist. A child of fork() is detached until the
     * parent's names are free. */
    bool attached;
    bool forked;                 /* a child that is to attach again */
    atomic_bool fds_closed;      /* the program closed the descriptors; never attached again */
    uint64_t fds_checked_at;     /* time of the last check for that */
    uint64_t reattach_at;        /* time of the next try in a child */
    bool stop;                   /* the threads are to end */
    struct rnic_port *port;      /* outermost */
    struct rnic_port *pcap_port; /* the libpcap port behind it, or NULL */
    struct rnic_udp_reserve udp_reserve;
    struct rnic_qpn_alloc qpns;
    int watch_fd;  /* netlink: changes of interfaces */
    int answer_fd; /* socket for questions of other processes */
    int gsi_fd;    /* claim on QP 1; -1: another process has it */
    int wake_fd;   /* event fd: wakes the poll thread */
    struct live_group group[RNIC_LIVE_GROUPS];
    struct neigh_cache neigh;

    struct tx_batch tx;
    struct ack_policy ack;
    atomic_bool ack_waits;          /* the device keeps an ACK back */
    uint64_t sent_at;               /* time when the program last sent something, ns */
    int sent_cpu;                   /* CPU on which it did */
    atomic_uint_fast64_t driven_at; /* time when any thread last looked for frames */

    struct poll_gate gate;
    struct poll_thread thread;
    struct rt_watchdog watchdog;

    struct rnic_live *next; /* of all live devices of the process */
};

/* lock.c */
void live_take_lock(struct rnic_live *live);
void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock);
/* Starts a thread that handles no signal of the program; 0 or a positive errno. */
int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
               void *user);

/* qpn_filter.c. All locked. */
int live_filter(struct rnic_live *live);  /* sets the port's filter by QPN blocks and groups */
void live_answer(struct rnic_live *live); /* answers a question of another process */
void live_groups_join(struct rnic_live *live);
void live_groups_leave(struct rnic_live *live);

/* iface_change.c. Locked: reads the state of the interface and reports what changed. */
void live_refresh(struct rnic_live *live);

/* fds_closed.c. Locked: whether the device is still attached at `now`. */
bool live_is_attached(struct rnic_live *live, uint64_t now);

/* gate.c. All locked, except live_wake(). */
enum { /* kinds of descriptors in the epoll set; the gate concerns the last only */
       FOUND_WAKE = 1,
       FOUND_WATCH = 2,
       FOUND_ANSWER = 4,
       FOUND_PORT = 8
};
int live_gate_new(struct rnic_live *live);   /* 0 or a negative errno */
void live_gate_set(struct rnic_live *live);  /* adapts the epoll set to the port and to `open` */
void live_gate_open(struct rnic_live *live); /* for the poll thread: the program does not poll */
void live_wake(struct rnic_live *live);      /* wakes the poll thread */
void live_polled(struct rnic_live *live, bool moved, uint64_t now); /* the program polled */
void live_gate_missed(struct rnic_live *live, uint64_t now); /* the poll thread received frames */
bool live_polled_lately(const struct rnic_live *live, uint64_t now);
bool live_polls_now(const struct rnic_live *live, uint64_t now);
void live_keep_away(struct rnic_live *live,
                    int cpu); /* keeps the poll thread off a CPU; -1: none */

/* drive.c. All locked. Return whether anything moved. */
bool live_drive(struct rnic_live *live, uint64_t now);         /* sends waiting ACKs as well */
bool live_drive_polling(struct rnic_live *live, uint64_t now); /* for a program that polls */
/* Sends what the program posted; ACKs may wait while it polls. */
bool live_send_posted(struct rnic_live *live, uint64_t now);
bool live_receive(struct rnic_live *live, uint64_t *now); /* frames in, timers */
/* Sends frames. Without `holds`, and when their wait is over, waiting ACKs are sent as well. */
bool live_transmit(struct rnic_live *live, bool holds, uint64_t now);
void live_notify(struct rnic_live *live);
uint64_t live_deadline(const struct rnic_live *live); /* of device and port */

/* neigh_input.c. Locked: handles ARP and Neighbour Discovery; false for any other frame. */
bool live_neigh_input(struct rnic_live *live, const struct rnic_frame *frame, uint64_t now);
/* Sends a frame that is not the device's. A full port drops it. */
void live_send_own(struct rnic_live *live, const uint8_t *data, size_t len, uint64_t now);
bool live_kernel_has(const struct rnic_live *live, const uint8_t gid[16]);
bool live_device_has(const struct rnic_live *live, const uint8_t gid[16]);

/* poll_thread.c. 0 or a negative errno. */
int live_thread_start(struct rnic_live *live);

/* rt_watchdog.c */
bool live_rt_permitted(void);
void live_rt_start(struct rnic_live *live);
void live_rt_stop(struct rnic_live *live); /* live->stop is set */
void live_rt_join(struct rnic_live *live);

/* attach.c. Locked: a child of fork() attaches if its parent is gone. */
void live_reattach(struct rnic_live *live);

#endif

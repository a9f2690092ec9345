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
 *   raw_socket   the thread that receives frames for raw packet QPs
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

#define LIVE_TX_FRAMES 64u           /* maximum number of frames passed to the port in one call */
#define LIVE_TX_BYTES  (256u * 1024) /* size of the buffer for sent frames, bytes */
/* first sleep of the poll thread while the polling program receives the frames, ns */
#define LIVE_NAP_NS 200000u
/* longest sleep of the poll thread while the polling program receives the frames, ns */
#define LIVE_NAP_MAX_NS 1000000u
/* A program that sent a request within this time (ns) is expected to answer the peer's next request
 * soon. */
#define ACK_SENDER_NS 20000000u

/* A multicast group that the device joined. */
struct live_group {
    uint8_t gid[16];
    unsigned cnt; /* number of joins; 0: unused slot */
    int fd;       /* socket that makes the kernel a member of the multicast group; -1: none */
};

/* Frames that the port has not accepted yet. */
struct tx_batch {
    uint8_t *bytes; /* buffer of LIVE_TX_BYTES bytes */
    struct rnic_frame frame[LIVE_TX_FRAMES];
    unsigned first; /* index of the next frame to send */
    unsigned cnt;   /* number of frames in the batch, including those already sent */
    bool more;      /* the device may have more frames to send than those in the batch */
};

/*
 * Gate: decides which thread receives. While the gate is open, each frame wakes the poll thread,
 * which receives it. While the gate is shut, the polling program receives the frames.
 */
struct poll_gate {
    int epoll_fd;
    struct pollfd fds[RNIC_PORT_FDS]; /* descriptors of the port in the epoll set; fd -1: unused */
    atomic_bool open;
    atomic_uint_fast64_t polled_at; /* time of the program's last poll, ns */
    unsigned polls; /* number of polls since the gate was opened; if `armed`, number of successive
                     * polls that handled nothing */
    bool waits;     /* true: no received frame is in the port, so the poll thread may sleep until a
                     * descriptor of the port is ready */
    bool armed;     /* true: the program has requested an event since the gate was last shut */
    /* number of times that the gate will still open as soon as a poll finds a completion. Set when
     * received frames stayed unread because the program did not poll. */
    unsigned unpolled;
};

struct poll_thread {
    pthread_t thread;
    pid_t tid;
    cpu_set_t cpus;  /* CPUs on which the process may run */
    int avoided_cpu; /* CPU of the program, which the poll thread avoids; -1: none */
    atomic_uint_fast64_t
        sleep_until; /* end of the poll thread's sleep, ns; 0: the thread is awake */
    /* Length of the poll thread's sleep while the polling program receives the frames, ns. The poll
     * thread lengthens it without the lock, while the program may reset it. */
    atomic_uint_fast64_t nap;
    bool whole_ms;          /* epoll_pwait2() is missing, so the length of a sleep is rounded to
                             * whole milliseconds */
    bool may_spin;          /* the machine has enough CPUs to spin */
    uint64_t moved_at;      /* time when the poll thread last received or sent a frame, ns */
    uint64_t spin;          /* time for which the thread spins before it sleeps, ns */
    uint64_t no_spin;       /* length of the last period without spinning, ns */
    uint64_t no_spin_until; /* end of the last period without spinning, ns */
};

struct rt_watchdog {
    bool permitted; /* real-time priority is permitted, so locks inherit priority */
    bool running;   /* the watchdog's `thread` exists */
    pthread_t thread;
    int event_fd; /* event fd that wakes the watchdog thread */
};

/* Reception of frames for raw packet QPs. */
struct live_raw {
    pthread_mutex_t lock; /* protects all members; locked before rnic_live.lock */
    unsigned users;       /* number of rnic_live_raw_start() calls that rnic_live_raw_stop() has
                           * not ended; the thread exists while the number is not 0 */
    pthread_t thread;
    int fd[2];   /* packet sockets: on the interface and on the loopback; -1: none */
    int wake_fd; /* event fd that ends the thread */
    atomic_uint_fast64_t dropped; /* frames that the kernel dropped */
};

#define LIVE_NAMES 8u /* number of names in rnic_live.checked */

/* A name in the registry for which rnic_live_claimed() has returned RNIC_NAME_CLAIMED: the user of
 * the owner can receive packets. Until `until`, rnic_live_claimed() does not check the user
 * again. */
struct live_name {
    char name[64];
    uint64_t until; /* time until which the result of the check is valid, ns */
};

struct rnic_live {
    pthread_mutex_t lock;         /* protects all members that are neither atomic, constant, nor
                                   * protected by small_lock */
    pthread_cond_t neigh_learned; /* signals a new entry of the neighbour cache */
    atomic_uint waiting;          /* number of threads that wait for the lock */
    int cancel_state; /* cancellation state (pthread_setcancelstate(3)) of the thread that called
                       * rnic_live_lock() */
    /* Protects iface, gsi_fd and `checked`, which are also read without `lock`. Locked after
     * `lock`, and only briefly. */
    pthread_mutex_t small_lock;

    struct rnic_live_attr attr; /* attributes passed to rnic_live_open(); strings are copies */
    bool own_gids;              /* the caller specified GIDs in attr.gid */
    bool given_port;            /* opened by rnic_live_open_port(): no sockets */
    bool unpredictable;         /* the caller specified no seed */

    struct rnic *rnic;
    struct rnic_iface iface;
    struct rnic_gid slot[RNIC_GID_MAX]; /* the device's GID table */
    bool slot_used[RNIC_GID_MAX];
    struct rnic_entropy entropy; /* random source for QPNs */

    /* True while port, QPN blocks and threads exist; false in a child of fork(). */
    bool attached;
    atomic_bool fds_closed;  /* the program closed the descriptors: the device is detached
                              * forever */
    uint64_t fds_checked_at; /* time of the last check of the descriptors, ns */
    bool stop;               /* requests the threads to end */
    struct rnic_port *port;  /* port in front of all other ports */
    /* port of attr.wire, behind the others; NULL: the caller provided the port */
    struct rnic_port *wire_port;
    struct rnic_udp_reserve udp_reserve;
    struct rnic_qpn_alloc qpns;
    int watch_fd;  /* netlink socket: signals changes of interfaces */
    int answer_fd; /* listening socket for processes that request a description */
    int gsi_fd;    /* socket that claims the registry name "gsi" (QP 1); -1: another process has
                    * claimed the name */
    struct live_name checked[LIVE_NAMES];
    unsigned checked_next;
    int wake_fd; /* event fd: wakes the poll thread */
    struct live_group group[RNIC_LIVE_GROUPS];
    struct neigh_cache neigh;
    /* time at which the poll thread asks the kernel again for the state of the interface, ns;
     * UINT64_MAX: only after a change */
    uint64_t refresh_at;

    struct tx_batch tx;
    struct ack_policy ack;
    atomic_bool ack_waits;          /* the device delays an ACK */
    uint64_t sent_at;               /* time when the program last posted a send request, ns */
    int sent_cpu;                   /* CPU on which the program last posted a send request */
    atomic_uint_fast64_t driven_at; /* time when any thread last tried to receive frames, ns */

    struct poll_gate gate;
    struct poll_thread thread;
    struct rt_watchdog watchdog;
    struct live_raw raw;

    struct rnic_live *next; /* next in the list of all live devices of the process */
};

/* Lock functions (lock.c). */
void live_take_lock(struct rnic_live *live);
void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock);
/* Starts a thread with the program's signals blocked. Returns 0 or a positive errno. */
int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
               void *user);

/* Functions of qpn_filter.c. The caller has the lock. */
int live_filter(struct rnic_live *live); /* Makes the port's filter pass the frames for this
                                          * process's QPN blocks and multicast groups. */
/* Reports the interfaces of this machine to the port. */
void live_hosts(struct rnic_live *live, const struct rnic_iface *list, size_t cnt);
void live_answer(struct rnic_live *live); /* Sends a description of this process to another process
                                           * that requests one. */
void live_groups_join(struct rnic_live *live);
void live_groups_leave(struct rnic_live *live);

/* Reads the state of the interface and reports changes to the program (iface_change.c). Called with
 * the lock; releases it during the request to the kernel. */
void live_refresh(struct rnic_live *live);

/* Returns whether the device is still attached at `now` (fds_closed.c). Called with the lock. */
bool live_is_attached(struct rnic_live *live, uint64_t now);

/* Functions of gate.c. The caller has the lock, except for live_wake(). */
enum { /* kinds of descriptors in the epoll set; opening and shutting the gate adds and removes only
        * descriptors of kind FOUND_PORT */
       FOUND_WAKE = 1,
       FOUND_WATCH = 2,
       FOUND_ANSWER = 4,
       FOUND_PORT = 8
};
int live_gate_new(struct rnic_live *live);   /* Creates the gate. Returns 0 or a negative errno. */
void live_gate_set(struct rnic_live *live);  /* Makes the epoll set match the port's descriptors and
                                              * poll_gate.open. */
void live_gate_open(struct rnic_live *live); /* Opens the gate; called by the poll thread. */
void live_wake(struct rnic_live *live);      /* Wakes the poll thread. */
void live_polled(struct rnic_live *live, bool moved, uint64_t now); /* Updates the gate after a poll
                                                                     * of the program. */
void live_gate_missed(struct rnic_live *live, uint64_t now);        /* Detects whether the program
                                                                     * should have polled for the
                                                                     * frames that the poll thread
                                                                     * received. */
bool live_polled_lately(const struct rnic_live *live, uint64_t now);
bool live_polls_now(const struct rnic_live *live, uint64_t now);
void live_keep_away(struct rnic_live *live,
                    int cpu); /* Keeps the poll thread off this CPU; -1: allows all CPUs. */

/* Functions of drive.c. The caller has the lock. They return whether any frame or timer was
 * handled. */
bool live_drive(struct rnic_live *live, uint64_t now);         /* Drives the device once and also
                                                                * sends delayed ACKs. */
bool live_drive_polling(struct rnic_live *live, uint64_t now); /* Drives the device for a program
                                                                * that polls. */
/* Sends the requests that the program posted, and returns whether any was sent. While the program
 * polls its CQs, ACKs may be delayed. */
bool live_send_posted(struct rnic_live *live, uint64_t now);
/* Receives frames and expires timers. Sets *frames to whether any frame was received. */
bool live_receive(struct rnic_live *live, uint64_t *now, bool *frames);
/* Sends frames. Also sends the delayed ACKs, unless `holds` is true and their delay has not ended.
 */
bool live_transmit(struct rnic_live *live, bool holds, uint64_t now);
void live_notify(struct rnic_live *live);
uint64_t live_deadline(const struct rnic_live *live); /* Returns the next deadline of the device or
                                                       * the port. */

/* Handles an ARP or Neighbour Discovery frame (neigh_input.c). Returns false for any other frame.
 * Called with the lock. */
bool live_neigh_input(struct rnic_live *live, const struct rnic_frame *frame, uint64_t now);
/* Sends a frame made by the live device itself, such as an ARP reply. Drops it if the port is full.
 */
void live_send_own(struct rnic_live *live, const uint8_t *data, size_t len, uint64_t now);
bool live_kernel_has(const struct rnic_live *live, const uint8_t gid[16]);
bool live_device_has(const struct rnic_live *live, const uint8_t gid[16]);

/* Starts the poll thread (poll_thread.c). Returns 0 or a negative errno. */
int live_thread_start(struct rnic_live *live);

/* Functions of raw_socket.c. */
void live_raw_init(struct rnic_live *live);
void live_raw_forked(struct rnic_live *live); /* In a child of fork(): closes its copies of the
                                               * parent's sockets. */

/* Functions of rt_watchdog.c. */
bool live_rt_permitted(void);
void live_rt_start(struct rnic_live *live);
void live_rt_stop(struct rnic_live *live); /* Stops the watchdog thread; live->stop must be set. */
void live_rt_join(struct rnic_live *live);

#endif

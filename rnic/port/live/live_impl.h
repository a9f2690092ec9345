/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The inside of a live, shared by loop*.c. live.c moves frames, live_owed.c says what may wait,
 * live_thread.c is the loop's own thread, live_relief.c the one that stands in for it, attach.c
 * puts a loop together and takes it apart (fork included), fds_closed.c is for programs that close
 * its descriptors, live_path.c finds neighbours, qpn_filter.c has what is shared with other
 * processes.
 */
#ifndef PORT_LIVE_LIVE_IMPL_H
#define PORT_LIVE_LIVE_IMPL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "port/net/udp_reserve.h"
#include "port/sys/cancel_guard.h"
#include "port/live/live.h"
#include "port/shared/qpn_alloc.h"

#define LIVE_BATCH      64u           /* frames handed to the port at a time */
#define LIVE_TX_BYTES   (256u * 1024) /* for one batch */
#define LIVE_NEIGHS     64u           /* neighbours remembered, the oldest is forgotten */
#define LIVE_CLAIMS_MAX 4096u
#define LIVE_HOLD_NS                                                                               \
    8000u /* a program that looks at its memory, or waits for more, answers in that */
#define LIVE_BEHIND_NS 20000u  /* so long an ACK waits for the next one */
#define LIVE_NAP_NS    200000u /* the shortest time until the thread looks after the program */

struct live_neigh {
    uint8_t addr[16];
    uint8_t mac[6];
    uint64_t told_at; /* 0: not in use */
};

struct live_group {
    uint8_t gid[16];
    unsigned cnt; /* 0: not in use */
    int fd;       /* the kernel's membership, while plugged in; -1: none */
};

/* Whether it pays to wait for the program's answer: who comes late again and again is waited for
 * ever more seldom. */
struct backoff {
    unsigned late; /* times in a row, up to a limit */
    unsigned skip; /* so many times it is not waited */
};

struct rnic_live {
    pthread_mutex_t lock; /* protects everything but what is atomic or never changes */
    pthread_cond_t told;  /* a neighbour answered */
    atomic_uint wanting;  /* threads that wait for the lock */
    int held;             /* rnic_live_lock(): what rnic_cancel_disable() gave */
    /* Taken last, for a moment: iface and gsi_fd, which are asked for locked and not. */
    pthread_mutex_t small;

    /* What it was opened with; strings are copies. */
    struct rnic_live_attr attr;
    struct rnic_gid gid[RNIC_GID_MAX];
    bool own_gids;      /* attr.gid given */
    bool given_port;    /* rnic_live_open_port(): no sockets */
    bool unpredictable; /* no seed was given */

    struct rnic *rnic;
    struct rnic_iface iface;
    struct rnic_gid slot[RNIC_GID_MAX]; /* the device's GID table */
    bool slot_used[RNIC_GID_MAX];
    struct rnic_entropy entropy; /* for QPNs */

    /* Plugged in: port, names, thread. In a child of fork() not, until it can be again. */
    bool plugged;
    bool forked;        /* a child has to plug in again */
    atomic_bool lost;   /* the program has closed its descriptors; never plugged in again */
    uint64_t looked_at; /* when it was last looked whether it had */
    uint64_t replug_at;
    struct rnic_port *port;      /* the outermost */
    struct rnic_port *pcap_port; /* the libpcap port behind it, or NULL */
    struct rnic_udp_reserve udp_reserve;
    struct rnic_qpn_alloc qpns;
    int watch_fd;  /* netlink */
    int answer_fd; /* other processes ask here */
    int gsi_fd;    /* -1: another process speaks for QP 1 */
    int wake_fd;   /* bell */
    struct live_group group[RNIC_LIVE_GROUPS];
    struct live_neigh neigh[LIVE_NEIGHS];

    /* Frames the port did not take yet. */
    uint8_t *tx;
    struct rnic_frame frame[LIVE_BATCH];
    unsigned first; /* of frame[] that is still to go */
    unsigned cnt;
    bool more;              /* the device has further frames: a turn was over */
    atomic_bool owed;       /* frames came, and what the device says to them has not gone ... */
    uint64_t owed_at;       /* ... since then */
    bool owing;             /* ... and does not at the next unlock either */
    bool shown;             /* ... though the program found something in a queue */
    struct backoff polling; /* with a program that took the frames by polling */
    struct backoff looking; /* with one that the thread took them for */
    struct backoff behind;  /* with a peer that may not wait for acknowledgements */
    struct backoff stream;  /* with one that sends on without */
    uint64_t came_at;       /* frames last came to a program that polls */
    unsigned came_cnt;      /* turns with frames for which nothing has gone; 0: not counted */
    uint64_t ended_at;      /* a stream was taken to have ended then; 0: none was */
    unsigned behind_cnt;    /* times that it did not */
    uint64_t behind_at;     /* the first that was not acknowledged came then; 0: none */
    uint64_t passed_at;     /* a WRITE went before its acknowledgement */
    uint64_t sent_at;       /* the program last sent something ... */
    int sent_cpu;           /* ... from there */

    pthread_t thread;
    bool stop;
    bool relieved;                     /* real-time priority is permitted: locks inherit it */
    bool relief_runs;                  /* the thread `relief` is there */
    pthread_t relief;                  /* drives while nobody else gets a CPU */
    int relief_fd;                     /* bell: wakes that */
    atomic_uint_fast64_t driven_at;    /* somebody last looked for frames */
    atomic_uint_fast64_t polled_at;    /* last rnic_live_poll() */
    atomic_uint_fast64_t sleep_until;  /* the thread wakes by itself then; 0: it runs */
    int gate_fd;                       /* epoll: the port's descriptors */
    struct pollfd gate[RNIC_PORT_FDS]; /* what is in it; fd -1: nothing */
    atomic_bool open;                  /* frames wake the thread */
    unsigned polls;                    /* in vain, since the gate is open */
    unsigned absent;                   /* > 0: the program polls, but leaves frames lying */
    pid_t tid;                         /* of the thread */
    cpu_set_t cpus;                    /* where it may run */
    int cpu;      /* where it may not, because the program is there; -1: anywhere */
    uint64_t nap; /* ns: how long it sleeps while the program polls */
    bool spins;   /* there are CPUs enough for that */
    /* The thread's own. */
    bool coarse;           /* it sleeps for whole milliseconds: the kernel knows no better */
    uint64_t moved_at;     /* it last moved a frame */
    uint64_t spin;         /* how long it looks before it sleeps, ns */
    uint64_t scarce;       /* how long it last did not spin because others wanted the CPU */
    uint64_t scarce_until; /* ... and until when */

    struct rnic_live *next; /* of all loops of the process */
};

/* live.c. All locked. */
bool live_drive(struct rnic_live *live, uint64_t now);
/* The same for the loop's thread: the program has a moment to answer what came, so that its answer
 * and the acknowledgement go together. */
enum live_turn {
    LIVE_IDLE,
    LIVE_MOVED,
    LIVE_ANSWERED, /* the program answered: the lock is not held any more */
};
enum live_turn live_drive_asking(struct rnic_live *live, uint64_t now);
void live_notify(struct rnic_live *live);
void live_release(struct rnic_live *live); /* an ACK that waits behind a WRITE goes next */
uint64_t live_deadline(const struct rnic_live *live); /* of device and port */
void live_take_lock(struct rnic_live *live);          /* not locked */

/* live_owed.c. Locked. */
bool backoff_allows(struct backoff *patience);
void backoff_update(struct backoff *patience, bool late);
void live_owe(struct rnic_live *live, uint64_t now);
/* The program's own call: what it was owed goes out in time, or came late. */
void live_learn_polling(struct rnic_live *live, uint64_t now);
/* Frames came to a program that polls: what the device says to them may be owed. */
void live_came(struct rnic_live *live, uint64_t now);
/* Whether what is owed stays so while the program polls on. */
bool live_owed_waits(struct rnic_live *live, uint64_t now);
/* Whether the program may answer while the thread waits: it sent something lately, and from another
 * CPU than this. */
bool live_may_answer(const struct rnic_live *live, uint64_t now);
/* Whether the acknowledgement waits for the next one, behind a WRITE; and whether that was in vain.
 */
bool live_waits_behind(struct rnic_live *live, uint64_t now);
void live_learn_behind(struct rnic_live *live, bool late);

/* live_thread.c. Locked. */
int live_gate_new(struct rnic_live *live);
int live_thread_start(struct rnic_live *live);
/* pthread_create() of a thread that takes no signals but those of a fault: they are
 * the program's. */
int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
               void *user);
void live_wake(struct rnic_live *live);
void live_moved(struct rnic_live *live, uint64_t now);              /* the thread did something */
bool live_present(const struct rnic_live *live, uint64_t now);      /* the program polled lately */
void live_polled(struct rnic_live *live, bool moved, uint64_t now); /* the program did */

/* live_relief.c. Only _wake is called locked. */
bool live_rt_permitted(void);
void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock); /* as `relieved` says */
void live_rt_start(struct rnic_live *live);
void live_rt_wake(struct rnic_live *live); /* to see that it is to stop */
void live_rt_join(struct rnic_live *live);

/* attach.c. Locked: the interface changed; in a child, plug in again if that is possible now. */
void live_refresh(struct rnic_live *live);
void live_reattach(struct rnic_live *live);

/* fds_closed.c. Locked: whether it is plugged in still, by `now`. */
bool live_there(struct rnic_live *live, uint64_t now);

/* qpn_filter.c. Locked: the kernel's memberships of all groups, or none any more. */
void live_groups_join(struct rnic_live *live);
void live_groups_leave(struct rnic_live *live);

/* qpn_filter.c. Locked: sets the port's filter by QPNs and groups. */
int live_filter(struct rnic_live *live);
void live_answer(struct rnic_live *live);

/* live_path.c. Locked: looks at a frame that is ARP or Neighbour Discovery; false if it is neither.
 */
bool live_neigh_input(struct rnic_live *live, const struct rnic_frame *frame, uint64_t now);

#endif

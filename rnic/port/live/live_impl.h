/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The inside of a loop, shared by loop*.c. loop.c moves frames, loop_owed.c says what may wait,
 * loop_thread.c is the loop's own thread, loop_relief.c the one that stands in for it, loop_plug.c
 * puts a loop together and takes it apart (fork included), loop_lost.c is for programs that close
 * its descriptors, loop_path.c finds neighbours, loop_names.c has what is shared with other
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

#define LOOP_BATCH      64u           /* frames handed to the port at a time */
#define LOOP_TX_BYTES   (256u * 1024) /* for one batch */
#define LOOP_NEIGHS     64u           /* neighbours remembered, the oldest is forgotten */
#define LOOP_CLAIMS_MAX 4096u
#define LOOP_HOLD_NS                                                                               \
    8000u /* a program that looks at its memory, or waits for more, answers in that */
#define LOOP_BEHIND_NS 20000u  /* so long an ACK waits for the next one */
#define LOOP_NAP_NS    200000u /* the shortest time until the thread looks after the program */

struct loop_neigh {
    uint8_t addr[16];
    uint8_t mac[6];
    uint64_t told_at; /* 0: not in use */
};

struct loop_group {
    uint8_t gid[16];
    unsigned cnt; /* 0: not in use */
    int fd;       /* the kernel's membership, while plugged in; -1: none */
};

/* Whether it pays to wait for the program's answer: who comes late again and again is waited for
 * ever more seldom. */
struct loop_patience {
    unsigned late; /* times in a row, up to a limit */
    unsigned skip; /* so many times it is not waited */
};

struct rnic_loop {
    pthread_mutex_t lock; /* protects everything but what is atomic or never changes */
    pthread_cond_t told;  /* a neighbour answered */
    atomic_uint wanting;  /* threads that wait for the lock */
    int held;             /* rnic_loop_lock(): what rnic_hold_on() gave */
    /* Taken last, for a moment: iface and gsi_fd, which are asked for locked and not. */
    pthread_mutex_t small;

    /* What it was opened with; strings are copies. */
    struct rnic_loop_attr attr;
    struct rnic_gid gid[RNIC_GID_MAX];
    bool own_gids;   /* attr.gid given */
    bool given_port; /* rnic_loop_open_port(): no sockets */
    uint8_t seed[32];

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
    struct rnic_port *port; /* the outermost */
    struct rnic_port *live; /* the libpcap port behind it, or NULL */
    struct rnic_guard guard;
    struct rnic_qpns qpns;
    int watch_fd;  /* netlink */
    int answer_fd; /* other processes ask here */
    int gsi_fd;    /* -1: another process speaks for QP 1 */
    int wake_fd;   /* bell */
    struct loop_group group[RNIC_LOOP_GROUPS];
    struct loop_neigh neigh[LOOP_NEIGHS];

    /* Frames the port did not take yet. */
    uint8_t *tx;
    struct rnic_frame frame[LOOP_BATCH];
    unsigned first; /* of frame[] that is still to go */
    unsigned cnt;
    bool more;        /* the device has further frames: a turn was over */
    atomic_bool owed; /* frames came, and what the device says to them has not gone ... */
    uint64_t owed_at; /* ... since then */
    bool owing;       /* ... and does not at the next unlock either */
    bool shown;       /* ... though the program found something in a queue */
    struct loop_patience polling; /* with a program that took the frames by polling */
    struct loop_patience looking; /* with one that the thread took them for */
    struct loop_patience behind;  /* with a peer that may not wait for acknowledgements */
    struct loop_patience stream;  /* with one that sends on without */
    uint64_t came_at;             /* frames last came to a program that polls */
    unsigned came_cnt;            /* turns with frames for which nothing has gone; 0: not counted */
    uint64_t ended_at;            /* a stream was taken to have ended then; 0: none was */
    unsigned behind_cnt;          /* times that it did not */
    uint64_t behind_at;           /* the first that was not acknowledged came then; 0: none */
    uint64_t passed_at;           /* a WRITE went before its acknowledgement */
    uint64_t sent_at;             /* the program last sent something ... */
    int sent_cpu;                 /* ... from there */

    pthread_t thread;
    bool stop;
    bool relieved;                     /* real-time priority is permitted: locks inherit it */
    bool relief_runs;                  /* the thread `relief` is there */
    pthread_t relief;                  /* drives while nobody else gets a CPU */
    int relief_fd;                     /* bell: wakes that */
    atomic_uint_fast64_t driven_at;    /* somebody last looked for frames */
    atomic_uint_fast64_t polled_at;    /* last rnic_loop_poll() */
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

    struct rnic_loop *next; /* of all loops of the process */
};

/* loop.c. All locked. */
bool loop_drive(struct rnic_loop *loop, uint64_t now);
/* The same for the loop's thread: the program has a moment to answer what came, so that its answer
 * and the acknowledgement go together. */
enum loop_turn {
    LOOP_IDLE,
    LOOP_MOVED,
    LOOP_ANSWERED, /* the program answered: the lock is not held any more */
};
enum loop_turn loop_drive_asking(struct rnic_loop *loop, uint64_t now);
void loop_notify(struct rnic_loop *loop);
void loop_release(struct rnic_loop *loop); /* an ACK that waits behind a WRITE goes next */
uint64_t loop_deadline(const struct rnic_loop *loop); /* of device and port */
void loop_take_lock(struct rnic_loop *loop);          /* not locked */

/* loop_owed.c. Locked. */
bool loop_has_patience(struct loop_patience *patience);
void loop_learn(struct loop_patience *patience, bool late);
void loop_owe(struct rnic_loop *loop, uint64_t now);
/* The program's own call: what it was owed goes out in time, or came late. */
void loop_learn_polling(struct rnic_loop *loop, uint64_t now);
/* Frames came to a program that polls: what the device says to them may be owed. */
void loop_came(struct rnic_loop *loop, uint64_t now);
/* Whether what is owed stays so while the program polls on. */
bool loop_owed_waits(struct rnic_loop *loop, uint64_t now);
/* Whether the program may answer while the thread waits: it sent something lately, and from another
 * CPU than this. */
bool loop_may_answer(const struct rnic_loop *loop, uint64_t now);
/* Whether the acknowledgement waits for the next one, behind a WRITE; and whether that was in vain.
 */
bool loop_waits_behind(struct rnic_loop *loop, uint64_t now);
void loop_learn_behind(struct rnic_loop *loop, bool late);

/* loop_thread.c. Locked. */
int loop_gate_new(struct rnic_loop *loop);
int loop_thread_start(struct rnic_loop *loop);
/* pthread_create() of a thread that takes no signals but those of a fault: they are
 * the program's. */
int loop_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
               void *user);
void loop_wake(struct rnic_loop *loop);
void loop_moved(struct rnic_loop *loop, uint64_t now);              /* the thread did something */
bool loop_present(const struct rnic_loop *loop, uint64_t now);      /* the program polled lately */
void loop_polled(struct rnic_loop *loop, bool moved, uint64_t now); /* the program did */

/* loop_relief.c. Only _wake is called locked. */
bool loop_relief_permitted(void);
void loop_lock_init(const struct rnic_loop *loop, pthread_mutex_t *lock); /* as `relieved` says */
void loop_relief_start(struct rnic_loop *loop);
void loop_relief_wake(struct rnic_loop *loop); /* to see that it is to stop */
void loop_relief_join(struct rnic_loop *loop);

/* loop_plug.c. Locked: the interface changed; in a child, plug in again if that is possible now. */
void loop_refresh(struct rnic_loop *loop);
void loop_replug(struct rnic_loop *loop);

/* loop_lost.c. Locked: whether it is plugged in still, by `now`. */
bool loop_there(struct rnic_loop *loop, uint64_t now);

/* loop_names.c. Locked: the kernel's memberships of all groups, or none any more. */
void loop_groups_join(struct rnic_loop *loop);
void loop_groups_leave(struct rnic_loop *loop);

/* loop_names.c. Locked: sets the port's filter by QPNs and groups. */
int loop_filter(struct rnic_loop *loop);
void loop_answer(struct rnic_loop *loop);

/* loop_path.c. Locked: looks at a frame that is ARP or Neighbour Discovery; false if it is neither.
 */
bool loop_neigh_input(struct rnic_loop *loop, const struct rnic_frame *frame, uint64_t now);

#endif

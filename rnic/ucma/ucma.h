/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ucma: the rdma_cm character device in the process: what the stock librdmacm.so.1 writes to it
 * (rdma/rdma_user_cm.h, ABI 4), answered over rnic/cm. It lives in our libibverbs.so.1, because it
 * shares the devices; preload.c leads a program's calls here.
 *
 * One lock guards everything here, engines included. It may be held when the list of devices or a
 * device is locked, never the other way. One thread, the worker, does what waits: it resolves
 * addresses, sends and receives MADs, and keeps the time.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef UCMA_H
#define UCMA_H

#include "cm/conn.h"
#include "verbs/objects.h"

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

/* ---- what preload.c calls; exported under the version RNIC_1 -----------------------------------
 */

/* A descriptor that may be polled and set O_NONBLOCK as any; -1 and errno. */
RNIC_EXPORT int vcma_open(int flags);
/* As write(2): a command. -1 and errno. */
RNIC_EXPORT ssize_t vcma_write(int fd, const void *buf, size_t len);
/* Ends the ids of the descriptor and closes it. */
RNIC_EXPORT int vcma_close(int fd);

/* ---- objects ---------------------------------------------------------------------------------
 */

/* enum rdma_cm_event_type of <rdma/rdma_cma.h>, which is not needed for building. */
enum ucma_event_type {
    UCMA_ADDR_RESOLVED,
    UCMA_ADDR_ERROR,
    UCMA_ROUTE_RESOLVED,
    UCMA_ROUTE_ERROR,
    UCMA_CONNECT_REQUEST,
    UCMA_CONNECT_RESPONSE,
    UCMA_CONNECT_ERROR,
    UCMA_UNREACHABLE,
    UCMA_REJECTED,
    UCMA_ESTABLISHED,
    UCMA_DISCONNECTED,
    UCMA_DEVICE_REMOVAL,
    UCMA_MULTICAST_JOIN,
    UCMA_MULTICAST_ERROR,
    UCMA_ADDR_CHANGE,
    UCMA_TIMEWAIT_EXIT,
    UCMA_ADDRINFO_RESOLVED, /* these four: Linux 6.17, rdma-core 59 */
    UCMA_ADDRINFO_ERROR,
    UCMA_USER,
    UCMA_INTERNAL,
};

#define UCMA_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY: the Q_Key of port space UDP, Annex A11 */

struct uc_port; /* a device, its QP 1 and its CM: port.c */

struct uc_event {
    struct uc_event *next;
    struct uc_id *id;    /* whose it is */
    struct uc_id *child; /* CONNECT_REQUEST */
    struct uc_mcast *mcast;
    rnic_time at; /* it was posted */
    struct rdma_ucm_event_resp resp;
};

struct uc_file {
    struct uc_file *next;
    int fd; /* eventfd, readable while there are events */
    struct uc_event *first, **last;
    bool inherited;   /* of the parent of this process */
    bool read;        /* `reader` is set */
    bool late;        /* the reader was given time for an event and did not take it */
    pthread_t reader; /* thread that took the last event */
};

struct uc_mcast {
    struct uc_mcast *next;
    uint32_t handle;
    uint64_t uid;
    uint32_t reported;
};

union uc_addr {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

enum uc_state { UC_IDLE, UC_BOUND, UC_ADDR, UC_ROUTE, UC_LISTEN, UC_CONNECT, UC_DISCONNECT };

/* A name claimed for an id: one for each device it is bound on. */
struct uc_claim {
    struct uc_claim *next;
    struct uc_port *port;
    int handle;
};

/* What listens for an id: one for each device. */
struct uc_listener {
    struct uc_listener *next;
    struct rnic_cm_id *cm;
};

struct uc_id {
    struct uc_id *next;
    struct uc_file *file;
    uint32_t handle;
    uint64_t uid; /* 0: not taken by the program yet */
    uint16_t space;
    uint8_t qp_type; /* enum ibv_qp_type */
    enum uc_state state;
    union uc_addr src, dst;
    struct uc_port *port; /* NULL: no device yet */
    struct rnic_cm_addr addr;
    uint8_t sgid_idx;
    uint8_t hop_limit;
    uint8_t mtu; /* code */
    unsigned paths;
    struct rnic_cm_id *cm;
    struct uc_listener *listeners;
    struct uc_claim *claims;
    struct uc_mcast *mcasts;
    uint32_t reported;
    uint32_t backlog;
    uint32_t psn; /* that the peer begins with */
    uint32_t qpn;
    uint8_t tos;
    uint8_t ack_timeout; /* 0: not set */
    bool reuse;
    bool disconnect_posted;
    bool dreq_due; /* its peer process was killed: its DREQ is to be sent */
    enum { UC_NO_JOB, UC_RESOLVE_ADDR, UC_RESOLVE_ROUTE } job;
    uint32_t timeout_ms;
};

extern pthread_mutex_t uc_lock;
extern struct uc_id *uc_ids; /* all */

/* ---- address.c -------------------------------------------------------------------------------
 */

bool uc_gid_of(const union uc_addr *addr, uint8_t gid[16]); /* false: no address we know */
void uc_addr_of(const uint8_t gid[16], uint16_t port, union uc_addr *addr);
bool uc_addr_is_any(const union uc_addr *addr);
bool uc_addr_is_loopback(const union uc_addr *addr); /* 127.0.0.0/8, ::1 */
uint16_t uc_addr_port(const union uc_addr *addr);
void uc_addr_set_port(union uc_addr *addr, uint16_t port);

/* ---- port.c ----------------------------------------------------------------------------------
 */

/* The port on the interface that has `gid` as an address, or NULL and errno. Opens it if need be.
 */
struct uc_port *uc_port_at(const uint8_t gid[16]);
/* The port that the kernel's route to `gid` leaves from, and for an address of this machine the one
 * that has it. */
struct uc_port *uc_port_towards(const uint8_t gid[16]);
/* All there are, opened: the number, or a negative errno. */
int uc_port_open_all(void);
struct uc_port *uc_port_first(void);
struct uc_port *uc_port_next(struct uc_port *port);
void uc_ports_forked(void); /* in a child of fork(): forgets the parent's */

struct rnic_cm *uc_port_cm(struct uc_port *port);
struct ibv_context *uc_port_context(struct uc_port *port);
struct rnic_live *uc_port_live(struct uc_port *port);
uint64_t uc_port_guid(struct uc_port *port); /* host order */
/* The index of a RoCEv2 GID, or -1. */
int uc_port_gid_index(struct uc_port *port, const uint8_t gid[16]);
bool uc_port_gid(struct uc_port *port, unsigned idx, uint8_t gid[16]);
/* Its first RoCEv2 GID of an IPv4 address, or else its first RoCEv2 GID. */
bool uc_port_own_gid(struct uc_port *port, uint8_t gid[16]);

/* For the worker. The first is called unlocked. */
void uc_port_send(struct uc_port *port, const uint8_t *mad, const struct rnic_cm_addr *addr);
int uc_port_fd(struct uc_port *port);
int uc_port_async_fd(struct uc_port *port);
/* Takes what the device tells: if its interface went away, so do all ids on it. */
void uc_port_async(struct uc_port *port);
void uc_port_receive(struct uc_port *port, rnic_time now);
/* Whether the peer of a connection is another process of this machine, and whether it is gone. */
bool uc_port_peer_local(const struct uc_id *id);
bool uc_port_peer_gone(const struct uc_id *id);

/* ---- worker.c --------------------------------------------------------------------------------
 */

int uc_worker_start(void); /* if it does not run; locked */
void uc_worker_wake(void);
/* Until what the engines have to say is sent, for a moment at most; unlocks meanwhile. In the
 * kernel it is sent when the call returns, and a program may rely on it and end at once (_exit). */
void uc_worker_flush(void);
uint32_t uc_random(void);
void uc_worker_forked(void); /* the thread is the parent's */

/* ---- file.c ----------------------------------------------------------------------------------
 */

void uc_files_forked(void);         /* in a child of fork(): the parent's channels are inherited */
struct uc_file *uc_file_of(int fd); /* or NULL */
void uc_post(struct uc_event *event); /* to the file of event->id */
/* A new event of `id`; NULL without memory. */
struct uc_event *uc_event_new(struct uc_id *id, enum ucma_event_type type, int status);
int uc_get_event(struct uc_file *file, struct rdma_ucm_event_resp *resp);
/* Leaves another thread that takes the file's events a moment for those of an id that is to be
 * destroyed; unlocks meanwhile. */
void uc_wait_for_reader(const struct uc_id *id);
/* Removes the oldest event of the file and returns it for free(), or NULL. With `id` only events of
 * that id count, with `mcast` only those of that group. */
struct uc_event *uc_take_event(struct uc_file *file, const struct uc_id *id,
                               const struct uc_mcast *mcast);
void uc_discard_request(const struct uc_id *child); /* that nobody heard of */
void uc_move_events(struct uc_id *id, struct uc_file *to);

/* ---- id.c ------------------------------------------------------------------------------------
 */

struct uc_id *uc_id_new(struct uc_file *file, uint64_t uid, uint16_t space, uint8_t qp_type);
void uc_id_del(struct uc_id *id); /* with its events */
/* NULL if the file has no such id. */
struct uc_id *uc_id_get(struct uc_file *file, uint32_t handle);
struct uc_id *uc_id_find(uint32_t handle);
int uc_bind(struct uc_id *id, const union uc_addr *addr);
int uc_listen(struct uc_id *id, uint32_t backlog);
/* The name in port/registry.h of a port of a port space. */
#define UC_SERVICE_NAME 32
void uc_service_name(char name[UC_SERVICE_NAME], unsigned space, uint16_t port);
void uc_ids_forked(void); /* in a child of fork(): releases the parent's names, forgets its ids */
/* What the worker does for id->job; unlocks meanwhile. */
void uc_resolve(struct uc_id *id);
uint32_t uc_handle_new(void);
void uc_path_of(const struct uc_id *id, struct rnic_cm_path *path);

/* ---- fork.c ----------------------------------------------------------------------------------
 */

void uc_register_fork_handlers(void); /* once */
/* Sleeps 2 ms and returns true shortly after a fork, when the child may still hold a name of this
 * process; else returns false. */
bool uc_wait_for_child(void);

/* ---- ucm_event.c -------------------------------------------------------------------------------
 */

/* Tells programs what an engine has to tell. */
void uc_deliver_cm_events(struct uc_port *port);
void uc_ah_of(const struct uc_id *id, struct ib_uverbs_ah_attr *ah);

/* ---- command.c -------------------------------------------------------------------------------
 */

int uc_command(struct uc_file *file, const struct rdma_ucm_cmd_hdr *hdr, const void *body,
               size_t len);

#endif

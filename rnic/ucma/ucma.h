/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Ucma: replaces the kernel's rdma_cm character device by code in the process. The stock
 * librdmacm.so.1 writes commands to /dev/infiniband/rdma_cm (rdma/rdma_user_cm.h, ABI 4); ucma
 * executes these commands with the CM engine of rnic/cm. It is part of our libibverbs.so.1, because
 * it uses the devices of that library.
 *
 * A call of a program, step by step:
 *   1. preload.c intercepts open(), write() and close() of the device file, and calls vcma_*()
 *      (file.c).
 *   2. command.c executes a command. It changes an id (id.c) and calls the CM engine of its device
 *      (port.c), which queues MADs.
 *   3. The worker thread (worker.c) sends and receives MADs, resolves addresses and expires timers.
 *   4. ucm_event.c converts events of an engine to events of the channel; the program reads them
 *      with a command.
 *
 * One lock, uc_lock, protects all data of this module and the CM engines. A thread that holds
 * uc_lock may lock the list of devices or a device. A thread that holds one of these locks must not
 * lock uc_lock. Functions return 0 or a negative errno unless documented otherwise.
 */
#ifndef UCMA_H
#define UCMA_H

#include "cm/conn.h"
#include "verbs/objects.h"

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

/* ---- functions for preload.c, exported under the version RNIC_1 ------------------------------ */

/* Opens the character device. Returns a new descriptor, or -1 with errno. The program may poll the
 * descriptor and set O_NONBLOCK. */
RNIC_EXPORT int vcma_open(int flags);
/* Executes a command as write(2) on the kernel's device does. Returns the number of bytes written,
 * or -1 with errno. */
RNIC_EXPORT ssize_t vcma_write(int fd, const void *buf, size_t len);
/* Deletes all ids of the descriptor and closes it. */
RNIC_EXPORT int vcma_close(int fd);

/* ---- objects of this module ------------------------------------------------------------------ */

/* Type of an event: the numbers of enum rdma_cm_event_type, defined here so that <rdma/rdma_cma.h>
 * is not needed to build. */
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
    UCMA_ADDRINFO_RESOLVED, /* event types from Linux 6.17 and rdma-core 59 on */
    UCMA_ADDRINFO_ERROR,
    UCMA_USER,
    UCMA_INTERNAL,
};

#define UCMA_UDP_QKEY 0x01234567u /* Q_Key of port space UDP, RDMA_UDP_QKEY (Annex A11) */

struct uc_port; /* An RDMA device with its QP 1 and its CM engine; defined in port.c. */

struct uc_event {
    struct uc_event *next;
    struct uc_id *id;    /* id to which the event belongs */
    struct uc_id *child; /* id of the new connection if the event is CONNECT_REQUEST; otherwise
                          * NULL */
    struct uc_mcast *mcast;
    rnic_time at; /* time of uc_post(), ns */
    struct rdma_ucm_event_resp resp;
};

struct uc_file {
    struct uc_file *next;
    int fd; /* eventfd that is readable while the channel has events */
    struct uc_event *first, **last;
    bool inherited;   /* a parent process created the channel before fork() */
    bool read;        /* an event was read, so `reader` is valid */
    bool late;        /* uc_wait_for_reader() gave a thread time to read an event, but the thread
                       * did not read it */
    pthread_t reader; /* thread that read the last event */
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

/* Name in the registry (port/shared/registry.h) with which an id has claimed its CM port on one
 * device. No other process can then use this port. */
struct uc_claim {
    struct uc_claim *next;
    struct uc_port *port;
    bool any; /* true: the id has claimed the CM port at all addresses of the device */
    int handle;
};

/* CM id with which a listener listens on one device. A listener at all addresses has a CM id on
 * each device. */
struct uc_listener {
    struct uc_listener *next;
    struct rnic_cm_id *cm;
};

struct uc_id {
    struct uc_id *next;
    struct uc_file *file;
    uint32_t handle;
    uint64_t uid; /* number that the program gave the id; 0 if the program has not accepted the
                   * connection yet */
    uint16_t space;
    uint8_t qp_type; /* QP type, enum ibv_qp_type */
    enum uc_state state;
    union uc_addr src, dst;
    struct uc_port *port; /* device and its CM; NULL: not assigned yet */
    struct rnic_cm_addr addr;
    uint8_t sgid_idx;
    uint8_t hop_limit;
    uint8_t mtu; /* path MTU code */
    unsigned paths;
    struct rnic_cm_id *cm;
    struct uc_listener *listeners;
    struct uc_claim *claims;
    struct uc_mcast *mcasts;
    uint32_t reported;
    uint32_t backlog;
    uint32_t psn; /* starting PSN that this end sent in its REQ or REP: PSN of the peer's first
                   * request */
    uint32_t qpn;
    uint8_t tos;
    uint8_t ack_timeout; /* ACK timeout code; 0: not set */
    bool reuse;
    bool afonly; /* if the id is bound to a wildcard address, it uses only addresses of the same
                  * family (IPv4 or IPv6) */
    bool disconnect_posted;
    bool dreq_due; /* the process of the peer was killed, so this process must send the DREQ for
                    * it */
    enum { UC_NO_JOB, UC_RESOLVE_ADDR, UC_RESOLVE_ROUTE } job;
    /* Times of the current job: when the worker continues the job, when the worker next sends a
     * request for the neighbour, and when the worker gives up. */
    rnic_time job_due, ask_due, job_end;
};

extern pthread_mutex_t uc_lock;
extern struct uc_id *uc_ids; /* all ids of the process */

/* ---- functions of address.c ------------------------------------------------------------------ */

bool uc_gid_of(const union uc_addr *addr,
               uint8_t gid[16]); /* Converts a socket address to a GID. Returns false for an unknown
                                  * address family. */
void uc_addr_of(const uint8_t gid[16], uint16_t port, union uc_addr *addr);
bool uc_addr_is_any(const union uc_addr *addr);
bool uc_addr_is_loopback(const union uc_addr *addr); /* Returns whether the address is in
                                                      * 127.0.0.0/8 or is ::1. */
/* Returns the index of the interface to which a link-local address belongs, or 0. */
unsigned uc_addr_scope(const union uc_addr *addr);
uint16_t uc_addr_port(const union uc_addr *addr);
void uc_addr_set_port(union uc_addr *addr, uint16_t port);

/* ---- functions of port.c --------------------------------------------------------------------- */

/* Returns the port (a device) of the interface that has this GID, and opens the port if necessary.
 * If `oif` is not 0, the interface must have this index. Returns NULL with errno on failure:
 * EADDRNOTAVAIL if no interface has the GID, ENODEV if the interface has no device. */
struct uc_port *uc_port_at(const uint8_t gid[16], unsigned oif);
/* Returns the port on the kernel's route to `gid`, through the interface `oif` or, if `oif` is 0,
 * through any interface. If `gid` is an address of this machine, returns the port that has this
 * address. Returns NULL with errno if there is none. */
struct uc_port *uc_port_towards(const uint8_t gid[16], unsigned oif);
/* Returns whether the kernel has no route to `gid` through the interface of the port. A multicast
 * group needs none. */
bool uc_port_has_no_route(const struct uc_port *port, const uint8_t gid[16]);
/* Opens all ports. Returns their number or a negative errno. */
int uc_port_open_all(void);
struct uc_port *uc_port_first(void);
struct uc_port *uc_port_next(struct uc_port *port);
void uc_ports_forked(void); /* Called in a child of fork(): frees the ports of the parent. */

struct rnic_cm *uc_port_cm(struct uc_port *port);
struct ibv_context *uc_port_context(struct uc_port *port);
struct rnic_live *uc_port_live(struct uc_port *port);
uint64_t uc_port_guid(struct uc_port *port); /* Returns the GUID of a port, host byte order. */
/* Returns the index of a RoCEv2 GID in the port's table, or -1. */
int uc_port_gid_index(struct uc_port *port, const uint8_t gid[16]);
bool uc_port_gid(struct uc_port *port, unsigned idx, uint8_t gid[16]);
/* Finds the first RoCEv2 GID of the port that is an IPv4 address. If there is none, finds the first
 * RoCEv2 GID. Returns whether the port has a RoCEv2 GID. */
bool uc_port_own_gid(struct uc_port *port, uint8_t gid[16]);

/* Returns whether any process has claimed a CM port on the device. `name` is the result of
 * uc_service_name(). */
bool uc_port_service_held(const struct uc_port *port, const char *name);

/* Returns whether a process has claimed `name` in the registry (port/shared/registry.h) and can
 * receive packets of the device. A CM port, for example, has such a name. If the process that
 * claimed the name can receive no packets, prints a warning, once for each name. */
bool uc_port_is_claimed(struct uc_port *port, const char *name);

/* Functions for the worker thread. uc_port_send() must be called without uc_lock. */
void uc_port_send(struct uc_port *port, const uint8_t *mad, const struct rnic_cm_addr *addr);
int uc_port_fd(struct uc_port *port);
int uc_port_async_fd(struct uc_port *port);
/* Handles asynchronous events of the device. If the interface of the port was removed, posts
 * DEVICE_REMOVAL to the ids of the port. */
void uc_port_async(struct uc_port *port);
void uc_port_receive(struct uc_port *port, rnic_time now);
/* uc_port_peer_local() returns whether the peer of a connection is another process on this machine.
 * uc_port_peer_gone() returns whether that process has ended. */
bool uc_port_peer_local(const struct uc_id *id);
bool uc_port_peer_gone(const struct uc_id *id);

/* ---- functions of worker.c ------------------------------------------------------------------- */

int uc_worker_start(void); /* Starts the worker thread if it is not running. Requires uc_lock. */
void uc_worker_wake(void);
/* Waits up to 200 ms until all queued MADs are sent, because the program may call _exit() right
 * after its rdma_cm call. A kernel CM sends its MADs before the call returns. Unlocks uc_lock
 * while it waits. */
void uc_worker_flush(void);
uint32_t uc_random(void);
void uc_worker_forked(void); /* Resets the worker in a child of fork(), because the thread exists
                              * only in the parent. */

/* ---- functions of file.c --------------------------------------------------------------------- */

void uc_files_forked(void); /* Called in a child of fork(): marks the channels of the parent as
                             * inherited. */
struct uc_file *uc_file_of(int fd);   /* Returns the channel with this descriptor, or NULL. */
void uc_post(struct uc_event *event); /* Queues an event in the channel (file) of event->id. */
/* Creates an event of `id`. Returns NULL if out of memory. */
struct uc_event *uc_event_new(struct uc_id *id, enum ucma_event_type type, int status);
int uc_get_event(struct uc_file *file, struct rdma_ucm_event_resp *resp);
/* Called before an id is deleted: gives another thread time to read the events of the id. Unlocks
 * uc_lock while it waits. */
void uc_wait_for_reader(const struct uc_id *id);
/* Removes the oldest matching event of the file and returns it, or NULL. The caller frees the
 * event. If `id` is not NULL, only events of this id match; if `mcast` is not NULL, only events of
 * this group. */
struct uc_event *uc_take_event(struct uc_file *file, const struct uc_id *id,
                               const struct uc_mcast *mcast);
void uc_discard_request(const struct uc_id *child); /* Removes the event CONNECT_REQUEST for the new
                                                     * id `child`, if the program has not read it.
                                                     * */
void uc_move_events(struct uc_id *id, struct uc_file *to);

/* ---- functions of id.c ----------------------------------------------------------------------- */

struct uc_id *uc_id_new(struct uc_file *file, uint64_t uid, uint16_t space, uint8_t qp_type);
/* Deletes an rdma_cm id and its events. */
void uc_id_del(struct uc_id *id);
/* Returns the id with this handle, or NULL if the file has no such id. */
struct uc_id *uc_id_get(struct uc_file *file, uint32_t handle);
int uc_bind(struct uc_id *id, const union uc_addr *addr);
int uc_listen(struct uc_id *id, uint32_t backlog);
/* Writes the name under which a process registers that it listens on a port of a port space
 * (port/shared/registry.h). The process listens at the address `gid` or, if `gid` is NULL, at all
 * addresses. */
#define UC_SERVICE_NAME 64
void uc_service_name(char name[UC_SERVICE_NAME], unsigned space, uint16_t port, const uint8_t *gid);
void uc_ids_forked(void); /* Called in a child of fork(): closes the sockets with which the
                           * parent claims names in the registry, and forgets the parent's ids. */
/* Resolves the address or the route of an id (id->job), in the worker thread. Unlocks uc_lock
 * meanwhile. If the neighbour does not respond, sets id->job_due, the time of the next attempt. */
void uc_resolve(struct uc_id *id);
/* Finds a number that is not the handle of an id or multicast group. Returns 0 or -ENOMEM. */
int uc_handle_new(uint32_t *handle);
void uc_mcast_free(struct uc_mcast *mcast); /* Frees a group and its handle. */
/* Returns whether the kernel has no route to an address. Linux reports this at once (core/addr.c,
 * rdma_resolve_ip); it reports a silent neighbour later. */
bool uc_is_unreachable(const struct uc_id *id, const union uc_addr *to);
void uc_path_of(const struct uc_id *id, struct rnic_cm_path *path);

/* ---- functions of fork.c --------------------------------------------------------------------- */

void uc_register_fork_handlers(void); /* Registers the fork handlers once. */
/* If the process forked so recently that the child may still have copies of the sockets that claim
 * registry names, sleeps 2 ms and returns true. Otherwise returns false at once. */
bool uc_wait_for_child(void);

/* ---- functions of ucm_event.c ---------------------------------------------------------------- */

/* Converts the pending events of the port's CM engine to events of channels. */
void uc_deliver_cm_events(struct uc_port *port);
void uc_ah_of(const struct uc_id *id, struct ib_uverbs_ah_attr *ah);

/* ---- functions of command.c ------------------------------------------------------------------ */

int uc_command(struct uc_file *file, const struct rdma_ucm_cmd_hdr *hdr, const void *body,
               size_t len);

#endif

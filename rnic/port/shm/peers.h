/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Peers: the rings between this process and the other processes of its user in this network
 * namespace. Each process writes one ring to each other process and reads one from it. Used by
 * port/shm/port_shm.c, under the lock of the live device.
 *
 * 1. shm_peers_init(), then shm_peers_hosts() with the interfaces of this machine.
 * 2. shm_peers_listen() claims the name of a QPN block. The first call also connects to all other
 *    processes. They accept, and connect back. So each process has a ring to each other process.
 * 3. shm_peers_check() accepts new peers, and detects the end of others.
 * 4. shm_peers_find() returns the ring to the owner of a QPN.
 *
 * When a process ends, the kernel closes its sockets. Its peers still read the frames that it
 * wrote, and then free its rings.
 */
#ifndef PORT_SHM_PEERS_H
#define PORT_SHM_PEERS_H

#include "port/shared/qpn_alloc.h"
#include "port/shm/ring.h"
#include "port/shm/segment.h"

/* Kinds of sockets in the epoll set. The first member of each struct below is the kind of its
 * socket. */
enum shm_socket { SHM_LISTENS, SHM_READS, SHM_WRITES };

/* A name in the registry under which this process listens (hello.h). */
struct shm_name {
    enum shm_socket kind;
    int fd;
    uint32_t block;
};

/* A ring that this process reads. */
struct shm_in {
    enum shm_socket kind;
    int fd;
    bool greeted; /* the hello has arrived: the ring exists */
    bool ended;   /* the peer has ended, or has written impossible values to the ring; the struct is
                   * freed once the ring is empty */
    struct shm_segment segment;
    struct shm_reader reader;
};

/* A ring that this process writes. */
struct shm_out {
    enum shm_socket kind;
    int fd;
    char iface[RNIC_IFNAME_MAX]; /* interface of the peer's device */
    uint8_t mac[6];              /* MAC address of that interface */
    uint32_t block; /* QPN block; this process found the peer by the name of the block */
    bool first;     /* `block` is the peer's first block */
    bool ended;
    uint64_t full_since; /* time since which the ring is full, ns; 0: it is not full */
    bool stuck;          /* the ring was full for so long that frames are dropped */
    uint64_t cast; /* serial number (shm_port.cast) of the last multicast or QP 1 frame that was
                    * written to the ring */
    bool touched;  /* frames were written to the ring, and the port has not checked since whether
                    * the reader sleeps */
    struct shm_segment segment;
    struct shm_writer writer;
};

/* An interface of this machine. */
struct shm_host {
    char name[RNIC_IFNAME_MAX];
    uint8_t mac[6];
};

struct shm_peers {
    char iface[RNIC_IFNAME_MAX];
    int epoll_fd;  /* readable when shm_peers_check() has work */
    uint32_t ring; /* size of new rings, bytes */
    struct shm_name name[RNIC_BLOCKS_MAX];
    unsigned name_cnt;
    struct shm_in **in;
    unsigned in_cnt;
    struct shm_out **out;
    unsigned out_cnt;
    struct shm_out *found; /* last result of shm_peers_find(), or NULL */
    struct shm_host *host;
    size_t host_cnt;
    bool sleeps;  /* this process sleeps, so a peer must wake it after writing to a ring */
    int shortage; /* negative errno of the latest peer that was not connected, because descriptors
                   * or memory ran out; 0: none */
};

/* Initializes the peers of a device on interface `iface`; new rings have `ring` bytes. Returns 0 or
 * a negative errno. On failure nothing is left to close. */
int shm_peers_init(struct shm_peers *peers, const char *iface, uint32_t ring);
void shm_peers_close(struct shm_peers *peers);
/* Closes the descriptors only, in a child of fork(). */
void shm_peers_drop(struct shm_peers *peers);

/* Copies the names and MAC addresses of this machine's interfaces. The peer for a frame is a
 * process on the interface with the destination MAC address of the frame. */
void shm_peers_hosts(struct shm_peers *peers, const struct rnic_iface *list, size_t cnt);

/* Claims the name of a QPN block. The first block also connects to the other processes. Returns 0
 * or a negative errno. */
int shm_peers_listen(struct shm_peers *peers, uint32_t block);

/* Handles the sockets that are ready, without blocking. */
void shm_peers_check(struct shm_peers *peers);

/* Returns the ring to the process that has QPN block `block` on an interface with address `mac`.
 * Connects if needed. Returns NULL if no process has the block. */
struct shm_out *shm_peers_find(struct shm_peers *peers, const uint8_t mac[6], uint32_t block);

/* Mark a ring as unusable, because the process at its other end has ended or has written impossible
 * values to it. */
void shm_out_end(struct shm_peers *peers, struct shm_out *out);
void shm_in_end(struct shm_peers *peers, struct shm_in *in);

/* Frees the rings that have ended. Must not be called while the caller uses such a ring. */
void shm_peers_sweep(struct shm_peers *peers);

#endif

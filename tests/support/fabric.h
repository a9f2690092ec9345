/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fabric: up to 64 devices at one simulated switch, and QPs between any two of them. Each device
 * has its own link to the switch. Frames that several senders send to one device share the queue of
 * the device's switch port (simnet.h). Devices with an even index have memory windows of type 2B,
 * devices with an odd index of type 2A.
 *
 * qp_pair.h has only two devices, but a test can set more of their attributes.
 */
#ifndef TEST_FABRIC_H
#define TEST_FABRIC_H

#include "device/rnic.h"
#include "simnet.h"

#define FABRIC_DEVS  SIMNET_NODES
#define FABRIC_LINKS 4096u
#define FABRIC_KEY                                                                                 \
    0x00FAB001u /* L_Key and R_Key of all memory of a device, from IOVA 0, with all rights */

struct fabric_dev {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *cq; /* send and receive CQ of all QPs of the device */
    uint8_t *mem;
    unsigned node;
};

/* Two QPs connected to each other: side 0 on the first device, side 1 on the second. */
struct fabric_link {
    unsigned dev[2];
    struct rnic_qp *qp[2];
    uint32_t qpn[2];
};

struct fabric {
    struct simnet net;
    struct fabric_dev dev[FABRIC_DEVS];
    unsigned dev_cnt;
    uint32_t mem_len;
    enum roce_encap encap;
    struct fabric_link link[FABRIC_LINKS];
    unsigned link_cnt;
};

/* Properties of all links and switch ports. */
struct fabric_wire {
    uint64_t bps;
    uint64_t delay_ns; /* delay from a device to the switch, and from the switch to a device, ns */
    uint64_t queue;    /* queue length of each switch port, bytes */
    uint64_t mark;     /* queue length from which the port sets ECN marks, bytes; 0: no marks */
};

/* Creates `cnt` devices with `mem_len` bytes of memory each. Memory is filled with random bytes
 * derived from the seed. `ecn`: congestion control settings; NULL: none. A struct fabric is large:
 * keep it static or on the heap. */
void fabric_init(struct fabric *fabric, uint64_t seed, unsigned cnt, enum roce_encap encap,
                 uint32_t mem_len, const struct rnic_ecn *ecn, const struct fabric_wire *wire);
void fabric_free(struct fabric *fabric);

/* Creates an RC QP on device `a` and on device `b`, with queues of `depth` WQEs, and connects them.
 * Timeout code 9 (2 ms), 7 retries, 4 READs and atomics. Returns the index of the link. */
unsigned fabric_connect(struct fabric *fabric, unsigned a, unsigned b, uint32_t depth,
                        uint32_t path_mtu);

/* Sets the destination MAC address and GID of `av` to the addresses of device `dev`. Leaves the
 * other members unchanged. */
void fabric_av(const struct fabric *fabric, unsigned dev, struct rnic_av *av);

/* Posts a signaled work request with one SGE to the QP of `side` of a link: `len` bytes at offset
 * `off` of the local memory, and at offset `roff` of the remote memory. */
int fabric_send(struct fabric *fabric, unsigned link, unsigned side, uint64_t wr_id,
                enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, uint32_t roff);

struct rnic_counters fabric_counters(const struct fabric *fabric, unsigned dev);

/* Asserts that the counters of every device match the packets that the network counted (simnet.h)
 * (R249). */
void fabric_check_tally(struct fabric *fabric);

#endif

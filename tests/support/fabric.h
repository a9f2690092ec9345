/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fabric: up to 64 devices at one simulated switch, and QPs between any two of them. Each device
 * has a link of its own to the switch; what several send to one meets in the queue of its port
 * (simnet.h). Windows of type 2 are 2B on the even devices and 2A on the odd ones. pair.h is the
 * two-device case with more to pin.
 */
#ifndef TEST_FABRIC_H
#define TEST_FABRIC_H

#include "device/rnic.h"
#include "simnet.h"

#define FABRIC_DEVS  SIMNET_NODES
#define FABRIC_LINKS 4096u
#define FABRIC_KEY   0x00FAB001u /* all rights to all of a device's memory, from 0 */

struct fabric_dev {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_cq *cq; /* of all its QPs, both queues */
    uint8_t *mem;
    unsigned node;
};

/* Two QPs connected to each other: side 0 on the first device, 1 on the second. */
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

/* What all links and ports of the switch are like. */
struct fabric_wire {
    uint64_t bps;
    uint64_t delay_ns; /* from a device to the switch, and from there to a device */
    uint64_t queue;    /* bytes, of each port of the switch */
    uint64_t mark;     /* bytes that wait before ECN marks; 0: never */
};

/* `cnt` devices with `mem_len` bytes of memory each, filled from the seed. `ecn` NULL: none. A
 * struct fabric is large: keep it static or on the heap. */
void fabric_init(struct fabric *fabric, uint64_t seed, unsigned cnt, enum roce_encap encap,
                 uint32_t mem_len, const struct rnic_ecn *ecn, const struct fabric_wire *wire);
void fabric_free(struct fabric *fabric);

/* Makes and connects two RC QPs with queues of `depth` WQEs; path MTU as given, timeout code 9 (2
 * ms), retries 7, 4 READs and atomics. The index of the link. */
unsigned fabric_connect(struct fabric *fabric, unsigned a, unsigned b, uint32_t depth,
                        uint32_t path_mtu);

/* Sets where the packets for a device go; the rest of the vector is left. */
void fabric_av(const struct fabric *fabric, unsigned dev, struct rnic_av *av);

/* Posts on a side of a link, signaled, with one SGE: `len` bytes at `off` of the own memory and
 * `roff` of the other's. */
int fabric_send(struct fabric *fabric, unsigned link, unsigned side, uint64_t wr_id,
                enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, uint32_t roff);

struct rnic_counters fabric_counters(const struct fabric *fabric, unsigned dev);

/* Asserts that the counters of every device are what the network saw: R249. */
void fabric_check_tally(struct fabric *fabric);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rig: a whole device with one connected QP, and the packets of its peer, for tests of the device.
 * The memory stands between guard bytes, which rig_free() checks. Time is virtual: rig.now, which
 * the rig advances by a microsecond a frame.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "device/rnic.h"
#include "pktgen.h"

#define RIG_MEM_LEN  (1u << 20)
#define RIG_GUARD    4096u
#define RIG_IOVA     UINT64_C(0xFFFF800000000000) /* a different place than the memory's address */
#define RIG_QPN      0x11u
#define RIG_PEER_QPN 0x22u
#define RIG_PSN      0xFFFFF0u /* first PSN: the wrap comes soon (R062) */
#define RIG_KEY      0x51DE0001u

struct rig {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr; /* all of mem, all rights, RIG_KEY at RIG_IOVA */
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct pktgen gen;
    struct rnic_qp_attr attr; /* what the QP was brought up with */
    uint8_t *block;           /* guard, mem, guard */
    uint8_t *mem;
    rnic_time now;
};

/* A device and a QP in RTS: path MTU 1024, 4 responder resources, 64 receive WQEs of 4 SGEs, CQ of
 * 256. */
void rig_init(struct rig *rig, enum roce_encap encap);

/* The same with congestion management. */
void rig_init_ecn(struct rig *rig, enum roce_encap encap, const struct rnic_ecn *ecn);

/* Checks the guard bytes and frees all. */
void rig_free(struct rig *rig);

/* The attributes of a device that owns the addresses of `gen`. */
struct rnic_attr rig_device_attr(const struct pktgen *gen);

/* Brings a QP from RESET to RTS as rig.attr says. */
void rig_connect(struct rig *rig, struct rnic_qp *qp);

/* Posts one SGE: `len` bytes at offset `off`. */
int rig_post(struct rig *rig, uint64_t wr_id, uint32_t off, uint32_t len);

/* Builds a packet and gives it to the device. */
void rig_in(struct rig *rig, const struct roce_pkt *pkt);

/* Takes the next frame of the device: false if there is none, else it parses without defect, with a
 * right ICRC, and *pkt is it. The payload is good until the next call. */
bool rig_out(struct rig *rig, struct roce_pkt *pkt);

/* Asserts that the next frame is an ACK or NAK of this PSN, syndrome and MSN. */
void rig_expect_aeth(struct rig *rig, uint32_t psn, uint8_t syndrome, uint32_t msn);

void rig_expect_nothing(struct rig *rig);

/* Asserts that the next completion is this one. */
void rig_expect_wc(struct rig *rig, uint64_t wr_id, enum rnic_wc_status status);

/* Asserts that the next event is of this type and of the rig's QP. */
void rig_expect_event(struct rig *rig, enum rnic_event_type type);
void rig_expect_no_event(struct rig *rig);

enum rnic_qp_state rig_state(const struct rig *rig);
struct rnic_counters rig_counters(const struct rig *rig);

#endif

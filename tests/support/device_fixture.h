/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rig: a whole device with one connected QP, and the packets of its peer, for tests of the device.
 * The memory stands between guard bytes, which fixture_free() checks. Time is virtual: fixture.now,
 * which the fixture advances by a microsecond a frame.
 */
#ifndef TEST_DEVICE_FIXTURE_H
#define TEST_DEVICE_FIXTURE_H

#include "device/rnic.h"
#include "pktgen.h"

#define FIXTURE_MEM_LEN (1u << 20)
#define FIXTURE_GUARD   4096u
#define FIXTURE_IOVA                                                                               \
    UINT64_C(0xFFFF800000000000) /* a different place than the memory's address                    \
                                  */
#define FIXTURE_QPN      0x11u
#define FIXTURE_PEER_QPN 0x22u
#define FIXTURE_PSN      0xFFFFF0u /* first PSN: the wrap comes soon (R062) */
#define FIXTURE_KEY      0x51DE0001u

struct device_fixture {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr; /* all of mem, all rights, FIXTURE_KEY at FIXTURE_IOVA */
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
void fixture_init(struct device_fixture *fixture, enum roce_encap encap);

/* The same with congestion management. */
void fixture_init_ecn(struct device_fixture *fixture, enum roce_encap encap,
                      const struct rnic_ecn *ecn);

/* Checks the guard bytes and frees all. */
void fixture_free(struct device_fixture *fixture);

/* The attributes of a device that owns the addresses of `gen`. */
struct rnic_attr fixture_device_attr(const struct pktgen *gen);

/* Brings a QP from RESET to RTS as fixture.attr says. */
void fixture_connect(struct device_fixture *fixture, struct rnic_qp *qp);

/* Posts one SGE: `len` bytes at offset `off`. */
int fixture_post(struct device_fixture *fixture, uint64_t wr_id, uint32_t off, uint32_t len);

/* Builds a packet and gives it to the device. */
void fixture_in(struct device_fixture *fixture, const struct roce_pkt *pkt);

/* Takes the next frame of the device: false if there is none, else it parses without defect, with a
 * right ICRC, and *pkt is it. The payload is good until the next call. */
bool fixture_out(struct device_fixture *fixture, struct roce_pkt *pkt);

/* Asserts that the next frame is an ACK or NAK of this PSN, syndrome and MSN. */
void fixture_expect_aeth(struct device_fixture *fixture, uint32_t psn, uint8_t syndrome,
                         uint32_t msn);

void fixture_expect_nothing(struct device_fixture *fixture);

/* Asserts that the next completion is this one. */
void fixture_expect_wc(struct device_fixture *fixture, uint64_t wr_id, enum rnic_wc_status status);

/* Asserts that the next event is of this type and of the fixture's QP. */
void fixture_expect_event(struct device_fixture *fixture, enum rnic_event_type type);
void fixture_expect_no_event(struct device_fixture *fixture);

enum rnic_qp_state fixture_state(const struct device_fixture *fixture);
struct rnic_counters fixture_counters(const struct device_fixture *fixture);

#endif

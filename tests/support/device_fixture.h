/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device fixture: a whole device with one connected QP, and a generator for the packets of its
 * peer. Tests of rnic/device use it.
 *
 * Guard bytes surround the memory; fixture_free() checks them. Time is virtual: fixture.now
 * advances by 1 µs with each frame. The caller owns the fixture.
 */
#ifndef TEST_DEVICE_FIXTURE_H
#define TEST_DEVICE_FIXTURE_H

#include "device/rnic.h"
#include "pktgen.h"

#define FIXTURE_MEM_LEN (1u << 20)
#define FIXTURE_GUARD   4096u
#define FIXTURE_IOVA                                                                               \
    UINT64_C(0xFFFF800000000000) /* IOVA of the region; differs from its memory address */
#define FIXTURE_QPN      0x11u
#define FIXTURE_PEER_QPN 0x22u
#define FIXTURE_PSN      0xFFFFF0u /* first PSN, shortly before the wrap (R062) */
#define FIXTURE_KEY      0x51DE0001u

struct device_fixture {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr; /* region over all of mem with all rights: FIXTURE_KEY at FIXTURE_IOVA */
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct pktgen gen;
    struct rnic_qp_attr attr; /* attributes that the QP was connected with */
    uint8_t *block;           /* memory block: guard bytes, mem, guard bytes */
    uint8_t *mem;
    rnic_time now;
};

/* Creates a device with a QP in RTS: path MTU 1024, 4 responder resources, 64 receive WQEs of 4
 * SGEs, a CQ of 256. */
void fixture_init(struct device_fixture *fixture, enum roce_encap encap);

/* Creates the device of fixture_init() with congestion management. */
void fixture_init_ecn(struct device_fixture *fixture, enum roce_encap encap,
                      const struct rnic_ecn *ecn);

/* Checks the guard bytes and frees the fixture. */
void fixture_free(struct device_fixture *fixture);

/* Returns the attributes of a device that has the addresses of `gen`. */
struct rnic_attr fixture_device_attr(const struct pktgen *gen);

/* Moves a QP from RESET to RTS with the attributes in fixture.attr. */
void fixture_connect(struct device_fixture *fixture, struct rnic_qp *qp);

/* Posts a receive of one SGE: `len` bytes at offset `off` of mem. */
int fixture_post(struct device_fixture *fixture, uint64_t wr_id, uint32_t off, uint32_t len);

/* Builds a packet and passes it to the device. */
void fixture_in(struct device_fixture *fixture, const struct roce_pkt *pkt);

/* Parses the device's next frame into *pkt, and asserts that it has no defect and a valid ICRC.
 * Returns false if the device has no frame to send. The payload is valid until the next call. */
bool fixture_out(struct device_fixture *fixture, struct roce_pkt *pkt);

/* Asserts that the next frame is an ACK or NAK with this PSN, syndrome and MSN. */
void fixture_expect_aeth(struct device_fixture *fixture, uint32_t psn, uint8_t syndrome,
                         uint32_t msn);

void fixture_expect_nothing(struct device_fixture *fixture);

/* Asserts the fields of the next completion. */
void fixture_expect_wc(struct device_fixture *fixture, uint64_t wr_id, enum rnic_wc_status status);

/* Asserts that the next event has this type and belongs to the fixture's QP. */
void fixture_expect_event(struct device_fixture *fixture, enum rnic_event_type type);
void fixture_expect_no_event(struct device_fixture *fixture);

enum rnic_qp_state fixture_state(const struct device_fixture *fixture);
struct rnic_counters fixture_counters(const struct device_fixture *fixture);

#endif

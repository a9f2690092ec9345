/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device fixture: a whole device (struct rnic) with one connected QP, and a generator for the
 * packets of the QP's peer. Tests of rnic/device use it.
 *
 * Guard bytes surround the registered memory; fixture_free() checks that the device did not change
 * them. Time is virtual: fixture.now advances by 1 µs with each frame. The caller owns the fixture.
 */
#ifndef TEST_DEVICE_FIXTURE_H
#define TEST_DEVICE_FIXTURE_H

#include "device/rnic.h"
#include "pktgen.h"

#define FIXTURE_MEM_LEN (1u << 20)
#define FIXTURE_GUARD   4096u
#define FIXTURE_IOVA                                                                               \
    UINT64_C(0xFFFF800000000000) /* IOVA of the memory region; not its virtual address */
#define FIXTURE_QPN      0x11u
#define FIXTURE_PEER_QPN 0x22u
#define FIXTURE_PSN      0xFFFFF0u /* first PSN, shortly before the wrap (R062) */
#define FIXTURE_KEY      0x51DE0001u

struct device_fixture {
    struct rnic *rnic;
    struct rnic_pd *pd;
    /* Region: all of `mem`, at FIXTURE_IOVA, key FIXTURE_KEY, all access rights. */
    struct rnic_mr *mr;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct pktgen gen;
    struct rnic_qp_attr attr; /* attributes with which fixture_connect() connects a QP */
    uint8_t *block;           /* memory block: guard bytes, mem, guard bytes */
    uint8_t *mem;
    rnic_time now;
};

/* Creates a device with a QP in RTS. Path MTU 1024, 4 responder resources, queue for 64 receive
 * WQEs of 4 SGEs, CQ of 256 entries. */
void fixture_init(struct device_fixture *fixture, enum roce_encap encap);

/* Like fixture_init(), but with the congestion control settings `ecn`. */
void fixture_init_ecn(struct device_fixture *fixture, enum roce_encap encap,
                      const struct rnic_ecn *ecn);

/* Checks the guard bytes and frees the fixture. */
void fixture_free(struct device_fixture *fixture);

/* Returns the attributes of a device that has the addresses of `gen`. */
struct rnic_attr fixture_device_attr(const struct pktgen *gen);

/* Moves a QP from RESET to RTS with the attributes in fixture.attr. */
void fixture_connect(struct device_fixture *fixture, struct rnic_qp *qp);

/* Posts a receive WQE with one SGE: `len` bytes at offset `off` of `mem`. Returns the result of the
 * post. */
int fixture_post(struct device_fixture *fixture, uint64_t wr_id, uint32_t off, uint32_t len);

/* Builds the frame of a packet and passes it to the device. */
void fixture_in(struct device_fixture *fixture, const struct roce_pkt *pkt);

/* Takes the next frame that the device sends and parses it into *pkt. Asserts that the frame has no
 * defect and a valid ICRC. Returns true, or false if the device has no frame to send. The payload
 * is valid until the next call. */
bool fixture_out(struct device_fixture *fixture, struct roce_pkt *pkt);

/* Asserts that the next frame of the device is an ACK or NAK with this PSN, syndrome and MSN. */
void fixture_expect_aeth(struct device_fixture *fixture, uint32_t psn, uint8_t syndrome,
                         uint32_t msn);

void fixture_expect_nothing(struct device_fixture *fixture);

/* Asserts that the next completion has this WR ID and status. */
void fixture_expect_wc(struct device_fixture *fixture, uint64_t wr_id, enum rnic_wc_status status);

/* Asserts that the next asynchronous event has this type and belongs to the fixture's QP. */
void fixture_expect_event(struct device_fixture *fixture, enum rnic_event_type type);
void fixture_expect_no_event(struct device_fixture *fixture);

enum rnic_qp_state fixture_state(const struct device_fixture *fixture);
struct rnic_counters fixture_counters(const struct device_fixture *fixture);

#endif

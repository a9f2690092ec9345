/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder fixture: a responder with a minimal replacement of the device, for tests of
 * rnic/transport. All keys are for the same memory. Completions and events are stored in arrays.
 * Time does not advance.
 */
#ifndef TEST_RESPONDER_FIXTURE_H
#define TEST_RESPONDER_FIXTURE_H

#include "pktgen.h"
#include "transport/uc.h"

#define RESPONDER_MEM_LEN 16384u
#define RESPONDER_VA      UINT64_C(0x7F0000001000) /* IOVA of byte 0 of the memory */
#define RESPONDER_KEY     0xCAFE01u                /* key of the whole memory, with all rights */
/* Key of the whole memory, with the right REMOTE_READ only. */
#define RESPONDER_KEY_RO 0xCAFE02u
#define RESPONDER_KEY_INV                                                                          \
    0xCAFE03u /* key of the whole memory that a SEND with Invalidate can invalidate */
#define RESPONDER_KEY_HUGE                                                                         \
    0xCAFE04u /* key of a region of 2^40 bytes; each address in it is byte 0 of the memory */
#define RESPONDER_PSN      0x000100u /* first PSN of the connection */
#define RESPONDER_MTU      256u
#define RESPONDER_PEER_QPN 0x22u
#define RESPONDER_SRQN     0x5A0001u /* number of the only SRQ of the XRC domain */
#define RESPONDER_LOG      64u

struct responder_fixture {
    struct rnic_responder resp;
    struct rnic_transport_counters counters;
    struct pktgen gen;
    _Alignas(8) uint8_t mem[RESPONDER_MEM_LEN];
    bool key_gone;      /* RESPONDER_KEY was deregistered */
    bool inv_gone;      /* RESPONDER_KEY_INV was invalidated */
    struct rnic_rq srq; /* receive queue of SRQ RESPONDER_SRQN: for 8 WQEs of 4 SGEs, none posted */
    bool srq_gone;

    struct rnic_wc wc[RESPONDER_LOG];
    unsigned wc_cnt;
    enum rnic_event_type event[RESPONDER_LOG];
    unsigned event_cnt;
    unsigned failed_cnt;
    unsigned ready_cnt;
    /* Number of completions when the responder reported that the QP failed. */
    unsigned wc_cnt_at_failure;
};

/* Creates a responder in the state after RTR. All access rights, 4 responder resources, RNR timer
 * code 12, receive queue for 8 WQEs of 4 SGEs, none posted. */
void responder_init(struct responder_fixture *fake);

/* Replaces the responder by a new one with the attributes `attr`. */
void responder_restart(struct responder_fixture *fake, const struct rnic_responder_attr *attr);
struct rnic_responder_attr responder_attr(void);

void responder_free(struct responder_fixture *fake);

/* Post a receive WQE with one SGE: `len` bytes at offset `off` of the memory. responder_post_to()
 * posts to the receive queue `rq`. */
void responder_post(struct responder_fixture *fake, uint64_t wr_id, uint32_t off, uint32_t len);

void responder_post_to(struct rnic_rq *rq, uint64_t wr_id, uint32_t off, uint32_t len);

/* Build the frame of a packet, parse it, and pass it to the responder. Return the last step that
 * the responder (RC or UC) executed. */
enum rnic_resp_step responder_in(struct responder_fixture *fake, struct roce_pkt pkt);
enum rnic_uc_step responder_uc(struct responder_fixture *fake, struct roce_pkt pkt);

/* Returns the next response that the responder sends, or a packet with opcode 0xFF if there is
 * none. The payload points into `mem`. */
struct roce_pkt responder_out(struct responder_fixture *fake);

/* Asserts that the next response is an ACK or NAK with this PSN, syndrome and MSN. */
void responder_expect_aeth(struct responder_fixture *fake, uint32_t psn, uint8_t syndrome,
                           uint32_t msn);

/* Asserts that the next response is a READ response with this opcode and PSN, and with the `len`
 * bytes at offset `off` of the memory. */
void responder_expect_read(struct responder_fixture *fake, uint8_t opcode, uint32_t psn,
                           uint32_t off, uint32_t len);

/* Asserts that no response is pending. */
void responder_expect_nothing(struct responder_fixture *fake);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Responder fixture: a responder with a minimal device around it, for tests of rnic/transport.
 * Regions are a flat table; completions and events are stored in arrays. Time does not advance and
 * no frame is built.
 */
#ifndef TEST_RESPONDER_FIXTURE_H
#define TEST_RESPONDER_FIXTURE_H

#include "pktgen.h"
#include "transport/uc.h"

#define RESPONDER_MEM_LEN 16384u
#define RESPONDER_VA      UINT64_C(0x7F0000001000) /* IOVA of byte 0 of the memory */
#define RESPONDER_KEY     0xCAFE01u                /* key of all of the memory, with all rights */
#define RESPONDER_KEY_RO  0xCAFE02u                /* key with REMOTE_READ only */
#define RESPONDER_KEY_INV                                                                          \
    0xCAFE03u /* key that a SEND with Invalidate may                                               \
               * invalidate */
#define RESPONDER_KEY_HUGE                                                                         \
    0xCAFE04u /* key of a region of 2^40 bytes, in which each address maps to                      \
               * byte 0 of the memory */
#define RESPONDER_PSN      0x000100u /* first PSN of the connection */
#define RESPONDER_MTU      256u
#define RESPONDER_PEER_QPN 0x22u
#define RESPONDER_SRQN     0x5A0001u /* number of the only SRQ of the XRC domain */
#define RESPONDER_LOG      64u

struct responder_fixture {
    struct rnic_responder resp;
    struct rnic_transport_counters counters;
    struct pktgen gen;
    uint8_t mem[RESPONDER_MEM_LEN];
    bool key_gone;      /* RESPONDER_KEY was deregistered */
    bool inv_gone;      /* RESPONDER_KEY_INV was invalidated */
    struct rnic_rq srq; /* receive queue of RESPONDER_SRQN: 8 WQEs of 4 SGEs, none posted */
    bool srq_gone;

    struct rnic_wc wc[RESPONDER_LOG];
    unsigned wc_cnt;
    enum rnic_event_type event[RESPONDER_LOG];
    unsigned event_cnt;
    unsigned failed_cnt;
    unsigned ready_cnt;
    unsigned wc_cnt_at_failure; /* number of completions at the call of `failed` */
};

/* Creates a responder as after RTR: all access rights, 4 responder resources, RNR timer code 12,
 * room for 8 receive WQEs of 4 SGEs, none posted. */
void responder_init(struct responder_fixture *fake);

/* Restarts the responder with another PSN or other limits. */
void responder_restart(struct responder_fixture *fake, const struct rnic_responder_attr *attr);
struct rnic_responder_attr responder_attr(void);

void responder_free(struct responder_fixture *fake);

/* Posts a WQE of one SGE: `len` bytes at offset `off` of the memory. */
void responder_post(struct responder_fixture *fake, uint64_t wr_id, uint32_t off, uint32_t len);

void responder_post_to(struct rnic_rq *rq, uint64_t wr_id, uint32_t off, uint32_t len);

/* Builds, parses and inputs a packet. Returns the last step of the responder. */
enum rnic_resp_step responder_in(struct responder_fixture *fake, struct roce_pkt pkt);
enum rnic_uc_step responder_uc(struct responder_fixture *fake, struct roce_pkt pkt);

/* Returns the next response, or a packet of opcode 0xFF if there is none. Payload points into
 * `mem`. */
struct roce_pkt responder_out(struct responder_fixture *fake);

/* Asserts that the next response is an ACK or NAK with this PSN, syndrome and MSN. */
void responder_expect_aeth(struct responder_fixture *fake, uint32_t psn, uint8_t syndrome,
                           uint32_t msn);

/* Asserts the opcode, PSN and content of the next READ response. */
void responder_expect_read(struct responder_fixture *fake, uint8_t opcode, uint32_t psn,
                           uint32_t off, uint32_t len);

/* Asserts that no response is pending. */
void responder_expect_nothing(struct responder_fixture *fake);

#endif

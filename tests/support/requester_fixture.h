/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester fixture: a requester with a minimal replacement of the device, for tests of
 * rnic/transport. The memory has one key, completions are stored in an array, and the time is a
 * variable. responder_fixture.h does the same for a responder.
 */
#ifndef TEST_REQUESTER_FIXTURE_H
#define TEST_REQUESTER_FIXTURE_H

#include "pktgen.h"
#include "transport/completer.h"

#define REQUESTER_MEM_LEN 16384u
#define REQUESTER_VA      UINT64_C(0x7F0000002000) /* virtual address of byte 0 of the memory */
/* L_Key of the memory, with local read and write. */
#define REQUESTER_KEY      0xBEEF01u
#define REQUESTER_KEY_INV  0xBEEF02u /* L_Key that can be invalidated once */
#define REQUESTER_BAD_KEY  0xBAD001u
#define REQUESTER_PSN      0xFFFFFCu /* first PSN, shortly before the wrap (R062) */
#define REQUESTER_MTU      256u
#define REQUESTER_PEER_QPN 0x22u
#define REQUESTER_RVA                                                                              \
    UINT64_C(0x100000) /* remote address of the requests; no code checks this address or           \
                          REQUESTER_RKEY */
#define REQUESTER_RKEY 0x5EC12E7u
#define REQUESTER_LOG  512u
#define REQUESTER_T    UINT64_C(67108864) /* local ACK timeout with code 14, ns */

struct requester_fixture {
    struct rnic_requester req;
    struct rnic_transport_counters counters;
    struct pktgen gen;
    uint8_t mem[REQUESTER_MEM_LEN];
    uint8_t scratch[4096];
    bool key_gone;
    bool inv_gone;
    /* Number of binds that the requester executed; only binds of REQUESTER_KEY succeed. */
    unsigned bind_cnt;
    struct rnic_mw_bind bind; /* latest bind that the requester executed */
    uint64_t now;

    struct rnic_wc wc[REQUESTER_LOG];
    unsigned wc_cnt;
    unsigned wc_seen; /* number of completions that the test has checked */
    unsigned failed_cnt;
    unsigned wc_cnt_at_failure;
};

/* Creates a requester in RTS. Path MTU 256, max_rd_atomic 4, timeout 14, retry_cnt 3, rnr_retry 2;
 * send queue for 300 WQEs of 4 SGEs and 64 bytes inline. */
void requester_init(struct requester_fixture *fake);
struct rnic_requester_attr requester_attr(void);
void requester_restart(struct requester_fixture *fake, const struct rnic_requester_attr *attr);
void requester_free(struct requester_fixture *fake);

/* Posts a signaled work request with one SGE: `len` bytes at offset `off` of the memory. */
void requester_post(struct requester_fixture *fake, uint64_t wr_id, enum rnic_wr_opcode opcode,
                    uint32_t off, uint32_t len);
void requester_post_flags(struct requester_fixture *fake, uint64_t wr_id,
                          enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, unsigned flags);
enum rnic_sq_post requester_post_wr(struct requester_fixture *fake, const struct rnic_send_wr *wr);

/* Returns the next request packet that the requester sends, and checks the fields that have the
 * same value in all requests. Returns a packet with opcode 0xFF if there is none. */
struct roce_pkt requester_out(struct requester_fixture *fake);

/* Asserts that the next packet has this opcode and is `pos` PSNs after the first PSN. */
void requester_expect(struct requester_fixture *fake, uint8_t opcode, uint32_t pos);

/* Asserts that the requester does not send now, and that `gate` is the reason. */
void requester_expect_gate(struct requester_fixture *fake, enum rnic_req_gate gate);

/* Lets the requester send all packets that it can send now, drops them, and returns their
 * number. */
unsigned requester_out_all(struct requester_fixture *fake);

/* Pass a response to the requester. Its PSN is `pos` PSNs after the first PSN. Return the last step
 * that the completer executed. */
enum rnic_comp_step requester_aeth(struct requester_fixture *fake, uint32_t pos, uint8_t syndrome,
                                   uint32_t msn);
enum rnic_comp_step requester_ack(struct requester_fixture *fake, uint32_t pos);
enum rnic_comp_step requester_read(struct requester_fixture *fake, uint8_t opcode, uint32_t pos,
                                   uint8_t fill, uint32_t len);
enum rnic_comp_step requester_atomic(struct requester_fixture *fake, uint32_t pos, uint64_t orig);

/* requester_expect_wc() asserts that the next completion has this WR ID and status.
 * requester_expect_no_wc() asserts that there is no completion. */
void requester_expect_wc(struct requester_fixture *fake, uint64_t wr_id,
                         enum rnic_wc_status status);
void requester_expect_no_wc(struct requester_fixture *fake);

/* Advances the time by `ns`. If the requester's timer is due by then, lets it expire. */
void requester_pass(struct requester_fixture *fake, uint64_t ns);

#endif

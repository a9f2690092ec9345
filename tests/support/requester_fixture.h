/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requester fixture: a requester with a minimal device around it, for tests of rnic/transport:
 * memory under one key, completions in an array, time in a variable. responder_fixture.h is its
 * counterpart.
 */
#ifndef TEST_REQUESTER_FIXTURE_H
#define TEST_REQUESTER_FIXTURE_H

#include "pktgen.h"
#include "transport/completer.h"

#define REQUESTER_MEM_LEN  16384u
#define REQUESTER_VA       UINT64_C(0x7F0000002000) /* address of byte 0 of the memory */
#define REQUESTER_KEY      0xBEEF01u                /* key for local read and write */
#define REQUESTER_KEY_INV  0xBEEF02u                /* key that can be invalidated once */
#define REQUESTER_BAD_KEY  0xBAD001u
#define REQUESTER_PSN      0xFFFFFCu /* first PSN, shortly before the wrap (R062) */
#define REQUESTER_MTU      256u
#define REQUESTER_PEER_QPN 0x22u
#define REQUESTER_RVA                                                                              \
    UINT64_C(0x100000) /* remote address and key of requests; nothing checks                       \
                        * them */
#define REQUESTER_RKEY 0x5EC12E7u
#define REQUESTER_LOG  512u
#define REQUESTER_T    UINT64_C(67108864) /* timeout code 14, ns */

struct requester_fixture {
    struct rnic_requester req;
    struct rnic_transport_counters counters;
    struct pktgen gen;
    uint8_t mem[REQUESTER_MEM_LEN];
    uint8_t scratch[4096];
    bool key_gone;
    bool inv_gone;
    unsigned bind_cnt;        /* number of requested binds; binds of REQUESTER_KEY succeed */
    struct rnic_mw_bind bind; /* latest requested bind */
    uint64_t now;

    struct rnic_wc wc[REQUESTER_LOG];
    unsigned wc_cnt;
    unsigned wc_seen; /* number of completions that the test has checked */
    unsigned failed_cnt;
    unsigned wc_cnt_at_failure;
};

/* Creates a requester in RTS: path MTU 256, max_rd_atomic 4, timeout 14, retry_cnt 3, rnr_retry 2;
 * room for 300 WQEs of 4 SGEs and 64 bytes inline. */
void requester_init(struct requester_fixture *fake);
struct rnic_requester_attr requester_attr(void);
void requester_restart(struct requester_fixture *fake, const struct rnic_requester_attr *attr);
void requester_free(struct requester_fixture *fake);

/* Posts a signaled request of one SGE: `len` bytes at offset `off` of the memory. */
void requester_post(struct requester_fixture *fake, uint64_t wr_id, enum rnic_wr_opcode opcode,
                    uint32_t off, uint32_t len);
void requester_post_flags(struct requester_fixture *fake, uint64_t wr_id,
                          enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, unsigned flags);
enum rnic_sq_post requester_post_wr(struct requester_fixture *fake, const struct rnic_send_wr *wr);

/* Returns the next request packet after checking the fields that all requests share. Returns a
 * packet of opcode 0xFF if there is none. */
struct roce_pkt requester_out(struct requester_fixture *fake);

/* Asserts the opcodes of the next packets, and that the first of them is `pos` PSNs after the first
 * PSN. */
void requester_expect(struct requester_fixture *fake, uint8_t opcode, uint32_t pos);

/* Asserts that `gate` prevents the requester from sending. */
void requester_expect_gate(struct requester_fixture *fake, enum rnic_req_gate gate);

/* Removes all pending packets and returns their number. */
unsigned requester_out_all(struct requester_fixture *fake);

/* Pass a response to the requester, `pos` PSNs after the first PSN. Return the last step of the
 * completer. */
enum rnic_comp_step requester_aeth(struct requester_fixture *fake, uint32_t pos, uint8_t syndrome,
                                   uint32_t msn);
enum rnic_comp_step requester_ack(struct requester_fixture *fake, uint32_t pos);
enum rnic_comp_step requester_read(struct requester_fixture *fake, uint8_t opcode, uint32_t pos,
                                   uint8_t fill, uint32_t len);
enum rnic_comp_step requester_atomic(struct requester_fixture *fake, uint32_t pos, uint64_t orig);

/* Asserts the fields of the next completion, or that there is none. */
void requester_expect_wc(struct requester_fixture *fake, uint64_t wr_id,
                         enum rnic_wc_status status);
void requester_expect_no_wc(struct requester_fixture *fake);

/* Advances the time by `ns`. The timer expires if it is due. */
void requester_pass(struct requester_fixture *fake, uint64_t ns);

#endif

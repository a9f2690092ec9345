/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fake requester: a requester with the least of a device around it, for tests of the transport:
 * memory under one key, completions in an array, time in a variable. Its counterpart of the
 * responder is fakehost.h.
 */
#ifndef TEST_FAKEREQ_H
#define TEST_FAKEREQ_H

#include "pktgen.h"
#include "transport/completer.h"

#define FREQ_MEM_LEN  16384u
#define FREQ_VA       UINT64_C(0x7F0000002000) /* of byte 0 of the memory */
#define FREQ_KEY      0xBEEF01u                /* local read and write */
#define FREQ_KEY_INV  0xBEEF02u                /* may be invalidated, once */
#define FREQ_BAD_KEY  0xBAD001u
#define FREQ_PSN      0xFFFFFCu /* the wrap comes soon (R062) */
#define FREQ_MTU      256u
#define FREQ_PEER_QPN 0x22u
#define FREQ_RVA      UINT64_C(0x100000) /* remote address and key of requests: only carried */
#define FREQ_RKEY     0x5EC12E7u
#define FREQ_LOG      512u
#define FREQ_T        UINT64_C(67108864) /* timeout code 14, ns */

struct fakereq {
    struct rnic_requester req;
    struct rnic_transport_counters counters;
    struct pktgen gen;
    uint8_t mem[FREQ_MEM_LEN];
    uint8_t scratch[4096];
    bool key_gone;
    bool inv_gone;
    unsigned bind_cnt;        /* binds asked for; those of FREQ_KEY succeed */
    struct rnic_mw_bind bind; /* the last of them */
    uint64_t now;

    struct rnic_wc wc[FREQ_LOG];
    unsigned wc_cnt;
    unsigned wc_seen; /* completions that a test has looked at */
    unsigned failed_cnt;
    unsigned wc_cnt_at_failure;
};

/* A requester in RTS: path MTU 256, max_rd_atomic 4, timeout 14, retry_cnt 3, rnr_retry 2; room for
 * 300 WQEs of 4 SGEs and 64 bytes inline. */
void freq_init(struct fakereq *fake);
struct rnic_requester_attr freq_attr(void);
void freq_restart(struct fakereq *fake, const struct rnic_requester_attr *attr);
void freq_free(struct fakereq *fake);

/* Posts a signaled request of one SGE: `len` bytes at offset `off` of the memory. */
void freq_post(struct fakereq *fake, uint64_t wr_id, enum rnic_wr_opcode opcode, uint32_t off,
               uint32_t len);
void freq_post_flags(struct fakereq *fake, uint64_t wr_id, enum rnic_wr_opcode opcode, uint32_t off,
                     uint32_t len, unsigned flags);
enum rnic_sq_post freq_post_wr(struct fakereq *fake, const struct rnic_send_wr *wr);

/* The next request packet, checked for what all have; one of opcode 0xFF if there is none. */
struct roce_pkt freq_out(struct fakereq *fake);

/* Asserts that the next packets are of this opcode, at `pos` PSNs from the first. */
void freq_expect(struct fakereq *fake, uint8_t opcode, uint32_t pos);

/* Asserts that nothing can be sent, for this reason. */
void freq_expect_gate(struct fakereq *fake, enum rnic_req_gate gate);

/* Takes all packets there are; how many. */
unsigned freq_out_all(struct fakereq *fake);

/* Feeds responses, `pos` PSNs from the first; the last step taken. */
enum rnic_comp_step freq_aeth(struct fakereq *fake, uint32_t pos, uint8_t syndrome, uint32_t msn);
enum rnic_comp_step freq_ack(struct fakereq *fake, uint32_t pos);
enum rnic_comp_step freq_read(struct fakereq *fake, uint8_t opcode, uint32_t pos, uint8_t fill,
                              uint32_t len);
enum rnic_comp_step freq_atomic(struct fakereq *fake, uint32_t pos, uint64_t orig);

/* Asserts that the next completion is this one, or that there is none. */
void freq_expect_wc(struct fakereq *fake, uint64_t wr_id, enum rnic_wc_status status);
void freq_expect_no_wc(struct fakereq *fake);

/* Time passes, and the timer fires if it is due. */
void freq_pass(struct fakereq *fake, uint64_t ns);

#endif

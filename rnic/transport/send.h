/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Send: the send work request and its constants. Receive work requests and completions are in
 * work.h. Enumerations have the numbers of their ibv_* counterparts (rdma-core,
 * infiniband/verbs.h). */
#ifndef RNIC_SEND_H
#define RNIC_SEND_H

#include "transport/work.h"

#define RNIC_INLINE_MAX 1024u /* maximum inline data of one work request, bytes */

/* Opcodes of send work requests, with the numbers of enum ibv_wr_opcode. */
enum rnic_wr_opcode {
    RNIC_WR_WRITE = 0,
    RNIC_WR_WRITE_IMM = 1,
    RNIC_WR_SEND = 2,
    RNIC_WR_SEND_IMM = 3,
    RNIC_WR_READ = 4,
    RNIC_WR_CMP_SWAP = 5,
    RNIC_WR_FETCH_ADD = 6,
    RNIC_WR_LOCAL_INV = 7,
    RNIC_WR_BIND_MW = 8,
    RNIC_WR_SEND_INV = 9,
    RNIC_WR_FLUSH = 14, /* number of the kernel's IB_UVERBS_WR_FLUSH */
    RNIC_WR_ATOMIC_WRITE = 15,
};

/* Placement types of a FLUSH, a bit set, with the same numbers as the kernel's enum ib_flush_type
 * and the FETH. */
enum rnic_flush_type { RNIC_FLUSH_GLOBAL = 1u << 0, RNIC_FLUSH_PERSISTENT = 1u << 1 };

/* Selectivity level of a FLUSH, with the same numbers as the kernel's enum ib_selectivity_level and
 * the FETH. */
enum rnic_flush_level {
    RNIC_FLUSH_RANGE = 0, /* flushes flush.len bytes at remote_addr */
    RNIC_FLUSH_MR = 1,    /* flushes the whole region or window */
};

struct rnic_mr;
struct rnic_mw;

/* BIND_MW: memory range that the window exposes. The transport identifies the window and the region
 * by their keys, not by the pointers. */
struct rnic_mw_bind {
    struct rnic_mw *mw;
    struct rnic_mr *mr; /* region, or NULL if len is 0 */
    uint64_t addr;      /* first byte of the window, in the MR's iova space */
    uint64_t len;       /* length in bytes; 0 unbinds a type 1 window and is an error for type 2 */
    unsigned access;    /* enum rnic_access: remote rights, ZERO_BASED (type 2) */
    uint32_t rkey;      /* type 2: new R_Key, which must equal the old one except for the low 8 bits
                         * (R212); type 1: ignored, because the device chooses the key */
    uint32_t mr_key;    /* key of `mr`, set by the device */
};

/* Flags of a send work request, with the numbers of enum ibv_send_flags. */
enum rnic_send_flags {
    RNIC_SEND_FENCE = 1u << 0,    /* wait until all earlier READs and atomics are complete (R131) */
    RNIC_SEND_SIGNALED = 1u << 1, /* write a completion to the CQ also on success (R198) */
    RNIC_SEND_SOLICITED =
        1u << 2,                /* SEND and WRITE with immediate: set SE for the responder (R041) */
    RNIC_SEND_INLINE = 1u << 3, /* SEND, WRITE, ATOMIC_WRITE: copy the data when posting (R136) */
};
#define RNIC_SEND_FLAGS 0xFu

struct rnic_ah; /* address handle, declared in device/rnic.h */

struct rnic_send_wr {
    uint64_t wr_id;
    enum rnic_wr_opcode opcode;
    unsigned flags; /* bit set of enum rnic_send_flags */
    /* SGEs of the data to send, or of the buffer for data that is read. An atomic has one SGE of 8
     * bytes (R124). The SGEs of an ATOMIC_WRITE have 8 bytes (A19). LOCAL_INV, BIND_MW and FLUSH
     * have no SGEs. The list is copied. With INLINE each addr is a pointer of the caller
     * (uintptr_t), and lkey is ignored. */
    const struct rnic_sge *sge;
    uint32_t sge_cnt;
    uint32_t imm;            /* immediate data of WRITE_IMM and SEND_IMM */
    uint32_t invalidate_key; /* SEND_INV: key of the peer; LOCAL_INV: key of a local region */
    uint64_t remote_addr;    /* remote address of WRITE, READ, atomics, ATOMIC_WRITE, FLUSH of a
                              * range */
    uint32_t rkey;
    uint64_t compare_add;   /* CMP_SWAP: value to compare; FETCH_ADD: value to add */
    uint64_t swap;          /* CMP_SWAP: new value */
    struct rnic_mw_bind mw; /* parameters of BIND_MW */
    struct {
        uint32_t len;  /* RANGE: number of bytes at remote_addr, 0..2^31 */
        unsigned type; /* bit set of enum rnic_flush_type, not 0 */
        enum rnic_flush_level level;
    } flush; /* parameters of FLUSH */
    /* Destination of UD and GSI (SEND and SEND_IMM). */
    const struct rnic_ah *ah; /* address handle in the QP's PD; not used after the post */
    uint32_t remote_qpn;      /* destination QPN; ignored for a multicast address handle (R048) */
    uint32_t remote_qkey; /* Q_Key to send; if bit 31 is set, the QP's own Q_Key is sent (R169) */
    uint32_t srqn;        /* XRC: SRQ number at the peer, 24 bit */
};

static inline bool rnic_wr_is_atomic(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_CMP_SWAP || opcode == RNIC_WR_FETCH_ADD;
}

/* Returns whether the operation is FLUSH or ATOMIC WRITE (annex A19). The response to both is a
 * READ response without data. */
static inline bool rnic_wr_is_a19(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_FLUSH || opcode == RNIC_WR_ATOMIC_WRITE;
}

/* Returns whether the response to the operation is not an ACK, and the operation uses a responder
 * resource. max_rd_atomic limits the number of these operations (R130), and a fence waits for them
 * (R131). FLUSH and ATOMIC WRITE also use a resource each (A19; Linux rxe does the same). */
static inline bool rnic_wr_is_fetch(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_READ || rnic_wr_is_atomic(opcode) || rnic_wr_is_a19(opcode);
}

/* Returns whether the device executes the operation itself, without a packet. */
static inline bool rnic_wr_is_local(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_LOCAL_INV || opcode == RNIC_WR_BIND_MW;
}

/* Returns whether the operation uses a receive WQE of the responder and therefore needs a credit
 * (R134). */
static inline bool rnic_wr_uses_rq(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_SEND || opcode == RNIC_WR_SEND_IMM || opcode == RNIC_WR_SEND_INV ||
           opcode == RNIC_WR_WRITE_IMM;
}

#endif

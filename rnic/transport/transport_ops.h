/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Transport ops: functions of the device that the transport of a QP calls. The device fills in the
 * table once (rnic_qp_transport_ops); `qp` is a context of the device. None of these functions may
 * call the transport. Exception: `failed` stops the transport and flushes its queues.
 */
#ifndef RNIC_TRANSPORT_OPS_H
#define RNIC_TRANSPORT_OPS_H

#include "transport/send.h"
#include "transport/work.h"

struct rnic_rq;

/* Result of a memory access check. All errors cause the same NAK (R083); they differ in counters
 * and logs. */
enum rnic_mem {
    RNIC_MEM_OK,
    RNIC_MEM_KEY, /* unknown or invalidated key (R083, R208) */
    RNIC_MEM_PD,  /* key of another protection domain (R206), or of a window of another QP (R210) */
    RNIC_MEM_ACCESS, /* the region does not grant the access right (R207) */
    RNIC_MEM_RANGE,  /* range not completely inside the region (R084) */
    RNIC_MEM_GONE,   /* the program unmapped the memory (rnic_attr.there) */
};

struct rnic_transport_ops {
    /* Translates `len` > 0 bytes at `va` of the region with key `key`, which must grant every right
     * in `access` (enum rnic_access). On RNIC_MEM_OK *out points to the bytes; the pointer is valid
     * until the call into the transport returns. Keys are checked for each packet, so no packet can
     * use an invalidated key (R208). */
    enum rnic_mem (*translate)(void *qp, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                               uint8_t **out);

    /* Translates an SGE of a receive WQE, with local write access, in the protection domain of the
     * receive queue. An SRQ can have another protection domain than the QP. */
    enum rnic_mem (*translate_recv)(void *qp, uint32_t key, uint64_t va, uint64_t len,
                                    uint8_t **out);

    /* Returns the receive queue of SRQ `srqn` for an XRC target. Returns NULL if the SRQ does not
     * exist or belongs to another XRC domain (R180). */
    struct rnic_rq *(*srq)(void *qp, uint32_t srqn);

    /* Checks access to a whole region or window. A FLUSH of level MR has no range (A19). */
    enum rnic_mem (*check_whole_mr)(void *qp, uint32_t key, unsigned access);

    /* Invalidates a key for a SEND with Invalidate (R203) or a local invalidate. Returns false and
     * changes nothing if the key is unknown, has another owner, or does not permit invalidation by
     * a peer (R204). */
    bool (*invalidate)(void *qp, uint32_t key);

    /* Binds a memory window (R211). Returns false and changes nothing if binding is not allowed. */
    bool (*bind)(void *qp, const struct rnic_mw_bind *bind);

    /* Reports the completion of a receive WQE. *wc is valid during the call; the device fills in
     * qpn. */
    void (*complete)(void *qp, const struct rnic_wc *wc);

    /* Reports an affiliated asynchronous event of this QP. */
    void (*event)(void *qp, enum rnic_event_type type);

    /* Moves the QP to the error state. Called once, after the failed WQE was completed and before
     * others are flushed (R189). After a failure of the responder (class A, C and J errors), queued
     * responses up to the NAK are still sent. After a failure of the requester, nothing is sent. */
    void (*failed)(void *qp);

    /* Reports the completion of a send WQE. *wc is valid during the call; the device fills in qpn.
     */
    void (*sent)(void *qp, const struct rnic_wc *wc);

    /* Reports a step of a send request if rnic_requester.watched is set. `wqe` is the WQE's number
     * with bit 31 set; *wc is valid for DONE and COMPLETED. */
    void (*step)(void *qp, uint32_t wqe, enum rnic_wr_step step, const struct rnic_wc *wc);

    /* Reports that the responder has a packet to send and had none before. */
    void (*ready)(void *qp);
};

#endif

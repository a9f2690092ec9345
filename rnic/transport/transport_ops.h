/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Host: what the transport of a QP asks of the device around it. The device fills in the table
 * once; `qp` is whatever the device gave with it and means nothing to the transport.
 *
 * No function may call back into the transport, except that `failed` may stop it and flush its
 * queues. A requester needs mem, invalidate, bind, sent and failed; a responder all but bind and
 * sent, and srq only as an XRC target.
 */
#ifndef RNIC_TRANSPORT_OPS_H
#define RNIC_TRANSPORT_OPS_H

#include "transport/send.h"
#include "transport/work.h"

struct rnic_rq;

/* Why memory may or may not be touched. All but OK are one NAK on the wire (R083); they differ for
 * counters and for people. */
enum rnic_mem {
    RNIC_MEM_OK,
    RNIC_MEM_KEY,    /* no such key, or it was invalidated (R083, R208) */
    RNIC_MEM_PD,     /* another protection domain (R206) */
    RNIC_MEM_ACCESS, /* the region does not grant this (R207) */
    RNIC_MEM_RANGE,  /* not wholly inside the region (R084) */
    RNIC_MEM_GONE,   /* the user took the memory away under the region (rnic_attr.there) */
};

struct rnic_transport_ops {
    /*
     * Translates `len` > 0 bytes at `va` of the region that `key` names, which must grant every
     * right in `access` (enum rnic_access). On RNIC_MEM_OK *out is where the bytes are; the pointer
     * is good until the call into the transport that asked for it returns. Keys are looked at anew
     * for each packet, so that one withdrawn stops working at once (R208).
     */
    enum rnic_mem (*translate)(void *qp, uint32_t key, uint64_t va, uint64_t len, unsigned access,
                               uint8_t **out);

    /* The same for an SGE of a receive WQE, with local write access: in the protection domain of
     * the queue that the WQE was posted to, which for an SRQ need not be the QP's. */
    enum rnic_mem (*translate_recv)(void *qp, uint32_t key, uint64_t va, uint64_t len,
                                    uint8_t **out);

    /* XRC target: the receive queue of the SRQ with this number, or NULL if it does not exist or is
     * of another XRC domain (R180). */
    struct rnic_rq *(*srq)(void *qp, uint32_t srqn);

    /* Whether all of the region or window that `key` names may be touched so: FLUSH of level MR
     * names no range (A19). */
    enum rnic_mem (*check_whole_mr)(void *qp, uint32_t key, unsigned access);

    /* Takes the key away for a SEND with Invalidate (R203) or a local invalidate: false, and
     * nothing changed, if it is unknown, another's, or not to be invalidated by a peer (R204). */
    bool (*invalidate)(void *qp, uint32_t key);

    /* Binds a window (R211); false, and nothing changed, if that is not allowed. */
    bool (*bind)(void *qp, const struct rnic_mw_bind *bind);

    /* A receive WQE is done. *wc is the transport's; qpn is left for the device to fill. */
    void (*complete)(void *qp, const struct rnic_wc *wc);

    /* An affiliated asynchronous event of this QP. */
    void (*event)(void *qp, enum rnic_event_type type);

    /* The QP is to go to the error state: called once, after the WQE at fault was completed and
     * before any other is flushed (R189). When the responder failed (class A, C and J errors), what
     * it owes, the NAK last, is still to be sent; when a request failed, nothing is. */
    void (*failed)(void *qp);

    /* A send WQE is done; the rest as `complete`. */
    void (*sent)(void *qp, const struct rnic_wc *wc);

    /* What happened to the send request of this number, which has bit 31 set and else counts up;
     * *wc only of DONE and COMPLETED. Only while rnic_requester.watched. */
    void (*step)(void *qp, uint32_t wqe, enum rnic_wr_step step, const struct rnic_wc *wc);

    /* There is something to send where there was nothing: rnic_responder_output() has work. */
    void (*ready)(void *qp);
};

#endif

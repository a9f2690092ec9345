/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UC: the receiving half of a QP of the unreliable connection service (IBTA vol. 1 ch. 9; R065,
 * R162-R166 of rnic/rules.md). For each packet, the device calls rnic_uc_input() instead of
 * rnic_responder_input(). There are no responses. A message arrives completely and in order, or it
 * is dropped and does not affect the next one. Bytes that a dropped WRITE already wrote stay in
 * memory (R166). The requester is the sending half; it counts each packet as acknowledged when the
 * packet is sent (R167).
 *
 * The PSN only shows that a packet is missing (R065). After any packet, the receiver expects the
 * PSN after the PSN of that packet. A First or Only packet always begins a message, even if the
 * network duplicated or delayed it (as in hfi1 and rxe; UC has no duplicates).
 *
 * If a SEND remains incomplete, its receive WQE serves the next message of the QP (R163), even if
 * the WQE is from an SRQ (as in hfi1; rxe completes the WQE with an error). If the L_Key of a
 * receive WQE does not permit the write, the WQE completes with LOC_PROT_ERR and the QP goes to ERR
 * (as in hfi1; C9-220 requires it for RC).
 */
#ifndef RNIC_UC_H
#define RNIC_UC_H

#include "transport/responder.h"

#define RNIC_UC_STEPS(X)                                                                           \
    X(CHECK_PSN, check_psn)                                                                        \
    X(CHECK_OP_SEQ, check_op_seq)                                                                  \
    X(CHECK_OP_VALID, check_op_valid)                                                              \
    X(CHECK_RESOURCE, check_resource)                                                              \
    X(CHECK_LENGTH, check_length)                                                                  \
    X(CHECK_RKEY, check_rkey)                                                                      \
    X(EXECUTE_SEND, execute_send)                                                                  \
    X(EXECUTE_WRITE, execute_write)                                                                \
    X(ADVANCE, advance)                                                                            \
    X(COMPLETE, complete)                                                                          \
    X(FAIL, fail_request)                                                                          \
    X(DROP, drop_message)

enum rnic_uc_step {
#define X(NAME, function) RNIC_UC_##NAME,
    RNIC_UC_STEPS(X)
#undef X
        RNIC_UC_DONE
};

/* Processes a packet of the UC service. The caller has checked its format, ICRC, addresses, P_Key
 * and the QP state; the payload is complete. The responder was started with the UC service. Returns
 * the last step. */
enum rnic_uc_step rnic_uc_input(struct rnic_responder *resp, const struct roce_pkt *pkt);

#endif

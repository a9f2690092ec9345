/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UC: the receiving half of a QP of the unreliable connection service (IBTA vol. 1 ch. 9; R065,
 * R162-R166 of rnic/rules.md). Nothing is ever answered. A message arrives whole and in order, or
 * it is dropped without a word and without harm to the next one; what a WRITE had put in memory
 * until then stays there (R166). The sending half is the requester, which takes every packet as
 * answered when it is sent (R167).
 *
 * The PSN only tells that something is missing (R065): whatever comes is followed by its successor.
 * A First or Only packet always begins a message, also one that the network repeats or delays (as
 * hfi1 and rxe do; UC knows no duplicates).
 *
 * A broken SEND keeps its receive WQE for the next message of the QP (R163), also one of an SRQ (as
 * hfi1 does; rxe completes it with an error). A receive WQE whose memory may not be written is a
 * fault of this side, not of the packet: it completes with LOC_PROT_ERR and the QP goes to ERR (as
 * hfi1 does; C9-220 says it of RC).
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

/* A packet of the UC service arrived whose form, ICRC, addresses, P_Key and QP state are right; its
 * payload is whole. The responder was started with that service. Returns the last step it took. */
enum rnic_uc_step rnic_uc_input(struct rnic_responder *resp, const struct roce_pkt *pkt);

#endif

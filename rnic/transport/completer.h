/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Completer: takes the responses of an RC QP: acknowledgements, NAKs, READ data, atomic results,
 * and moves its requester on. IBTA vol. 1 ch. 9, section numbers refer to release 1.x of it; R001..
 * are the rules of rnic/rules.md.
 *
 * A response walks through named steps, as a request does in responder.h. What is wrong with one is
 * a retry, a completion in error, or nothing, never an error code.
 *
 * Choices where the specification leaves one: reserved syndromes and an AETH that refuses where it
 * should answer are ignored (R147; as hfi1 does); one restart for each position, until the
 * responder moves on or the timer fires (R161); a NAK "sequence error" during the wait for an RNR
 * timer is ignored, because Linux rxe sends one with it (rxe-6.1 D8); a READ asked for again may be
 * answered from its First or its Middle packet on, because rxe does the latter (D4).
 */
#ifndef RNIC_COMPLETER_H
#define RNIC_COMPLETER_H

#include "transport/requester.h"

/* The steps: the way of a good response, by kind, then refusals, then what goes wrong. */
#define RNIC_COMP_STEPS(X)                                                                         \
    X(CHECK_PSN, check_psn)                                                                        \
    X(CHECK_SYNDROME, check_syndrome)                                                              \
    X(ACKNOWLEDGE, acknowledge)                                                                    \
    X(ACKNOWLEDGE_EARLIER, acknowledge_earlier)                                                    \
    X(CHECK_KIND, check_kind)                                                                      \
    X(CHECK_ORDER, check_order)                                                                    \
    X(CHECK_LENGTH, check_length)                                                                  \
    X(PLACE_READ, place_read)                                                                      \
    X(COMPLETE_A19, complete_a19)                                                                  \
    X(PLACE_ATOMIC, place_atomic)                                                                  \
    X(NAK_PSN_SEQ, nak_psn_seq)                                                                    \
    X(NAK_RNR, nak_rnr)                                                                            \
    X(NAK_FATAL, nak_fatal)                                                                        \
    X(IMPLIED_NAK, implied_nak)                                                                    \
    X(BAD_RESPONSE, bad_response)                                                                  \
    X(BAD_LENGTH, bad_length)                                                                      \
    X(BAD_MEMORY, bad_memory)                                                                      \
    X(DUPLICATE, count_duplicate)                                                                  \
    X(GHOST, count_ghost)                                                                          \
    X(IGNORE, ignore_response)

enum rnic_comp_step {
#define X(NAME, function) RNIC_COMP_##NAME,
    RNIC_COMP_STEPS(X)
#undef X
        RNIC_COMP_DONE
};

/*
 * A response packet of the RC service arrived whose form, ICRC, addresses, P_Key and QP state are
 * right; its payload is whole. Returns the last step it took. Afterwards the requester may have
 * something to send, another deadline, or be stopped.
 */
enum rnic_comp_step rnic_completer_input(struct rnic_requester *req, const struct roce_pkt *pkt,
                                         uint64_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Completer: processes the responses to the requests of an RC QP (ACK, NAK, READ response, Atomic
 * ACK) and advances its requester.
 *
 * How it is called:
 *   1. The device calls rnic_completer_input() for each response packet of the QP.
 *   2. The packet passes the steps below; each step returns the next one, as in responder.h.
 *   3. A bad response causes a retry, a completion in error, or nothing. The function never returns
 *      an error code for it.
 *   4. Afterwards the device calls rnic_requester_ready() and reads req->retry.deadline again.
 *
 * The completer has no state except that of its requester. Section numbers are those of IBTA vol. 1
 * ch. 9, release 1.x; R001.. are the rules of rnic/rules.md.
 *
 * Where the specification allows several behaviours: reserved syndromes, and an AETH with a NAK in
 * a READ response, are ignored (R147; as hfi1 does). The requester goes back to the same position
 * again only after the responder has acknowledged more requests, or the timer has expired (R161). A
 * NAK "sequence error" during an RNR wait is ignored, because Linux rxe sends such a NAK after the
 * RNR NAK (deviation D8 in traces/linux-rxe.md). The response to a retransmitted READ may begin
 * with a First packet or, as in rxe, with a Middle packet (deviation D4).
 */
#ifndef RNIC_COMPLETER_H
#define RNIC_COMPLETER_H

#include "transport/requester.h"

/* Steps of the completer, each with its function. The first steps are for valid responses, then
 * come steps for NAKs, then steps for bad, duplicate and ignored responses. */
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

/* Processes a response packet of the RC service. The caller has checked its format, ICRC,
 * addresses, P_Key and the QP state. Returns the last step. Afterwards the requester may have
 * packets to send, a new deadline, or be stopped. */
enum rnic_comp_step rnic_completer_input(struct rnic_requester *req, const struct roce_pkt *pkt,
                                         uint64_t now);

#endif

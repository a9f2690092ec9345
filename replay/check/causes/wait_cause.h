/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Reasons why a requester waited, in the order of the reports of check. */
#ifndef REPLAY_CHECK_CAUSES_WAIT_CAUSE_H
#define REPLAY_CHECK_CAUSES_WAIT_CAUSE_H

enum wait_cause {
    WAIT_RESPONSE, /* waits for responses to requests that were not retransmitted */
    /* WAIT_TIMEOUT to WAIT_UNKNOWN: waits that ended with a retransmission, named after the cause
     * of the retransmission. */
    WAIT_TIMEOUT,
    WAIT_SPURIOUS,
    WAIT_READ_GAP, /* waits for READ responses that were lost, including losses that the requester
                    * detected by an implied NAK */
    WAIT_RNR_NAK,
    WAIT_SEQ_NAK,
    WAIT_UNKNOWN,
    WAIT_CREDIT,  /* waits for credits: a credit is a receive WQE that the responder announces in
                   * an ACK */
    WAIT_SETUP,   /* waits for the end of the connection setup, after a lost REP or RTU */
    WAIT_SILENCE, /* waits for new requests of the program, if the silences of the connection are
                   * notable (silence_text.h) */
    WAIT_CAUSES,
    /* Time without a wait. */
    TIME_IDLE = WAIT_CAUSES, /* all requests were acknowledged, and no packet was captured */
    TIME_SENDING,
    TIME_PARTS
};

#endif

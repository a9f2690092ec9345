/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timeline record: format of the file of RNIC_TIMELINE, one record for each send work request. Byte
 * order is that of the machine. Processes append whole blocks. rnic-run --timeline prints it. */
#ifndef VERBS_TIMELINE_RECORD_H
#define VERBS_TIMELINE_RECORD_H

#include <stdint.h>

enum timeline_at {
    TIMELINE_POSTED, /* the program called ibv_post_send() or ibv_wr_complete() */
    TIMELINE_SEEN, /* the request is in the send queue; before this, the call waited for the lock */
    TIMELINE_FIRST,  /* its first packet was built */
    TIMELINE_LAST,   /* its last packet was built for the last time */
    TIMELINE_ACKED,  /* its last acknowledgement or response arrived; UC and UD: it was sent */
    TIMELINE_CQE,    /* its completion was written */
    TIMELINE_POLLED, /* the program polled its completion */
    TIMELINE_CNT
};

struct timeline_record {
    uint64_t
        at[TIMELINE_CNT]; /* CLOCK_MONOTONIC, ns; 0: did not happen (unsignaled, or an error) */
    uint64_t wr_id;
    uint32_t pid;
    uint32_t qpn;
    uint32_t bytes;
    uint32_t resent; /* packets retransmitted */
    uint8_t opcode;  /* enum ibv_wc_opcode */
    uint8_t status;  /* enum ibv_wc_status */
    uint8_t done;    /* 1 if it completed; 0 if the QP or the device ended before */
    uint8_t zero[5];
};

#endif

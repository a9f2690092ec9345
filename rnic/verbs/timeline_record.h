/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timeline record: what the file of RNIC_TIMELINE consists of, one for each send work request, in
 * the machine's byte order, appended by each process in whole blocks. rnic-run --timeline prints
 * it.
 */
#ifndef VERBS_TIMELINE_RECORD_H
#define VERBS_TIMELINE_RECORD_H

#include <stdint.h>

enum timeline_at {
    TIMELINE_POSTED, /* the program called ibv_post_send() or ibv_wr_complete() */
    TIMELINE_SEEN,   /* the RNIC has it in the send queue: before, the call waited for its lock */
    TIMELINE_FIRST,  /* its first packet was made for the port */
    TIMELINE_LAST,   /* its last packet, when that was sent for the last time */
    TIMELINE_ACKED,  /* the last acknowledgement or response to it came; UC and UD: it was sent */
    TIMELINE_CQE,    /* its completion was written */
    TIMELINE_POLLED, /* the program took it */
    TIMELINE_CNT
};

struct timeline_record {
    uint64_t
        at[TIMELINE_CNT]; /* CLOCK_MONOTONIC, ns; 0: did not happen (unsignaled, or an error) */
    uint64_t wr_id;
    uint32_t pid;
    uint32_t qpn;
    uint32_t bytes;
    uint32_t resent; /* packets sent again */
    uint8_t opcode;  /* enum ibv_wc_opcode */
    uint8_t status;  /* enum ibv_wc_status */
    uint8_t done;    /* it completed; else the QP or the device ended before */
    uint8_t zero[5];
};

#endif

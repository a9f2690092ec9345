/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timeline record: format of the RNIC_TIMELINE file, one record for each send work request. Byte
 * order is that of the machine. Processes append whole blocks. If the disk is full, a part of a
 * record can remain; the mark at the beginning of each record shows where the next one begins.
 * rnic-run --timeline prints the file.
 */
#ifndef VERBS_TIMELINE_RECORD_H
#define VERBS_TIMELINE_RECORD_H

#include <stdint.h>

enum timeline_at {
    TIMELINE_POSTED, /* the program called ibv_post_send() or ibv_wr_complete() */
    TIMELINE_SEEN,   /* the request is in the send queue; the time from POSTED to this step is the
                      * wait for the lock */
    TIMELINE_FIRST,  /* the first packet of the request was built */
    TIMELINE_LAST,   /* the last packet of the request was built for the last time */
    TIMELINE_ACKED,  /* the last acknowledgement or response of the request arrived; for UC and
                      * UD: the last packet of the request was built */
    TIMELINE_CQE,    /* the completion of the request was written to the CQ */
    TIMELINE_POLLED, /* the program polled the completion */
    TIMELINE_CNT
};

#define TIMELINE_MARK UINT64_C(0x5D1A7E11E5A9C03F) /* first bytes of a valid record */

struct timeline_record {
    uint64_t mark;             /* TIMELINE_MARK, at which a reader recognizes a record */
    uint64_t at[TIMELINE_CNT]; /* time of each step, CLOCK_MONOTONIC, ns; 0: the request had no such
                                * step, because it was unsignaled or failed */
    uint64_t wr_id;
    uint32_t pid;
    uint32_t qpn;
    uint32_t bytes;
    uint32_t resent; /* number of packets retransmitted */
    uint8_t opcode;  /* enum ibv_wc_opcode */
    uint8_t status;  /* enum ibv_wc_status */
    uint8_t done;    /* 1 if the request completed; 0 if the QP or the device ended before */
    uint8_t zero[5];
};

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Message: a SEND or WRITE that arrives packet by packet, and the checks of its packets. The
 * responder (RC, XRC) and uc.c share it. Section numbers are those of IBTA vol. 1. */
#ifndef RNIC_MESSAGE_H
#define RNIC_MESSAGE_H

#include "transport/rq.h"
#include "wire/pkt.h"

/* SEND or WRITE in progress. */
struct rnic_message {
    bool open;           /* true between its First and its Last packet */
    enum roce_kind kind; /* ROCE_KIND_SEND or ROCE_KIND_WRITE */
    uint32_t len;        /* bytes received so far */
    /* Receive WQE of a SEND, or of the packet with immediate of a WRITE. A broken message of UC
     * leaves it for the next message (R163). */
    struct rnic_rwqe *wqe;
    struct rnic_scatter at; /* SEND: place of the next byte */
    uint32_t srqn;          /* XRC: SRQ number of its first packet */
    /* WRITE: values of its RETH */
    uint64_t va;
    uint32_t rkey;
    uint32_t dma_len;
};

/* Begins a message with its first packet, unless one is open. A receive WQE in msg->wqe stays
 * there. */
void rnic_message_begin(struct rnic_message *msg, const struct roce_pkt *pkt);

/* Ends the message, complete or not. A receive WQE in msg->wqe stays there. */
static inline void rnic_message_end(struct rnic_message *msg)
{
    msg->open = false;
}

enum rnic_fit {
    RNIC_FIT_OK,
    RNIC_FIT_INVALID,  /* violates R079-R081 */
    RNIC_FIT_TOO_LONG, /* longer than the receive WQE (R082) */
};

/* Checks the length of a SEND or WRITE packet, and of its message so far (9.7.4.1.5, 9.7.4.1.6). A
 * SEND must have its receive WQE. */
enum rnic_fit rnic_message_fits(const struct rnic_message *msg, const struct roce_pkt *pkt,
                                uint32_t path_mtu);

/* Memory to check for a WRITE packet. The First or Only packet is checked for the whole message
 * (R083, R084). Later packets are checked for their own bytes, because the key may be invalid by
 * then (R208). */
struct rnic_range {
    uint64_t va;
    uint32_t len;
    uint32_t rkey;
};

struct rnic_range rnic_message_range(const struct rnic_message *msg, const struct roce_pkt *pkt);

/* Writes the payload of a WRITE packet to memory, its end last. Programs poll the end of their
 * buffer to learn that all of it is there (ib_write_lat does). Where the end is aligned, the last 8
 * or 4 bytes are one store. The specification promises no such order before the completion;
 * hardware keeps it. */
void rnic_message_write(uint8_t *to, const uint8_t *from, size_t len);

/* Returns the successful completion of the message that ends with this packet (R087, R202, R203).
 */
struct rnic_wc rnic_message_wc(const struct rnic_message *msg, const struct roce_pkt *pkt);

#endif

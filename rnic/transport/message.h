/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Message: a SEND or WRITE that arrives packet by packet, and the checks of its packets.
 * responder.c (RC, XRC) and uc.c share this code. Section numbers are those of IBTA vol. 1. */
#ifndef RNIC_MESSAGE_H
#define RNIC_MESSAGE_H

#include "transport/rq.h"
#include "wire/pkt.h"

/* A SEND or WRITE message in progress. */
struct rnic_message {
    bool open;           /* the First packet was received and the Last packet was not */
    enum roce_kind kind; /* ROCE_KIND_SEND or ROCE_KIND_WRITE */
    uint32_t len;        /* bytes received so far */
    uint32_t srqn;       /* XRC: SRQ number in the message's first packet */
    /* Receive WQE of a SEND, or of a WRITE with immediate; NULL if none is in use. After an
     * incomplete UC message, the WQE serves the next message (R163). */
    struct rnic_rwqe *wqe;
    struct rnic_scatter at; /* SEND: position of the next byte in the receive buffer */
    /* WRITE: address, R_Key and DMA length in the RETH */
    uint64_t va;
    uint32_t rkey;
    uint32_t dma_len;
};

/* Begins a message with its first packet, unless a message is open. Does not change a receive WQE
 * in msg->wqe. */
void rnic_message_begin(struct rnic_message *msg, const struct roce_pkt *pkt);

/* Ends the message, complete or not. Does not change a receive WQE in msg->wqe. */
static inline void rnic_message_end(struct rnic_message *msg)
{
    msg->open = false;
}

enum rnic_fit {
    RNIC_FIT_OK,
    RNIC_FIT_INVALID,  /* the length violates R079-R081 */
    RNIC_FIT_TOO_LONG, /* the message is longer than its receive WQE (R082) */
};

/* Checks the length of a SEND or WRITE packet, and the length of its message up to this packet
 * (9.7.4.1.5, 9.7.4.1.6). For a SEND, msg->wqe must be set. */
enum rnic_fit rnic_message_fits(const struct rnic_message *msg, const struct roce_pkt *pkt,
                                uint32_t path_mtu);

/* Memory range to check for a WRITE packet. The First or Only packet is checked for the whole
 * message (R083, R084). A later packet is checked for its own bytes, because the R_Key may have
 * become invalid (R208). */
struct rnic_range {
    uint64_t va;
    uint32_t len;
    uint32_t rkey;
};

struct rnic_range rnic_message_range(const struct rnic_message *msg, const struct roce_pkt *pkt);

/* Writes the payload of a WRITE packet to memory, and its last bytes after all others. Some
 * programs, for example ib_write_lat, poll the end of their buffer to detect that all data arrived.
 * If the end is aligned, one store writes the last 8 or 4 bytes. The specification guarantees no
 * such order before the completion, but hardware provides this order. */
void rnic_message_write(uint8_t *to, const uint8_t *from, size_t len);

/* Returns the successful completion of the message that ends with packet `pkt` (R087, R202, R203).
 */
struct rnic_wc rnic_message_wc(const struct rnic_message *msg, const struct roce_pkt *pkt);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Message: a SEND or WRITE that is arriving, packet by packet, and what its packets must be like:
 * the part of the responder that the services share. Section numbers are those of IBTA vol. 1.
 */
#ifndef RNIC_MESSAGE_H
#define RNIC_MESSAGE_H

#include "transport/rq.h"
#include "wire/pkt.h"

/* The SEND or WRITE whose packets are arriving. */
struct rnic_message {
    bool open;           /* between its First and its Last packet */
    enum roce_kind kind; /* SEND or WRITE */
    uint32_t len;        /* bytes received so far */
    /* Taken by a SEND, or by the packet with immediate of a WRITE. A broken message of UC leaves it
     * for the next one (R163). */
    struct rnic_rwqe *wqe;
    struct rnic_scatter at; /* SEND */
    uint32_t srqn;          /* XRC: as its first packet said */
    /* WRITE, as its RETH said */
    uint64_t va;
    uint32_t rkey;
    uint32_t dma_len;
};

/* Begins a message with its first packet, unless one is open; a WQE held stays held. */
void rnic_message_begin(struct rnic_message *msg, const struct roce_pkt *pkt);

/* Ends it, complete or not; a WQE held stays held. */
static inline void rnic_message_end(struct rnic_message *msg)
{
    msg->open = false;
}

enum rnic_fit {
    RNIC_FIT_OK,
    RNIC_FIT_INVALID,  /* R079-R081 */
    RNIC_FIT_TOO_LONG, /* for the receive WQE (R082) */
};

/* 9.7.4.1.5 and 9.7.4.1.6: lengths of a SEND or WRITE packet, and of its message with it. A SEND
 * holds its WQE. */
enum rnic_fit rnic_message_fits(const struct rnic_message *msg, const struct roce_pkt *pkt,
                                uint32_t path_mtu);

/* What a WRITE packet is to be checked for: the whole message when it begins (R083, R084), after
 * that what each packet writes, because the key may have been withdrawn since (R208). */
struct rnic_range {
    uint64_t va;
    uint32_t len;
    uint32_t rkey;
};

struct rnic_range rnic_message_range(const struct rnic_message *msg, const struct roce_pkt *pkt);

/* Puts what a WRITE packet carries into memory, its end last: programs look at the end of their
 * buffer to learn that all of it is there (as ib_write_lat does). Where the end is aligned, the
 * last 8 or 4 bytes come in one store, as a flag of a program is read. The specification promises
 * no such order before the completion; hardware keeps it. */
void rnic_message_write(uint8_t *to, const uint8_t *from, size_t len);

/* The successful completion that ends with this packet (R087, R202, R203). */
struct rnic_wc rnic_message_wc(const struct rnic_message *msg, const struct roce_pkt *pkt);

#endif

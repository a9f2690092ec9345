/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * QP uses: finds where the program uses a QP pair again without CM messages. A use of a QP pair is
 * the time from one setup of the two QPs to the next. In a new use, both QPs begin at new PSNs or
 * again at the same PSNs, and the MSN counts from 0. connections.c calls these functions.
 *
 * The search adds the packets of a connection to one supposed use (supposed_use.h). If this use
 * cannot explain a packet, a new use may have begun at that packet or before. For each possible
 * first packet of a new use, the search compares two costs of the packets around it: the cost with
 * one use, and the cost with two uses. A new use must explain at least two packets more, so that
 * one altered packet does not begin a new use. A request that differs in two fields from the
 * earlier request with the same PSN counts as two packets, so that the search finds a use of one
 * message.
 *
 * The two QPs are reset at different times. Requests of the previous use that are still on their
 * way may arrive in the new use (`stale`), and are executed if their PSNs fit. Otherwise the
 * responder sends sequence NAKs with MSN 0, perhaps before the requester begins the new use
 * (`nak`).
 */
#ifndef REPLAY_INFER_QP_USES_H
#define REPLAY_INFER_QP_USES_H

#include "flow/flow.h"
#include "infer/trace.h"

/* One use of a QP pair: from a QP reuse, or from the CM messages, to the next QP reuse. */
struct qp_use {
    uint32_t conn_index;
    uint32_t frame;
    uint32_t nak[2]; /* frame of the first sequence NAK that side 0 or 1 sent in this use before
                      * `frame`; 0: none */
    bool stale[2];   /* requests that side 0 or 1 sent in the previous use may have arrived in
                      * this use */
    uint32_t twice;  /* frame of an Atomic ACK, if only this packet suggests this use. Instead, the
                      * responder may have executed the atomic twice. 0: none */
    uint32_t req_frame, rep_frame;
    bool cm; /* the capture has the REQ and the REP that set up the QPs */
    uint8_t active_side;
    struct roce_cm_req req;
    struct roce_cm_rep rep;
};

struct qp_uses {
    struct qp_use *use; /* sorted by connection, then by frame */
    size_t cnt;
    size_t cap;
};

/* Returns whether a packet is a sequence NAK of a responder that has executed no message. */
bool qp_uses_is_first_nak(const struct trace_packet *p);

/* Returns the number of elements of `use` that sort at or before (conn_index, frame). */
size_t qp_uses_to(const struct qp_uses *uses, uint32_t conn_index, uint32_t frame);

/* `uses` contains the uses that CM messages set up. Adds all other uses and sorts the list. A
 * connection that CM messages set up has no other uses. `owner` has one element for each packet of
 * the trace. Returns false if out of memory. */
bool qp_uses_find(struct qp_uses *uses, const struct trace *trace,
                  const struct roce_flow_owner *owner);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pairing: which flow of responses answers the requests of a segment, a stretch of a flow that
 * belongs to one connection.
 *
 * Each answer votes for the segments that asked for its PSN with a request of its kind and length,
 * after an RNR NAK anew, and more if the messages it counts are those that its forerunner counted
 * and the requests since; an answer that is none to a segment votes against it. An RC connection is
 * two flows, each with the requests of one end and the answers to those of the other (the
 * destination QP is all a packet names), so that what is found in one direction counts for the
 * other.
 */
#ifndef REPLAY_INFER_FLOW_PAIRING_H
#define REPLAY_INFER_FLOW_PAIRING_H

#include "infer/cm_handshake.h"
#include "infer/trace.h"

/* A stretch of a flow that belongs to one connection. */
struct segment {
    uint32_t flow;
    uint32_t start; /* index into trace.pkt */
    uint32_t end;   /* first index after it */
    const struct cm_handshake *cm;
    size_t requests;
    bool begins; /* has a request that starts a message */
    uint32_t resp_flow;
};

struct pairing {
    const struct trace *trace;
    struct segment *seg; /* by flow, then start */
    size_t seg_cnt;
    size_t seg_cap;
    uint32_t *seg_of; /* per packet of the trace: its segment, or KEYMAP_NONE */
    uint8_t *claimed; /* per packet of the trace: a response that belongs to a segment */
};

/* Fills in segment.resp_flow and what is claimed. False without memory. */
bool pairing_find(struct pairing *pairing);

/* Packets of the services that are acknowledged. */
bool pairing_is_request(const struct trace_packet *packet);
bool pairing_is_response(const struct trace_packet *packet);

/* The first of the flow's packets that is not before packet `idx` of the trace. */
size_t pairing_first_from(const struct trace_flow *flow, uint32_t idx);

#endif

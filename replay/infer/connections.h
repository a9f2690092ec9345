/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Connections: which flows of a trace are the two directions of one RC connection, or of an XRC
 * initiator and its target, which on the wire is the same with another service.
 *
 * A packet names the QP it goes to, never the one it comes from. Where the connection manager's
 * REQ and REP were captured they name both. Elsewhere a flow of responses belongs to the flow of
 * requests between the same hosts whose PSNs it answers, in time and with one MSN base; the best
 * pairs are taken first. A QPN that is used again, by a new CM exchange or with a PSN far from the
 * last one, starts a new connection.
 *
 * A side is what can be replayed: the requests of one direction and the responses to them. A
 * connection in which both ends request has two.
 */
#ifndef REPLAY_INFER_CONNECTIONS_H
#define REPLAY_INFER_CONNECTIONS_H

#include "base/error.h"
#include "infer/trace.h"

/* What the connection manager said about a side; its frames are in the capture. */
struct recorded_cm {
    bool present;
    uint32_t peer_qpn;  /* the requester's QP */
    uint32_t psn;       /* of the first request */
    uint32_t mtu;       /* bytes, 0 if the code was reserved */
    uint32_t resources; /* responder resources granted: READs and atomics at a time */
    bool timed;         /* what follows is known: */
    uint8_t timeout, retry_cnt, rnr_retry; /* of the requester's QP; codes of ibv_modify_qp */
};

struct recorded_direction {
    uint32_t req_flow;  /* requester to responder */
    uint32_t resp_flow; /* responder to requester */
    struct recorded_cm cm;
    uint32_t *pkt; /* indices into trace.pkt: requests and responses, in capture order */
    size_t cnt;
    size_t cap;
    bool after_gap;   /* goes on where the capture has requests again, see split_at_gap.h */
    uint32_t gap_psn; /* then: the first PSN that the capture lacks */
    uint32_t
        gap_after_frame; /* ... and the last frame before the new beginning, 0 if there is none */
};

/* Packets that no side covers, and why. */
struct skipped_flow {
    uint32_t flow;
    uint32_t frame; /* the first */
    size_t packets;
    const char *reason; /* static */
};

/* More sides than this are refused: each becomes a QP. */
#define DIRECTIONS_MAX 16384u

struct connections {
    struct recorded_direction *dir;
    size_t dir_cnt;
    size_t dir_cap;
    struct skipped_flow *skip;
    size_t skip_cnt;
    size_t skip_cap;
    uint32_t *unassigned; /* packets of flows that no side covers, in capture order */
    size_t unassigned_cnt;
    size_t unassigned_cap;
};

/* 0, or -1 and an error (memory, too many). connections_free() is wanted in both cases. */
int connections_find(struct connections *connections, const struct trace *trace,
                     struct error *error);
void connections_free(struct connections *connections);
void recorded_direction_free(struct recorded_direction *recorded);

#endif

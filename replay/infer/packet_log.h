/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet log: the packets of one RC direction (the requests of one QP and the responses to them) in
 * the order of sent_order.h, and the setup of both QPs that infer_setup() infers from them.
 *
 * `rel` is a PSN counted from the first request of the direction, without wrap.
 */
#ifndef REPLAY_INFER_PACKET_LOG_H
#define REPLAY_INFER_PACKET_LOG_H

#include "infer/connections.h"
#include "infer/infer_timers.h"
#include "wire/codes.h"

#define EVENT_NONE UINT32_MAX /* no event */
#define RECV_FULL  UINT32_MAX /* the receive WQE is long enough */
#define GAP_NONE   INT64_MIN  /* no request is missing */

/* One packet of a direction, called an event. */
struct pkt_event {
    uint32_t pkt;     /* index of the packet in trace.pkt */
    uint32_t sent_at; /* index in trace.pkt of the packet that gives this event its time. It is
                       * `pkt` or, if the network reordered packets, the first captured packet that
                       * was sent after `pkt` */
    bool response;
    bool damaged; /* a conformant receiver drops the packet, because its ICRC or form is wrong */
    bool usable;  /* the packet is undamaged, or its receiver accepted the damage */
    bool before_first; /* the packet belongs to a message before the first replayed message, so it
                        * is not replayed and not compared */
    bool lost;         /* request: the responder never received this copy */
    bool early;        /* request: the responder received this copy before it had executed all
                        * earlier requests */
    bool needless;     /* sequence NAK: a late copy of a later request caused it, and no request was
                        * lost (answers.h) */
    bool other;        /* request: undamaged, with another opcode than the first undamaged copy */
    bool no_recv_wqe;  /* request: the receive queue was empty (RNR NAK) */
    bool rkey_invalid; /* request: its R_Key was invalid, or the memory region did not contain the
                        * accessed range */
    bool differs;      /* response: a field differs from the response of our RNIC */
    uint32_t recv_len; /* request: bytes of the receive WQE if it was too short, else RECV_FULL */
    uint32_t next_response; /* index into setup.event, or EVENT_NONE. For a READ request: its
                             * first recorded response. For a READ response: the next response to
                             * the same request */
    uint32_t request; /* READ response: index into setup.event of its request, or EVENT_NONE */
    int64_t rel;
};

/* Request that the responder executed before the capture shows any copy, because the copy that the
 * responder executed was not captured. The session plays a later copy of the request just before
 * the response that proves the execution. */
struct executed_unseen {
    uint32_t event;    /* index into setup.event of the later copy of the request */
    uint32_t response; /* index into setup.event of the response that proves the execution */
};

/* One request packet that the responder executes. inferred_setup.req lists these packets in PSN
 * order, without gaps. Only the last one may be a packet that the responder refuses. */
struct request_pkt {
    int64_t rel;
    uint32_t cnt;            /* number of PSNs that the packet uses; more than 1 only for a READ */
    uint32_t event;          /* index into setup.event of the first undamaged copy */
    uint32_t msgs_done;      /* number of messages of the direction completed after this packet was
                              * executed */
    uint32_t msg_first;      /* index into inferred_setup.req of the packet that begins the
                              * message */
    uint32_t off;            /* number of payload bytes in the earlier packets of the message */
    uint32_t len;            /* payload bytes; for a READ, bytes requested */
    uint32_t rkey;           /* R_Key of a WRITE, READ or atomic */
    uint64_t va;             /* remote address of the packet's first byte */
    uint32_t first_response; /* atomic: index into setup.event of the first recorded response, or
                              * EVENT_NONE */
    bool rewritten; /* a retransmission has another payload, because the requester's program
                     * changed its buffer */
    bool invalid;   /* malformed or out of sequence: answered with NAK 0x61 */
};

struct inferred_setup {
    const struct trace *trace;
    const struct recorded_direction *recorded;
    const char *skip;    /* reason why the direction cannot be replayed, or NULL */
    int64_t gap;         /* relative PSN of a request that was executed but not captured; set only
                          * together with `skip`, else GAP_NONE */
    uint64_t read_bytes; /* bytes that the READs request; 0 if the direction cannot be replayed */
    struct pkt_event *event;
    size_t event_cnt;
    struct request_pkt *req;
    size_t req_cnt;
    size_t req_cap;
    struct executed_unseen *executed_unseen; /* requests executed before their capture, in the order
                                              * in which they are played */
    size_t executed_unseen_cnt;
    size_t executed_unseen_cap;

    uint32_t qpn;
    uint32_t peer_qpn;
    uint16_t pkey;
    uint32_t mtu;
    bool mtu_known; /* true: `mtu` is certain, because a CM message or a message of several
                     * packets shows it. false: `mtu` is the smallest possible path MTU */
    unsigned access;
    roce_psn psn;       /* PSN of the packet with relative PSN 0 */
    int64_t first;      /* relative PSN of the first packet replayed; negative if the first
                         * request was lost */
    uint32_t msn;       /* MSN of the responder before the first message */
    uint32_t msn_votes; /* number of responses with an MSN that agrees with `msn` */
    uint8_t rnr_code;
    int8_t read_first_msn; /* MSN of a READ response First minus the MSN that counts this READ, 0
                            * or -1. The value is 1 if both differences occur */
    uint32_t max_recv;     /* bytes of the longest receive WQE needed */
    /* Attributes of the QPs of our requester and responder. */
    uint32_t rq_psn, sq_psn;               /* `rq_psn`: first PSN that our responder expects.
                                            * `sq_psn`: first PSN that our requester sends */
    uint8_t resources, rd_atomic;          /* limits of READs and atomics in flight: `resources`
                                            * of the responder, `rd_atomic` of the requester */
    uint8_t timeout, retry_cnt, rnr_retry; /* attributes of the requester, in the codes of
                                            * ibv_modify_qp() */
    struct inferred_timers timers;         /* range of timeouts and retry counts that the packets
                                            * allow */
    bool lossy;           /* a request was retransmitted for a reason other than an RNR NAK */
    bool may_arrive_late; /* the last copy of a request counts as lost, because of a sequence NAK,
                           * but it may have arrived after the NAK */
    bool differs_known;   /* `differs` is set in all responses that differ */
    uint64_t min_response_ns; /* shortest time from a request to its response, ns; 0 if unknown */
    uint32_t first_other;     /* index into setup.event of the first request with `other` set, or
                               * EVENT_NONE */
    uint32_t fatal_nak;       /* index into setup.event of the NAK that ended the connection, or
                               * EVENT_NONE */

    /* Counts for the report. */
    uint32_t requests;
    uint32_t responses;
    uint32_t retransmitted;
    uint32_t rnr_naks;
    uint32_t seq_naks;
    uint32_t damaged_cnt;
    uint32_t cut;       /* number of packets with a payload that the snaplen cut */
    uint64_t bytes_in;  /* bytes of executed SENDs and WRITEs */
    uint64_t bytes_out; /* bytes requested by READs */
    uint32_t messages;
    uint32_t ops[16]; /* number of messages of each enum roce_kind */
};

static inline const struct trace_packet *event_packet(const struct inferred_setup *setup,
                                                      uint32_t event)
{
    return &setup->trace->pkt[setup->event[event].pkt];
}

/* Returns the time of an event, ns, at which the packet had certainly been sent (sent_order.h). */
static inline uint64_t event_time(const struct inferred_setup *setup, uint32_t event)
{
    return setup->trace->pkt[setup->event[event].sent_at].time;
}

static inline const struct roce_opcode *event_opcode(const struct inferred_setup *setup,
                                                     uint32_t event)
{
    return roce_opcode(event_packet(setup, event)->opcode);
}

/* Returns the transport service, RC or XRC. */
static inline enum roce_svc inferred_setup_svc(const struct inferred_setup *setup)
{
    return setup->trace->flow[setup->recorded->req_flow].svc;
}

/* Returns whether the packet at `event` is an acknowledge packet with this kind of syndrome. */
static inline bool event_is_syndrome(const struct inferred_setup *setup, uint32_t event,
                                     enum roce_syndrome_kind kind)
{
    const struct trace_packet *p = event_packet(setup, event);

    if (!setup->event[event].response || (p->opcode & 0x1F) != ROCE_OP_RC_ACK)
        return false;
    return roce_syndrome_kind(p->syndrome) == kind;
}

/* Returns whether the packet at `event` is a NAK with this code. */
bool event_is_nak_code(const struct inferred_setup *setup, uint32_t event, enum roce_nak code);
/* Returns whether the packet at `event` is a NAK that ends the connection: any but a sequence NAK.
 */
bool event_is_fatal_nak(const struct inferred_setup *setup, uint32_t event);
/* Returns whether the packet at `event` is a NAK or an RNR NAK. */
static inline bool event_is_nak(const struct inferred_setup *setup, uint32_t event)
{
    return event_is_syndrome(setup, event, ROCE_SYN_NAK) ||
           event_is_syndrome(setup, event, ROCE_SYN_RNR);
}

/* Returns the relative PSN of the last request that the response at `event` shows as executed. */
static inline int64_t event_executed_to(const struct inferred_setup *setup, uint32_t event)
{
    return setup->event[event].rel - (event_is_nak(setup, event) ? 1 : 0);
}

/* Returns whether the response at `event` shows request `rel` as executed. */
static inline bool event_executed(const struct inferred_setup *setup, uint32_t event, int64_t rel)
{
    return setup->event[event].rel >= rel && event_executed_to(setup, event) >= rel;
}

/* Captured copy of a request. */
struct request_copy {
    int64_t rel;
    uint32_t event; /* index into setup.event */
    bool damaged;   /* the copy is damaged; always false if packet_log_copies() was called with
                     * `usable_only` */
};

/* Returns the captured copies of the requests from relative PSN setup.first on, sorted by PSN, then
 * undamaged before damaged, then by capture order. If `usable_only` is set, omits unusable copies,
 * and sorts a damaged copy as undamaged if the responder accepted it. Sets *cnt to the number of
 * copies. The caller frees the array. Returns NULL if out of memory. */
struct request_copy *packet_log_copies(const struct inferred_setup *setup, bool usable_only,
                                       size_t *cnt);

/* Returns whether response `response` was captured late enough after request `request` to answer
 * it. */
bool event_in_time(const struct inferred_setup *setup, uint32_t response, uint32_t request);

#endif

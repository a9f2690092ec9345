/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet log: the packets of one RC direction (the requests of one QP and the responses to them) in
 * capture order, and the setup of both QPs that infer_setup() reads off them.
 *
 * `rel` is a PSN counted from the first request of the direction, without wrap.
 */
#ifndef REPLAY_INFER_PACKET_LOG_H
#define REPLAY_INFER_PACKET_LOG_H

#include "infer/connections.h"
#include "infer/infer_timers.h"
#include "wire/codes.h"

#define EVENT_NONE UINT32_MAX
#define RECV_FULL  UINT32_MAX
#define GAP_NONE   INT64_MIN

/* One packet of a direction. */
struct pkt_event {
    uint32_t pkt; /* index into trace.pkt */
    bool response;
    bool damaged;      /* dropped by a conformant receiver */
    bool usable;       /* not damaged, or damaged and accepted by its receiver */
    bool before_first; /* part of a message before the first one replayed: neither played nor
                        * compared */
    bool lost;         /* request: the responder never received it and NAKed it */
    bool no_recv_wqe;  /* request: the receive queue was empty (RNR NAK) */
    bool rkey_invalid; /* request: its R_Key was invalid or did not cover this range */
    uint32_t recv_len; /* request: bytes of the receive WQE, which is too short, or RECV_FULL */
    uint32_t next_response; /* READ request: its first recorded response; response: the next one */
    uint32_t request;       /* READ response: event of its request, or EVENT_NONE */
    int64_t rel;
};

/* A request that the responder executed before the capture shows any copy of it: the first copy was
 * not captured. A later copy is played in its place, just before the response that proves the
 * execution. */
struct executed_unseen {
    uint32_t event;    /* the later copy */
    uint32_t response; /* the response that proves the execution */
};

/* One request packet that is executed, or the first that cannot be; in PSN order, without gaps. */
struct request_pkt {
    int64_t rel;
    uint32_t cnt;            /* number of PSNs */
    uint32_t event;          /* its first undamaged copy */
    uint32_t msgs_done;      /* messages completed once it is executed */
    uint32_t msg_first;      /* index of the packet that begins its message */
    uint32_t off;            /* payload bytes of the message before it */
    uint32_t len;            /* payload bytes; READ: bytes requested */
    uint32_t rkey;           /* of WRITE, READ and atomics */
    uint64_t va;             /* address of this packet's bytes */
    uint32_t first_response; /* atomic: its first recorded response, or EVENT_NONE */
    bool invalid;            /* malformed or out of sequence: answered with NAK 0x61 */
};

struct inferred_setup {
    const struct trace *trace;
    const struct recorded_direction *recorded;
    const char *skip; /* reason why it cannot be replayed, or NULL */
    int64_t gap;      /* rel of a request that was executed but not captured; set only together
                       * with `skip`, else GAP_NONE */
    struct pkt_event *event;
    size_t event_cnt;
    struct request_pkt *req;
    size_t req_cnt;
    size_t req_cap;
    struct executed_unseen *executed_unseen; /* in the order in which they are played */
    size_t executed_unseen_cnt;
    size_t executed_unseen_cap;

    uint32_t qpn;
    uint32_t peer_qpn;
    uint16_t pkey;
    uint32_t mtu;
    bool mtu_known; /* from CM or from a message of several packets; else the smallest that fits */
    unsigned access;
    roce_psn psn;       /* PSN at rel 0 */
    int64_t first;      /* rel of the first PSN replayed; negative if the first request was lost */
    uint32_t msn;       /* MSN before the first message */
    uint32_t msn_votes; /* responses that agree with it */
    uint8_t rnr_code;
    int8_t read_first_msn; /* MSN of a READ First less the READ's own: 0, -1, or 1 for either */
    uint32_t max_recv;     /* bytes of the longest receive WQE needed */
    /* Attributes of our QPs. setup_override.h may change them independently of the rest. */
    uint32_t rq_psn, sq_psn;               /* first PSN expected, first PSN sent */
    uint8_t resources, rd_atomic;          /* READs and atomics in flight: responder, requester */
    uint8_t timeout, retry_cnt, rnr_retry; /* of the requester, as in ibv_modify_qp */
    struct inferred_timers timers;         /* the range of these that the packets allow */
    bool lossy;               /* a request was retransmitted for a reason other than RNR */
    uint64_t min_response_ns; /* shortest time from a request to its response, ns; 0 unknown */
    uint32_t fatal_nak;       /* event of the NAK that ended the connection, or EVENT_NONE */

    /* Figures for the report. */
    uint32_t requests;
    uint32_t responses;
    uint32_t retransmitted;
    uint32_t rnr_naks;
    uint32_t seq_naks;
    uint32_t damaged_cnt;
    uint32_t cut;       /* packets whose payload the snap length cut */
    uint64_t bytes_in;  /* SEND and WRITE payload executed */
    uint64_t bytes_out; /* READ bytes requested */
    uint32_t messages;
    uint32_t ops[16]; /* messages per enum roce_kind */
};

static inline const struct trace_packet *event_packet(const struct inferred_setup *setup,
                                                      uint32_t event)
{
    return &setup->trace->pkt[setup->event[event].pkt];
}

static inline const struct roce_opcode *event_opcode(const struct inferred_setup *setup,
                                                     uint32_t event)
{
    return roce_opcode(event_packet(setup, event)->opcode);
}

/* Returns RC or XRC. */
static inline enum roce_svc inferred_setup_svc(const struct inferred_setup *setup)
{
    return setup->trace->flow[setup->recorded->req_flow].svc;
}

/* Returns whether an event is an acknowledge packet with this kind of syndrome. */
bool event_is_syndrome(const struct inferred_setup *setup, uint32_t event,
                       enum roce_syndrome_kind kind);
/* Returns whether an event is a NAK with this code. */
bool event_is_nak_code(const struct inferred_setup *setup, uint32_t event, enum roce_nak code);
/* Returns whether an event is a NAK or an RNR NAK. */
bool event_is_nak(const struct inferred_setup *setup, uint32_t event);

/* Returns rel of the last PSN that a response shows executed. */
int64_t event_executed_to(const struct inferred_setup *setup, uint32_t event);

/* Returns whether a response came late enough after the request at event `request` to answer it.
 */
bool event_in_time(const struct inferred_setup *setup, uint32_t response, uint32_t request);

#endif

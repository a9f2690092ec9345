/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Derive: what the responder of a side must have had, from the packets alone: first PSN and MSN,
 * path MTU, P_Key, what its QP and its memory allowed, where it had no receive WQE or a short one.
 *
 * Only what the recorded conversation bears out is derived from. A NAK is a cause to forbid
 * something only if its MSN fits and no later answer contradicts it; the MSN base is what most
 * answers agree on. So one altered answer does not talk the setup into agreeing with it.
 *
 * `rel` is a PSN counted from the first request of the side, without wrap.
 */
#ifndef REPLAY_INFER_INFER_SETUP_H
#define REPLAY_INFER_INFER_SETUP_H

#include "infer/connections.h"
#include "infer/setup_override.h"
#include "infer/shadow_memory.h"
#include "infer/infer_timers.h"
#include "wire/codes.h"

#define EVENT_NONE UINT32_MAX
#define RECV_FULL  UINT32_MAX
#define GAP_NONE   INT64_MIN

/* One packet of a side, in capture order. */
struct pkt_event {
    uint32_t pkt; /* index into trace.pkt */
    bool response;
    bool damaged;      /* dropped by a conformant receiver */
    bool usable;       /* not damaged, or damaged and still taken for good by the other end */
    bool before_first; /* belongs to a message before the first one replayed: not played, not
                          compared */
    bool lost;         /* request: it did not reach the responder, which asked for it again */
    bool no_recv_wqe;  /* request: it found no receive WQE (RNR NAK) */
    bool rkey_invalid; /* request: its key was no longer valid, or not for this range */
    uint32_t recv_len; /* request: bytes of the receive WQE it must find too short, or RECV_FULL */
    uint32_t
        next_response; /* READ request: first recorded response to it; response: the next one */
    uint32_t request;  /* READ response: the request it answers, or EVENT_NONE */
    int64_t rel;
};

/* A request that was executed before the capture shows any copy of it: one was not captured. The
 * copy that came later stands for it, played just before the answer that shows it executed. */
struct executed_unseen {
    uint32_t event;    /* the copy */
    uint32_t response; /* the answer */
};

/* One request PSN that is executed, or the first that cannot be; in PSN order, without gaps. */
struct request_pkt {
    int64_t rel;
    uint32_t cnt;            /* PSNs it takes */
    uint32_t event;          /* its first undamaged copy */
    uint32_t msgs_done;      /* messages completed when it is executed */
    uint32_t msg_first;      /* the entry its message starts with */
    uint32_t off;            /* bytes of the message before it */
    uint32_t len;            /* payload; READ: bytes asked for */
    uint32_t rkey;           /* WRITE, READ and atomics */
    uint64_t va;             /* of this packet's bytes */
    uint32_t first_response; /* atomic: its first recorded answer, or EVENT_NONE */
    bool invalid;            /* a conformant responder answers NAK 0x61 for its form or its place */
};

struct inferred_setup {
    const struct trace *trace;
    const struct recorded_direction *recorded;
    const char *skip; /* why it cannot be replayed, or NULL */
    int64_t gap;      /* rel of a request that was executed and that the capture lacks; only with
                       * `skip`, else GAP_NONE */
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
    bool mtu_known; /* by the CM or by a packet of several; else it only fits */
    unsigned access;
    roce_psn psn;       /* rel 0 */
    int64_t first;      /* rel of the first PSN replayed: 0, or before it if that one was lost */
    uint32_t msn;       /* before the first message */
    uint32_t msn_votes; /* answers that agree with it */
    uint8_t rnr_code;
    int8_t read_first_msn; /* MSN of a READ First against the READ's own: 0, -1, or 1 for either */
    uint32_t max_recv;     /* longest receive WQE needed */
    /* How our devices' QPs are set up; other than the rest of this only by setup_override.h. */
    uint32_t rq_psn, sq_psn;               /* PSN expected first, and sent first */
    uint8_t resources, rd_atomic;          /* READs and atomics at a time: responder, requester */
    uint8_t timeout, retry_cnt, rnr_retry; /* the requester's; codes of ibv_modify_qp */
    struct inferred_timers timers;         /* what it shows of these */
    bool lossy;               /* something was sent again for another reason than RNR */
    uint64_t min_response_ns; /* ns: no answer comes sooner after the packet that it answers; 0:
                                 unknown */
    uint32_t fatal_nak;       /* step of the NAK that ended the connection, or EVENT_NONE */

    /* For the report. */
    uint32_t requests;
    uint32_t responses;
    uint32_t retransmitted;
    uint32_t rnr_naks;
    uint32_t seq_naks;
    uint32_t damaged_cnt;
    uint32_t cut;       /* packets whose payload the snap length cut */
    uint64_t bytes_in;  /* SEND and WRITE payload executed */
    uint64_t bytes_out; /* READ data asked for */
    uint32_t messages;
    uint32_t ops[16]; /* messages per enum roce_kind */
};

/* Derives the setup of one side and widens the responder's regions; `given` is what is known of it
 * from elsewhere, or NULL. 0 with setup->skip possibly set, or -1 without memory.
 * inferred_setup_free() is wanted in both cases. */
int infer_setup(struct inferred_setup *setup, const struct trace *trace,
                const struct recorded_direction *recorded, const struct dir_override *override,
                struct shadow_memory *memory);
void inferred_setup_free(struct inferred_setup *setup);

/* The entry that takes PSN `rel`, or NULL. */
const struct request_pkt *request_at(const struct inferred_setup *setup, int64_t rel);

/* The last entry that begins at `rel` or before, or NULL. */
const struct request_pkt *request_at_or_before(const struct inferred_setup *setup, int64_t rel);

/* The MSN of a responder that has executed everything up to `rel`. */
uint32_t request_table_msn(const struct inferred_setup *setup, int64_t rel);

static inline const struct trace_packet *event_packet(const struct inferred_setup *setup,
                                                      uint32_t event)
{
    return &setup->trace->pkt[setup->event[event].pkt];
}

/* RC, or XRC. */
static inline enum roce_svc inferred_setup_svc(const struct inferred_setup *setup)
{
    return setup->trace->flow[setup->recorded->req_flow].svc;
}

const struct roce_opcode *event_opcode(const struct inferred_setup *setup, uint32_t event);

/* Whether a step is an acknowledge packet with this kind of syndrome; a NAK with this code; a NAK
 * or an RNR NAK. */
bool event_is_syndrome(const struct inferred_setup *setup, uint32_t event,
                       enum roce_syndrome_kind kind);
bool event_is_nak_code(const struct inferred_setup *setup, uint32_t event, enum roce_nak code);
bool event_is_nak(const struct inferred_setup *setup, uint32_t event);

/* The PSN up to which an answer says that everything was executed, and whether its MSN is the one
 * that belongs to that. */
int64_t event_executed_to(const struct inferred_setup *setup, uint32_t event);
bool event_msn_fits(const struct inferred_setup *setup, uint32_t event);

/* Whether an answer may be to the request at step `request`, from its time. */
bool event_in_time(const struct inferred_setup *setup, uint32_t answer, uint32_t request);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RC requester: software RNICs in place of the recorded requesters. The work requests of
 * infer_work_requests.h are posted to them, and the recorded responses are injected unchanged, in
 * capture order. Their packets and completions are kept.
 *
 * Virtual time is capture time, except that a timer of ours fires when the recorded requester
 * retransmits and ours has not yet, and only then. So a capture of any pace can be replayed.
 * Whether a requester waited long enough is for `rocedrill check` to report.
 */
#ifndef REPLAY_ENGINE_RC_REQUESTER_H
#define REPLAY_ENGINE_RC_REQUESTER_H

#include "base/error.h"
#include "infer/session.h"
#include "infer/infer_work_requests.h"

/* One request packet that our RNIC sent. */
struct tx_request {
    int64_t rel;
    uint32_t event; /* event after which it was sent */
    uint32_t psn;
    uint32_t dest_qp;
    uint32_t payload_len;
    uint32_t imm; /* immediate data, or the R_Key of an IETH */
    uint64_t va;  /* from the RETH or AtomicETH */
    uint32_t rkey;
    uint32_t dma_len;
    uint64_t swap_add;
    uint64_t compare;
    uint64_t hash; /* of the payload */
    uint8_t flush_type;
    uint8_t flush_level;
    uint32_t srqn; /* XRC */
    uint16_t pkey;
    uint8_t opcode;
    bool se;
    bool ackreq;
    bool retransmit; /* its PSN was sent before */
    bool matched;    /* the comparison paired it with a recorded request */
};

/* Returns the fields of a request that was sent after `event`; `retransmit` is not set. */
struct tx_request tx_request_of(const struct roce_pkt *pkt, const struct inferred_setup *setup,
                                uint32_t event);

struct requester_run;

/* Adds a packet that was sent after `event`. `times` counts the transmissions of each PSN, by
 * work_requests_psn_idx(). Returns 0, or -1 without memory. */
int rc_requester_note_tx(struct requester_run *run, const struct roce_pkt *pkt, uint32_t event,
                         uint16_t *times);

/* One completion of our RNIC. */
struct completion {
    uint32_t event; /* event after which it came */
    uint32_t wr;    /* index into wrs.wr */
    enum rnic_wc_status status;
};

/* How the recorded requester treated a response. */
enum resp_outcome {
    RESP_ACCEPTED,
    RESP_BEFORE_FIRST, /* it answers a request from before the first message replayed */
    RESP_LOST,         /* captured, but the requester's next packets show that it never arrived */
    RESP_NOT_REPLAYED, /* it answers a request that is not replayed */
    RESP_UNSOLICITED   /* data of a READ that was not captured */
};

/* Whether a recorded request is a retransmission. */
enum retransmit_kind {
    RETX_NONE,
    RETX_CONTINUES,     /* retransmission that continues the previous one */
    RETX_GO_BACK,       /* first retransmission: the requester goes back to this PSN */
    RETX_WIRE_DUPLICATE /* duplicated by the network */
};

struct requester_run {
    const struct rc_direction *dir; /* direction whose requester is replaced */
    struct work_requests wrs;
    const char *failed;    /* reason why it cannot be replayed, or NULL */
    uint8_t *outcome;      /* enum resp_outcome for each response */
    uint8_t *retransmit;   /* enum retransmit_kind for each request */
    struct tx_request *tx; /* in the order sent */
    size_t tx_cnt;
    size_t tx_cap;
    struct completion *completion; /* in order */
    size_t completion_cnt;
    size_t completion_cap;
    uint32_t *tx_cnt_after; /* tx_cnt after each event */
    uint32_t unsure_from;   /* first event after which ours may lack a response that the recorded
                               requester received: RESP_UNSOLICITED, or RESP_LOST that may have
                               arrived late; or EVENT_NONE */
    uint32_t error_event;   /* event at which our QP entered the error state, or EVENT_NONE */
    uint32_t wrong_data; /* work requests whose READ or atomic result differs from the responses */
    uint32_t wrong_wr;   /* index of the first of them */
    uint32_t other_payload;  /* requests with other payload, if the user allows that */
    bool completions_unseen; /* completions are unknown: they belong to a program on another host */
};

struct rc_requester {
    struct requester_run *run; /* one for each direction of the session */
    size_t run_cnt;
};

/* Posts and plays all directions of a session. It does not use the results of
 * rc_responder_play(). Returns 0, or -1 and an error. Call rc_requester_free() in both cases. */
int rc_requester_play(struct rc_requester *requester, const struct session *session,
                      struct error *error);
void rc_requester_free(struct rc_requester *requester);

#endif

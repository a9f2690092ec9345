/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Post: the other side of rc_responder.h. Software RNICs stand where the recorded requesters stood:
 * the work requests of infer_work_requests.h are posted to them, and the recorded responders'
 * answers come back, byte for byte, in the order of the capture. What the RNICs send and complete
 * is kept.
 *
 * Time is the capture's, but for one thing: a timer of ours fires when the recorded requester sends
 * again and ours has not, and only then. So a capture of any pace can be replayed, and when a
 * requester gives up waiting is left to the judge of the capture.
 */
#ifndef REPLAY_ENGINE_RC_REQUESTER_H
#define REPLAY_ENGINE_RC_REQUESTER_H

#include "base/error.h"
#include "infer/session.h"
#include "infer/infer_work_requests.h"

/* One packet that our RNIC sent. */
struct tx_request {
    int64_t rel;
    uint32_t event; /* of the side: after which one it was sent */
    uint32_t psn;
    uint32_t dest_qp;
    uint32_t payload_len;
    uint32_t imm; /* ImmDt, or the key of an IETH */
    uint64_t va;  /* RETH or AtomicETH; and so on */
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
    bool retransmit; /* its PSN had been sent before */
    bool matched;    /* for the comparison: a recorded request was matched with it */
};

/* What there is to know of a request that was sent after step `step`; not whether it was sent
 * before.
 */
struct tx_request tx_request_of(const struct roce_pkt *pkt, const struct inferred_setup *setup,
                                uint32_t event);

struct requester_run;

/* Notes a packet that was sent after step `step`. `times`, of work_requests_psn_idx(), counts how
 * often each PSN was. 0, or -1 without memory. */
int rc_requester_note_tx(struct requester_run *run, const struct roce_pkt *pkt, uint32_t event,
                         uint16_t *times);

/* One completion of ours. */
struct completion {
    uint32_t event; /* after which one */
    uint32_t wr;    /* index into works.work */
    enum rnic_wc_status status;
};

/* What the recorded requester made of an answer. */
enum resp_outcome {
    RESP_ACCEPTED,
    RESP_BEFORE_FIRST, /* it answers what was sent before the first message replayed */
    RESP_LOST, /* it was captured, but what the requester did next shows that it never came */
    RESP_NOT_REPLAYED, /* it answers what is not replayed */
    RESP_UNSOLICITED   /* data that no READ in the capture can have drawn: it lacks one */
};

/* What a recorded request is, beside being sent for the first time. */
enum retransmit_kind {
    RETX_NONE,
    RETX_CONTINUES,     /* sent again, after the one before it */
    RETX_GO_BACK,       /* sent again: here the requester went back */
    RETX_WIRE_DUPLICATE /* the wire shows it twice */
};

struct requester_run {
    const struct rc_direction *dir; /* the same connection, the other way round */
    struct work_requests wrs;
    const char *failed;    /* why it cannot be replayed, or NULL */
    uint8_t *outcome;      /* enum answer_fate for each step that is an answer */
    uint8_t *retransmit;   /* enum restart for each step that is a request */
    struct tx_request *tx; /* in order */
    size_t tx_cnt;
    size_t tx_cap;
    struct completion *completion; /* in order */
    size_t completion_cnt;
    size_t completion_cap;
    uint32_t *tx_cnt_after;  /* for each step: sent_cnt after it */
    uint32_t unsure_from;    /* from here on ours may know less: RESP_UNSOLICITED, or RESP_LOST
                              * although it    may have been on its way; or EVENT_NONE */
    uint32_t error_event;    /* step at which our QP went to the error state, or EVENT_NONE */
    uint32_t wrong_data;     /* works whose READ or atomic result is not what the answers had */
    uint32_t wrong_wr;       /* the first of them */
    uint32_t other_payload;  /* requests with other payload, which the user says is free */
    bool completions_unseen; /* nobody tells what it completes: a far program has it */
};

struct rc_requester {
    struct requester_run *run; /* one for each run of the drive */
    size_t run_cnt;
};

/* Posts and plays all runs, which are derived; nothing that rc_responder_play() makes is looked at.
 * 0, or -1 and an error. rc_requester_free() is wanted in both cases. */
int rc_requester_play(struct rc_requester *requester, const struct session *session,
                      struct error *error);
void rc_requester_free(struct rc_requester *requester);

#endif

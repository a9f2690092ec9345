/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * RC requester: replaces the recorded requesters by software RNICs. Posts the work requests of
 * infer_work_requests.h to the RNICs and injects the recorded responses unchanged, in capture
 * order. Keeps the packets and completions of the RNICs for the comparison.
 *
 * Virtual time is capture time, with one exception: a timer of our RNIC fires only when the
 * recorded requester retransmits a request that our RNIC has not retransmitted yet. Therefore the
 * timeouts of the recorded requester do not matter. `rocedrill check` reports whether a requester
 * waited long enough.
 */
#ifndef REPLAY_ENGINE_PLAY_RC_REQUESTER_H
#define REPLAY_ENGINE_PLAY_RC_REQUESTER_H

#include "base/error.h"
#include "infer/infer_work_requests.h"
#include "infer/session.h"

/* Request packet that our RNIC sent. */
struct tx_request {
    int64_t rel;
    uint32_t event; /* index into setup.event of the packet after which our RNIC sent the request */
    uint32_t psn;
    uint32_t dest_qp;
    uint32_t payload_len;
    uint32_t imm;  /* immediate data, or the R_Key of an IETH */
    uint32_t like; /* index into setup.event of a recorded request with the same payload, or
                    * EVENT_NONE */
    uint64_t va;   /* remote address, from the RETH or AtomicETH */
    uint32_t rkey;
    uint32_t dma_len;
    uint64_t swap_add;
    uint64_t compare;
    uint64_t hash; /* hash of the payload, if `like` is EVENT_NONE */
    uint8_t flush_type;
    uint8_t flush_level;
    uint32_t srqn; /* SRQ number, XRC only */
    uint16_t pkey;
    uint8_t opcode;
    bool se;
    bool ackreq;
    bool retransmit; /* our RNIC had already sent this PSN */
    bool matched;    /* the packet is paired with a recorded request */
};

/* Returns the fields of a request packet that our RNIC sent after event `event`. Does not set the
 * member `retransmit`. */
struct tx_request tx_request_of(const struct roce_pkt *pkt, const struct inferred_setup *setup,
                                uint32_t event);

/* Returns the hash of the payload of a request (payload_hash()); 0 without payload. */
uint64_t tx_request_hash(const struct tx_request *tx, const struct inferred_setup *setup);

struct requester_run;

/* Adds a packet that our RNIC sent after event `event`. `times` counts the transmissions of each
 * PSN, indexed by work_requests_psn_idx(). Returns 0, or -1 if out of memory. */
int rc_requester_note_tx(struct requester_run *run, const struct roce_pkt *pkt, uint32_t event,
                         uint16_t *times);

/* Completion of a work request by our RNIC. */
struct completion {
    uint32_t event; /* index into setup.event of the packet after which the completion was polled */
    uint32_t wr;    /* index into wrs.wr */
    enum rnic_wc_status status;
};

/* Outcome of a recorded response: whether the recorded requester received the response, and how our
 * replay uses it. */
enum resp_outcome {
    RESP_ACCEPTED,
    RESP_BEFORE_FIRST, /* response to a request that the requester sent before the first replayed
                        * message */
    RESP_LOST,         /* response that was captured, but that the requester did not receive, as its
                        * later packets show */
    RESP_NOT_REPLAYED, /* answer to a request that is not replayed */
    RESP_UNSOLICITED   /* data of a READ, but the READ request was not captured */
};

/* Kind of a recorded request: new, or one of several kinds of retransmission. */
enum retransmit_kind {
    RETX_NONE,
    RETX_CONTINUES,     /* retransmission of a later PSN that continues an earlier retransmission */
    RETX_GO_BACK,       /* first retransmission: the requester goes back to the PSN of this
                         * request */
    RETX_WIRE_DUPLICATE /* copy of a request made by the network */
};

/* A READ response or Atomic ACK that the capture lacks, see rc_missing_responses.h. */
struct missing_response {
    uint32_t before; /* index into setup.event of the next captured response; the missing response
                      * arrived before it */
    int64_t rel;     /* relative PSN of the missing response */
    uint32_t like;   /* index into setup.event of an earlier response with this PSN; the replay
                      * copies its data. 0: no such response, so the data is zeros */
};

struct requester_run {
    const struct rc_direction *dir; /* direction in which our RNIC replaces the requester */
    struct work_requests wrs;
    const char *failed;    /* reason why the direction cannot be replayed, or NULL */
    uint8_t *outcome;      /* enum resp_outcome of each response */
    uint8_t *retransmit;   /* enum retransmit_kind of each request */
    struct tx_request *tx; /* packets of our RNIC in the order sent */
    size_t tx_cnt;
    size_t tx_cap;
    struct completion *completion; /* completions of our RNIC, in order */
    size_t completion_cnt;
    size_t completion_cap;
    struct missing_response *missing; /* missing responses, in the order in which they are
                                       * injected */
    size_t missing_cnt;
    size_t missing_cap;
    uint32_t *tx_cnt_after; /* for each packet of the direction: number of elements of `tx`
                             * after the packet was played */
    uint32_t unsure_from;   /* first event after which our RNIC may lack a response that the
                             * recorded requester received; EVENT_NONE if there is none. The
                             * missing response is RESP_UNSOLICITED, or is RESP_LOST although it
                             * may have arrived late */
    uint32_t error_event;   /* index into setup.event of the packet at which our QP entered the
                             * error state, or EVENT_NONE */
    uint32_t wrong_data;    /* number of completed READs and atomics whose local buffer differs from
                             * the data of the responses */
    uint32_t wrong_wr;      /* index of the first work request with a wrong result, if wrong_data >
                             * 0 */
    uint32_t other_payload; /* number of requests with another payload than the recorded request, if
                             * the user allows other payloads */
    bool completions_unseen; /* true: the replay does not see the completions, because a program on
                              * another host polls the CQ */
};

struct rc_requester {
    struct requester_run *run; /* one for each direction of the session */
    size_t run_cnt;
};

/* Posts the work requests of all directions of a session and replays the responses. The call does
 * not depend on rc_responder_play(). Returns 0, or -1 and sets *error. Call rc_requester_free() in
 * both cases. */
int rc_requester_play(struct rc_requester *requester, const struct session *session,
                      struct error *error);
void rc_requester_free(struct rc_requester *requester);

#endif

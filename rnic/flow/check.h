/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks: the judgements, one file a subject. Each is called with the frame's context at the point
 * of the analysis where its facts are known. Private to flow/.
 */
#ifndef ROCE_FLOW_CHECK_H
#define ROCE_FLOW_CHECK_H

#include "flow/table/conn.h"

#define ROCE_MIN_TIMEOUT_NS                                                                        \
    UINT64_C(1000000)                          /* no local ACK timeout in use is shorter than this \
                                                */
#define ROCE_IDLE_REUSE_NS UINT64_C(100000000) /* a QP is not torn down and set up in less */

/* Of PSNs, or of sums of them: bits above the 24 do not count. */
static inline int32_t roce_diff(uint32_t a, uint32_t b)
{
    return roce_psn_diff((roce_psn){a}, (roce_psn){b});
}

/* ---- finding.c: how a check speaks -------------------------------------------------------------
 */

struct roce_report {
    enum roce_rule rule;
    const char *field;
    uint64_t expected, actual;
    uint32_t other;
    enum roce_value value;
    enum roce_relation rel;
    const char *condition; /* of known_deviations.def, NULL for none */
    bool weak;             /* the capture leaves a doubt: an ERROR becomes WARN */
};

void roce_report(struct roce_ctx *ctx, struct roce_report report);
/* A finding that is complete. */
void roce_emit(const struct roce_ctx *ctx, const struct roce_finding *finding);
/* The same, once a side of a connection. */
void roce_report_once(struct roce_ctx *ctx, struct roce_report report);

#define REPORT(ctx, RULE, ...)                                                                     \
    roce_report(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})
#define REPORT_ONCE(ctx, RULE, ...)                                                                \
    roce_report_once(ctx, (struct roce_report){.rule = ROCE_RULE_##RULE, .field = __VA_ARGS__})

/* ---- check_format.c ------------------------------------------------------------------------ */
void roce_check_format(struct roce_ctx *ctx); /* the packet alone */
/* Whether that has nothing to say of a packet to `dst` but of its ICRC. */
bool roce_packet_form_is_ok(const struct roce_pkt *pkt, const uint8_t dst[16]);
void roce_check_icrc_end(struct roce_flow *flow);
/* The packet at hand has the first right ICRC of its host: what is kept of it was damage. */
void roce_check_icrc_release(struct roce_ctx *ctx);
void roce_check_qp_constants(struct roce_ctx *ctx); /* against the QP's other packets */
void roce_check_size(struct roce_ctx *ctx);         /* payload against opcode and path MTU */
void roce_check_mtu_learn(struct roce_ctx *ctx);

/* ---- check_order.c: a request packet among its neighbours -------------------------------------
 */
void roce_check_opcode_order(struct roce_ctx *ctx, struct roce_sent_packet *prev,
                             struct roce_sent_packet *e);
void roce_check_request_packet(struct roce_ctx *ctx,
                               struct roce_sent_packet *e); /* alone: keys, lengths, ranges */

/* ---- check_request.c: requests against what the peer said --------------------------------------
 */
void roce_check_new_request(struct roce_ctx *ctx, struct roce_sent_packet *e);
/* `e`, which was beyond the credits when it was captured, is acknowledged: what gave credits for it
 * may have been captured late, but not after this. */
void roce_check_over_credit(struct roce_ctx *ctx, const struct roce_sent_packet *e);
void roce_check_retry_same(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                           const struct roce_sent_packet *now);
void roce_check_retransmission(struct roce_ctx *ctx, const struct roce_sent_packet *e,
                               uint64_t since_last);

/* ---- check_ack.c, check_nak.c, check_read.c: responses -----------------------------------------
 */
void roce_check_aeth(struct roce_ctx *ctx);
void roce_check_msn(struct roce_ctx *ctx, struct roce_req *req);
/* The MSN of a positive ACK whose PSN is the last of `e` is known, and it is that. */
bool roce_msn_fits(const struct roce_rsp *rsp, const struct roce_sent_packet *e, uint32_t msn);
/* `e` is acknowledged though the responder had to refuse it. */
void roce_check_accepted(struct roce_ctx *ctx, const struct roce_sent_packet *e);
void roce_check_nak(struct roce_ctx *ctx, struct roce_req *req);
void roce_check_ack_psn(struct roce_ctx *ctx, struct roce_req *req);
void roce_check_read_resp(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);
void roce_check_atomic_ack(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);

/* ---- check_ud.c, check_cnp.c, check_cm.c -------------------------------------------------------
 */
void roce_check_ud(struct roce_ctx *ctx);
void roce_check_cnp(struct roce_ctx *ctx);
void roce_check_cm(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

/* ---- the machinery -----------------------------------------------------------------------------
 */
void roce_request(struct roce_ctx *ctx); /* request.c: RC, XRC and UC */
/* More may be in flight than ever before. */
static inline void roce_req_update_max(struct roce_counts *sum, const struct roce_req *req)
{
    int32_t psns = roce_diff(req->nxt, req->una);

    if (!req->una_known)
        return;
    if (psns > 0 && (uint32_t)psns > sum->max_psns_in_flight)
        sum->max_psns_in_flight = (uint32_t)psns;
    if (req->bytes_in_flight > sum->max_bytes_in_flight)
        sum->max_bytes_in_flight = req->bytes_in_flight;
    if (req->reads_in_flight > sum->max_reads_in_flight)
        sum->max_reads_in_flight = req->reads_in_flight;
}
/* A request of `psn_cnt` PSNs is in its place: what is in flight then, and the result. */
void roce_request_result(struct roce_ctx *ctx, uint32_t psn_cnt);
/* The part of a result that says where `req`, whom the packet at hand is of or answers, is. */
void roce_req_result(struct roce_ctx *ctx, const struct roce_req *req);
/* run.c: the packet at hand is one that was to be expected, and all was done that roce_request(),
 * roce_response() and the checks would have. False: they have to, nothing was. */
bool roce_fast_path(struct roce_ctx *ctx);
void roce_response(struct roce_ctx *ctx); /* response.c */
/* The ACK at hand is no NAK; `e` has its PSN, or is NULL. */
void roce_acknowledged(struct roce_ctx *ctx, struct roce_req *req,
                       const struct roce_sent_packet *e);
/* At the end: READs whose responses all came, in another order, were not asked for again. */
void roce_reads_done_at_end(struct roce_ctx *ctx, struct roce_endpoint *requester);
/* The response at hand to `req` was judged. */
void roce_response_end(struct roce_ctx *ctx, struct roce_req *req);
/* passed.c: READ or atomic `e` has to be asked for again. */
void roce_implied_nak(struct roce_ctx *ctx, struct roce_req *req, struct roce_sent_packet *e);
/* The response at hand tells that all before `upto` came: so may one that was asked for again. */
void roce_implied_nak_again(struct roce_ctx *ctx, struct roce_req *req, uint32_t upto);
/* The requester at hand goes back no further than `psn`: it has what is before. `sure`: also where
 * packets are missing in the capture. */
void roce_reads_done_before(struct roce_ctx *ctx, uint32_t psn, bool sure);
/* The requester had the answer to READ `e`, whenever that was. */
void roce_read_done(struct roce_ctx *ctx, struct roce_endpoint *requester,
                    struct roce_sent_packet *e);
/* The response at hand is to `e` as it was asked for before: it is discarded. */
bool roce_response_is_stale(const struct roce_req *req, const struct roce_sent_packet *e);
/* A sequence or RNR NAK at hand is what the requester goes back for next. */
void roce_rsp_note_nak(const struct roce_ctx *ctx, struct roce_rsp *rsp);
void roce_cm_track(struct roce_ctx *ctx); /* cm_track.c: a UD packet to QP1 */
void roce_cm_end(struct roce_flow *flow);

/* episode.c: `e` (or a PSN not seen before, then NULL) is sent again. */
bool roce_retransmission_step(struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn,
                              uint32_t psn_cnt);

/* Whether a PSN that comes after later ones is late rather than sent again. */
bool roce_request_is_out_of_order(const struct roce_ctx *ctx, uint32_t psn);

/* The negotiated local ACK timeout of a side's requests, or ROCE_NEVER_NS. */
uint64_t roce_timeout_of(const struct roce_conn *conn);

/* copy.c: the packet at hand is a copy of what frame `of` holds, 0 unknown. */
void roce_report_copy(struct roce_ctx *ctx, uint32_t of);
/* Whether the request at hand is a copy of one of `time` with this ICRC and identification. */
bool roce_request_is_copy(const struct roce_ctx *ctx, uint32_t icrc, uint16_t id, uint64_t time);
/* Whether the response at hand is a copy: of the latest, or of one of the latest refusals, after
 * which others may have come where each packet passes two capture points. If so, that is said. */
bool roce_response_is_copy(struct roce_ctx *ctx);
/* The refusal at hand is the latest. */
void roce_copy_note_nak(struct roce_ctx *ctx);
/* Whether the refusal at hand would be known for a copy if it were one of that in `frame`. */
bool roce_copy_is_detectable(const struct roce_ctx *ctx, uint32_t frame);
/* Whether packets of this connection pass two capture points, as it seems: what comes late may be
 * seen there late. */
bool roce_conn_has_copies(const struct roce_ctx *ctx);

/* span.c: how many PSNs the READ request at hand takes; *guess: at least so many. */
uint32_t roce_read_psn_count(const struct roce_ctx *ctx, bool *guess);
/* The response at hand to `e`: if it is all that was asked for, `e` took one PSN, whatever the MTU.
 */
void roce_read_psn_count_confirm(const struct roce_ctx *ctx, struct roce_req *req,
                                 struct roce_sent_packet *e);
/* The path MTU is known now. */
void roce_read_psn_count_update(struct roce_conn *conn);

/* summary.c */
/* Pointers in it are valid until the next call, or until the connection goes on. */
void roce_summary_fill(const struct roce_flow *flow, const struct roce_conn *conn,
                       struct roce_conn_summary *out);
void roce_summary_end(struct roce_ctx *ctx); /* closing judgements of ctx->conn */
void roce_summary_latency(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                          uint64_t ns);
void roce_summary_rtt(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns);
void roce_summary_region(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                         uint32_t rkey, uint64_t va, uint64_t len);

/* A NAK or RNR NAK. */
static inline bool roce_pkt_is_nak(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH) &&
           roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
}

static inline enum roce_oper roce_oper_of(const struct roce_opcode *op)
{
    switch (op->kind) {
    case ROCE_KIND_SEND: return ROCE_OPER_SEND;
    case ROCE_KIND_WRITE: return ROCE_OPER_WRITE;
    case ROCE_KIND_READ: return ROCE_OPER_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return ROCE_OPER_ATOMIC;
    default: return ROCE_OPER_OTHER;
    }
}

/* Whether an RNR NAK for `e` tells that memory is paged on demand: no receive is needed. */
static inline bool roce_sent_is_paged(const struct roce_sent_packet *e)
{
    return !roce_opcode_uses_rq(roce_opcode(e->op)) && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Whether a packet of `op` may come next after one of `was`: inside a message, or first of one. */
static inline bool roce_may_follow(const struct roce_opcode *was, const struct roce_opcode *op)
{
    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

#endif

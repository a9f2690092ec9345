/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Creates, finds, joins and frees connections. Sorts connections by the time of the latest packet
 * and by number. Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_CONN_H
#define FLOW_TABLE_CONN_H

#include "flow/base/state.h"

/* Returns the endpoint that sends packets with this key, or NULL. `hash` is the hash of the key. */
struct roce_endpoint *roce_conn_find(struct roce_flow *flow, const struct roce_key *key,
                                     uint32_t hash);

/* Prefetches into the cache the memory that the analysis of a packet with this digest will use. */
void roce_conn_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest);

/* Adds a connection and returns its side 0. Side 0 sends packets with this key. Returns NULL if out
 * of memory or at the connection limit. The caller must call roce_evict() before it judges the
 * packet. */
struct roce_endpoint *roce_conn_new(struct roce_flow *flow, const struct roce_ctx *ctx,
                                    const struct roce_key *key);

/* Assigns the next connection number. Returns false if memory for the table of numbers
 * (roce_common.alias) is exhausted. */
bool roce_conn_number(struct roce_flow *flow);

/* Inserts `side` into the hash table, so that roce_conn_find() finds it for the packets that `side`
 * sends. */
void roce_conn_key(struct roce_flow *flow, struct roce_endpoint *side);

/* Inserts an endpoint into the hash table of `flow`. Before, the endpoint was in the hash table of
 * another struct roce_flow that judged a part of the capture (roce_flow_merge()). */
void roce_conn_rekey(struct roce_flow *flow, struct roce_endpoint *side);

/* Moves side 0 of `from` to side 1 of `to`, and frees `from`. */
void roce_conn_join(struct roce_flow *flow, struct roce_conn *to, struct roce_conn *from);

/* Moves the connection to the newest position in the list sorted by the time of the latest packet.
 */
void roce_conn_note_use(struct roce_flow *flow, struct roce_conn *conn);

/* Frees a connection. The caller must have reported it by roce_conn_end(). */
void roce_conn_free(struct roce_flow *flow, struct roce_conn *conn);

/* Frees the record of a possible reuse of the QP of `side`, if there is one, and its deferred
 * findings. */
void roce_reuse_free(struct roce_flow *flow, struct roce_endpoint *side);

/* Resets the state of a QP pair, or of one of its requesters, because a new connection begins on
 * the same QPs. Counters keep their values. */
void roce_conn_reset(struct roce_conn *conn);
void roce_req_reset(struct roce_req *req);

/* Forgets the path MTU learned from packets. A path MTU from CM messages is kept. */
void roce_conn_forget_mtu(struct roce_conn *conn);

/* Records the network properties of the first packet of a connection. Sets qp_uses to 1: the QP
 * pair was set up once so far. */
static inline void roce_conn_note_network(struct roce_conn_facts *facts, const struct roce_pkt *pkt)
{
    facts->encap = pkt->encap;
    facts->vid = pkt->vlan_cnt ? pkt->vlan[0].vid : 0;
    facts->overlay = pkt->overlay;
    facts->qp_uses = 1;
}

/* Calls on_use() for a new connection on the QP pair of ctx->conn that no CM message announced. The
 * current packet is the first one of the new connection. */
static inline void roce_conn_report_reuse(const struct roce_ctx *ctx)
{
    const struct roce_flow_opts *opts = &ctx->flow->opts;
    struct roce_flow_use use = {.conn_index = ctx->conn->conn_index, .frame = ctx->frame};

    if (opts->on_use)
        opts->on_use(opts->user, &use);
}

/* Records the current packet, a sequence NAK or RNR NAK, in `rsp`. The requester is then expected
 * to go back to the PSN of the NAK. */
void roce_rsp_note_nak(const struct roce_ctx *ctx, struct roce_rsp *rsp);

/* Returns whether `psn` is the PSN of one of the latest sequence NAKs that the requester has not
 * obeyed yet. */
bool roce_rsp_nak_is_open(const struct roce_rsp *rsp, uint32_t psn);

/* Records that the requester obeys the sequence NAK with PSN `psn`. So it ignores the NAKs before
 * this NAK, and is expected to obey the later ones. */
void roce_rsp_obey_nak(struct roce_rsp *rsp, uint32_t psn);

/* Forgets all sequence NAKs that the requester has not obeyed yet, except the latest one. */
void roce_rsp_forget_naks(struct roce_rsp *rsp);

/* Returns the local ACK timeout of requester `side` that the REQ and the REP of the connection set
 * (R239), ns; ROCE_NEVER_NS if unknown or unlimited. */
uint64_t roce_timeout_of(const struct roce_endpoint *side);

/* result of roce_rnr_retry_of() if no CM message with the RNR retry count was captured */
#define ROCE_RNR_RETRY_UNKNOWN UINT8_MAX

/* Returns the RNR retry count of requester `side`, which the CM message of its peer set (R157), or
 * ROCE_RNR_RETRY_UNKNOWN. Sets *frame to the frame of that message. */
uint8_t roce_rnr_retry_of(const struct roce_endpoint *side, uint32_t *frame);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _DEFAULT_SOURCE /* declares arc4random_buf() */
#include "flow/flow.h"

#include <stdlib.h>
#include <string.h>
#include "flow/base/rate.h"
#include "flow/base/report.h"
#include "flow/checks/check_cnp.h"
#include "flow/checks/check_format.h"
#include "flow/checks/check_ud.h"
#include "flow/cm_track.h"
#include "flow/conn_end.h"
#include "flow/evict.h"
#include "flow/fast_path.h"
#include "flow/request.h"
#include "flow/response.h"
#include "flow/retransmit/copy.h"
#include "flow/split.h"
#include "flow/table/cm_exchange.h"
#include "flow/table/conn.h"
#include "flow/table/pair.h"
#include "flow/table/summary_fill.h"
#include "wire/dc.h"

#define DEFAULT_CONNS  1000000u /* default of conn_max */
#define DEFAULT_WINDOW 8192u    /* default of window_max */
/* clock resolution that is assumed before the first packet, ns: the coarsest possible one */
#define GRAIN_MOST UINT64_C(1000000000)
/* number of consecutive packets of another transport service after which the QPN is assumed to be
 * reused */
#define OTHER_SERVICE_MIN 4

static void *heap_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void heap_free(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)size;
    free(p);
}

struct roce_flow *roce_flow_new(const struct roce_flow_opts *opts)
{
    struct roce_flow_opts o = opts ? *opts : (struct roce_flow_opts){0};
    struct roce_mem mem;
    struct roce_flow *flow;
    uint32_t window = ROCE_WINDOW_MIN;

    if (!o.mem.alloc || !o.mem.free)
        o.mem = (struct roce_alloc){heap_alloc, heap_free, NULL};
    if (o.mem_max == 0)
        o.mem_max = ROCE_FLOW_MEM_MAX;
    if (o.conn_max == 0)
        o.conn_max = DEFAULT_CONNS;
    if (o.window_max == 0)
        o.window_max = DEFAULT_WINDOW;
    while (window < o.window_max && window < 1u << 20)
        window *= 2;
    o.window_max = window;
    mem = (struct roce_mem){.alloc = o.mem, .max = o.mem_max};
    flow = roce_mem_get(&mem, sizeof(*flow));
    if (!flow)
        return NULL;
    if (o.hash_seed == 0)
        arc4random_buf(&o.hash_seed, sizeof(o.hash_seed));
    roce_hash_secret_init(&flow->secret, o.hash_seed);
    flow->opts = o;
    flow->mem = mem;
    flow->common = &flow->own;
    flow->own.mem = &flow->mem;
    flow->summary_hist = roce_mem_get(&flow->mem, 2 * sizeof(*flow->summary_hist));
    if (!flow->summary_hist) {
        mem = flow->mem;
        roce_mem_put(&mem, flow, sizeof(*flow));
        return NULL;
    }
    return flow;
}

void roce_flow_del(struct roce_flow *flow)
{
    struct roce_mem mem;

    if (!flow)
        return;
    while (flow->first_all)
        roce_conn_free(flow, flow->first_all);
    roce_cm_exchange_free(flow);
    roce_mem_put(&flow->mem, flow->table, flow->table_cap * sizeof(struct roce_endpoint *));
    roce_mem_put(&flow->mem, flow->own.alias, flow->own.alias_cap * sizeof(*flow->own.alias));
    roce_mem_put(&flow->mem, flow->summary_hist, 2 * sizeof(*flow->summary_hist));
    mem = flow->mem;
    roce_mem_put(&mem, flow, sizeof(*flow));
}

uint32_t roce_flow_conn_index(const struct roce_flow *flow, uint32_t conn_index)
{
    while (conn_index < flow->common->alias_cap && conn_index < flow->common->next_conn_index &&
           flow->common->alias[conn_index] != conn_index)
        conn_index = flow->common->alias[conn_index];
    return conn_index;
}

struct roce_flow_owner roce_flow_owner(const struct roce_flow *flow, uint32_t conn_index,
                                       uint8_t side)
{
    uint32_t final = roce_flow_conn_index(flow, conn_index);

    /* If two directions were joined to one connection, it keeps the number of the direction that
     * was captured first, and that direction is side 0. So a packet that was reported with another
     * number was sent by side 1. */
    return (struct roce_flow_owner){.conn_index = final, .side = final == conn_index ? side : 1};
}

const struct roce_flow_totals *roce_flow_totals(const struct roce_flow *flow)
{
    return &flow->totals;
}

/* ---- analysing one packet -------------------------------------------------------------------- */

static void find_endpoint(struct roce_ctx *ctx, bool create)
{
    const struct roce_pkt *pkt = ctx->pkt;
    const struct roce_key *key = &ctx->digest->key;
    unsigned new_conns = 0;

    ctx->sender = NULL;
    ctx->conn = NULL;
    if (roce_opcode_has(pkt->op, ROCE_HDR_DETH)) {
        if (!roce_pkt_has(pkt, ROCE_HDR_DETH))
            return; /* the capture cuts the packet before the field with the source QP */
        new_conns = pkt->bth.dest_qp == ROCE_QP_GSI; /* a CM message (sent to QP1) may also create
                                                      * the connection that it sets up */
    }
    ctx->sender = roce_conn_find(ctx->flow, key, ctx->digest->hash);
    new_conns += !ctx->sender && create;
    if (new_conns || ctx->flow->mem.tight)
        roce_evict(ctx->flow, ctx->sender ? ctx->sender->conn : NULL, new_conns);
    if (!ctx->sender && create) {
        ctx->sender = roce_conn_new(ctx->flow, ctx, key);
        if (ctx->sender && ctx->sender->conn->ud && pkt->bth.dest_qp != ROCE_QP_MULTICAST &&
            !(memcmp(key->src, key->dst, 16) == 0 && key->qpn == key->src_qpn)) {
            roce_conn_key(ctx->flow, &ctx->sender->conn->side[1]);
            ctx->sender->conn->paired = ctx->sender->conn->facts.paired = true;
            ctx->sender->conn->facts.pairing = ROCE_PAIRED_BY_QPNS;
        }
    }
    ctx->conn = ctx->sender ? ctx->sender->conn : NULL;
    if (!ctx->conn && create)
        ctx->flow->totals.untracked++;
}

static void count_packet(struct roce_ctx *ctx)
{
    struct roce_counts *sum = &ctx->sender->counts;
    struct roce_conn *conn = ctx->conn;

    sum->packets++;
    sum->bytes += ctx->pkt->wire_len;
    conn->facts.last_frame = ctx->frame;
    ctx->silent_ns = roce_since(conn->facts.last_time, ctx->time);
    if (ctx->time > conn->facts.last_time)
        conn->facts.last_time = ctx->time;
    conn->facts.truncated |= ctx->pkt->cap_len < ctx->pkt->wire_len;
    if (conn->ud && ctx->pkt->bth.dest_qp == ROCE_QP_MULTICAST)
        conn->facts.multicast = true;
    roce_conn_note_use(ctx->flow, conn);
}

/* Returns whether the current packet belongs to the transport service of its QP. A QP drops packets
 * of another service (R030). But several packets of another service, or one after a long idle time,
 * show that the QPN is reused for that service. Then the current packet begins a new connection,
 * and the function returns true. */
static bool is_for_service(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    struct roce_conn *conn = ctx->conn;
    enum roce_svc svc = ctx->pkt->op->svc;

    if (svc == conn->facts.svc || svc == ROCE_SVC_CNP || conn->facts.svc == ROCE_SVC_CNP) {
        side->other_service = 0;
        return true;
    }
    if (++side->other_service < OTHER_SERVICE_MIN &&
        roce_since(side->req.last_time, ctx->time) < ROCE_IDLE_REUSE_NS)
        return false;
    REPORT(ctx, QP_REUSED, "bth.opcode", .actual = ctx->pkt->bth.opcode, .value = ROCE_VALUE_NONE,
           .other = conn->facts.first_frame);
    ctx->result->flags |= ROCE_AN_QP_REUSED;
    roce_conn_report_reuse(ctx);
    roce_conn_reset(conn);
    conn->facts.svc = svc;
    side->other_service = 0;
    return true;
}

/* Ends the connection that had the QPN until now, and begins a new one with the current packet.
 * Returns false if memory is exhausted. */
static bool begin_new_conn(struct roce_ctx *ctx)
{
    struct roce_conn *conn = ctx->conn;
    uint32_t frame = conn->facts.first_frame;

    ctx->sender = NULL;
    ctx->conn = NULL;
    roce_conn_end(ctx->flow, conn);
    ctx->sender = roce_conn_new(ctx->flow, ctx, &ctx->digest->key);
    if (!ctx->sender)
        return false;
    ctx->conn = ctx->sender->conn;
    ctx->result->conn_index = ctx->conn->conn_index;
    count_packet(ctx);
    REPORT(ctx, QP_REUSED, "QPN", .actual = ctx->pkt->bth.dest_qp, .value = ROCE_VALUE_NONE,
           .other = frame);
    ctx->result->flags |= ROCE_AN_QP_REUSED;
    return true;
}

static void analyze_packet(struct roce_ctx *ctx)
{
    const struct roce_opcode *op = ctx->pkt->op;
    bool ours;

    ctx->have_connection = true;
    if (!ctx->conn->ud && roce_pair_has_ended(ctx) && !begin_new_conn(ctx))
        return;
    ours = ctx->conn->ud || is_for_service(ctx);
    roce_check_qp_constants(ctx);
    if (!ours)
        return;
    roce_check_cnp(ctx);
    switch (op->svc) {
    case ROCE_SVC_RC:
    case ROCE_SVC_XRC:
    case ROCE_SVC_UC:
        if (roce_opcode_is_request(op))
            roce_request(ctx);
        else if (roce_opcode_is_response(op))
            roce_response(ctx);
        break;
    case ROCE_SVC_UD:
        if (roce_datagram_is_copy(ctx))
            break;
        roce_check_ud(ctx);
        if (ctx->pkt->bth.dest_qp == ROCE_QP_GSI)
            roce_cm_track(ctx);
        break;
    case ROCE_SVC_RD:
        REPORT_ONCE(ctx, RD_OPCODE, "bth.opcode", .actual = ctx->pkt->bth.opcode,
                    .value = ROCE_VALUE_NONE);
        break;
    default: break;
    }
}

static const struct roce_flow_result result_none = ROCE_FLOW_RESULT_NONE;

/* Sets all members to unknown, in several parts. For a whole struct, gcc uses a string instruction
 * that takes a tenth of the time of a packet's analysis. For parts of the struct, gcc uses faster
 * moves. */
static void set_unknown(struct roce_flow_result *result)
{
    const size_t part = 96;
    char *to = (char *)result;
    const char *from = (const char *)&result_none;

    _Static_assert(sizeof(*result) > 192 && sizeof(*result) <= 288, "three parts");
    memcpy(to, from, part);
    memcpy(to + part, from + part, part);
    memcpy(to + 2 * part, from + 2 * part, sizeof(*result) - 2 * part);
}

uint64_t roce_flow_learn_grain(uint64_t grain, uint64_t time)
{
    if (grain == 0)
        grain = GRAIN_MOST;
    while (time % grain)
        grain /= 10;
    return grain;
}

void roce_flow_set_look(struct roce_flow *flow, const struct roce_flow_look *last)
{
    flow->common->last_time = flow->last_time = last->last_time;
    flow->common->grain = flow->grain = last->grain;
}

static inline void look_at_time(struct roce_common *common, const struct roce_flow_in *in,
                                struct roce_flow_look *look)
{
    look->last_time = common->last_time;
    look->grain = common->grain;
    roce_flow_look_next(look, in->time);
    common->last_time = look->last_time;
    common->grain = look->grain;
}

static uint64_t suspect_bit(struct roce_icrc_trust *trust, const uint8_t addr[16])
{
    unsigned host = roce_icrc_trust_suspect(trust, addr);

    _Static_assert(ROCE_ICRC_TRUST_HOSTS == 64, "each host has a bit in a 64-bit word");
    return host < ROCE_ICRC_TRUST_HOSTS ? UINT64_C(1) << host : 0;
}

static inline void look_at_icrc(struct roce_common *common, const struct roce_flow_in *in,
                                const struct roce_key *key, struct roce_flow_look *look)
{
    struct roce_icrc_trust *trust = &common->trust;
    bool undecided;

    look->src_suspect = look->dst_suspect = 0;
    look->undecided = look->first_good = false;
    if (trust->bad == 0 && in->icrc != ROCE_ICRC_BAD) { /* no host has sent a wrong ICRC so far */
        look->icrc = roce_icrc_trust_status(trust, key->src, in->icrc, in->frame, in->time);
        return;
    }
    undecided = roce_icrc_trust_undecided(trust, key->src);
    look->icrc = roce_icrc_trust_status(trust, key->src, in->icrc, in->frame, in->time);
    look->src_suspect = suspect_bit(trust, key->src);
    look->dst_suspect = suspect_bit(trust, key->dst);
    look->undecided = roce_icrc_trust_undecided(trust, key->src);
    look->first_good = in->icrc == ROCE_ICRC_GOOD && undecided && look->src_suspect;
}

/* Returns true if the packet is not judged: its opcode is unknown, or it is of NVIDIA's DC
 * transport. */
static inline bool is_not_judged(const struct roce_pkt *pkt)
{
    return !pkt->op || (pkt->op->svc == ROCE_SVC_RD && roce_dc_may_be(pkt));
}

bool roce_flow_look(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_look *look)
{
    look_at_time(flow->common, in, look);
    look->src_suspect = look->dst_suspect = 0;
    look->icrc = in->icrc;
    look->undecided = look->first_good = false;
    if (is_not_judged(in->pkt))
        return false;
    look_at_icrc(flow->common, in, &in->digest->key, look);
    return look->first_good || in->pkt->bth.dest_qp == ROCE_QP_GSI;
}

void roce_flow_feed(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_result *result)
{
    struct roce_flow_result scratch;
    struct roce_packet_digest own;
    struct roce_flow_look own_look;
    struct roce_ctx ctx;
    bool dropped;

    flow->gated = false;
    ctx.look = in->look ? in->look : &own_look;
    ctx.flow = flow;
    ctx.pkt = in->pkt;
    ctx.frame = in->frame;
    ctx.time = in->time;
    ctx.have_connection = false;
    ctx.result = result;
    ctx.want_result = result != NULL;
    if (result) {
        set_unknown(result);
    } else { /* The caller passed no result, so `scratch` takes its place. Only the members that are
              * read later, or to which values are added, are cleared. */
        scratch.flags = scratch.findings = scratch.acked_packets = scratch.ce_frame = 0;
        scratch.done_bytes = 0;
        ctx.result = &scratch;
    }
    flow->totals.packets++;
    flow->totals.bytes += in->pkt->wire_len;
    if (!in->look)
        look_at_time(flow->common, in, &own_look);
    flow->last_time = ctx.look->last_time;
    flow->grain = ctx.look->grain;
    if (is_not_judged(in->pkt)) {
        flow->totals.dc += in->pkt->op != NULL;
        return;
    }
    ctx.digest = in->digest;
    if (!ctx.digest) {
        roce_digest_packet(&own, in->pkt, &flow->secret);
        ctx.digest = &own;
    }
    ctx.src = ctx.digest->key.src;
    ctx.dst = ctx.digest->key.dst;
    if (!in->look)
        look_at_icrc(flow->common, in, &ctx.digest->key, &own_look);
    ctx.icrc = ctx.look->icrc;
    ctx.rewritten = ctx.icrc != in->icrc;
    if (ctx.look->first_good)
        roce_check_icrc_release(&ctx);
    dropped = ctx.icrc == ROCE_ICRC_BAD || (!ctx.digest->form_ok && roce_pkt_dropped(in->pkt));
    find_endpoint(&ctx, !dropped);
    if (ctx.conn) {
        if (ctx.want_result) { /* The result names the connection also for packets that the receiver
                                * drops. */
            ctx.result->conn_index = ctx.conn->conn_index;
            ctx.result->side = roce_endpoint_side(ctx.sender);
        }
        count_packet(&ctx);
    }
    if (dropped || !ctx.digest->form_ok)
        roce_check_format(&ctx);
    if (dropped) {
        flow->totals.dropped++;
        ctx.result->flags |= ROCE_AN_DROPPED;
        return;
    }
    if (!ctx.conn)
        return;
    ctx.conn->icrc_unverified |= ctx.icrc == ROCE_ICRC_UNVERIFIED;
    if (flow->opts.no_fast_path || !roce_fast_path(&ctx))
        analyze_packet(&ctx);
    if (ctx.result->acked_packets)
        flow->acked_hosts |= ctx.look->dst_suspect;
    if (!ctx.conn)
        return;
    if (ctx.want_result) { /* The analysis may have paired the directions and thereby changed
                            * conn_index, so store it again. */
        ctx.result->conn_index = ctx.conn->conn_index;
        ctx.result->side = roce_endpoint_side(ctx.sender);
        ctx.result->qp_use = (uint8_t)(ctx.conn->facts.qp_uses - 1);
        ctx.result->src_qpn = ctx.sender->qpn;
        ctx.result->pairing = (uint8_t)ctx.conn->facts.pairing;
    }
    roce_rate_step(&ctx);
    flow->totals.mem_now = flow->mem.now;
    flow->totals.mem_peak = flow->mem.peak;
}

const struct roce_hash_secret *roce_flow_secret(const struct roce_flow *flow)
{
    return &flow->secret;
}

void roce_flow_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest)
{
    roce_conn_expect(flow, digest);
}

void roce_flow_finish(struct roce_flow *flow)
{
    if (flow->finished)
        return;
    flow->finished = true;
    roce_check_icrc_end(flow);
    roce_pair_finish(flow);
    roce_cm_end(flow);
    roce_peer_learn_all(flow);
    while (flow->first_all)
        roce_conn_end(flow, flow->first_all);
    flow->totals.mem_limited = flow->mem.limited;
    flow->totals.mem_now = flow->mem.now;
    flow->totals.mem_peak = flow->mem.peak;
}

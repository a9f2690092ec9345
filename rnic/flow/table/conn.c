/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/conn.h"

#include <string.h>
#include "flow/table/pair_index.h"
#include "flow/table/read_psn_count.h"

#define TABLE_MIN 1024u /* initial number of slots */

/* ---- the hash table of directions ------------------------------------------------------------ */

static struct roce_key key_of(const struct roce_endpoint *side)
{
    const struct roce_endpoint *peer = roce_peer(side);
    struct roce_key key = {.net = side->conn->net, .qpn = peer->qpn, .src_qpn = ROCE_QPN_UNKNOWN};

    memcpy(key.src, side->key.src, 16);
    memcpy(key.dst, peer->key.src, 16);
    if (side->conn->ud)
        key.src_qpn = side->qpn;
    return key;
}

static bool same_key(const struct roce_key *a, const struct roce_key *b)
{
    uint64_t x[5], y[5];

    _Static_assert(offsetof(struct roce_key, src) == 4 && sizeof(*a) == 44,
                   "the range has no gaps");
    memcpy(x, (const char *)a + 4, sizeof(x));
    memcpy(y, (const char *)b + 4, sizeof(y));
    return a->net == b->net &&
           ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4])) == 0;
}

struct roce_endpoint *roce_conn_find(struct roce_flow *flow, const struct roce_key *key,
                                     uint32_t hash)
{
    struct roce_endpoint *side = flow->recent;

    if (side) { /* first try the direction that the previous packet belonged to, then the opposite
                 * direction of its connection */
        if (side->hash == hash && same_key(&side->key, key))
            return side;
        side = &side->conn->side[side == &side->conn->side[0]];
        if (side->keyed && side->hash == hash && same_key(&side->key, key))
            return flow->recent = side;
    }
    if (flow->table_cap == 0)
        return NULL;
    for (side = flow->table[hash & (flow->table_cap - 1)]; side; side = side->hash_next)
        if (side->hash == hash && same_key(&side->key, key))
            return flow->recent = side;
    return NULL;
}

void roce_conn_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest)
{
    const struct roce_endpoint *side;

    if (flow->table_cap == 0)
        return;
    side = flow->table[digest->hash & (flow->table_cap - 1)];
    while (side && side->hash != digest->hash)
        side = side->hash_next;
    if (!side)
        return;
    for (size_t off = offsetof(struct roce_endpoint, req); off < sizeof(*side); off += 64)
        __builtin_prefetch((const char *)side + off, 1);
}

static void table_grow(struct roce_flow *flow)
{
    uint32_t cap = flow->table_cap ? flow->table_cap * 2 : TABLE_MIN;
    struct roce_endpoint **table = roce_mem_get(&flow->mem, cap * sizeof(struct roce_endpoint *));

    if (!table)
        return;
    for (uint32_t i = 0; i < flow->table_cap; i++)
        for (struct roce_endpoint *side = flow->table[i], *next; side; side = next) {
            next = side->hash_next;
            side->hash_next = table[side->hash & (cap - 1)];
            table[side->hash & (cap - 1)] = side;
        }
    roce_mem_put(&flow->mem, flow->table, flow->table_cap * sizeof(struct roce_endpoint *));
    flow->table = table;
    flow->table_cap = cap;
}

/* Inserts `side` into the hash table. side->key and side->hash must be set. */
static void insert_side(struct roce_flow *flow, struct roce_endpoint *side)
{
    side->hash_next = flow->table[side->hash & (flow->table_cap - 1)];
    flow->table[side->hash & (flow->table_cap - 1)] = side;
    side->keyed = true;
    flow->side_cnt++;
}

void roce_conn_rekey(struct roce_flow *flow, struct roce_endpoint *side)
{
    side->keyed = false;
    if (flow->side_cnt >= flow->table_cap)
        table_grow(flow);
    if (flow->table_cap > 0)
        insert_side(flow, side);
}

void roce_conn_key(struct roce_flow *flow, struct roce_endpoint *side)
{
    struct roce_key key = key_of(side);

    if (flow->side_cnt >= flow->table_cap)
        table_grow(flow);
    if (flow->table_cap == 0)
        return;
    side->key = key;
    side->hash = roce_key_hash(&key, &flow->secret);
    insert_side(flow, side);
}

static void unkey(struct roce_flow *flow, struct roce_endpoint *side)
{
    struct roce_endpoint **at;

    if (!side->keyed)
        return;
    at = &flow->table[side->hash & (flow->table_cap - 1)];
    while (*at != side)
        at = &(*at)->hash_next;
    *at = side->hash_next;
    side->keyed = false;
    flow->side_cnt--;
    if (flow->recent == side)
        flow->recent = NULL;
}

/* ---- order of last use ----------------------------------------------------------------------- */

static void use_remove(struct roce_flow *flow, struct roce_conn *conn)
{
    *(conn->older ? &conn->older->newer : &flow->oldest) = conn->newer;
    *(conn->newer ? &conn->newer->older : &flow->newest) = conn->older;
    conn->older = conn->newer = NULL;
}

static void use_append(struct roce_flow *flow, struct roce_conn *conn)
{
    conn->older = flow->newest;
    *(flow->newest ? &flow->newest->newer : &flow->oldest) = conn;
    flow->newest = conn;
}

void roce_conn_note_use(struct roce_flow *flow, struct roce_conn *conn)
{
    if (flow->newest == conn)
        return;
    use_remove(flow, conn);
    use_append(flow, conn);
}

/* ---- creating, freeing and joining connections ----------------------------------------------- */

static bool alias_add(struct roce_flow *flow, uint32_t conn_index)
{
    if (conn_index >= flow->common->alias_cap) {
        uint32_t cap = flow->common->alias_cap ? flow->common->alias_cap * 2 : 1024;
        uint32_t *alias = roce_mem_get(flow->common->mem, cap * sizeof(*alias));

        if (!alias)
            return false;
        if (flow->common->alias)
            memcpy(alias, flow->common->alias, flow->common->alias_cap * sizeof(*alias));
        roce_mem_put(flow->common->mem, flow->common->alias,
                     flow->common->alias_cap * sizeof(*alias));
        flow->common->alias = alias;
        flow->common->alias_cap = cap;
    }
    flow->common->alias[conn_index] = conn_index;
    return true;
}

bool roce_conn_number(struct roce_flow *flow)
{
    return alias_add(flow, flow->common->next_conn_index++);
}

struct roce_endpoint *roce_conn_new(struct roce_flow *flow, const struct roce_ctx *ctx,
                                    const struct roce_key *key)
{
    struct roce_conn *conn;

    if (flow->conn_cnt >= flow->opts.conn_max)
        return NULL;
    conn = roce_mem_need(&flow->mem, sizeof(*conn));
    if (!conn)
        return NULL;
    roce_gate(flow);
    conn->conn_index = flow->common->next_conn_index;
    (void)roce_conn_number(flow);
    conn->net = key->net;
    conn->ud = key->src_qpn != ROCE_QPN_UNKNOWN;
    conn->facts.conn_index = conn->conn_index;
    conn->facts.svc = ctx->pkt->op->svc;
    roce_conn_note_network(&conn->facts, ctx->pkt);
    conn->facts.first_frame = conn->facts.last_frame = ctx->frame;
    conn->facts.first_time = conn->facts.last_time = ctx->time;
    for (int i = 0; i < 2; i++) {
        conn->side[i].conn = conn;
        conn->side[i].rsp.credit_code = ROCE_CREDIT_NONE;
        conn->side[i].counts.credits = ROCE_CREDITS_UNLIMITED;
        conn->side[i].counts.first_psn = ROCE_PSN_UNKNOWN;
    }
    memcpy(conn->side[0].key.src, key->src, 16);
    memcpy(conn->side[1].key.src, key->dst, 16);
    conn->side[0].qpn = key->src_qpn;
    conn->side[1].qpn = key->qpn;
    if (!conn->ud)
        roce_pair_index_count(flow, conn);
    roce_conn_key(flow, &conn->side[0]);
    if (!conn->side[0].keyed) {
        roce_mem_put(&flow->mem, conn, sizeof(*conn));
        return NULL;
    }
    use_append(flow, conn);
    conn->prev_all = flow->last_all;
    *(flow->last_all ? &flow->last_all->next_all : &flow->first_all) = conn;
    flow->last_all = conn;
    flow->conn_cnt++;
    flow->totals.connections++;
    return &conn->side[0];
}

static void unlink_conn(struct roce_flow *flow, struct roce_conn *conn)
{
    use_remove(flow, conn);
    *(conn->prev_all ? &conn->prev_all->next_all : &flow->first_all) = conn->next_all;
    *(conn->next_all ? &conn->next_all->prev_all : &flow->last_all) = conn->prev_all;
    flow->conn_cnt--;
}

void roce_reuse_free(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (side->reuse)
        roce_mem_put(&flow->mem, side->reuse->deferred, sizeof(*side->reuse->deferred));
    roce_mem_put(&flow->mem, side->reuse, sizeof(*side->reuse));
    side->reuse = NULL;
}

static void free_counts(struct roce_flow *flow, struct roce_endpoint *side)
{
    roce_mem_put(&flow->mem, side->meter, sizeof(*side->meter));
    roce_reuse_free(flow, side);
    if (side->counts.cold)
        roce_mem_put(&flow->mem, side->counts.cold->watches, sizeof(*side->counts.cold->watches));
    roce_mem_put(&flow->mem, side->counts.cold, sizeof(*side->counts.cold));
    roce_mem_put(&flow->mem, side->counts.oper, ROCE_OPER_CNT * sizeof(*side->counts.oper));
}

void roce_conn_free(struct roce_flow *flow, struct roce_conn *conn)
{
    for (int i = 0; i < 2; i++) {
        struct roce_endpoint *side = &conn->side[i];

        roce_pair_index_remove(flow, side);
        unkey(flow, side);
        roce_window_free(&side->req.win, &flow->mem);
        roce_times_free(flow, &side->times);
        free_counts(flow, side);
        roce_mem_put(&flow->mem, side->region, side->region_cap * sizeof(*side->region));
    }
    unlink_conn(flow, conn);
    roce_mem_put(&flow->mem, conn, sizeof(*conn));
}

/* Copies the recorded NAKs from `unknown` to `rsp`. Both describe the same responder: `unknown` has
 * its NAKs from the time before the directions were joined, when the requester was not known. */
static void take_naks(struct roce_rsp *rsp, const struct roce_rsp *unknown)
{
    rsp->nak = unknown->nak;
    rsp->nak_psn = unknown->nak_psn;
    rsp->nak_frame = unknown->nak_frame;
    rsp->nak_time = unknown->nak_time;
    rsp->rnr = unknown->rnr;
    rsp->rnr_psn = unknown->rnr_psn;
    rsp->rnr_frame = unknown->rnr_frame;
    rsp->rnr_time = unknown->rnr_time;
    rsp->rnr_wait = unknown->rnr_wait;
}

void roce_conn_join(struct roce_flow *flow, struct roce_conn *to, struct roce_conn *from)
{
    struct roce_endpoint *a = &to->side[0], *b = &to->side[1], *moved = &from->side[0];
    uint32_t qpn = b->qpn;

    roce_gate(flow);
    /* A fatal NAK stops both QPs. If the other direction began only after the NAK, the NAK ended an
     * earlier connection of the QPs. */
    a->rsp.fatal &= a->rsp.fatal_frame > from->facts.first_frame;
    moved->rsp.fatal &= moved->rsp.fatal_frame > to->facts.first_frame;
    unkey(flow, moved);
    roce_pair_index_remove(flow, moved);
    roce_pair_index_remove(flow, a);
    take_naks(&moved->rsp, &b->rsp);
    take_naks(&a->rsp, &from->side[1].rsp);
    free_counts(flow, b);
    *b = *moved;
    memset(moved, 0, sizeof(*moved));
    moved->conn = from;
    a->qpn = from->side[1].qpn;
    b->qpn = qpn;
    b->conn = to;
    b->hash_next = NULL;
    if (!to->facts.mtu_sure && from->facts.mtu) {
        to->facts.mtu = from->facts.mtu;
        to->facts.mtu_sure = from->facts.mtu_sure;
    }
    if (to->facts.mtu && to->facts.mtu_sure)
        roce_read_psn_count_update(to, false); /* the path MTU is now known for both directions, so
                                                * the PSN counts of their READs are recomputed */
    if (from->facts.first_frame < to->facts.first_frame) {
        to->facts.first_frame = from->facts.first_frame;
        to->facts.first_time = from->facts.first_time;
    }
    if (from->facts.last_frame > to->facts.last_frame)
        to->facts.last_frame = from->facts.last_frame;
    if (from->facts.last_time > to->facts.last_time)
        to->facts.last_time = from->facts.last_time;
    for (int i = 0; i < ROCE_SEV_CNT; i++)
        to->facts.findings[i] += from->facts.findings[i];
    to->facts.known_errors += from->facts.known_errors;
    to->facts.known_warnings += from->facts.known_warnings;
    if (to->facts.end == ROCE_END_OPEN && from->facts.end != ROCE_END_OPEN) {
        to->facts.end = from->facts.end;
        to->facts.end_side = !from->facts.end_side;
        to->facts.end_syndrome = from->facts.end_syndrome;
        to->facts.end_paged = from->facts.end_paged;
        to->facts.end_psn = from->facts.end_psn;
        to->facts.end_frame = from->facts.end_frame;
        to->facts.end_request_frame = from->facts.end_request_frame;
        to->facts.end_tries = from->facts.end_tries;
        to->facts.end_repeats = from->facts.end_repeats;
        to->facts.end_naks = from->facts.end_naks;
        to->facts.end_on_nak = from->facts.end_on_nak;
        to->facts.end_damaged = from->facts.end_damaged;
    }
    to->inconsistent |= from->inconsistent;
    to->icrc_unverified |= from->icrc_unverified;
    to->paired = to->facts.paired = true;
    roce_conn_key(flow, b);
    if (from->conn_index < flow->common->alias_cap)
        flow->common->alias[from->conn_index] = to->conn_index;
    flow->totals.connections--;
    roce_conn_free(flow, from);
}

void roce_req_reset(struct roce_req *req)
{
    struct roce_window win = req->win;
    uint16_t run_id = req->run_id;
    uint32_t msgs = req->msg_number;

    memset(req, 0, sizeof(*req));
    req->win = win;
    req->win.cnt = req->win.acked = req->win.head = req->win.hint = 0;
    req->run_id = (uint16_t)(run_id + 1);
    req->msg_number = msgs;
}

void roce_conn_forget_mtu(struct roce_conn *conn)
{
    if (roce_conn_cm_seen(conn))
        return;
    conn->mtu_seen = conn->facts.mtu_sure = false;
}

void roce_conn_reset(struct roce_conn *conn)
{
    roce_conn_forget_mtu(conn);
    for (int i = 0; i < 2; i++) {
        struct roce_endpoint *side = &conn->side[i];

        roce_req_reset(&side->req);
        memset(&side->rsp, 0, sizeof(side->rsp));
        side->rsp.credit_code = ROCE_CREDIT_NONE;
        side->any = false;
        if (side->counts.cold)
            side->counts.cold->port_cnt = 0;
    }
    conn->facts.qp_uses++;
    conn->facts.end = ROCE_END_OPEN;
    conn->facts.complete = false;
}

void roce_rsp_forget_naks(struct roce_rsp *rsp)
{
    memset(rsp->nak_back, 0, sizeof(rsp->nak_back));
    rsp->nak_second = false;
}

bool roce_rsp_nak_is_open(const struct roce_rsp *rsp, uint32_t psn)
{
    int32_t back = roce_diff(rsp->nak_psn, psn);

    if (!rsp->nak && !rsp->nak_second)
        return false;
    for (unsigned i = 0; i < ROCE_NAKS_BACK && back > 0; i++)
        if (rsp->nak_back[i] == back)
            return true;
    return back == 0;
}

void roce_rsp_obey_nak(struct roce_rsp *rsp, uint32_t psn)
{
    int32_t back = roce_diff(rsp->nak_psn, psn);
    bool open = back > 0 && roce_rsp_nak_is_open(rsp, psn);

    if (!open)
        roce_rsp_forget_naks(rsp);
    for (unsigned i = 0; i < ROCE_NAKS_BACK; i++)
        if (rsp->nak_back[i] >= back)
            rsp->nak_back[i] = 0;
    rsp->nak_second = open;
    rsp->nak = false;
}

/* Called for a new sequence NAK. `back` is the PSN of the new NAK minus the PSN of the previous
 * NAK. Stores the NAKs that the requester has not obeyed in nak_back, as distances from the PSN of
 * the new NAK. */
static void add_open_nak(struct roce_rsp *rsp, int32_t back)
{
    if (back <= 0 || back > UINT8_MAX) {
        roce_rsp_forget_naks(rsp);
        return;
    }
    for (unsigned i = ROCE_NAKS_BACK - 1; i > 0; i--) {
        uint32_t sum = rsp->nak_back[i - 1] + (uint32_t)back;

        rsp->nak_back[i] = rsp->nak_back[i - 1] && sum <= UINT8_MAX ? (uint8_t)sum : 0;
    }
    rsp->nak_back[0] = (uint8_t)back;
    rsp->nak_second = false;
}

void roce_rsp_note_nak(const struct roce_ctx *ctx, struct roce_rsp *rsp)
{
    uint8_t syndrome = ctx->pkt->aeth.syndrome;
    int32_t back = roce_diff(ctx->pkt->bth.psn, rsp->nak_psn);

    if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR) {
        rsp->rnr = true;
        rsp->nak = false;
        roce_rsp_forget_naks(rsp);
        rsp->rnr_psn = ctx->pkt->bth.psn;
        rsp->rnr_frame = ctx->frame;
        rsp->rnr_time = ctx->time;
        rsp->rnr_wait = (uint32_t)roce_rnr_ns(roce_syndrome_code(syndrome));
    } else if (roce_syndrome_kind(syndrome) == ROCE_SYN_NAK &&
               roce_syndrome_code(syndrome) == ROCE_NAK_PSN_SEQ) {
        add_open_nak(rsp, rsp->nak || rsp->nak_second ? back : 0);
        rsp->nak = true;
        rsp->nak_late = false;
        rsp->nak_psn = ctx->pkt->bth.psn;
        rsp->nak_frame = ctx->frame;
        rsp->nak_time = ctx->time;
    }
}

uint64_t roce_timeout_of(const struct roce_endpoint *side)
{
    const struct roce_conn_facts *facts = &side->conn->facts;

    return roce_conn_cm_seen(side->conn) & 1u << ROCE_CM_REQ
               ? roce_ack_timeout_ns(facts->cm.timeout_code[roce_endpoint_side(side)])
               : ROCE_NEVER_NS;
}

uint8_t roce_rnr_retry_of(const struct roce_endpoint *side, uint32_t *frame)
{
    const struct roce_conn_facts *facts = &side->conn->facts;
    bool active = roce_endpoint_side(side) == facts->cm.active_side;

    *frame = active ? facts->cm.rep_frame : facts->cm.req_frame;
    if (!(facts->cm.seen & 1u << (active ? ROCE_CM_REP : ROCE_CM_REQ)))
        return ROCE_RNR_RETRY_UNKNOWN;
    return active ? facts->cm.rep_rnr_retry : facts->cm.rnr_retry;
}

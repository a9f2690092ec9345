/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include "scenario.h"
#include "support/suite.h"
#include "wire/codes.h"

#define UD_MTU 4096u /* path MTU of UD: the MTU of the port */
#define PKEY   0xFFFFu
/* First of SCN_LINKS QPNs that no QP has, except in about one of 10^5 seeds. */
#define NO_QPN 0xF0F000u

bool scenario_reliable(const struct scn_link *l)
{
    return l->type == RNIC_QPT_RC || l->type == RNIC_QPT_XRC_SEND;
}

unsigned scenario_service(const struct scn_link *l)
{
    switch (l->type) {
    case RNIC_QPT_RC: return 0;
    case RNIC_QPT_UC: return 1;
    case RNIC_QPT_UD: return 2;
    default: return 3;
    }
}

/* clang-format off */
static const struct { const char *name, *services; /* services that can have the error, in the
                                                    * order RC, UC, UD, XRC */ } accidents[] = {
    [SCN_NONE]       = { "none",    "...." },
    [SCN_BAD_RKEY]   = { "rkey",    "11.1" },
    [SCN_BAD_LKEY]   = { "lkey",    "1111" },
    [SCN_TOO_LONG]   = { "long",    "1111" },
    [SCN_BAD_RECV]   = { "recv",    "1111" },
    [SCN_NO_RECV]    = { "norecv",  "1111" },
    [SCN_CUT]        = { "cut",     "1..1" },
    [SCN_BAD_BIND]   = { "bind",    "11.1" },
    [SCN_MISALIGNED] = { "align",   "1..1" },
    [SCN_TO_ERR]     = { "to_err",  "1111" },
    [SCN_WINDOW]     = { "window",  "11.1" },
    [SCN_BAD_PKEY]   = { "pkey",    "1111" },
    [SCN_NO_QP]      = { "noqp",    "1111" },
    [SCN_BAD_QKEY]   = { "qkey",    "..1." },
    [SCN_OVER_MTU]   = { "overmtu", "..1." },
};
/* clang-format on */

bool scenario_can(unsigned service, enum scn_accident accident)
{
    return accidents[accident].services[service] == '1';
}

const char *scenario_accident_name(enum scn_accident accident)
{
    return accidents[accident].name;
}

bool scenario_quiet(const struct scn_link *l)
{
    return !scenario_reliable(l) && l->accident != SCN_NONE && l->accident != SCN_BAD_LKEY &&
           l->accident != SCN_BAD_RECV && l->accident != SCN_BAD_BIND && l->accident != SCN_TO_ERR;
}

bool scenario_late(const struct scn_link *l)
{
    return l->accident == SCN_WINDOW ||
           (!scenario_reliable(l) && (l->accident == SCN_TOO_LONG || l->accident == SCN_BAD_RECV));
}

/* ---- allocating memory ----------------------------------------------------------------------- */

/* Returns the offset of an unused range of memory with 8 unused bytes after it, or 0 if there is
 * none. */
static uint32_t slot(struct scenario *s, unsigned dev, uint32_t len)
{
    uint32_t off = s->used[dev];

    len = (len + 15) & ~7u;
    if (off + len > s->fabric.mem_len)
        return 0;
    s->used[dev] += len;
    return off;
}

static uint32_t random_len(struct scenario *s, uint32_t mtu, uint32_t max)
{
    uint32_t len;

    switch (rng_below(&s->rng, 6)) {
    case 0: len = rng_below(&s->rng, 9); break;
    case 1: len = mtu - 1 + rng_below(&s->rng, 3); break;
    case 2: len = mtu * (1 + rng_below(&s->rng, 6)); break;
    case 3:
        len = mtu * (1 + rng_below(&s->rng, 4));
        len += rng_below(&s->rng, 5);
        break;
    default: len = rng_below(&s->rng, max + 1); break;
    }
    return len > max ? max : len;
}

/* ---- drawing requests ------------------------------------------------------------------------ */

static struct rnic_mr *small_region(struct fabric_dev *dev)
{
    struct rnic_mr_attr attr = {.addr = dev->mem,
                                .len = 8,
                                .iova = 0x1000,
                                .access = RNIC_ACCESS_REMOTE_READ,
                                .invalidate = true};
    struct rnic_mr *mr = NULL;

    EXPECT_EQ(rnic_mr_reg(dev->pd, &attr, &mr), RNIC_OK);
    return mr;
}

static bool is_word(enum rnic_wr_opcode opcode)
{
    return rnic_wr_is_atomic(opcode) || opcode == RNIC_WR_ATOMIC_WRITE;
}

static enum rnic_wr_opcode random_opcode(struct scenario *s, const struct scn_link *l)
{
    static const enum rnic_wr_opcode rc[] = {
        RNIC_WR_WRITE,     RNIC_WR_WRITE_IMM, RNIC_WR_SEND,     RNIC_WR_SEND_IMM,
        RNIC_WR_SEND_INV,  RNIC_WR_READ,      RNIC_WR_READ,     RNIC_WR_CMP_SWAP,
        RNIC_WR_FETCH_ADD, RNIC_WR_LOCAL_INV, RNIC_WR_BIND_MW,  RNIC_WR_ATOMIC_WRITE,
        RNIC_WR_FLUSH,     RNIC_WR_WRITE,     RNIC_WR_FETCH_ADD};
    static const enum rnic_wr_opcode uc[] = {RNIC_WR_WRITE,   RNIC_WR_WRITE_IMM,
                                             RNIC_WR_SEND,    RNIC_WR_SEND_IMM,
                                             RNIC_WR_BIND_MW, RNIC_WR_LOCAL_INV};
    static const enum rnic_wr_opcode ud[] = {RNIC_WR_SEND, RNIC_WR_SEND_IMM};

    if (scenario_reliable(l))
        return rc[rng_below(&s->rng, sizeof(rc) / sizeof(rc[0]))];
    return l->type == RNIC_QPT_UC ? uc[rng_below(&s->rng, 6)] : ud[rng_below(&s->rng, 2)];
}

/* Returns an earlier WRITE of an end, or NULL. The caller adds a READ of the same bytes, which must
 * return the written bytes (R092). */
static const struct scn_wr *earlier_write(struct scenario *s, const struct scn_end *e)
{
    const struct scn_wr *w = e->wr_cnt ? &e->wr[rng_below(&s->rng, e->wr_cnt)] : NULL;

    return w && w->opcode == RNIC_WR_WRITE && w->len && rng_below(&s->rng, 2) ? w : NULL;
}

static bool make_wr(struct scenario *s, struct scn_link *l, unsigned side)
{
    struct scn_end *e = &l->end[side];
    struct scn_end *o = &l->end[!side];
    struct scn_wr *w = &e->wr[e->wr_cnt];
    const struct scn_wr *again = NULL;

    *w = (struct scn_wr){.imm = (uint32_t)rng_u64(&s->rng)};
    w->opcode = random_opcode(s, l);
    w->len = random_len(s, l->mtu, s->max_len);
    if (l->type == RNIC_QPT_UD && w->len > UD_MTU) {
        w->wrong = l->accident == SCN_OVER_MTU && side == 0;
        w->len = w->wrong ? w->len : UD_MTU;
    }
    if (is_word(w->opcode))
        w->len = 8;
    if (w->opcode == RNIC_WR_READ)
        again = earlier_write(s, e);
    if (again)
        w->len = again->len;
    w->off = slot(s, e->dev, w->len);
    w->roff = again ? again->roff : slot(s, o->dev, w->len);
    if (w->off == 0 || w->roff == 0)
        return false;
    if (w->opcode == RNIC_WR_FETCH_ADD && rng_below(&s->rng, 2) && !l->accident)
        w->roff = 0; /* all FETCH_ADDs use the word at offset 0 */
    w->flags = rng_below(&s->rng, 3) ? RNIC_SEND_SIGNALED : 0u;
    w->flags |= rng_below(&s->rng, 6) ? 0u : RNIC_SEND_FENCE;
    w->flags |= rng_below(&s->rng, 4) ? 0u : RNIC_SEND_SOLICITED;
    if (l->type == RNIC_QPT_UD)
        w->flags &= ~(unsigned)RNIC_SEND_FENCE;
    switch (w->opcode) {
    case RNIC_WR_CMP_SWAP:
        memcpy(&w->compare_add, s->first[o->dev] + w->roff, 8);
        w->compare_add += rng_below(&s->rng, 2); /* the compare value is right or wrong, at
                                                  * random */
        w->swap = rng_u64(&s->rng);
        break;
    case RNIC_WR_FETCH_ADD: w->compare_add = rng_u64(&s->rng); break;
    case RNIC_WR_LOCAL_INV: w->mr = small_region(&s->fabric.dev[e->dev]); break;
    case RNIC_WR_SEND_INV: w->mr = small_region(&s->fabric.dev[o->dev]); break;
    case RNIC_WR_BIND_MW:
        w->flags |= RNIC_SEND_SIGNALED;
        EXPECT_EQ(rnic_mw_new(s->fabric.dev[e->dev].pd,
                              rng_below(&s->rng, 2) ? RNIC_MW_TYPE_2 : RNIC_MW_TYPE_1, &w->mw),
                  RNIC_OK);
        break;
    case RNIC_WR_SEND:
    case RNIC_WR_SEND_IMM:
    case RNIC_WR_WRITE:
    case RNIC_WR_WRITE_IMM:
    case RNIC_WR_ATOMIC_WRITE:
        if (w->len <= 64 && rng_below(&s->rng, 2))
            w->flags |= RNIC_SEND_INLINE;
        break;
    default: break;
    }
    w->key_was = w->mr ? rnic_mr_key(w->mr) : 0;
    w->first = e->psns;
    w->psns = rnic_wr_is_local(w->opcode)  ? 0
              : w->opcode == RNIC_WR_FLUSH ? 1
              : l->type == RNIC_QPT_UD     ? !w->wrong
                                           : roce_psn_cnt(w->len, l->mtu);
    if (e->psns + w->psns >= SCN_PSNS)
        return false;
    e->psns += w->psns;
    e->wr_cnt++;
    return true;
}

/* Returns whether this request can have the error of its link. */
static bool can_be_wrong(const struct scn_link *l, const struct scn_wr *w)
{
    enum rnic_wr_opcode op = w->opcode;
    bool sends = op == RNIC_WR_SEND || op == RNIC_WR_SEND_IMM || op == RNIC_WR_SEND_INV;

    switch (l->accident) {
    case SCN_BAD_RKEY: return w->len && (op == RNIC_WR_WRITE || rnic_wr_is_fetch(op));
    case SCN_BAD_LKEY:
        return w->len && !(w->flags & RNIC_SEND_INLINE) && !rnic_wr_is_local(op) &&
               op != RNIC_WR_FLUSH;
    case SCN_TOO_LONG:
    case SCN_BAD_RECV: return sends && w->len > 8;
    case SCN_NO_RECV: return rnic_wr_uses_rq(op);
    case SCN_BAD_BIND: return op == RNIC_WR_BIND_MW;
    case SCN_MISALIGNED: return is_word(op);
    case SCN_OVER_MTU: return w->wrong;
    case SCN_BAD_PKEY:
    case SCN_NO_QP:
    case SCN_BAD_QKEY: return !rnic_wr_is_local(op);
    default: return false;
    }
}

/* Marks one request of end 0 as failing. If the requester does not detect the error, marks
 * several. */
static void make_wrong(struct scenario *s, struct scn_link *l)
{
    struct scn_end *e = &l->end[0];
    bool whole = l->accident == SCN_NO_RECV || l->accident == SCN_BAD_PKEY ||
                 l->accident == SCN_OVER_MTU ||
                 (l->accident == SCN_NO_QP && l->type != RNIC_QPT_UD);
    bool any = false;

    if (l->accident == SCN_CUT || l->accident == SCN_TO_ERR || scenario_late(l))
        return;
    for (unsigned i = whole || scenario_quiet(l) ? 0 : rng_below(&s->rng, e->wr_cnt);
         i < e->wr_cnt && (!any || scenario_quiet(l)); i++) {
        e->wr[i].wrong = can_be_wrong(l, &e->wr[i]) && (whole || !any || rng_below(&s->rng, 2));
        any = any || e->wr[i].wrong;
    }
    if (!any)
        l->accident = SCN_NONE; /* no request of the link can have the error */
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static struct scn_pool *new_pool(struct scenario *s, unsigned dev, bool grh)
{
    struct scn_pool *p = &s->pool[s->pool_cnt];

    p->room = s->max_len + (grh ? SCN_GRH : 0);
    for (unsigned i = 0; i < SCN_DEPTH; i++) {
        p->off[i] = slot(s, dev, p->room);
        if (p->off[i] == 0)
            return NULL;
    }
    s->pool_cnt++;
    return p;
}

static struct scn_pool *make_pool(struct scenario *s, struct scn_link *l, unsigned side)
{
    unsigned dev = l->end[side].dev;
    struct fabric_dev *d = &s->fabric.dev[dev];
    bool xrc = l->type == RNIC_QPT_XRC_SEND;
    bool shared = xrc || ((!l->accident || scenario_quiet(l)) && rng_below(&s->rng, 3) == 0);
    unsigned *at = xrc ? &s->xrc_pool[dev] : &s->srq_pool[dev][scenario_service(l) % 3];
    struct rnic_srq_init init = {.max_wr = SCN_DEPTH, .max_sge = 2};
    struct scn_pool *p;

    if (shared && *at && !l->accident && !s->pool[*at - 1].starved)
        return &s->pool[*at - 1];
    p = new_pool(s, dev, l->type == RNIC_QPT_UD);
    if (!p || !shared)
        return p;
    if (xrc) {
        if (!s->xrcd[dev])
            EXPECT_EQ(rnic_xrcd_new(d->rnic, &s->xrcd[dev]), RNIC_OK);
        init.xrcd = s->xrcd[dev];
        init.cq = d->cq;
    }
    EXPECT_EQ(rnic_srq_new(d->pd, &init, &p->srq), RNIC_OK);
    if (!l->accident)
        *at = (unsigned)(p - s->pool) + 1;
    return p;
}

static void make_qp(struct scenario *s, struct scn_link *l, unsigned side)
{
    struct scn_end *e = &l->end[side];
    struct fabric_dev *d = &s->fabric.dev[e->dev];
    bool xrc = l->type == RNIC_QPT_XRC_SEND;
    struct rnic_qp_init init = {.type = l->type,
                                .recv_cq = xrc ? NULL : d->cq,
                                .send_cq = d->cq,
                                .max_recv_wr = SCN_DEPTH,
                                .max_recv_sge = 2,
                                .max_send_wr = SCN_DEPTH,
                                .max_send_sge = 4,
                                .max_inline = 64,
                                .srq = xrc ? NULL : e->pool->srq,
                                .no_credits = rng_below(&s->rng, 3) == 0};

    EXPECT_EQ(rnic_qp_new(d->pd, &init, &e->qp), RNIC_OK);
    e->target = e->qp;
    if (xrc) {
        init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .xrcd = s->xrcd[e->dev]};
        EXPECT_EQ(rnic_qp_new(d->pd, &init, &e->target), RNIC_OK);
        e->srqn = rnic_srq_num(e->pool->srq);
    } else if (!e->pool->srq) {
        e->pool->qp = e->qp;
    }
    e->qpn = rnic_qp_qpn(e->qp);
    e->target_qpn = rnic_qp_qpn(e->target);
    /* On the first link, PSNs start just below the wrap (R062). On other links, they start far
     * apart: with RoCEv1, rnic/flow needs the PSN to find the QP of a response. */
    e->sq_psn = s->link_cnt == 0 ? 0xFFFFE0 + 16 * side : rng_below(&s->rng, 0x1000000);
}

static void connect_end(struct scenario *s, struct scn_link *l, unsigned side, unsigned depth)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};
    struct scn_end *e = &l->end[side];
    const struct scn_end *o = &l->end[!side];
    struct rnic_qp_attr attr = {
        .access = RNIC_ACCESS_ALL,
        .pkey = e->pkey,
        .qkey = SCN_QKEY,
        .path_mtu = l->mtu,
        .rq_psn = o->sq_psn,
        .sq_psn = e->sq_psn,
        .max_dest_rd_atomic = (uint8_t)depth,
        .max_rd_atomic = (uint8_t)depth,
        .min_rnr_timer = (uint8_t)(1 + rng_below(&s->rng, 6)),
        .timeout = 9,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };

    if (l->accident == SCN_NO_RECV && side == 0)
        attr.rnr_retry = (uint8_t)rng_below(&s->rng, 4);
    e->rnr_code = attr.min_rnr_timer;
    fabric_av(&s->fabric, o->dev, &attr.av);
    attr.av.tclass = (uint8_t)(rng_below(&s->rng, 64) << 2);
    for (unsigned k = 0; k < 3; k++) {
        attr.state = states[k];
        attr.dest_qpn = e->lost_qpn && l->type != RNIC_QPT_UD ? e->lost_qpn : o->target_qpn;
        EXPECT_EQ(rnic_qp_modify(e->qp, &attr, s->fabric.net.now), RNIC_OK);
        if (e->target == e->qp)
            continue;
        attr.dest_qpn = o->qpn;
        EXPECT_EQ(rnic_qp_modify(e->target, &attr, s->fabric.net.now), RNIC_OK);
    }
    oracle_init(&e->witness, e->sq_psn, l->mtu, roce_ack_timeout_ns(attr.timeout));
    if (l->type == RNIC_QPT_UD)
        EXPECT_EQ(rnic_ah_new(s->fabric.dev[e->dev].pd, &attr.av, &e->ah), RNIC_OK);
}

/* Draws the error of a link. The first link can have any error that its service (RC, UC, UD, XRC)
 * allows. The others can have only an error that the requester does not detect. */
static void draw_accident(struct scenario *s, struct scn_link *l, bool first)
{
    static const enum scn_accident rare[] = {SCN_WINDOW, SCN_TOO_LONG, SCN_BAD_RECV};

    do
        l->accident = rng_below(&s->rng, 3)
                          ? (enum scn_accident)(1 + rng_below(&s->rng, SCN_ACCIDENT_CNT - 1))
                          : rare[rng_below(&s->rng, 3)];
    while (!scenario_can(scenario_service(l), l->accident) || (!first && !scenario_quiet(l)));
}

/* Sets the attributes of both ends (P_Key, QPN, receive WQEs) that cause the error of the link. */
static void arrange_accident(struct scenario *s, struct scn_link *l)
{
    bool limited = rng_below(&s->rng, 2);

    l->end[0].pkey = l->end[1].pkey = PKEY;
    if (l->accident == SCN_BAD_PKEY) {
        l->end[0].pkey = limited ? PKEY & 0x7FFF : PKEY - 1;
        l->end[1].pkey = limited ? PKEY & 0x7FFF : PKEY;
    }
    if (l->accident == SCN_NO_QP)
        l->end[0].lost_qpn = NO_QPN + s->link_cnt;
    l->end[1].pool->starved = l->accident == SCN_NO_RECV;
    if (l->accident && !scenario_quiet(l))
        s->hurt[l->end[0].dev] = s->hurt[l->end[1].dev] = true;
}

/* Creates a link. Returns false if no memory of the devices is left. */
static bool make_link(struct scenario *s, bool accident)
{
    static const enum rnic_qp_type types[] = {RNIC_QPT_RC, RNIC_QPT_XRC_SEND, RNIC_QPT_UC,
                                              RNIC_QPT_UD, RNIC_QPT_RC,       RNIC_QPT_XRC_SEND};
    struct scn_link *l = &s->link[s->link_cnt];
    unsigned devs = s->fabric.dev_cnt;
    unsigned wrs = 1 + rng_below(&s->rng, devs > 8 ? 8 : SCN_WRS);

    memset(l, 0, sizeof(*l));
    l->type = types[!accident               ? rng_below(&s->rng, 6)
                    : rng_below(&s->rng, 4) ? rng_below(&s->rng, 2)
                                            : 2 + rng_below(&s->rng, 2)];
    l->mtu = UINT32_C(256) << rng_below(&s->rng, 5);
    /* A UC or UD link has an accident in half of the cases. */
    if (accident || (!scenario_reliable(l) && rng_below(&s->rng, 2)))
        draw_accident(s, l, accident);
    l->end[0].dev = rng_below(&s->rng, devs);
    l->end[1].dev = rng_below(&s->rng, 3) ? rng_below(&s->rng, devs) : 0;
    if (l->end[1].dev == l->end[0].dev)
        l->end[1].dev = (l->end[0].dev + 1) % devs;
    for (unsigned e = 0; e < 2; e++) {
        l->end[e].pool = make_pool(s, l, e);
        if (!l->end[e].pool)
            return false;
        l->end[e].area = s->used[l->end[e].dev];
    }
    for (unsigned i = 0; i < wrs; i++)
        for (unsigned e = 0; e < 2; e++)
            if (!make_wr(s, l, e))
                break;
    for (unsigned e = 0; e < 2; e++) {
        struct scn_end *end = &l->end[e];

        end->area_len = s->used[end->dev] - end->area;
        if (end->wr_cnt)
            end->wr[end->wr_cnt - 1].flags |= RNIC_SEND_SIGNALED;
    }
    if (l->accident && l->end[0].wr_cnt)
        make_wrong(s, l);
    else
        l->accident = SCN_NONE;
    arrange_accident(s, l);
    if (l->accident && !scenario_late(l))
        scenario_seen.accidents[scenario_service(l)][l->accident]++;
    make_qp(s, l, 0);
    make_qp(s, l, 1);
    {
        unsigned depth = 1 + rng_below(&s->rng, RNIC_RD_ATOMIC_MAX);

        connect_end(s, l, 0, depth);
        connect_end(s, l, 1, depth);
    }
    scenario_seen.sizes[scenario_service(l)][devs == 2 ? 0 : devs <= 8 ? 1 : devs <= 32 ? 2 : 3]++;
    s->link_cnt++;
    return true;
}

/* ---- drawing the network --------------------------------------------------------------------- */

/* Draws the faults of a path. Faults are so rare that no packet is lost eight times in a row. */
static struct simnet_path random_path(struct scenario *s)
{
    struct simnet_path path = {.delay_ns = 500 + rng_below(&s->rng, 5000)};

    if (rng_below(&s->rng, 5) == 0)
        return path; /* a path without faults */
    if (rng_below(&s->rng, 4))
        path.loss_ppm = rng_below(&s->rng, 30000);
    if (rng_below(&s->rng, 2))
        path.dup_ppm = rng_below(&s->rng, 50000);
    if (rng_below(&s->rng, 2))
        path.corrupt_ppm = rng_below(&s->rng, 20000);
    if (rng_below(&s->rng, 2))
        path.mark_ppm = rng_below(&s->rng, 50000);
    if (rng_below(&s->rng, 3) == 0) {
        path.reorder_ppm = rng_below(&s->rng, 30000);
        path.reorder_ns = rng_below(&s->rng, 20000);
    }
    if (rng_below(&s->rng, 2))
        path.jitter_ns = rng_below(&s->rng, 3000);
    if (rng_below(&s->rng, 3) == 0)
        path.bps = UINT64_C(1000000000) * (1 + rng_below(&s->rng, 100));
    if (rng_below(&s->rng, 4) == 0) { /* limited queue: a frame that finds the queue full is lost */
        path.bps = UINT64_C(1000000000) * (1 + rng_below(&s->rng, 10));
        path.queue = 36000 + rng_below(&s->rng, 30000);
    }
    return path;
}

/* Draws faults for single packets: requests or responses, selected by QP, PSN and number of the
 * transmission. */
static void exact_faults(struct scenario *s)
{
    unsigned cnt = rng_below(&s->rng, 2) ? 0 : 1 + rng_below(&s->rng, 24);

    for (unsigned i = 0; i < cnt; i++) {
        struct scn_link *l = &s->link[rng_below(&s->rng, s->link_cnt)];
        unsigned side = rng_below(&s->rng, 2);
        bool request = rng_below(&s->rng, 2);
        const struct scn_end *from = &l->end[side];
        const struct scn_end *to = &l->end[!side];
        const struct scn_end *asks = request ? from : to; /* the requester chooses the PSNs */
        struct simnet_rule rule = {.from = (int)s->fabric.dev[from->dev].node,
                                   .dest_qp = request ? to->target_qpn : to->qpn,
                                   .psn_matters = true};

        rule.psn = asks->sq_psn + rng_below(&s->rng, asks->psns + 1);
        rule.nth = 1 + rng_below(&s->rng, 2);
        rule.action = (enum simnet_action)rng_below(&s->rng, SIMNET_ACTION_CNT);
        rule.delay_ns = rng_below(&s->rng, 100000);
        simnet_rule(&s->fabric.net, &rule);
        s->faults = true;
    }
}

/* Draws faults of the n-th packet of a class, mostly of rare classes. */
static void class_faults(struct scenario *s)
{
    static const enum simnet_class classes[] = {SIMNET_NAK_FATAL, SIMNET_NAK_RNR, SIMNET_NAK_SEQ,
                                                SIMNET_CNP,       SIMNET_ATOMIC,  SIMNET_READ};
    unsigned cnt = rng_below(&s->rng, 3) ? 6 + rng_below(&s->rng, 12) : 0;

    if (s->link_cnt && s->link[0].accident && cnt == 0)
        cnt = rng_below(&s->rng, 2);
    for (unsigned i = 0; i < cnt; i++) {
        const struct simnet_rule rule = {
            .from = -1,
            .classes = 1u << classes[i ? rng_below(&s->rng, 6) : 0],
            .nth = 1 + rng_below(&s->rng, 3),
            .action = (enum simnet_action)rng_below(&s->rng, SIMNET_ACTION_CNT),
            .delay_ns = rng_below(&s->rng, 100000)};

        simnet_rule(&s->fabric.net, &rule);
        s->faults = true;
    }
}

/* Interrupts the path between the two devices of a link, for a time too short to exhaust the
 * retries. */
static void partition(struct scenario *s)
{
    const struct scn_link *l = &s->link[rng_below(&s->rng, s->link_cnt)];
    unsigned a = s->fabric.dev[l->end[0].dev].node;
    unsigned b = s->fabric.dev[l->end[1].dev].node;
    uint64_t from = rng_below(&s->rng, 100000);
    uint64_t to = from + rng_below(&s->rng, 6000000);

    s->fabric.net.path[a][b].down_from = s->fabric.net.path[b][a].down_from = from;
    s->fabric.net.path[a][b].down_to = s->fabric.net.path[b][a].down_to = to;
    s->faults = true;
}

void scenario_make(struct scenario *s, uint64_t seed)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    struct fabric_wire wire = {0};
    struct simnet_path path;
    struct rnic_ecn ecn;
    unsigned devs;
    unsigned links;
    enum roce_encap encap;
    bool congestion;
    bool accident;

    memset(s, 0, sizeof(*s));
    s->rng = rng_of(seed ^ 0x6F6972616E656373u);
    devs = rng_below(&s->rng, 8) ? 2 + rng_below(&s->rng, 7) : 9 + rng_below(&s->rng, 56);
    s->max_len = 1 + rng_below(&s->rng, devs > 8 ? 3000 : 8192);
    if (s->max_len < 8)
        s->max_len = 8;
    s->slow = rng_below(&s->rng, 2) == 0;
    rnic_ecn_defaults(&ecn);
    ecn.dcqcn.rpg_max_rate = 10000;
    if (rng_below(&s->rng, 4) == 0) { /* a switch that marks and drops packets */
        wire.bps = UINT64_C(10000000000) * (1 + rng_below(&s->rng, 4));
        wire.delay_ns = 500 + rng_below(&s->rng, 2000);
        wire.queue = 20000 + rng_below(&s->rng, 60000);
        wire.mark = 4000 + rng_below(&s->rng, 9000);
    }
    encap = encaps[rng_below(&s->rng, 3)];
    congestion = rng_below(&s->rng, 2);
    s->paced = congestion;
    fabric_init(&s->fabric, seed, devs, encap, devs > 8 ? 1u << 18 : 1u << 20,
                congestion ? &ecn : NULL, &wire);
    path = random_path(s);
    if (wire.bps) {
        path.bps = wire.bps;
        path.queue = 0;
    }
    s->faults = path.loss_ppm || path.corrupt_ppm || path.reorder_ppm || path.queue || wire.bps;
    s->perfect = !s->faults && !path.dup_ppm && !path.mark_ppm && !path.bps;
    simnet_paths(&s->fabric.net, &path);
    for (unsigned d = 0; d < devs; d++) {
        s->used[d] = 64;
        s->first[d] = malloc(s->fabric.mem_len);
        s->expected[d] = malloc(s->fabric.mem_len);
        if (!s->first[d] || !s->expected[d])
            abort();
        memcpy(s->first[d], s->fabric.dev[d].mem, s->fabric.mem_len);
        memcpy(s->expected[d], s->fabric.dev[d].mem, s->fabric.mem_len);
    }
    accident = rng_below(&s->rng, 3);
    links = devs > 8 ? SCN_LINKS : 1 + rng_below(&s->rng, 8);
    for (unsigned i = 0; i < links; i++)
        if (!make_link(s, accident && i == 0))
            break;
    /* Limit a queue to one or two packets only if there is a single link. The timers of several
     * links would always expire together, and the frame of the second link would always find the
     * queue full. */
    if (path.queue && s->link_cnt == 1) {
        path.queue = 5000 + rng_below(&s->rng, 7000);
        simnet_paths(&s->fabric.net, &path);
        scenario_seen.short_queues++;
    }
    exact_faults(s);
    class_faults(s);
    if (rng_below(&s->rng, 3) == 0)
        partition(s);
    if (devs > scenario_seen.devs_max)
        scenario_seen.devs_max = devs;
}

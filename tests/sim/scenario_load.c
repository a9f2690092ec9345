/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "scenario.h"
#include "support/suite.h"
#include "support/work.h"

#define BAD_KEY 0x0BADBAD0u
/* Layout of wr_id. For a receive: RECV, number of the pool << 8, number of the buffer. For a send:
 * number of the link << 16, side << 8, number of the request. */
#define RECV      (UINT64_C(1) << 63)
#define RECV_KEEP 8u /* SCN_TOO_LONG: number of bytes by which a receive buffer is too short */

/* ---- posting receive WQEs -------------------------------------------------------------------- */

static unsigned pool_dev(const struct scenario *s, const struct scn_pool *p)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[e].pool == p)
                return s->link[i].end[e].dev;
    return UINT32_MAX;
}

/* Returns the link with an error (enum scn_accident) and a responder that uses the pool `p`, or
 * NULL. */
static struct scn_link *accident_of(struct scenario *s, const struct scn_pool *p)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        if (s->link[i].accident && s->link[i].end[1].pool == p)
            return &s->link[i];
    return NULL;
}

/* Returns the request of an end that consumes the n-th receive WQE, or NULL. */
static struct scn_wr *nth_receive(struct scn_end *e, uint64_t n)
{
    for (unsigned i = 0; i < e->wr_cnt; i++)
        if (rnic_wr_uses_rq(e->wr[i].opcode) && n-- == 0)
            return &e->wr[i];
    return NULL;
}

/* Returns the next receive buffer of a UC or UD link with an error (enum scn_accident): at random
 * too short, or with a bad key. The network decides which request consumes the buffer. */
static struct scn_buffer unlucky(struct scenario *s, const struct scn_link *l,
                                 const struct scn_pool *p)
{
    struct scn_buffer buffer = {p->room, false};

    if (l->accident == SCN_TOO_LONG && rng_below(&s->rng, 3) == 0)
        buffer.room = 1 + rng_below(&s->rng, p->room);
    if (l->accident == SCN_BAD_RECV)
        buffer.bad = !p->spoilt && rng_below(&s->rng, 3) == 0;
    return buffer;
}

static bool post_recv(struct scenario *s, struct scn_pool *p)
{
    unsigned dev = pool_dev(s, p);
    struct scn_link *l = accident_of(s, p);
    struct scn_wr *w = l && scenario_reliable(l) ? nth_receive(&l->end[0], p->posts) : NULL;
    struct scn_buffer buffer = {p->room, false};
    struct rnic_sge sge[2];
    struct rnic_recv_wr wr = {.sge = sge, .sge_cnt = 2};
    unsigned i = 0;
    uint32_t cut;
    int error;

    while (i < SCN_DEPTH && (p->busy >> i & 1))
        i++;
    if (i == SCN_DEPTH || dev == UINT32_MAX || p->starved || s->resting)
        return false;
    cut = rng_below(&s->rng, p->room + 1);
    sge[0] = (struct rnic_sge){p->off[i], cut, FABRIC_KEY};
    sge[1] = (struct rnic_sge){p->off[i] + cut, p->room - cut, FABRIC_KEY};
    if (w && w->wrong && l->accident == SCN_TOO_LONG)
        buffer.room = w->len - RECV_KEEP;
    if (w && w->wrong && l->accident == SCN_BAD_RECV)
        buffer.bad = true;
    if (l && !scenario_reliable(l))
        buffer = unlucky(s, l, p);
    if (buffer.room < p->room || buffer.bad) {
        sge[0] = (struct rnic_sge){p->off[i], buffer.room, buffer.bad ? BAD_KEY : FABRIC_KEY};
        wr.sge_cnt = 1;
    }
    wr.wr_id = RECV | (uint64_t)(p - s->pool) << 8 | i;
    error = p->srq ? rnic_post_srq_recv(p->srq, &wr) : rnic_post_recv(p->qp, &wr);
    if (error)
        return false; /* the receive queue is full: in UC, incomplete messages also keep WQEs */
    p->busy |= 1u << i;
    p->spoilt = p->spoilt || buffer.bad;
    p->posted[p->posts % SCN_DEPTH] = buffer;
    p->avail++;
    p->posts++;
    return true;
}

/* ---- posting requests ------------------------------------------------------------------------ */

static uint32_t cut_up(struct rng *rng, struct rnic_sge sge[4], uint64_t addr, uint32_t len,
                       uint32_t key)
{
    uint32_t cnt = 1 + rng_below(rng, 4);

    for (uint32_t i = 0; i < cnt; i++) {
        uint32_t part = i == cnt - 1 ? len : rng_below(rng, len + 1);

        sge[i] = (struct rnic_sge){addr, part, key};
        addr += part;
        len -= part;
    }
    return cnt;
}

static void bind_of(struct scenario *s, struct scn_link *l, unsigned side, struct scn_wr *w,
                    struct rnic_mw_bind *bind)
{
    const struct scn_end *e = &l->end[side];

    *bind = (struct rnic_mw_bind){.mw = w->mw,
                                  .mr = s->fabric.dev[e->dev].mr,
                                  .addr = e->area,
                                  .len = e->area_len,
                                  .access = RNIC_ACCESS_REMOTE,
                                  .rkey = (rnic_mw_rkey(w->mw) & ~0xFFu) |
                                          ((rnic_mw_rkey(w->mw) + 1) & 0xFF)};
    if (w->wrong) /* the length exceeds the memory region, so the bind fails */
        bind->len = s->fabric.mem_len + UINT64_C(1);
}

/* Returns an end on the responder's device, or NULL: its type 2 window is bound to another QP than
 * the QP of link `l`. */
static const struct scn_end *foreign_window(const struct scenario *s, const struct scn_link *l,
                                            uint32_t len)
{
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *end = &s->link[i].end[e];

            if (end->dev == l->end[1].dev && end->kind > 1 && end->qp != l->end[1].target && len &&
                len <= end->area_len)
                return end;
        }
    }
    return NULL;
}

/* Chooses the R_Key of a request: the R_Key of the peer's memory region or of a window of the peer.
 * For the error SCN_WINDOW, chooses the R_Key of a window that is bound to another QP. */
static void choose_key(struct scenario *s, const struct scn_link *l, unsigned side,
                       struct scn_wr *w, struct rnic_send_wr *wr)
{
    const struct scn_end *o = &l->end[!side];
    bool remote = w->opcode == RNIC_WR_WRITE || rnic_wr_is_fetch(w->opcode);
    const struct scn_end *foreign = NULL;

    w->window = 0;
    /* A type 2 window of an XRC end is bound to its initiator QP. Requests arrive at the target QP,
     * which refuses the window (R210). */
    if (o->window && (o->kind == 1 || l->type != RNIC_QPT_XRC_SEND) && rng_below(&s->rng, 2) &&
        w->roff >= o->area && w->roff + w->len <= o->area + o->area_len) {
        wr->rkey = o->window;
        w->window = remote ? o->kind : 0;
    }
    if (l->accident == SCN_WINDOW && side == 0 && remote) {
        foreign = l->hit && scenario_reliable(l) ? NULL : foreign_window(s, l, w->len);
        w->wrong = foreign != NULL;
    }
    if (foreign) {
        wr->rkey = foreign->window;
        wr->remote_addr = foreign->area;
        w->window = foreign->kind;
    }
    if (w->wrong && l->accident == SCN_BAD_RKEY)
        wr->rkey = BAD_KEY;
    if (w->wrong && l->accident == SCN_MISALIGNED)
        wr->remote_addr++;
}

/* Returns whether the requester must wait until another QP has bound a type 2 window, which the
 * error SCN_WINDOW needs. QPs that wait themselves do not count. */
static bool waits_for_window(const struct scenario *s, const struct scn_link *l, unsigned side)
{
    if (l->accident != SCN_WINDOW || side != 0 || l->hit || foreign_window(s, l, 1))
        return false;
    for (unsigned i = 0; i < s->link_cnt; i++) {
        for (unsigned e = 0; e < 2; e++) {
            const struct scn_end *end = &s->link[i].end[e];

            if (end->dev != l->end[1].dev || end->qp == l->end[1].target || end->failed ||
                (s->link[i].accident == SCN_WINDOW && e == 0))
                continue;
            for (unsigned k = end->done; k < end->wr_cnt; k++)
                if (end->wr[k].opcode == RNIC_WR_BIND_MW &&
                    rnic_mw_type(end->wr[k].mw) == RNIC_MW_TYPE_2)
                    return true;
        }
    }
    return false;
}

static bool post_send(struct scenario *s, unsigned link, unsigned side)
{
    struct scn_link *l = &s->link[link];
    struct scn_end *e = &l->end[side];
    struct scn_end *o = &l->end[!side];
    struct scn_wr *w = &e->wr[e->posted];
    struct fabric_dev *d = &s->fabric.dev[e->dev];
    struct rnic_sge sge[4];
    struct rnic_send_wr wr = {.wr_id = link << 16 | side << 8 | e->posted,
                              .opcode = w->opcode,
                              .flags = w->flags,
                              .sge = sge,
                              .imm = w->imm,
                              .remote_addr = w->roff,
                              .rkey = FABRIC_KEY,
                              .invalidate_key = w->key_was,
                              .compare_add = w->compare_add,
                              .swap = w->swap,
                              .ah = e->ah,
                              .remote_qpn = w->wrong && e->lost_qpn ? e->lost_qpn : o->target_qpn,
                              .remote_qkey = SCN_QKEY + (w->wrong && l->accident == SCN_BAD_QKEY),
                              .srqn = o->srqn};
    bool inlined = w->flags & RNIC_SEND_INLINE;
    uint32_t key = w->wrong && l->accident == SCN_BAD_LKEY ? BAD_KEY : FABRIC_KEY;

    if (waits_for_window(s, l, side))
        return false;
    choose_key(s, l, side, w, &wr);
    if (w->opcode == RNIC_WR_BIND_MW) {
        bind_of(s, l, side, w, &wr.mw);
    } else if (w->opcode == RNIC_WR_FLUSH) {
        wr.flush.len = w->len;
        wr.flush.type = 1 + rng_below(&s->rng, 3);
        wr.flush.level = rng_below(&s->rng, 2) ? RNIC_FLUSH_MR : RNIC_FLUSH_RANGE;
    } else if (w->opcode == RNIC_WR_ATOMIC_WRITE || rnic_wr_is_atomic(w->opcode)) {
        sge[0] = (struct rnic_sge){inlined ? (uintptr_t)d->mem + w->off : w->off, 8, key};
        wr.sge_cnt = 1;
    } else if (w->opcode != RNIC_WR_LOCAL_INV) {
        wr.sge_cnt =
            cut_up(&s->rng, sge, inlined ? (uintptr_t)d->mem + w->off : w->off, w->len, key);
    }
    if (rnic_post_send(e->qp, &wr) != RNIC_OK)
        return false;
    l->hit = l->hit || (w->wrong && l->accident == SCN_WINDOW);
    s->tally[e->dev].over_mtu += w->wrong && l->accident == SCN_OVER_MTU;
    e->posted++;
    return true;
}

/* ---- checking completions -------------------------------------------------------------------- */

/* Returns whether a request is allowed to complete with this error status. The status that belongs
 * to the link's error is allowed. RETRY_EXC_ERR is allowed if the network may lose the NAK. The QP
 * of end 0 enters the error state, so requests of end 1 may also time out or be flushed. */
static bool status_fits(const struct scenario *s, const struct scn_link *l, unsigned side,
                        const struct scn_wr *w, enum rnic_wc_status status)
{
    static const enum rnic_wc_status own[SCN_ACCIDENT_CNT] = {
        [SCN_BAD_RKEY] = RNIC_WC_REM_ACCESS_ERR,   [SCN_BAD_LKEY] = RNIC_WC_LOC_PROT_ERR,
        [SCN_TOO_LONG] = RNIC_WC_REM_INV_REQ_ERR,  [SCN_BAD_RECV] = RNIC_WC_REM_OP_ERR,
        [SCN_NO_RECV] = RNIC_WC_RNR_RETRY_EXC_ERR, [SCN_CUT] = RNIC_WC_RETRY_EXC_ERR,
        [SCN_BAD_BIND] = RNIC_WC_MW_BIND_ERR,      [SCN_MISALIGNED] = RNIC_WC_REM_INV_REQ_ERR,
        [SCN_TO_ERR] = RNIC_WC_WR_FLUSH_ERR,       [SCN_WINDOW] = RNIC_WC_REM_ACCESS_ERR,
        [SCN_BAD_PKEY] = RNIC_WC_RETRY_EXC_ERR,    [SCN_NO_QP] = RNIC_WC_RETRY_EXC_ERR};

    if (l->accident == SCN_NONE || scenario_quiet(l))
        return false;
    if (!scenario_reliable(l) &&
        l->accident == SCN_BAD_RECV) /* the QP with the invalid buffer is in the error state */
        return side == 1 && status == RNIC_WC_WR_FLUSH_ERR;
    if (!scenario_reliable(l) && side == 1)
        return false;
    if (side == 1)
        return status == RNIC_WC_RETRY_EXC_ERR || status == RNIC_WC_WR_FLUSH_ERR;
    if (l->accident == SCN_CUT || l->accident == SCN_TO_ERR || l->accident == SCN_BAD_PKEY ||
        l->accident == SCN_NO_QP)
        return status == own[l->accident];
    /* A responder in the error state answers no request. So if its NAK was lost, the retransmitted
     * request times out. */
    if (s->faults && scenario_reliable(l) && status == RNIC_WC_RETRY_EXC_ERR)
        return true;
    return w->wrong && status == own[l->accident];
}

static enum oracle_end end_of_status(enum rnic_wc_status status)
{
    switch (status) {
    case RNIC_WC_RETRY_EXC_ERR: return ORACLE_END_RETRIES;
    case RNIC_WC_RNR_RETRY_EXC_ERR: return ORACLE_END_RNR;
    case RNIC_WC_REM_INV_REQ_ERR:
    case RNIC_WC_REM_ACCESS_ERR:
    case RNIC_WC_REM_OP_ERR: return ORACLE_END_NAK;
    default: return ORACLE_END_OWN;
    }
}

/* Checks that each signaled request completes once and in order, and that no request completes with
 * success after one has failed (R138, R189, R198). */
static void take_send(struct scenario *s, const struct rnic_wc *wc)
{
    struct scn_link *l = &s->link[wc->wr_id >> 16];
    unsigned side = wc->wr_id >> 8 & 1;
    struct scn_end *e = &l->end[side];
    unsigned at = wc->wr_id & 0xFF;
    struct scn_wr *w = &e->wr[at];
    bool ok = wc->status == RNIC_WC_SUCCESS;

    s->tally[e->dev].status[0][wc->status]++;
    EXPECT_EQ(wc->qpn, e->qpn);
    if (at < e->done || at >= e->posted) {
        suite_fail(__FILE__, __LINE__,
                   "link %u side %u: request %u completes, but the next one is request %u",
                   (unsigned)(wc->wr_id >> 16), side, at, e->done);
        return;
    }
    for (; e->done < at; e->done++) { /* unsignaled requests before this one completed with success,
                                       * without a completion */
        CU_ASSERT(!(e->wr[e->done].flags & RNIC_SEND_SIGNALED) && !e->failed);
        CU_ASSERT(!e->wr[e->done].wrong || scenario_quiet(l) || !ok);
        e->wr[e->done].done = true;
    }
    e->done++;
    if (e->failed) {
        EXPECT_EQ(wc->status, RNIC_WC_WR_FLUSH_ERR);
        return;
    }
    if (!ok) {
        e->failed = true;
        if (l->accident == SCN_WINDOW && wc->status == RNIC_WC_REM_ACCESS_ERR) {
            scenario_seen.accidents[scenario_service(l)][SCN_WINDOW]++;
            scenario_seen.refused_window[scenario_service(l)][w->window]++;
        }
        oracle_ended(&e->witness, end_of_status(wc->status), s->fabric.net.now);
        if (!status_fits(s, l, side, w, wc->status))
            suite_fail(__FILE__, __LINE__,
                       "link %u side %u request %u (error %u of the link): unexpected status %s",
                       (unsigned)(wc->wr_id >> 16), side, at, l->accident,
                       rnic_wc_status_name(wc->status));
        return;
    }
    CU_ASSERT(!w->wrong || scenario_quiet(l));
    CU_ASSERT(w->flags & RNIC_SEND_SIGNALED);
    EXPECT_EQ(wc->opcode, work_completes_as(w->opcode));
    if (w->opcode != RNIC_WR_BIND_MW && w->opcode != RNIC_WR_LOCAL_INV &&
        w->opcode != RNIC_WR_FLUSH)
        EXPECT_EQ(wc->byte_len, w->len);
    w->done = true;
    if (w->opcode == RNIC_WR_BIND_MW) {
        bool type_2 = rnic_mw_type(w->mw) == RNIC_MW_TYPE_2;
        bool is_2a = type_2 && rnic_mw_2a(s->fabric.dev[e->dev].rnic);

        e->bound_2a = e->bound_2a || is_2a;
        scenario_seen.bound[scenario_service(l)][is_2a ? 3 : type_2 ? 2 : 1]++;
        if (!l->accident || rng_below(&s->rng, 2)) {
            e->window = rnic_mw_rkey(w->mw);
            e->kind = is_2a ? 3 : type_2 ? 2 : 1;
        }
    }
}

static struct scn_end *end_of(struct scenario *s, unsigned dev, uint32_t qpn,
                              struct scn_link **link)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[e].dev == dev && s->link[i].end[e].target_qpn == qpn) {
                *link = &s->link[i];
                return &s->link[i].end[e];
            }
    return NULL;
}

/* Returns the request that causes the next receive completion at end `e`, or NULL. */
static struct scn_wr *next_received(struct scn_link *l, struct scn_end *e)
{
    struct scn_end *o = &l->end[e == &l->end[0]];
    unsigned at;

    if (scenario_reliable(l))
        return nth_receive(o, e->recv_at++);
    if (e->due_cnt == 0)
        return NULL;
    at = e->due[0];
    memmove(e->due, e->due + 1, --e->due_cnt * sizeof(e->due[0]));
    return &o->wr[at];
}

/* Checks a receive completion and its buffer (R087, R172, R202, R203). */
static void take_recv(struct scenario *s, unsigned dev, const struct rnic_wc *wc)
{
    struct scn_pool *p = &s->pool[(wc->wr_id & ~RECV) >> 8];
    uint32_t off = p->off[wc->wr_id & 0xFF];
    struct scn_link *l = NULL;
    struct scn_end *e = end_of(s, dev, wc->qpn, &l);
    uint8_t *mem = s->fabric.dev[dev].mem;
    uint32_t head;
    struct scn_wr *w;
    const uint8_t *from;
    bool imm;

    p->busy &= ~(1u << (wc->wr_id & 0xFF));
    s->tally[dev].status[1][wc->status]++;
    if (!e) {
        suite_fail(__FILE__, __LINE__,
                   "a receive completion of QP %06x, which the scenario does not have", wc->qpn);
        return;
    }
    if (wc->status != RNIC_WC_SUCCESS) {
        bool first = !e->flushed;

        e->flushed = true;
        p->starved = true; /* post no more WQEs: in the error state, each would be flushed */
        CU_ASSERT(l->accident != SCN_NONE);
        if (!first)
            EXPECT_EQ(wc->status, RNIC_WC_WR_FLUSH_ERR);
        else if (wc->status != RNIC_WC_WR_FLUSH_ERR)
            EXPECT_EQ(wc->status, l->accident == SCN_TOO_LONG   ? RNIC_WC_LOC_LEN_ERR
                                  : l->accident == SCN_BAD_RECV ? RNIC_WC_LOC_PROT_ERR
                                                                : RNIC_WC_SUCCESS);
        memcpy(s->expected[dev] + off, mem + off, p->room);
        return;
    }
    CU_ASSERT(!e->flushed);
    w = next_received(l, e);
    if (!w) {
        suite_fail(__FILE__, __LINE__, "device %u: a receive completion without a sent message",
                   dev);
        return;
    }
    imm = w->opcode == RNIC_WR_SEND_IMM || w->opcode == RNIC_WR_WRITE_IMM;
    head = l->type == RNIC_QPT_UD ? SCN_GRH : 0;
    EXPECT_EQ(wc->byte_len, head + w->len);
    EXPECT_EQ(wc->flags, (imm ? (unsigned)RNIC_WC_WITH_IMM : 0u) |
                             (w->opcode == RNIC_WR_SEND_INV ? (unsigned)RNIC_WC_WITH_INV : 0u) |
                             (head ? (unsigned)RNIC_WC_GRH : 0u));
    EXPECT_EQ(wc->imm, imm ? w->imm : 0);
    EXPECT_EQ(wc->invalidated_key, w->opcode == RNIC_WR_SEND_INV ? w->key_was : 0);
    EXPECT_EQ(wc->solicited, (w->flags & RNIC_SEND_SOLICITED) != 0);
    EXPECT_EQ(wc->opcode,
              w->opcode == RNIC_WR_WRITE_IMM ? RNIC_WC_RECV_RDMA_WITH_IMM : RNIC_WC_RECV);
    from = s->fabric.dev[l->end[e == &l->end[0]].dev].mem + w->off;
    if (w->opcode != RNIC_WR_WRITE_IMM) {
        CU_ASSERT(w->len == 0 || memcmp(mem + off + head, from, w->len) == 0);
        memcpy(s->expected[dev] + off, mem + off, head);
        if (w->len)
            memcpy(s->expected[dev] + off + head, from, w->len);
    }
    if (p->untidy)
        memcpy(s->expected[dev] + off, mem + off, p->room);
    /* bytes after the message must be unchanged */
    CU_ASSERT(memcmp(mem + off, s->expected[dev] + off, p->room) == 0);
}

/* ---- causing errors, and the tick of the user ------------------------------------------------ */

static void cause_accident(struct scenario *s)
{
    struct scn_link *l = &s->link[0];
    struct scn_end *e = &l->end[0];
    const struct rnic_qp_attr attr = {.state = RNIC_QPS_ERR};

    if (s->link_cnt == 0 || scenario_quiet(l) || e->done < e->wr_cnt / 3 || e->failed ||
        e->done == e->wr_cnt)
        return;
    if (l->accident == SCN_TO_ERR) {
        EXPECT_EQ(rnic_qp_modify(e->qp, &attr, s->fabric.net.now), RNIC_OK);
        oracle_ended(&e->witness, ORACLE_END_OWN, s->fabric.net.now);
    } else if (l->accident == SCN_CUT && !s->cut) {
        simnet_rule(&s->fabric.net, &(struct simnet_rule){.from = (int)s->fabric.dev[e->dev].node,
                                                          .dest_qp = l->end[1].target_qpn,
                                                          .action = SIMNET_DROP});
        s->cut = true;
    }
}

void scenario_tick(void *ctx, uint64_t now)
{
    struct scenario *s = ctx;
    struct rnic_wc wc;

    (void)now;
    for (unsigned d = 0; d < s->fabric.dev_cnt; d++) {
        while (rnic_cq_poll(s->fabric.dev[d].cq, &wc, 1) == 1) {
            if (wc.wr_id & RECV)
                take_recv(s, d, &wc);
            else
                take_send(s, &wc);
        }
    }
    cause_accident(s);
    for (unsigned i = 0; i < s->pool_cnt; i++)
        while ((!s->slow || rng_below(&s->rng, 12) == 0) && post_recv(s, &s->pool[i]))
            ;
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            while (s->link[i].end[e].posted < s->link[i].end[e].wr_cnt && post_send(s, i, e))
                ;
}

bool scenario_idle(const struct scenario *s)
{
    for (unsigned i = 0; i < s->link_cnt; i++)
        for (unsigned e = 0; e < 2; e++)
            if (s->link[i].end[e].done < s->link[i].end[e].wr_cnt)
                return false;
    return true;
}

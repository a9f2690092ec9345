/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Memory windows: R210-R213 of rnic/rules.md, C10-72 to C10-75, o10-36.2.2, o10-37.2.x as Linux rxe
 * quotes them. Side 1 of a pair binds windows, side 0 uses them. */
#include <string.h>
#include "device/key.h"
#include "support/qp_pair.h"
#include "support/suite.h"

#define OFF 1000u /* offset of the window in the memory */
#define LEN 500u

#define READ  RNIC_ACCESS_REMOTE_READ
#define WRITE RNIC_ACCESS_REMOTE_WRITE
#define ATOM  RNIC_ACCESS_REMOTE_ATOMIC

static struct qp_pair pair;
static struct rnic_mw *mw;

/* Kinds of windows. A device has type 2 windows of either kind 2A or kind 2B. */
enum kind { TYPE_1, TYPE_2B, TYPE_2A, KINDS };

static enum rnic_mw_type type_of(enum kind kind)
{
    return kind == TYPE_1 ? RNIC_MW_TYPE_1 : RNIC_MW_TYPE_2;
}

static void begin(enum kind kind)
{
    const struct qp_pair_opts opts = {.mw_2a = kind == TYPE_2A};

    qp_pair_init_as(&pair, 7, ROCE_ENCAP_V2_IP4, 2, 16, &opts);
    qp_pair_connect(&pair);
    EXPECT_EQ(rnic_mw_2a(pair.side[1].rnic), kind == TYPE_2A);
    EXPECT_EQ(rnic_mw_new(pair.side[1].pd, type_of(kind), &mw), RNIC_OK);
}

static struct rnic_send_wr bind_wr(struct rnic_mr *mr, uint64_t addr, uint64_t len, unsigned access)
{
    return (struct rnic_send_wr){
        .wr_id = 77,
        .opcode = RNIC_WR_BIND_MW,
        .flags = RNIC_SEND_SIGNALED,
        .mw = {.mw = mw,
               .mr = mr,
               .addr = addr,
               .len = len,
               .access = access,
               .rkey = rnic_mw_rkey(mw) + 1 - (rnic_mw_rkey(mw) % 256 == 255 ? 256 : 0)},
    };
}

/* Binds the window to LEN bytes at offset OFF of the region, through QP `qp` of side 1. */
static void bind(unsigned qp, unsigned access)
{
    struct rnic_send_wr wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA + OFF, LEN, access);

    EXPECT_EQ(rnic_post_send(pair.side[1].qp[qp], &wr), RNIC_OK);
    qp_pair_expect_wc(pair.side[1].send_cq[qp], 77, RNIC_WC_SUCCESS);
}

/* Posts a request on side 0 that uses this R_Key, and returns the status of its completion. */
static enum rnic_wc_status use(unsigned qp, enum rnic_wr_opcode opcode, uint32_t rkey, uint64_t va,
                               uint32_t len)
{
    const struct rnic_sge sge = {QP_PAIR_IOVA, len, QP_PAIR_KEY};
    const struct rnic_send_wr wr = {.opcode = opcode,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = va,
                                    .rkey = rkey};
    struct rnic_wc wc = {.status = RNIC_WC_GENERAL_ERR};

    EXPECT_EQ(rnic_post_send(pair.side[0].qp[qp], &wr), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
    EXPECT_EQ(rnic_cq_poll(pair.side[0].send_cq[qp], &wc, 1), 1);
    return wc.status;
}

/* A request must be within the range of the window, and the window must have the right (R207,
 * R211). The range and the rights of its region do not suffice (D14 of traces/linux-rxe.md). */
static void r211_window_bounds_are_checked(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        unsigned access;
        uint32_t off;
        uint32_t len;
        bool good;
    } rows[] = {
        {RNIC_WR_WRITE, WRITE, OFF, LEN, true},
        {RNIC_WR_WRITE, WRITE, OFF + LEN - 1, 1, true},
        {RNIC_WR_WRITE, WRITE, OFF - 1, 1, false},
        {RNIC_WR_WRITE, WRITE, OFF + LEN, 1, false},
        {RNIC_WR_WRITE, WRITE, OFF, LEN + 1, false},
        {RNIC_WR_WRITE, READ | ATOM, OFF, 8, false},
        {RNIC_WR_READ, READ, OFF, LEN, true},
        {RNIC_WR_READ, READ, OFF + 1, LEN, false},
        {RNIC_WR_READ, WRITE | ATOM, OFF, 8, false},
        {RNIC_WR_FETCH_ADD, ATOM, OFF, 8, true},
        {RNIC_WR_FETCH_ADD, ATOM, OFF + 496, 8, false}, /* 4 bytes beyond the window */
        {RNIC_WR_FETCH_ADD, READ | WRITE, OFF, 8, false},
        {RNIC_WR_WRITE, 0, OFF, 8, false},
    };

    for (enum kind kind = TYPE_1; kind < KINDS; kind++) {
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            uint8_t before[LEN + 2];

            begin(kind);
            bind(0, rows[i].access);
            memcpy(before, pair.side[1].mem + OFF - 1, sizeof(before));
            EXPECT_EQ(
                use(0, rows[i].opcode, rnic_mw_rkey(mw), QP_PAIR_IOVA + rows[i].off, rows[i].len),
                rows[i].good ? RNIC_WC_SUCCESS : RNIC_WC_REM_ACCESS_ERR);
            if (!rows[i].good)
                EXPECT_EQ(memcmp(before, pair.side[1].mem + OFF - 1, sizeof(before)), 0);
            qp_pair_free(&pair);
        }
    }
}

/* An unbound window grants no access, and a window key is never an L_Key. */
static void unbound_window_grants_no_access(void)
{
    for (enum kind kind = TYPE_1; kind < KINDS; kind++) {
        struct rnic_sge sge = {QP_PAIR_IOVA + OFF, 8, 0};
        struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .sge = &sge, .sge_cnt = 1};

        begin(kind);
        EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8),
                  RNIC_WC_REM_ACCESS_ERR);
        qp_pair_free(&pair);

        begin(kind);
        bind(0, READ | WRITE);
        sge.lkey = rnic_mw_rkey(mw);
        EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
        qp_pair_expect_wc(pair.side[1].send_cq[0], 0, RNIC_WC_LOC_PROT_ERR);
        qp_pair_free(&pair);
    }
}

/* A type 1 window is valid for every QP of the PD, a type 2 window for the QP through which it was
 * bound (R210). */
static void r210_type_2_window_belongs_to_its_qp(void)
{
    begin(TYPE_1);
    bind(0, READ);
    EXPECT_EQ(use(1, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8), RNIC_WC_SUCCESS);
    qp_pair_free(&pair);
    for (enum kind kind = TYPE_2B; kind < KINDS; kind++) {
        begin(kind);
        bind(0, READ);
        EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8), RNIC_WC_SUCCESS);
        EXPECT_EQ(use(1, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8),
                  RNIC_WC_REM_ACCESS_ERR);
        qp_pair_free(&pair);
    }
}

/* For a type 1 window, the device checks the PD of the request; for type 2A the QPN; for type 2B
 * both (R210). */
static void r210_checked_against(void)
{
    static const bool opens[KINDS][2][2] = {/* access granted, by [other PD][other QP] */
                                            [TYPE_1] = {{true, true}, {false, false}},
                                            [TYPE_2B] = {{true, false}, {false, false}},
                                            [TYPE_2A] = {{true, false}, {true, false}}};

    for (enum kind kind = TYPE_1; kind < KINDS; kind++) {
        struct rnic_pd *pd[2];

        begin(kind);
        bind(0, READ);
        pd[0] = pair.side[1].pd;
        EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd[1]), RNIC_OK);
        for (unsigned p = 0; p < 2; p++)
            for (unsigned q = 0; q < 2; q++)
                EXPECT_EQ(rnic_key_check(pd[p], pair.side[1].qp[q], rnic_mw_rkey(mw), READ),
                          opens[kind][p][q] ? RNIC_MEM_OK : RNIC_MEM_PD);
        qp_pair_free(&pair);
    }
}

/* Each bind of a type 1 window returns a new key. The old key is valid until the bind executes. A
 * bind of length 0 unbinds the window (ibv_bind_mw(3)). */
static void type_1_rebind(void)
{
    struct rnic_send_wr wr;
    uint32_t first;

    begin(TYPE_1);
    bind(0, READ);
    first = rnic_mw_rkey(mw);
    EXPECT_EQ(use(0, RNIC_WR_READ, first, QP_PAIR_IOVA + OFF, 8), RNIC_WC_SUCCESS);
    /* A bind that waits for an earlier READ. */
    EXPECT_EQ(qp_pair_send(&pair, 1, 0, 1, RNIC_WR_READ, 0, 4096, 0), RNIC_OK);
    wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, READ);
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
    CU_ASSERT(rnic_mw_rkey(mw) != first);
    EXPECT_EQ(rnic_mw_rkey(mw) >> 8, first >> 8); /* the upper 24 bits stay the same (R212) */
    qp_pair_expect_no_wc(pair.side[1].send_cq[0]);
    CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
    qp_pair_expect_wc(pair.side[1].send_cq[0], 1, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].send_cq[0], 77, RNIC_WC_SUCCESS);
    EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA, 8), RNIC_WC_SUCCESS);
    EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_ERR_BUSY);
    wr = bind_wr(NULL, 0, 0, 0);
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
    qp_pair_expect_wc(pair.side[1].send_cq[0], 77, RNIC_WC_SUCCESS);
    EXPECT_EQ(use(0, RNIC_WR_READ, first, QP_PAIR_IOVA + OFF, 8), RNIC_WC_REM_ACCESS_ERR);
    EXPECT_EQ(use(1, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA, 8), RNIC_WC_REM_ACCESS_ERR);
    EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_OK);
    qp_pair_free(&pair);
}

/* A type 2 window is bound, invalidated by its QP or by the peer, and bound again with another
 * key. */
static void life_of(enum kind kind)
{
    const struct rnic_sge sge = {QP_PAIR_IOVA, 4, QP_PAIR_KEY};
    struct rnic_send_wr inv = {
        .wr_id = 5, .opcode = RNIC_WR_LOCAL_INV, .flags = RNIC_SEND_SIGNALED};
    uint32_t first;
    struct rnic_wc wc;

    begin(kind);
    first = rnic_mw_rkey(mw);
    bind(0, READ);
    CU_ASSERT(rnic_mw_rkey(mw) != first);
    first = rnic_mw_rkey(mw);
    inv.invalidate_key = first;
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &inv), RNIC_OK);
    qp_pair_expect_wc(pair.side[1].send_cq[0], 5, RNIC_WC_SUCCESS);
    bind(1, READ | WRITE);
    EXPECT_EQ(use(1, RNIC_WR_WRITE, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8), RNIC_WC_SUCCESS);
    /* Invalidation by SEND with Invalidate (R203). */
    EXPECT_EQ(qp_pair_recv(&pair, 1, 1, 9, 0, 16), RNIC_OK);
    inv = (struct rnic_send_wr){.opcode = RNIC_WR_SEND_INV,
                                .flags = RNIC_SEND_SIGNALED,
                                .sge = &sge,
                                .sge_cnt = 1,
                                .invalidate_key = rnic_mw_rkey(mw)};
    EXPECT_EQ(rnic_post_send(pair.side[0].qp[1], &inv), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
    EXPECT_EQ(rnic_cq_poll(pair.side[1].recv_cq[1], &wc, 1), 1);
    EXPECT_EQ(wc.flags, RNIC_WC_WITH_INV);
    EXPECT_EQ(wc.invalidated_key, rnic_mw_rkey(mw));
    EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_OK);
    EXPECT_EQ(use(0, RNIC_WR_READ, first, QP_PAIR_IOVA + OFF, 8), RNIC_WC_REM_ACCESS_ERR);
    qp_pair_free(&pair);
}

static void type_2_life(void)
{
    life_of(TYPE_2B);
    life_of(TYPE_2A);
}

/* A key cannot be invalidated through a QP if it belongs to another PD or QP, has low 8 bits other
 * than those of the latest bind, is unknown, or is the key of a type 1 window or of a region that
 * does not permit invalidation (R204, R213, o10-37.2.26). A local invalidate then fails with
 * "memory management operation error". A SEND with Invalidate from the peer gets NAK 0x62 and
 * completes at the peer with REM_ACCESS_ERR. An unbound window stays unbound. */
static void r213_key_out_of_reach_is_not_invalidated(void)
{
    enum what { BOUND, FREE, BOUND_ELSEWHERE, OLD_TAG, OTHER_PD, REGION, NO_KEY, WHATS };
    static const bool good[WHATS] = {[BOUND] = true, [FREE] = true};

    for (enum kind kind = TYPE_1; kind < KINDS; kind++) {
        for (unsigned row = 0; row < 2 * WHATS; row++) {
            bool peer = row >= WHATS;
            enum what what = (enum what)(row % WHATS);
            bool fine = kind != TYPE_1 && good[what];
            struct rnic_send_wr inv = {.wr_id = 5,
                                       .opcode = peer ? RNIC_WR_SEND_INV : RNIC_WR_LOCAL_INV,
                                       .flags = RNIC_SEND_SIGNALED};
            struct rnic_pd *pd;

            begin(kind);
            if (what == OTHER_PD) {
                EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
                EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd), RNIC_OK);
                EXPECT_EQ(rnic_mw_new(pd, type_of(kind), &mw), RNIC_OK);
            } else if (what != FREE) {
                bind(what == BOUND_ELSEWHERE, READ);
            }
            inv.invalidate_key = rnic_mw_rkey(mw) ^ (what == OLD_TAG);
            if (what == REGION || what == NO_KEY)
                inv.invalidate_key = QP_PAIR_KEY ^ (what == NO_KEY);
            if (peer)
                EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 9, 0, 16), RNIC_OK);
            EXPECT_EQ(rnic_post_send(pair.side[!peer].qp[0], &inv), RNIC_OK);
            CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
            qp_pair_expect_wc(pair.side[!peer].send_cq[0], 5,
                              fine   ? RNIC_WC_SUCCESS
                              : peer ? RNIC_WC_REM_ACCESS_ERR
                                     : RNIC_WC_MW_BIND_ERR);
            EXPECT_EQ(qp_pair_state(&pair, 1, 0), fine ? RNIC_QPS_RTS : RNIC_QPS_ERR);
            if (fine) { /* a successful bind proves that the window was unbound */
                bind(1, READ);
                EXPECT_EQ(use(1, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8),
                          RNIC_WC_SUCCESS);
            }
            qp_pair_free(&pair);
        }
    }
}

/* Replaces QP 0 of side 1 by a new QP in `pd` that has the same QPN. */
static void same_qpn(struct rnic_pd *pd)
{
    struct qp_pair_side *side = &pair.side[1];
    struct rnic_qp_init init;

    rnic_qp_query(side->qp[0], NULL, &init);
    EXPECT_EQ(init.qpn, qp_pair_qpn(1, 0));
    EXPECT_EQ(rnic_qp_del(side->qp[0]), RNIC_OK);
    EXPECT_EQ(rnic_qp_new(pd, &init, &side->qp[0]), RNIC_OK);
    side->target[0] = side->qp[0];
    for (enum rnic_qp_state to = RNIC_QPS_INIT; to <= RNIC_QPS_RTS; to++) {
        side->attr[0].state = to;
        EXPECT_EQ(rnic_qp_modify(side->qp[0], &side->attr[0], pair.net.now), RNIC_OK);
    }
}

/* Deleting a QP unbinds its 2B window, and the next QP with the same number cannot use the key,
 * even in the same PD. A QP with a bound 2A window cannot be deleted in any state (R213,
 * o10-2.2.5). */
static void r213_end_of_the_qp(void)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_ERR, RNIC_QPS_RESET};
    struct rnic_pd *pd;

    for (int other_pd = 0; other_pd < 2; other_pd++) {
        begin(TYPE_2B);
        bind(0, READ);
        EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd), RNIC_OK);
        same_qpn(other_pd ? pd : pair.side[1].pd);
        EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8),
                  RNIC_WC_REM_ACCESS_ERR);
        EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_OK);
        qp_pair_free(&pair);
    }
    for (unsigned way = 0; way < 3; way++) {
        struct rnic_send_wr inv = {.opcode = RNIC_WR_LOCAL_INV};

        begin(TYPE_2A);
        bind(0, READ);
        EXPECT_EQ(rnic_qp_del(pair.side[1].qp[0]), RNIC_ERR_BUSY);
        EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8), RNIC_WC_SUCCESS);
        if (way == 0) {
            inv.invalidate_key = rnic_mw_rkey(mw);
            EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &inv), RNIC_OK);
        } else {
            pair.side[1].attr[0].state = states[way - 1];
            EXPECT_EQ(rnic_qp_modify(pair.side[1].qp[0], &pair.side[1].attr[0], pair.net.now),
                      RNIC_OK);
            EXPECT_EQ(rnic_qp_del(pair.side[1].qp[0]), RNIC_ERR_BUSY);
            EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_ERR_BUSY);
            EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
            EXPECT_EQ(rnic_mw_new(pair.side[1].pd, RNIC_MW_TYPE_2, &mw), RNIC_OK);
        }
        pair.side[0].attr[0].state = RNIC_QPS_RESET; /* side 0 connects again */
        for (enum rnic_qp_state to = RNIC_QPS_RESET; to <= RNIC_QPS_RTS; to++) {
            pair.side[0].attr[0].state = to;
            EXPECT_EQ(rnic_qp_modify(pair.side[0].qp[0], &pair.side[0].attr[0], pair.net.now),
                      RNIC_OK);
        }
        same_qpn(pair.side[1].pd);
        EXPECT_EQ(use(0, RNIC_WR_READ, rnic_mw_rkey(mw), QP_PAIR_IOVA + OFF, 8),
                  RNIC_WC_REM_ACCESS_ERR);
        qp_pair_free(&pair);
    }
    begin(TYPE_2A); /* deleting the device also deletes the window and its QP */
    bind(0, READ);
    qp_pair_free(&pair);
}

/* An invalid bind fails when it executes, and its QP enters ERR (R211). */
static void r211_invalid_bind_moves_the_qp_to_err(void)
{
    enum { NOT_BINDABLE, ZERO_BASED, READ_ONLY, OTHER_PD_MR, OTHER_PD_MW, ALL };
    static const struct {
        int mr; /* region to which the window is bound: a new region with this property, or ALL:
                 * the region of the pair */
        enum rnic_mw_type type;
        uint64_t off;
        uint64_t len;
        unsigned access;
        bool good;
    } rows[] = {
        {ALL, RNIC_MW_TYPE_1, 0, QP_PAIR_MEM, READ, true},
        {ALL, RNIC_MW_TYPE_2, 0, QP_PAIR_MEM, READ, true},
        {NOT_BINDABLE, RNIC_MW_TYPE_1, 0, 8, READ, false}, /* C10-73 */
        {NOT_BINDABLE, RNIC_MW_TYPE_2, 0, 8, READ, false},
        {ZERO_BASED, RNIC_MW_TYPE_2, 0, 8, READ, false},
        {READ_ONLY, RNIC_MW_TYPE_1, 0, 8, READ, true},
        {READ_ONLY, RNIC_MW_TYPE_1, 0, 8, WRITE, false}, /* C10-74 */
        {READ_ONLY, RNIC_MW_TYPE_2, 0, 8, ATOM, false},
        {READ_ONLY, RNIC_MW_TYPE_2, 0, 8, RNIC_ACCESS_FLUSH_GLOBAL, false},
        {OTHER_PD_MR, RNIC_MW_TYPE_1, 0, 8, READ, false}, /* C10-72 */
        {OTHER_PD_MW, RNIC_MW_TYPE_2, 0, 8, READ, false},
        {ALL, RNIC_MW_TYPE_1, 1, QP_PAIR_MEM, READ, false}, /* C10-75 */
        {ALL, RNIC_MW_TYPE_2, (uint64_t)-1, 8, READ, false},
        {ALL, RNIC_MW_TYPE_2, 8, UINT64_MAX, READ, false},                 /* address + length
                                                                            * exceeds 2^64 */
        {ALL, RNIC_MW_TYPE_2, 0, 0, READ, false},                          /* o10-37.2.40 */
        {ALL, RNIC_MW_TYPE_1, 0, 8, READ | RNIC_ACCESS_ZERO_BASED, false}, /* o10-36.2.2 */
        {ALL, RNIC_MW_TYPE_2, 0, 8, READ | RNIC_ACCESS_ZERO_BASED, true},
    };

    for (unsigned k = 0; k < 2 * sizeof(rows) / sizeof(rows[0]); k++) {
        unsigned i = k / 2;
        struct rnic_mr_attr attr = {.len = QP_PAIR_MEM, .iova = QP_PAIR_IOVA};
        struct rnic_mr *mr;
        struct rnic_pd *pd;
        struct rnic_send_wr wr;

        begin(rows[i].type == RNIC_MW_TYPE_1 ? TYPE_1 : k % 2 ? TYPE_2A : TYPE_2B);
        EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd), RNIC_OK);
        attr.addr = pair.side[1].mem;
        attr.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND;
        if (rows[i].mr == NOT_BINDABLE)
            attr.access = RNIC_ACCESS_ALL & ~(unsigned)RNIC_ACCESS_MW_BIND;
        if (rows[i].mr == ZERO_BASED)
            attr.access |= RNIC_ACCESS_ZERO_BASED;
        if (rows[i].mr == READ_ONLY)
            attr.access = RNIC_ACCESS_MW_BIND;
        EXPECT_EQ(rnic_mr_reg(rows[i].mr == OTHER_PD_MR ? pd : pair.side[1].pd, &attr, &mr),
                  RNIC_OK);
        if (rows[i].mr == OTHER_PD_MW) {
            EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
            EXPECT_EQ(rnic_mw_new(pd, rows[i].type, &mw), RNIC_OK);
        }
        wr = bind_wr(rows[i].mr == ALL ? pair.side[1].mr : mr,
                     (rows[i].mr == ZERO_BASED ? 0 : QP_PAIR_IOVA) + rows[i].off, rows[i].len,
                     rows[i].access);
        EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
        qp_pair_expect_wc(pair.side[1].send_cq[0], 77,
                          rows[i].good ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR);
        EXPECT_EQ(qp_pair_state(&pair, 1, 0), rows[i].good ? RNIC_QPS_RTS : RNIC_QPS_ERR);
        qp_pair_free(&pair);
    }
}

/* A type 2 window that is already bound cannot be bound again (o10-37.2.30). */
static void type_2_bound_twice(void)
{
    for (enum kind kind = TYPE_2B; kind < KINDS; kind++) {
        for (unsigned qp = 0; qp < 2; qp++) {
            struct rnic_send_wr wr;

            begin(kind);
            bind(0, READ);
            wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, READ | WRITE);
            EXPECT_EQ(rnic_post_send(pair.side[1].qp[qp], &wr), RNIC_OK);
            qp_pair_expect_wc(pair.side[1].send_cq[qp], 77, RNIC_WC_MW_BIND_ERR);
            qp_pair_free(&pair);
        }
    }
}

static void impossible_binds_are_refused_at_the_post(void)
{
    struct rnic_send_wr wr;
    struct rnic_mw *none;

    begin(TYPE_2B);
    EXPECT_EQ(rnic_mw_new(pair.side[1].pd, (enum rnic_mw_type)3, &none), RNIC_ERR_INVALID);
    wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, READ);
    wr.mw.mw = NULL;
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_ERR_INVALID);
    wr = bind_wr(NULL, QP_PAIR_IOVA, 8, READ);
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_ERR_INVALID);
    wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, RNIC_ACCESS_LOCAL_WRITE);
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_ERR_INVALID);
    wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, READ);
    wr.mw.rkey ^= 0x100; /* the upper 24 bits of the key belong to the device (R212) */
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_ERR_INVALID);
    qp_pair_expect_no_wc(pair.side[1].send_cq[0]);
    EXPECT_EQ(qp_pair_state(&pair, 1, 0), RNIC_QPS_RTS);
    qp_pair_free(&pair);
}

/* A region with bound windows cannot be deregistered until the windows are unbound or deleted, or
 * the QP of a type 2B window is deleted (R213). */
static void r213_region_in_use(void)
{
    struct rnic_mr_attr attr = {.addr = NULL};

    for (int by_qp = 0; by_qp < 2; by_qp++) {
        begin(TYPE_2B);
        bind(0, READ);
        EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_ERR_BUSY);
        EXPECT_EQ(rnic_mr_rereg(pair.side[1].mr, RNIC_MR_REREG_TRANSLATION, NULL, &attr),
                  RNIC_ERR_BUSY);
        EXPECT_EQ(rnic_pd_del(pair.side[1].pd), RNIC_ERR_BUSY);
        if (by_qp)
            rnic_qp_del(pair.side[1].qp[0]);
        else
            EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
        EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_OK);
        EXPECT_EQ(rnic_mw_del(NULL), RNIC_OK);
        qp_pair_free(&pair);
    }
}

/* A bind waits for an earlier READ. If the window is deleted before the bind, the bind fails. If
 * the region becomes too short for the READ, the READ fails and the bind is flushed. */
static void gone_before_the_bind(void)
{
    for (int region = 0; region < 2; region++) {
        struct rnic_send_wr wr;

        begin(TYPE_1);
        EXPECT_EQ(qp_pair_send(&pair, 1, 0, 1, RNIC_WR_READ, 0, 64, 0), RNIC_OK);
        wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, 8, READ);
        EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
        if (region) {
            struct rnic_mr_attr attr = {.addr = pair.side[1].mem,
                                        .len = 4,
                                        .iova = QP_PAIR_IOVA,
                                        .access = RNIC_ACCESS_ALL};

            EXPECT_EQ(rnic_mr_rereg(pair.side[1].mr, RNIC_MR_REREG_TRANSLATION, NULL, &attr),
                      RNIC_OK);
        } else {
            EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
        }
        CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
        qp_pair_expect_wc(pair.side[1].send_cq[0], 1,
                          region ? RNIC_WC_LOC_PROT_ERR : RNIC_WC_SUCCESS);
        qp_pair_expect_wc(pair.side[1].send_cq[0], 77,
                          region ? RNIC_WC_WR_FLUSH_ERR : RNIC_WC_MW_BIND_ERR);
        qp_pair_free(&pair);
    }
}

/* Addresses of a zero-based window count from the first byte of the window (R209). */
static void r209_zero_based_window_counts_from_its_start(void)
{
    for (enum kind kind = TYPE_2B; kind < KINDS; kind++) {
        begin(kind);
        bind(0, WRITE | RNIC_ACCESS_ZERO_BASED);
        EXPECT_EQ(use(0, RNIC_WR_WRITE, rnic_mw_rkey(mw), LEN - 8, 8), RNIC_WC_SUCCESS);
        EXPECT_EQ(memcmp(pair.side[1].mem + OFF + LEN - 8, pair.side[0].mem, 8), 0);
        EXPECT_EQ(use(0, RNIC_WR_WRITE, rnic_mw_rkey(mw), LEN - 7, 8), RNIC_WC_REM_ACCESS_ERR);
        qp_pair_free(&pair);
    }
}

/* Starts a transfer of 512 KiB over a slow link, through a window over the whole region with rights
 * `access`. */
static void begin_transfer(enum kind kind, unsigned access, enum rnic_wr_opcode opcode)
{
    const struct simnet_path slow = {.bps = UINT64_C(1000000000), .delay_ns = 1000};
    struct rnic_send_wr wr;

    begin(kind);
    simnet_paths(&pair.net, &slow);
    wr = bind_wr(pair.side[1].mr, QP_PAIR_IOVA, QP_PAIR_MEM, access);
    EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
    qp_pair_expect_wc(pair.side[1].send_cq[0], 77, RNIC_WC_SUCCESS);
    wr = (struct rnic_send_wr){.wr_id = 1,
                               .opcode = opcode,
                               .flags = RNIC_SEND_SIGNALED,
                               .sge = &(struct rnic_sge){QP_PAIR_IOVA, 512 * 1024, QP_PAIR_KEY},
                               .sge_cnt = 1,
                               .remote_addr = QP_PAIR_IOVA,
                               .rkey = rnic_mw_rkey(mw)};
    EXPECT_EQ(rnic_post_send(pair.side[0].qp[0], &wr), RNIC_OK);
    CU_ASSERT(!simnet_run(&pair.net, pair.net.now + 100000));
}

/* Deleting a window while a READ through it is being answered ends the response (R208). */
static void r208_closed_during_read(void)
{
    begin_transfer(TYPE_2B, READ, RNIC_WR_READ);
    EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_REM_ACCESS_ERR);
    qp_pair_free(&pair);
}

/* While a WRITE through a window arrives, the window is deleted, invalidated, or bound again with
 * another key. The device then writes no more bytes (R208). */
static void r208_closed_during_write(void)
{
    enum how { DELETED, INVALIDATED, REBOUND };
    static const struct {
        enum kind kind;
        enum how how;
    } rows[] = {{TYPE_1, DELETED},      {TYPE_1, REBOUND},      {TYPE_2B, DELETED},
                {TYPE_2B, INVALIDATED}, {TYPE_2A, INVALIDATED}, {TYPE_2A, DELETED}};
    static uint8_t then[QP_PAIR_MEM];

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_send_wr wr;

        begin_transfer(rows[i].kind, WRITE, RNIC_WR_WRITE);
        if (rows[i].how == DELETED) {
            EXPECT_EQ(rnic_mw_del(mw), RNIC_OK);
        } else {
            wr = rows[i].how == REBOUND ? bind_wr(pair.side[1].mr, QP_PAIR_IOVA, QP_PAIR_MEM, WRITE)
                                        : (struct rnic_send_wr){.wr_id = 77,
                                                                .opcode = RNIC_WR_LOCAL_INV,
                                                                .flags = RNIC_SEND_SIGNALED,
                                                                .invalidate_key = rnic_mw_rkey(mw)};
            EXPECT_EQ(rnic_post_send(pair.side[1].qp[0], &wr), RNIC_OK);
            qp_pair_expect_wc(pair.side[1].send_cq[0], 77, RNIC_WC_SUCCESS);
        }
        CU_ASSERT(memcmp(pair.side[0].mem, pair.side[1].mem, 1024) == 0);
        memcpy(then, pair.side[1].mem, QP_PAIR_MEM);
        CU_ASSERT(qp_pair_run(&pair, 10 * QP_PAIR_T));
        CU_ASSERT(memcmp(then, pair.side[1].mem, QP_PAIR_MEM) == 0);
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_REM_ACCESS_ERR);
        EXPECT_EQ(qp_pair_state(&pair, 1, 0), RNIC_QPS_ERR);
        if (rows[i].how == REBOUND) /* key valid for every QP of the PD */
            EXPECT_EQ(use(1, RNIC_WR_WRITE, rnic_mw_rkey(mw), QP_PAIR_IOVA, 8), RNIC_WC_SUCCESS);
        qp_pair_free(&pair);
    }
}

/* Window keys are all different, use all bits, and differ from the keys of regions. */
static void window_keys_are_different(void)
{
    struct rnic_mr *mr;
    uint32_t ones = 0;
    uint32_t zeros = 0;

    begin(TYPE_1);
    for (unsigned i = 0; i < 2000; i++) {
        struct rnic_mr_attr attr = {.len = 0};

        EXPECT_EQ(rnic_mw_new(pair.side[1].pd, RNIC_MW_TYPE_2, &mw), RNIC_OK);
        ones |= rnic_mw_rkey(mw);
        zeros |= ~rnic_mw_rkey(mw);
        attr.key = rnic_mw_rkey(mw) ^ (i & 0xFF);
        EXPECT_EQ(rnic_mr_reg(pair.side[1].pd, &attr, &mr), RNIC_ERR_EXISTS);
    }
    EXPECT_EQ(ones, UINT32_MAX);
    EXPECT_EQ(zeros, UINT32_MAX);
    EXPECT_EQ(rnic_mw_type(mw), RNIC_MW_TYPE_2);
    qp_pair_free(&pair);
}

SUITE("device.mw", TEST(r211_window_bounds_are_checked), TEST(unbound_window_grants_no_access),
      TEST(r210_type_2_window_belongs_to_its_qp), TEST(r210_checked_against), TEST(type_1_rebind),
      TEST(type_2_life), TEST(r213_key_out_of_reach_is_not_invalidated), TEST(r213_end_of_the_qp),
      TEST(r211_invalid_bind_moves_the_qp_to_err), TEST(type_2_bound_twice),
      TEST(impossible_binds_are_refused_at_the_post), TEST(r213_region_in_use),
      TEST(gone_before_the_bind), TEST(r209_zero_based_window_counts_from_its_start),
      TEST(r208_closed_during_read), TEST(r208_closed_during_write),
      TEST(window_keys_are_different))
